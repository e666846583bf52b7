"""Validation of client certificates by a Gateway, by default and on each port (Gateway API apis/v1
``FrontendTLSConfig``, GEP-91)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from scanner.kube.gateway import HOLDERS, SETS, Gateway
from scanner.kube.kinds import GATEWAY, NAMESPACE
from scanner.kube.meta import of_type
from scanner.kube.objects import Steps
from scanner.lint.gateway.listeners import all_listeners
from scanner.model.declared import Missing
from scanner.model.object_rule import Flaw, ObjectRule, Subject, undecided

FRONTEND: Final = ("spec", "tls", "frontend")
_TOLD: Final = "InsecureFrontendValidationMode"


def check_insecure_fallback(subject: Subject) -> Iterator[Flaw]:
    """A Gateway does not fall back to connections without a valid client certificate."""
    gateway = Gateway.of(subject.object)
    insecure = [each.validation for each in gateway.frontends if each.validation.falls_back]
    for each in insecure:
        yield Flaw(
            message="clients without a valid certificate are let in",
            at=(*each.steps, "mode"),
            expected=("AllowValidOnly",),
            observed=("AllowInsecureFallback",),
            fix=f"{gateway.reference}: set the mode to AllowValidOnly",
            correction="validation:\n  mode: AllowValidOnly",
        )
        yield from _untold(gateway, (*each.steps, "mode"))
    if not insecure:
        yield from _only_reported(gateway)


def _only_reported(gateway: Gateway) -> Iterator[Flaw]:
    """A controller that says it of the present spec, in which it does not stand: a default of its own, or one of its
    own policies."""
    for each in gateway.conditions:
        if each.type == _TOLD and each.holds and each.is_current(gateway):
            yield Flaw(
                message=f"its status says {_TOLD}: clients without a valid certificate are let in; no field sets it",
                at=each.steps,
                expected=("AllowValidOnly",),
                observed=(_TOLD,),
                fix=f"{gateway.reference}: set mode AllowValidOnly, and check the controller's own policies",
            )


def _untold(gateway: Gateway, at: Steps) -> Iterator[Flaw]:
    """A controller that has said something, and not this."""
    found = of_type(gateway.conditions, _TOLD)
    if gateway.conditions and not (found and found.holds):
        yield Flaw(message=f"its status does not say {_TOLD}, as it must", at=at, severity="low")


def check_exempted(subject: Subject) -> Iterator[Flaw]:
    """No port is left out of the validation of client certificates by an empty entry."""
    gateway = Gateway.of(subject.object)
    for each in gateway.per_port if gateway.default_frontend.has_validation else ():
        if not each.tls.has_validation:
            yield Flaw(
                message=f"port {each.port} is taken out of the validation of client certificates",
                at=each.tls.steps,
                fix=f"{gateway.reference}: remove the entry, or give it a validation",
            )


def check_unused(subject: Subject) -> Iterator[Flaw]:
    """Every port with a TLS configuration of its own has an HTTPS listener."""
    taken: set[int | None] = set()
    ports = {each.port for each in all_listeners(subject.declared, subject.object) if each.protocol == "HTTPS"}
    for each in Gateway.of(subject.object).per_port:
        at = (*each.steps, "port")
        if each.port in taken:
            yield Flaw(
                message="Port for TLS configuration must be unique within the Gateway",
                at=at,
                fix=f"{subject.object.reference}: one entry a port",
            )
        elif each.port not in ports:
            yield _without_listener(subject, each.port, at)
        taken.add(each.port)


def _without_listener(subject: Subject, number: int | None, at: Steps) -> Flaw:
    unseen = _unseen_sets(subject)
    if unseen is not None:
        return undecided(unseen, at, f"whether port {number} has a listener")
    return Flaw(
        message=f"port {number} has no HTTPS listener",
        at=at,
        fix=f"{subject.object.reference}: set the port to that of the listener, or remove the entry",
    )


def _unseen_sets(subject: Subject) -> Missing | None:
    """Why the Gateway may have listeners that were not seen."""
    gaps = [gap for kind in SETS if (gap := subject.declared.gap(kind))]
    admits = Gateway.of(subject.object).allowed_listeners.source not in ("", "None")
    return Missing(name="its ListenerSets", gap=gaps[0]) if admits and gaps else None


def check_tls_listeners(subject: Subject) -> Iterator[Flaw]:
    """Clients of TLS listeners are not believed to be validated."""
    gateway = Gateway.of(subject.object)
    for listener in all_listeners(subject.declared, gateway):
        if listener.protocol == "TLS" and listener.terminates and gateway.validation(listener.port) is not None:
            own = listener.holder.raw is gateway.raw
            yield Flaw(
                message=f"{listener} terminates TLS and validates no client: spec.tls.frontend is for HTTPS",
                at=(*listener.steps, "protocol") if own else FRONTEND,
                fix=f"{listener.holder.reference}: mode Passthrough, or another Gateway for the listener",
            )
    unseen = _unseen_sets(subject)
    if unseen is not None and any(each.has_validation for each in gateway.frontends):
        yield undecided(unseen, FRONTEND, "whether one of their listeners terminates TLS and validates no client")


INSECURE_FALLBACK = ObjectRule(id="gateway-insecure-fallback", subjects=(GATEWAY,), check=check_insecure_fallback)
EXEMPTED = ObjectRule(id="gateway-port-exempted", subjects=(GATEWAY,), check=check_exempted)
UNUSED = ObjectRule(id="gateway-port-unused", subjects=(GATEWAY,), check=check_unused, reads=(*HOLDERS, NAMESPACE))
TLS_LISTENER = ObjectRule(
    id="gateway-tls-not-validated",
    subjects=(GATEWAY,),
    check=check_tls_listeners,
    reads=(*HOLDERS, NAMESPACE),
)
