"""Monitors whose scheme contradicts their own settings, or what else is said of the port."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

from scanner.lint.kubernetes.ports import (
    MOST,
    READS,
    Claim,
    labelled_pods,
    labelled_services,
    named_ports,
    of_pod,
    of_port,
    selected,
)
from scanner.lint.kubernetes.unverified import configurations
from scanner.model.kinds import POD_MONITOR, PROBE, SERVICE_MONITOR
from scanner.model.located import Steps
from scanner.model.object_rule import Flaw, ObjectRule, Subject
from scanner.model.objects import Fields

_RELABELINGS: Final = ("relabelings", "relabelConfigs")
_SCHEME: Final = "__scheme__"


def check_monitor(subject: Subject) -> Iterator[Flaw]:
    """A monitor speaks what is spoken on its port.

    ## What it requires

    That an endpoint of a ServiceMonitor or PodMonitor, or a Probe's prober, with a `tlsConfig` has the scheme `https`;
    and that the scheme of an endpoint (http where it says none) is that of the `appProtocol` and names of the port in
    the Services that a ServiceMonitor selects, or of the probes and names of the port of the pods that a PodMonitor
    selects. An endpoint whose relabeling sets `__scheme__` is not judged.

    ## Why

    Without `scheme: https` a `tlsConfig` does nothing: metrics, and the token that Prometheus sends along, go in plain
    text. A scheme that the port does not speak scrapes nothing, and nobody is told but by an alert on a target that is
    down.

    ## What fails

    A `tlsConfig` without HTTPS, and a scheme that an `appProtocol` or a probe contradicts: medium. One that only a name
    contradicts: low.

    ## What is inconclusive

    Nothing. It is told among the objects that are known; what the port really speaks, a scan tells. Selectors without
    `matchLabels`, and `namespaceSelector.any` beyond the monitor's own namespace, are not followed.

    ## Example that fails

    ```yaml
    apiVersion: monitoring.coreos.com/v1
    kind: ServiceMonitor
    metadata: {name: shop, namespace: shop}
    spec:
      selector: {matchLabels: {app: shop}}
      endpoints: [{port: metrics, tlsConfig: {serverName: shop.shop.svc}}]
    ```

    ## Example that passes

    ```yaml
    apiVersion: monitoring.coreos.com/v1
    kind: ServiceMonitor
    metadata: {name: shop, namespace: shop}
    spec:
      selector: {matchLabels: {app: shop}}
      endpoints: [{port: metrics, scheme: https, tlsConfig: {serverName: shop.shop.svc}}]
    ---
    apiVersion: v1
    kind: Service
    metadata: {name: shop, namespace: shop, labels: {app: shop}}
    spec: {ports: [{name: metrics, port: 8443, appProtocol: https}]}
    ```

    ## How to fix

    Set the scheme, or correct what contradicts it.
    """
    for steps, each in configurations(subject):
        place: Steps = (*steps, "prober") if subject.object.kind == PROBE else steps
        said = each.text("prober", "scheme") if subject.object.kind == PROBE else each.text("scheme")
        if _relabelled(each):
            continue
        tls = said.lower() == "https"
        if each.fields("tlsConfig").raw and not tls:
            yield Flaw(
                message="tlsConfig has no effect: the scheme is http",
                at=(*steps, "tlsConfig"),
                expected=("https",),
                observed=(said or "no scheme",),
                fix=f"{subject.object.reference}: set the scheme to https",
                correction="scheme: https",
            )
        elif subject.object.kind != PROBE:
            yield from _contradicted(subject, place, each, tls=tls)


def _relabelled(endpoint: Fields) -> bool:
    return any(each.text("targetLabel") == _SCHEME for name in _RELABELINGS for each in endpoint.each(name))


def _contradicted(subject: Subject, steps: Steps, endpoint: Fields, *, tls: bool) -> Iterator[Flaw]:
    find = _of_services if subject.object.kind == SERVICE_MONITOR else _of_pods
    others = list(islice((each for each in find(subject, endpoint) if each.tls != tls), MOST))
    if others:
        scheme, other = ("https", "http") if tls else ("http", "https")
        yield Flaw(
            message=f"the scheme is {scheme}, and others say {other} of the port",
            at=(*steps, "scheme"),
            severity=None if any(each.certain for each in others) else "low",
            expected=(other,),
            observed=(scheme,),
            evidence=tuple(each.what for each in others[:10]),
            fix=f"{subject.object.reference}: set the scheme, or correct what contradicts it",
            correction=f"scheme: {other}",
        )


def _namespaces(subject: Subject) -> tuple[str | None, ...]:
    """Those in which it selects; ``any`` would be all that there are, and only its own is followed."""
    return subject.object.texts("spec", "namespaceSelector", "matchNames")[:MOST] or (subject.object.namespace,)


def _of_services(subject: Subject, endpoint: Fields) -> Iterator[Claim]:
    index = subject.declared.once(labelled_services)
    chosen = selected(index, _namespaces(subject), subject.object.fields("spec", "selector"))
    for service in islice(chosen, MOST):
        for port in islice(service.each("spec", "ports"), MOST):
            if endpoint.text("port") and port.text("name") == endpoint.text("port"):
                yield from of_port(service, port)


def _of_pods(subject: Subject, endpoint: Fields) -> Iterator[Claim]:
    index = subject.declared.once(labelled_pods)
    chosen = selected(index, _namespaces(subject), subject.object.fields("spec", "selector"))
    for workload in islice(chosen, MOST):
        number = endpoint.number("portNumber") or named_ports(workload).get(endpoint.text("port"))
        if number is not None:
            yield from of_pod(subject.declared, workload).get(number, ())


MONITOR_SCHEME = ObjectRule(
    id="monitor-scheme",
    title="A monitor speaks what is spoken on its port",
    severity="medium",
    subjects=(SERVICE_MONITOR, POD_MONITOR, PROBE),
    reads=READS,
    check=check_monitor,
    references=(
        "monitoring.coreos.com/v1 Endpoint scheme, tlsConfig",
        "monitoring.coreos.com/v1 PodMetricsEndpoint scheme",
    ),
)
