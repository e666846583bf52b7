"""The certificates that listeners serve: for which names, and how good they are."""

from __future__ import annotations

from collections.abc import Iterator

from scanner.kube.kinds import NAMESPACE
from scanner.lint.certificates import leaf_flaws
from scanner.lint.gateway.attachment import on_listener
from scanner.lint.gateway.certificate_refs import secrets_of
from scanner.lint.gateway.listeners import HOLDERS, Listener, listeners
from scanner.lint.gateway.names import listener_names, route_names
from scanner.lint.gateway.routes import ROUTES
from scanner.lint.references import READS as SECRETS
from scanner.lint.references import mend
from scanner.model.declared import Missing
from scanner.model.object_rule import Flaw, ObjectRule, Subject, undecided


def check_names(subject: Subject) -> Iterator[Flaw]:
    """A listener's certificates are valid for every name that leads to it."""
    if subject.object.kind in ROUTES:
        yield from route_names(subject)
        return
    for listener in listeners(subject.declared, subject.object):
        names = _names(subject, listener)
        if names:
            yield from listener_names(subject, listener, names)


def _names(subject: Subject, listener: Listener) -> tuple[str, ...]:
    """What clients ask for; a listener without hostname and routes says nothing."""
    attached = (name for each in on_listener(subject.declared, listener) for name in each.names)
    return tuple(filter(None, dict.fromkeys(attached))) or tuple(filter(None, (listener.hostname,)))


def check_faults(subject: Subject) -> Iterator[Flaw]:
    """The certificates that listeners refer to are good enough to be served."""
    looked_at: set[str] = set()
    now = subject.declared.known.taken_at
    for listener in listeners(subject.declared, subject.object):
        for steps, found in secrets_of(subject.declared, listener):
            if isinstance(found, Missing):
                if found.gap:
                    yield undecided(found, steps, "whether its certificate is good enough")
            elif str(found.reference) not in looked_at:
                looked_at.add(str(found.reference))
                fix = f"{mend(subject.declared, found.name, found.namespace)}: replace the certificate"
                yield from leaf_flaws(found, steps, now, fix=fix)


NAME = ObjectRule(
    id="gateway-certificate-name",
    subjects=(*HOLDERS, *ROUTES),
    check=check_names,
    reads=(*HOLDERS, *ROUTES, NAMESPACE, *SECRETS),
)
FAULT = ObjectRule(
    id="gateway-certificate-fault",
    subjects=HOLDERS,
    check=check_faults,
    reads=SECRETS,
)
