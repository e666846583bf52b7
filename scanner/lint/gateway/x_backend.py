"""XBackends outside of the cluster (Gateway API apisx/v1alpha1 ``XBackend``, experimental)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from scanner.files.source_positions import shown
from scanner.kube.kinds import X_BACKEND
from scanner.model.object_rule import Flaw, ObjectRule, Subject

_TLS: Final = ("ServerOnly", "ClientAndServer")


def check_external(subject: Subject) -> Iterator[Flaw]:
    """A backend outside of the cluster is spoken to over TLS."""
    if subject.object.text("spec", "type") != "ExternalHostname":
        return
    mode = subject.object.text("spec", "tls", "mode")
    if mode in ("", "None"):
        yield Flaw(
            message="traffic to a backend outside of the cluster is in plaintext",
            at=("spec", "tls", "mode"),
            expected=_TLS,
            observed=(mode or "no tls",),
            fix=f"{subject.object.reference}: spec.tls.mode ServerOnly, with a validation",
            correction="tls:\n  mode: ServerOnly\n  validation: {hostname: NAME, wellKnownCACertificates: System}",
        )
    elif mode not in _TLS:
        message = f"cannot be decided here: whether the mode {shown(mode)} means TLS"
        yield Flaw(message=message, at=("spec", "tls", "mode"), verdict="inconclusive")
    elif not subject.object.fields("spec", "tls", "validation").raw:
        message = "cannot be decided here: by which CA and name an implementation validates, where none is given"
        yield Flaw(message=message, at=("spec", "tls", "validation"), verdict="inconclusive")


EXTERNAL = ObjectRule(
    id="x-backend-plaintext",
    subjects=(X_BACKEND,),
    check=check_external,
)
