"""Validation of client certificates at the frontend (Gateway API, FrontendTLSConfig)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from scanner.files.source_positions import Steps
from scanner.kube.kinds import GATEWAY
from scanner.kube.objects import Fields
from scanner.model.object_rule import Flaw, ObjectRule, Subject

FRONTEND: Final = ("spec", "tls", "frontend")
_TOLD: Final = "InsecureFrontendValidationMode"


def configurations(subject: Subject) -> Iterator[tuple[Steps, Fields]]:
    """The default and each port's TLS configuration, with the way to it."""
    default = subject.object.fields(*FRONTEND, "default")
    if default.raw:
        yield (*FRONTEND, "default"), default
    for steps, each in subject.items(*FRONTEND, "perPort"):
        yield (*steps, "tls"), each.fields("tls")


def check_insecure_fallback(subject: Subject) -> Iterator[Flaw]:
    """A Gateway does not fall back to connections without a valid client certificate."""
    insecure = False
    for steps, each in configurations(subject):
        if each.text("validation", "mode") == "AllowInsecureFallback":
            insecure = True
            yield Flaw(
                message="clients without a valid certificate are let in",
                at=(*steps, "validation", "mode"),
                expected=("AllowValidOnly",),
                observed=("AllowInsecureFallback",),
                fix=f"{subject.object.reference}: set the mode to AllowValidOnly",
                correction="validation:\n  mode: AllowValidOnly",
            )
            yield from _untold(subject, (*steps, "validation", "mode"))
    if not insecure:
        yield from _only_reported(subject)


def _only_reported(subject: Subject) -> Iterator[Flaw]:
    """A controller that says it of the present spec, in which it does not stand: a default of its own, or one of its
    own policies."""
    generation = subject.object.generation
    for steps, each in subject.items("status", "conditions"):
        seen = each.number("observedGeneration")
        current = seen is None or generation is None or seen >= generation
        if (each.text("type"), each.text("status")) == (_TOLD, "True") and current:
            yield Flaw(
                message=f"its status says {_TOLD}: clients without a valid certificate are let in; no field sets it",
                at=steps,
                expected=("AllowValidOnly",),
                observed=(_TOLD,),
                fix=f"{subject.object.reference}: set mode AllowValidOnly, and check the controller's own policies",
            )


def _untold(subject: Subject, at: Steps) -> Iterator[Flaw]:
    """A controller that has said something, and not this."""
    said = {each.text("type"): each.text("status") for each in subject.object.each("status", "conditions")}
    if said and said.get(_TOLD) != "True":
        yield Flaw(message=f"its status does not say {_TOLD}, as it must", at=at, severity="low")


INSECURE_FALLBACK = ObjectRule(
    id="gateway-insecure-fallback",
    subjects=(GATEWAY,),
    check=check_insecure_fallback,
)
