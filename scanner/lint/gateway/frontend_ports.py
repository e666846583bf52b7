"""On which ports clients are validated (Gateway API apis/v1 ``FrontendTLSConfig``)."""

from __future__ import annotations

from collections.abc import Iterator

from scanner.kube.kinds import GATEWAY, NAMESPACE
from scanner.lint.gateway.frontend_validation import FRONTEND
from scanner.lint.gateway.listeners import HOLDERS, SETS, merged
from scanner.model.declared import Missing
from scanner.model.object_rule import Flaw, ObjectRule, Subject, undecided


def check_exempted(subject: Subject) -> Iterator[Flaw]:
    """No port is left out of the validation of client certificates by an empty entry."""
    if not subject.object.has(*FRONTEND, "default", "validation"):
        return
    for steps, each in subject.items(*FRONTEND, "perPort"):
        if not each.has("tls", "validation"):
            yield Flaw(
                message=f"port {each.number('port')} is taken out of the validation of client certificates",
                at=(*steps, "tls"),
                fix=f"{subject.object.reference}: remove the entry, or give it a validation",
            )


def check_unused(subject: Subject) -> Iterator[Flaw]:
    """Every port with a TLS configuration of its own has an HTTPS listener."""
    taken: set[int | None] = set()
    ports = {each.port for each in merged(subject.declared, subject.object) if each.protocol == "HTTPS"}
    for steps, each in subject.items(*FRONTEND, "perPort"):
        number, at = each.number("port"), (*steps, "port")
        if number in taken:
            yield Flaw(
                message="Port for TLS configuration must be unique within the Gateway",
                at=at,
                fix=f"{subject.object.reference}: one entry a port",
            )
        elif number not in ports:
            yield _without_listener(subject, number, at)
        taken.add(number)


def _without_listener(subject: Subject, number: int | None, at: tuple[str | int, ...]) -> Flaw:
    unseen = _unseen_sets(subject)
    if unseen is not None:
        return undecided(unseen, at, f"whether port {number} has a listener")
    return Flaw(
        message=f"port {number} has no HTTPS listener",
        at=at,
        fix=f"{subject.object.reference}: set the port to that of the listener, or remove the entry",
    )


def _unseen_sets(subject: Subject) -> Missing | None:
    """Why the Gateway may have listeners that nobody saw."""
    gaps = [gap for kind in SETS if (gap := subject.declared.gap(kind))]
    admits = subject.object.text("spec", "allowedListeners", "namespaces", "from") not in ("", "None")
    return Missing(name="its ListenerSets", gap=gaps[0]) if admits and gaps else None


def check_tls_listeners(subject: Subject) -> Iterator[Flaw]:
    """Clients of TLS listeners are not believed to be validated."""
    frontend = subject.object.fields(*FRONTEND)
    default = frontend.has("default", "validation")
    ports = {each.number("port"): each.has("tls", "validation") for each in frontend.each("perPort")}
    for listener in merged(subject.declared, subject.object):
        if listener.protocol == "TLS" and listener.terminates and ports.get(listener.port, default):
            own = listener.holder is subject.object
            yield Flaw(
                message=f"{listener} terminates TLS and validates no client: spec.tls.frontend is for HTTPS",
                at=(*listener.steps, "protocol") if own else FRONTEND,
                fix=f"{listener.holder.reference}: mode Passthrough, or another Gateway for the listener",
            )
    unseen = _unseen_sets(subject)
    if unseen is not None and (default or any(ports.values())):
        yield undecided(unseen, FRONTEND, "whether one of their listeners terminates TLS and validates no client")


EXEMPTED = ObjectRule(
    id="gateway-port-exempted",
    subjects=(GATEWAY,),
    check=check_exempted,
)
UNUSED = ObjectRule(
    id="gateway-port-unused",
    subjects=(GATEWAY,),
    check=check_unused,
    reads=(*HOLDERS, NAMESPACE),
)
TLS_LISTENER = ObjectRule(
    id="gateway-tls-not-validated",
    subjects=(GATEWAY,),
    check=check_tls_listeners,
    reads=(*HOLDERS, NAMESPACE),
)
