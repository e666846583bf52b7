"""XBackends outside of the cluster (Gateway API apisx/v1alpha1 ``XBackend``, experimental)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from scanner.kube.kinds import X_BACKEND
from scanner.model.located import shown
from scanner.model.object_rule import Flaw, ObjectRule, Subject

_TLS: Final = ("ServerOnly", "ClientAndServer")


def check_external(subject: Subject) -> Iterator[Flaw]:
    """A backend outside of the cluster is spoken to over TLS.

    ## What it requires

    An XBackend of type `ExternalHostname` has `tls` with the mode `ServerOnly` or `ClientAndServer`.

    ## Why

    The traffic leaves the cluster. Without TLS anybody on the way reads and changes it, and whoever answers for the
    name in the DNS gets it.

    ## What fails

    No `tls`, or the mode `None`: medium.

    ## What is inconclusive

    A mode that adhere does not know. TLS without `validation`: the API does not say by which CA and name the backend is
    validated then, if at all.

    ## Example that fails

    ```yaml
    apiVersion: gateway.networking.x-k8s.io/v1alpha1
    kind: XBackend
    metadata: {name: payments, namespace: shop}
    spec:
      type: ExternalHostname
      port: {port: 443}
      externalHostname: {hostname: payments.example}
    ```

    ## Example that passes

    ```yaml
    apiVersion: gateway.networking.x-k8s.io/v1alpha1
    kind: XBackend
    metadata: {name: payments, namespace: shop}
    spec:
      type: ExternalHostname
      port: {port: 443}
      externalHostname: {hostname: payments.example}
      tls:
        mode: ServerOnly
        validation: {hostname: payments.example, wellKnownCACertificates: System}
    ```

    ## How to fix

    Set `tls.mode` to `ServerOnly`, with the CA and the name by which the backend is validated.
    """
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
    title="Backends outside of the cluster are spoken to over TLS",
    severity="medium",
    subjects=(X_BACKEND,),
    check=check_external,
    references=("Gateway API apisx/v1alpha1/xbackend_types.go (BackendTLS)",),
)
