"""Whether certificates of listeners are valid for names, asked from the listener or from the route."""

from __future__ import annotations

from collections.abc import Iterator

from scanner.files.source_positions import Steps
from scanner.lint.gateway.attachment import Attached, of_route
from scanner.lint.gateway.certificate_refs import secrets_of
from scanner.lint.gateway.listeners import HolderKey, Listener, key_of
from scanner.lint.references import mend, name_flaws
from scanner.model.declared import Declared, Missing
from scanner.model.object_rule import Flaw, Subject, undecided


def listener_names(
    subject: Subject, listener: Listener, names: tuple[str, ...], at: Steps | None = None
) -> Iterator[Flaw]:
    """Names that no certificate of the listener covers. ``at``: the field, if it is not the reference itself."""
    found = list(secrets_of(subject.declared, listener))
    unseen = [(steps, each) for steps, each in found if isinstance(each, Missing) and each.gap]
    seen = [(steps, each) for steps, each in found if not isinstance(each, Missing)]
    for steps, each in unseen:
        yield undecided(each, at or steps, f"whether its certificate is valid for {', '.join(names[:5])}")
    if seen and not unseen:
        steps, last = seen[-1]
        yield from name_flaws(
            last,
            names,
            at or steps,
            fix=f"{mend(subject.declared, last.name, last.namespace)}: a certificate with these names",
            beside=[each for _, each in seen[:-1]],
        )


def route_names(subject: Subject) -> Iterator[Flaw]:
    """Of a route, what its listeners' certificates do not cover, where nobody judges the Gateways or ListenerSets
    themselves: they would say it once more."""
    judged = subject.declared.once(_judged)
    for each in of_route(subject.declared, subject.object):
        if each.missing is not None and each.missing.gap:
            what = "whether a certificate there is valid for its hostnames"
            yield undecided(each.missing, each.parent.steps, what)
        for one in each.attached:
            if key_of(one.listener.holder) not in judged and _asked(one):
                yield from listener_names(subject, one.listener, _asked(one), each.parent.steps)


def _asked(attached: Attached) -> tuple[str, ...]:
    """What clients ask for because of the route; without hostnames it is the listener that says it."""
    return tuple(filter(None, attached.names))


def _judged(declared: Declared) -> frozenset[HolderKey]:
    return frozenset(key_of(each.object) for each in declared.given)
