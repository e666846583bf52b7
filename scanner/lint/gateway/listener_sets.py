"""ListenerSets: whether their Gateway takes them, and what they take from it (GEP-1713)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from scanner.kube.kinds import GATEWAY, NAMESPACE
from scanner.lint.gateway.listeners import HOLDERS, SETS, admits, is_gateway, parent_of
from scanner.lint.gateway.sharing import pairs_of, uncompared
from scanner.lint.references import look_up
from scanner.model.declared import Missing
from scanner.model.hostnames import overlap
from scanner.model.located import shown
from scanner.model.object_rule import Flaw, ObjectRule, Subject, undecided

_PARENT: Final = ("spec", "parentRef")


def check_admitted(subject: Subject) -> Iterator[Flaw]:
    """A ListenerSet is admitted by its Gateway.

    ## What it requires

    The Gateway in `parentRef` exists, and its `spec.allowedListeners.namespaces` takes the ListenerSet's namespace. The
    default is `None`: no ListenerSet at all.

    ## Why

    Without it the ListenerSet gets `Accepted` False with the reason `NotAllowed`, and its listeners, with their
    certificates, do not exist. An implementation that takes it all the same lets every namespace open ports.

    ## What fails

    A Gateway that does not exist, or does not take it, and a parent that is no Gateway: medium.

    ## What is inconclusive

    A Gateway that was not seen, or a Namespace where its labels decide.

    ## Example that fails

    ```yaml
    apiVersion: gateway.networking.k8s.io/v1
    kind: ListenerSet
    metadata: {name: team, namespace: team}
    spec:
      parentRef: {name: edge, namespace: shop}
      listeners:
      - {name: https, port: 443, protocol: HTTPS, hostname: team.example, tls: {certificateRefs: [{name: team}]}}
    ---
    apiVersion: gateway.networking.k8s.io/v1
    kind: Gateway
    metadata: {name: edge, namespace: shop}
    spec:
      gatewayClassName: example
      allowedListeners: {namespaces: {from: Same}}
      listeners:
      - {name: http, port: 80, protocol: HTTP}
    ```

    ## Example that passes

    ```yaml
    apiVersion: gateway.networking.k8s.io/v1
    kind: ListenerSet
    metadata: {name: team, namespace: team}
    spec:
      parentRef: {name: edge, namespace: shop}
      listeners:
      - {name: https, port: 443, protocol: HTTPS, hostname: team.example, tls: {certificateRefs: [{name: team}]}}
    ---
    apiVersion: gateway.networking.k8s.io/v1
    kind: Gateway
    metadata: {name: edge, namespace: shop}
    spec:
      gatewayClassName: example
      allowedListeners:
        namespaces: {from: Selector, selector: {matchLabels: {kubernetes.io/metadata.name: team}}}
      listeners:
      - {name: http, port: 80, protocol: HTTP}
    ---
    apiVersion: v1
    kind: Namespace
    metadata: {name: team}
    ```

    ## How to fix

    Let who owns the Gateway select the namespace in `spec.allowedListeners`.
    """
    parent = subject.object.fields(*_PARENT)
    if not is_gateway(parent):
        named = "/".join(filter(None, (parent.text("group"), parent.text("kind"))))
        yield Flaw(
            message=f"its parent must be a Gateway, not {shown(named)}: nobody takes its listeners",
            at=_PARENT,
            fix=f"{subject.object.reference}: leave group and kind out",
        )
        return
    namespace, name = parent_of(subject.object)
    if not name:
        return  # the API server refuses it: ``field-value``
    gateway = look_up(subject.declared, GATEWAY, name, namespace)
    if isinstance(gateway, Missing):
        if gateway.gap:
            yield undecided(gateway, _PARENT, "whether its Gateway takes it")
        else:
            yield Flaw(
                message=f"{gateway.name} does not exist",
                at=_PARENT,
                fix=f"{subject.object.reference}: the Gateway's name and namespace",
            )
        return
    answer = admits(subject.declared, gateway, subject.object)
    if answer is None:
        missing = Missing(name=f"Namespace/{subject.object.namespace}", gap="its labels decide")
        yield undecided(missing, _PARENT, "whether its Gateway takes it")
    elif not answer:
        yield Flaw(
            message=f"{gateway.reference} takes no ListenerSets of this namespace: NotAllowed",
            at=_PARENT,
            fix=f"{gateway.reference}: spec.allowedListeners.namespaces",
        )


def check_capture(subject: Subject) -> Iterator[Flaw]:
    """A ListenerSet takes no names from listeners of another namespace.

    ## What it requires

    No listener of a ListenerSet has, on the same port, a hostname in common with a listener of the Gateway or of a
    ListenerSet before it that is in another namespace.

    ## Why

    The more specific hostname wins. Who may create a ListenerSet in a namespace that the Gateway takes can so take
    `pay.shop.example` out of the Gateway's `*.shop.example`, and answer for it with a certificate of their own.

    ## What fails

    Such a hostname: info. Delegation is what ListenerSets are for, and the Gateway selects the namespaces.

    ## What is inconclusive

    A Gateway that was not seen. More than 256 listeners of one Gateway: later ones are not compared.

    ## Example that fails

    ```yaml
    apiVersion: gateway.networking.k8s.io/v1
    kind: ListenerSet
    metadata: {name: team, namespace: team}
    spec:
      parentRef: {name: edge, namespace: shop}
      listeners:
      - {name: https, port: 443, protocol: HTTPS, hostname: pay.shop.example, tls: {certificateRefs: [{name: team}]}}
    ---
    apiVersion: gateway.networking.k8s.io/v1
    kind: Gateway
    metadata: {name: edge, namespace: shop}
    spec:
      gatewayClassName: example
      allowedListeners: {namespaces: {from: All}}
      listeners:
      - {name: https, port: 443, protocol: HTTPS, hostname: "*.shop.example", tls: {certificateRefs: [{name: shop}]}}
    ```

    ## Example that passes

    ```yaml
    apiVersion: gateway.networking.k8s.io/v1
    kind: ListenerSet
    metadata: {name: team, namespace: team}
    spec:
      parentRef: {name: edge, namespace: shop}
      listeners:
      - {name: https, port: 443, protocol: HTTPS, hostname: team.example, tls: {certificateRefs: [{name: team}]}}
    ---
    apiVersion: gateway.networking.k8s.io/v1
    kind: Gateway
    metadata: {name: edge, namespace: shop}
    spec:
      gatewayClassName: example
      allowedListeners: {namespaces: {from: All}}
      listeners:
      - {name: https, port: 443, protocol: HTTPS, hostname: "*.shop.example", tls: {certificateRefs: [{name: shop}]}}
    ```

    ## How to fix

    Choose a hostname that is not the Gateway's, or let the Gateway take ListenerSets of trusted namespaces only.
    """
    namespace, name = parent_of(subject.object)
    if not name:
        return  # the API server refuses it: ``field-value``
    gateway = look_up(subject.declared, GATEWAY, name, namespace)
    if name and isinstance(gateway, Missing) and gateway.gap:
        yield undecided(gateway, _PARENT, "whether it takes names from its Gateway")
    for first, later in pairs_of(subject):
        if later.holder is not subject.object or first.holder.namespace == later.holder.namespace:
            continue
        if overlap(first.hostname, later.hostname):
            yield Flaw(
                message=f"its hostname is within that of {first}, in another namespace",
                at=(*later.steps, "hostname"),
                observed=(later.hostname or "every name", first.hostname or "every name"),
                fix=f"{subject.object.reference}: another hostname, or {first.holder.reference}: allowedListeners",
            )
    yield from uncompared(subject)


ADMITTED = ObjectRule(
    id="listener-set-admitted",
    title="ListenerSets are admitted by their Gateway",
    severity="medium",
    subjects=SETS,
    check=check_admitted,
    reads=(GATEWAY, NAMESPACE),
    references=("Gateway API apis/v1/gateway_types.go (AllowedListeners)", "GEP-1713, ListenerSets"),
)
CAPTURE = ObjectRule(
    id="listener-set-capture",
    title="ListenerSets take no names from other namespaces",
    severity="info",
    subjects=SETS,
    check=check_capture,
    reads=(*HOLDERS, NAMESPACE),
    references=("Gateway API apis/v1/listenerset_types.go (ListenerSetSpec)", "GEP-1713, ListenerSets"),
)
