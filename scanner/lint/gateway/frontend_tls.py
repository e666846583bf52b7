"""Validation of client certificates by a Gateway, by default and on each port (Gateway API apis/v1
``FrontendTLSConfig``, GEP-91)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from scanner.kube.gateway import HOLDERS, SETS, Gateway
from scanner.kube.kinds import GATEWAY, NAMESPACE
from scanner.kube.meta import of_type
from scanner.lint.gateway.listeners import all_listeners
from scanner.model.declared import Missing
from scanner.model.object_rule import Flaw, ObjectRule, Subject, undecided

FRONTEND: Final = ("spec", "tls", "frontend")
_CONDITION: Final = "InsecureFrontendValidationMode"


def check_insecure_fallback(subject: Subject) -> Iterator[Flaw]:
    """A Gateway does not accept connections without a valid client certificate."""
    gateway = Gateway.of(subject.object)
    insecure = [each.validation for each in gateway.frontends if each.validation.falls_back]
    condition = of_type(gateway.conditions, _CONDITION)
    for each in insecure:
        yield Flaw(
            message="clients without a valid certificate are accepted",
            at=(*each.steps, "mode"),
            expected=("AllowValidOnly",),
            observed=("AllowInsecureFallback",),
            fix=f"{gateway.reference}: set the mode to AllowValidOnly",
            correction="validation:\n  mode: AllowValidOnly",
        )
        if gateway.conditions and not (condition and condition.holds):
            message = f"its status lacks the required condition {_CONDITION}"
            yield Flaw(message=message, at=(*each.steps, "mode"), severity="low")
    # A default or a policy of the controller can do the same.
    for reported in gateway.conditions if not insecure else ():
        if reported.type == _CONDITION and reported.holds and reported.is_current(gateway):
            yield Flaw(
                message=f"its status says {_CONDITION}: clients without a valid certificate are accepted; "
                "no field sets this",
                at=reported.steps,
                expected=("AllowValidOnly",),
                observed=(_CONDITION,),
                fix=f"{gateway.reference}: set mode AllowValidOnly, and check the controller's own policies",
            )


def check_exempted(subject: Subject) -> Iterator[Flaw]:
    """No empty entry for a port turns off the validation of client certificates."""
    gateway = Gateway.of(subject.object)
    for each in gateway.per_port if gateway.default_frontend.has_validation else ():
        if not each.tls.has_validation:
            yield Flaw(
                message=f"port {each.port} does not validate client certificates: its entry replaces the default",
                at=each.tls.steps,
                fix=f"{gateway.reference}: remove the entry, or set its validation",
            )


def check_unused(subject: Subject) -> Iterator[Flaw]:
    """Every port with a TLS configuration of its own has an HTTPS listener."""
    seen: set[int | None] = set()
    ports = {each.port for each in all_listeners(subject.declared, subject.object) if each.protocol == "HTTPS"}
    for each in Gateway.of(subject.object).per_port:
        at = (*each.steps, "port")
        if each.port in seen:
            yield Flaw(
                message="Port for TLS configuration must be unique within the Gateway",
                at=at,
                fix=f"{subject.object.reference}: keep one entry for each port",
            )
        elif each.port not in ports:
            unseen = _unseen_sets(subject)
            if unseen is not None:
                yield undecided(unseen, at, f"whether port {each.port} has a listener")
            else:
                yield Flaw(
                    message=f"port {each.port} has no HTTPS listener",
                    at=at,
                    fix=f"{subject.object.reference}: set the port to that of the listener, or remove the entry",
                )
        seen.add(each.port)


def _unseen_sets(subject: Subject) -> Missing | None:
    """ListenerSets that may exist and were not seen."""
    gaps = [gap for kind in SETS if (gap := subject.declared.gap(kind))]
    admits = Gateway.of(subject.object).allowed_listeners.source not in ("", "None")
    return Missing(name="its ListenerSets", gap=gaps[0]) if admits and gaps else None


def check_tls_listeners(subject: Subject) -> Iterator[Flaw]:
    """A Gateway that validates clients has no TLS listener, to which this does not apply."""
    gateway = Gateway.of(subject.object)
    for listener in all_listeners(subject.declared, gateway):
        if listener.protocol == "TLS" and listener.terminates and gateway.validation(listener.port) is not None:
            own = listener.holder.raw is gateway.raw
            yield Flaw(
                message=f"{listener} terminates TLS without client validation: spec.tls.frontend applies to HTTPS only",
                at=(*listener.steps, "protocol") if own else FRONTEND,
                fix=f"{listener.holder.reference}: set mode Passthrough, or move the listener to another Gateway",
            )
    unseen = _unseen_sets(subject)
    if unseen is not None and any(each.has_validation for each in gateway.frontends):
        yield undecided(unseen, FRONTEND, "whether one of their listeners terminates TLS without client validation")


INSECURE_FALLBACK = ObjectRule(id="gateway-insecure-fallback", subjects=(GATEWAY,), check=check_insecure_fallback)
EXEMPTED = ObjectRule(id="gateway-port-exempted", subjects=(GATEWAY,), check=check_exempted)
UNUSED = ObjectRule(id="gateway-port-unused", subjects=(GATEWAY,), check=check_unused, reads=(*HOLDERS, NAMESPACE))
TLS_LISTENER = ObjectRule(
    id="gateway-tls-not-validated",
    subjects=(GATEWAY,),
    check=check_tls_listeners,
    reads=(*HOLDERS, NAMESPACE),
)
