"""ListenerSets: their Gateway accepts them, and they take no names from its other listeners (GEP-1713)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from scanner.files.source_positions import shown
from scanner.kube.gateway import HOLDERS, SETS, ListenerSet, admits
from scanner.kube.hostnames import overlap
from scanner.kube.kinds import GATEWAY, NAMESPACE
from scanner.lint.gateway.listener_conflicts import pairs_of, uncompared
from scanner.lint.gateway.listeners import parent_of, unlabelled
from scanner.model.declared import Missing
from scanner.model.object_rule import Flaw, ObjectRule, Subject, undecided

_PARENT: Final = ("spec", "parentRef")


def check_admitted(subject: Subject) -> Iterator[Flaw]:
    """A ListenerSet is accepted by its Gateway."""
    listener_set = ListenerSet.of(subject.object)
    if not listener_set.has_gateway:
        named = "/".join(filter(None, (listener_set.parent_ref.group, listener_set.parent_ref.kind)))
        yield Flaw(
            message=f"its parent must be a Gateway, not {shown(named)}: its listeners are not served",
            at=_PARENT,
            fix=f"{subject.object.reference}: leave group and kind out",
        )
        return
    if not listener_set.gateway[1]:
        return  # the API server refuses it: ``field-value``
    gateway = parent_of(subject.declared, listener_set)
    if isinstance(gateway, Missing):
        if gateway.gap:
            yield undecided(gateway, _PARENT, "whether its Gateway accepts it")
        else:
            yield Flaw(
                message=f"{gateway.name} does not exist",
                at=_PARENT,
                fix=f"{subject.object.reference}: set the Gateway's name and namespace",
            )
        return
    answer = admits(subject.declared.known, gateway, listener_set)
    if answer is None:
        yield undecided(unlabelled(listener_set.namespace), _PARENT, "whether its Gateway accepts it")
    elif not answer:
        yield Flaw(
            message=f"{gateway.reference} accepts no ListenerSets of this namespace: NotAllowed",
            at=_PARENT,
            fix=f"{gateway.reference}: add the namespace to spec.allowedListeners.namespaces",
        )


def check_capture(subject: Subject) -> Iterator[Flaw]:
    """A ListenerSet takes no names from listeners of another namespace."""
    if not ListenerSet.of(subject.object).gateway[1]:
        return  # the API server refuses it: ``field-value``
    gateway = parent_of(subject.declared, subject.object)
    if isinstance(gateway, Missing) and gateway.gap:
        yield undecided(gateway, _PARENT, "whether it takes names from its Gateway")
    for first, later in pairs_of(subject):
        if later.holder.raw is not subject.object.raw or first.holder.namespace == later.holder.namespace:
            continue
        if overlap(first.hostname, later.hostname):
            yield Flaw(
                message=f"its hostname overlaps with that of {first}, in another namespace",
                at=(*later.steps, "hostname"),
                observed=(later.hostname or "every name", first.hostname or "every name"),
                fix=(
                    f"{subject.object.reference}: set another hostname; or {first.holder.reference}: restrict "
                    "allowedListeners"
                ),
            )
    yield from uncompared(subject)


ADMITTED = ObjectRule(id="listener-set-admitted", subjects=SETS, check=check_admitted, reads=(GATEWAY, NAMESPACE))
CAPTURE = ObjectRule(id="listener-set-capture", subjects=SETS, check=check_capture, reads=(*HOLDERS, NAMESPACE))
