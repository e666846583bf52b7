"""On which ports clients are validated (Gateway API apis/v1 ``FrontendTLSConfig``)."""

from __future__ import annotations

from collections.abc import Iterator

from scanner.kube.kinds import GATEWAY, NAMESPACE
from scanner.lint.gateway.frontend_validation import FRONTEND
from scanner.lint.gateway.listeners import HOLDERS, SETS, merged
from scanner.model.declared import Missing
from scanner.model.object_rule import Flaw, ObjectRule, Subject, undecided


def check_exempted(subject: Subject) -> Iterator[Flaw]:
    """No port is left out of the validation of client certificates by an empty entry.

    ## What it requires

    Where `spec.tls.frontend.default` has a `validation`, every entry of `perPort` has one too.

    ## Why

    A port's entry replaces the default as a whole. One with an empty `tls` reads as if it added nothing, and takes the
    port out of the validation: every client gets in there.

    ## What fails

    An entry of `perPort` without `tls.validation` beside a default with one: high.

    ## What is inconclusive

    Nothing: both stand in the object.

    ## Example that fails

    ```yaml
    apiVersion: gateway.networking.k8s.io/v1
    kind: Gateway
    metadata: {name: edge, namespace: shop}
    spec:
      gatewayClassName: example
      listeners:
      - {name: https, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: edge-tls}]}}
      tls:
        frontend:
          default:
            validation:
              caCertificateRefs: [{group: "", kind: ConfigMap, name: clients}]
          perPort:
          - {port: 443, tls: {}}
    ```

    ## Example that passes

    ```yaml
    apiVersion: gateway.networking.k8s.io/v1
    kind: Gateway
    metadata: {name: edge, namespace: shop}
    spec:
      gatewayClassName: example
      listeners:
      - {name: https, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: edge-tls}]}}
      tls:
        frontend:
          default:
            validation:
              caCertificateRefs: [{group: "", kind: ConfigMap, name: clients}]
          perPort:
          - port: 443
            tls:
              validation:
                caCertificateRefs: [{group: "", kind: ConfigMap, name: partners}]
    ```

    ## How to fix

    Remove the entry, or give it a `validation` of its own. A port that is meant to be open to everybody is better on a
    Gateway of its own.
    """
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
    """Every port with a TLS configuration of its own has an HTTPS listener.

    ## What it requires

    The port of each `spec.tls.frontend.perPort` entry is that of an HTTPS listener of the Gateway or of a ListenerSet
    that it admits, and stands there once.

    ## Why

    A validation for a port where nobody listens protects nothing: mostly it is the port of the Service or a typing
    error, and the listener that was meant has the default, or no validation at all.

    ## What fails

    A port without an HTTPS listener, or one that is there twice: low.

    ## What is inconclusive

    A Gateway that admits ListenerSets (`spec.allowedListeners`) where those were not seen.

    ## Example that fails

    ```yaml
    apiVersion: gateway.networking.k8s.io/v1
    kind: Gateway
    metadata: {name: edge, namespace: shop}
    spec:
      gatewayClassName: example
      listeners:
      - {name: https, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: edge-tls}]}}
      tls:
        frontend:
          default: {}
          perPort:
          - port: 8443
            tls: {validation: {caCertificateRefs: [{group: "", kind: ConfigMap, name: partners}]}}
    ```

    ## Example that passes

    ```yaml
    apiVersion: gateway.networking.k8s.io/v1
    kind: Gateway
    metadata: {name: edge, namespace: shop}
    spec:
      gatewayClassName: example
      listeners:
      - {name: https, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: edge-tls}]}}
      tls:
        frontend:
          default: {}
          perPort:
          - port: 443
            tls: {validation: {caCertificateRefs: [{group: "", kind: ConfigMap, name: partners}]}}
    ```

    ## How to fix

    Set the port to that of the listener, or remove the entry.
    """
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
    """Clients of TLS listeners are not believed to be validated.

    ## What it requires

    A Gateway that validates client certificates has no listener of protocol `TLS` that terminates on a port to which
    the validation applies.

    ## Why

    `spec.tls.frontend` is for HTTPS listeners. One of protocol `TLS` on the same Gateway ends TLS too and asks no
    client for a certificate, though the default reads as if it held for all.

    ## What fails

    Such a listener: medium.

    ## What is inconclusive

    A Gateway that admits ListenerSets (`spec.allowedListeners`) where those were not seen.

    ## Example that fails

    ```yaml
    apiVersion: gateway.networking.k8s.io/v1
    kind: Gateway
    metadata: {name: edge, namespace: shop}
    spec:
      gatewayClassName: example
      listeners:
      - {name: db, port: 5432, protocol: TLS, tls: {mode: Terminate, certificateRefs: [{name: edge-tls}]}}
      tls:
        frontend:
          default:
            validation:
              caCertificateRefs: [{group: "", kind: ConfigMap, name: clients}]
    ```

    ## Example that passes

    ```yaml
    apiVersion: gateway.networking.k8s.io/v1
    kind: Gateway
    metadata: {name: edge, namespace: shop}
    spec:
      gatewayClassName: example
      listeners:
      - {name: https, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: edge-tls}]}}
      - {name: db, port: 5432, protocol: TLS, tls: {mode: Passthrough}}
      tls:
        frontend:
          default:
            validation:
              caCertificateRefs: [{group: "", kind: ConfigMap, name: clients}]
    ```

    ## How to fix

    Let TLS pass through to a backend that validates its clients, or put the listener on a Gateway of its own.
    """
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
    title="No port is left out of the validation of client certificates",
    severity="high",
    subjects=(GATEWAY,),
    check=check_exempted,
    references=("Gateway API apis/v1/gateway_types.go (FrontendTLSConfig.perPort)",),
)
UNUSED = ObjectRule(
    id="gateway-port-unused",
    title="Every port with a TLS configuration of its own has a listener",
    severity="low",
    subjects=(GATEWAY,),
    check=check_unused,
    reads=(*HOLDERS, NAMESPACE),
    references=("Gateway API apis/v1/gateway_types.go (TLSPortConfig)",),
)
TLS_LISTENER = ObjectRule(
    id="gateway-tls-not-validated",
    title="A Gateway that validates clients has no listener that does not",
    severity="medium",
    subjects=(GATEWAY,),
    check=check_tls_listeners,
    reads=(*HOLDERS, NAMESPACE),
    references=(
        "Gateway API apis/v1/gateway_types.go (FrontendTLSConfig: HTTPS traffic)",
        "GEP-91, Client Certificate Validation for TLS terminating at the Gateway",
    ),
)
