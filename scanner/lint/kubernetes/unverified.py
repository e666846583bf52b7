"""Clients in the cluster that verify no certificate."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from scanner.kube.kinds import API_SERVICE, POD_MONITOR, PROBE, SCRAPE_CONFIG, SERVICE_MONITOR, Kind
from scanner.kube.objects import Fields
from scanner.model.located import Steps
from scanner.model.object_rule import Flaw, ObjectRule, Subject

ENDPOINTS: Final[Mapping[Kind, str]] = {SERVICE_MONITOR: "endpoints", POD_MONITOR: "podMetricsEndpoints"}


def check_api_service(subject: Subject) -> Iterator[Flaw]:
    """The API server verifies aggregated APIs.

    ## What it requires

    That no APIService has `insecureSkipTLSVerify`.

    ## Why

    The API server forwards requests with the caller's identity in headers, and the answers are what users and
    controllers see. Without verification whoever answers at the Service's address is taken for the API.

    ## What fails

    `insecureSkipTLSVerify: true`: high. Beside a `caBundle` the API server refuses it.

    ## What is inconclusive

    Nothing: the field stands in the object.

    ## Example that fails

    ```yaml
    apiVersion: apiregistration.k8s.io/v1
    kind: APIService
    metadata: {name: v1beta1.metrics.k8s.io}
    spec: {insecureSkipTLSVerify: true, service: {name: metrics-server, namespace: kube-system}}
    ```

    ## Example that passes

    ```yaml
    apiVersion: apiregistration.k8s.io/v1
    kind: APIService
    metadata: {name: v1beta1.metrics.k8s.io}
    spec: {caBundle: "CERTIFICATE(metrics-server.kube-system.svc)", service: {name: metrics-server}}
    ```

    ## How to fix

    Put the CA of what the Service serves into `caBundle`, or have it filled by an annotation.
    """
    spec = subject.object.fields("spec")
    if spec.flag("insecureSkipTLSVerify"):
        refused = "; the API server refuses it beside caBundle: may not be true if caBundle is present"
        yield Flaw(
            message=f"the API server takes any certificate{refused if spec.at('caBundle') else ''}",
            at=("spec", "insecureSkipTLSVerify"),
            fix=f"{subject.object.reference}: leave it out, and give caBundle",
            correction="insecureSkipTLSVerify: false\ncaBundle: <base64 of the CA's certificate in PEM>",
        )


API = ObjectRule(
    id="api-service-unverified",
    title="The API server verifies aggregated APIs",
    severity="high",
    subjects=(API_SERVICE,),
    check=check_api_service,
    references=("apiregistration.k8s.io/v1 APIServiceSpec insecureSkipTLSVerify",),
)


def configurations(subject: Subject) -> Iterator[tuple[Steps, Fields]]:
    """Each endpoint of a ServiceMonitor or PodMonitor; of a Probe or ScrapeConfig, its spec."""
    field = ENDPOINTS.get(subject.object.kind)
    if field is None:
        yield ("spec",), subject.object.fields("spec")
    else:
        yield from subject.items("spec", field)


def check_monitor(subject: Subject) -> Iterator[Flaw]:
    """Prometheus verifies what it scrapes.

    ## What it requires

    That no `tlsConfig` of a ServiceMonitor, PodMonitor, Probe or ScrapeConfig has `insecureSkipVerify`.

    ## Why

    Prometheus sends the token of its service account with many scrapes. Without verification it sends it to whoever
    answers, and believes their numbers.

    ## What fails

    `insecureSkipVerify: true`: medium.

    ## What is inconclusive

    Nothing: the field stands in the object.

    ## Example that fails

    ```yaml
    apiVersion: monitoring.coreos.com/v1
    kind: ServiceMonitor
    metadata: {name: shop, namespace: shop}
    spec:
      endpoints: [{port: metrics, scheme: https, tlsConfig: {insecureSkipVerify: true}}]
    ```

    ## Example that passes

    ```yaml
    apiVersion: monitoring.coreos.com/v1
    kind: ServiceMonitor
    metadata: {name: shop, namespace: shop}
    spec:
      endpoints:
      - {port: metrics, scheme: https, tlsConfig: {serverName: shop.shop.svc, ca: {configMap: {name: ca, key: ca.crt}}}}
    ```

    ## How to fix

    Give `ca` (or `caFile`) and `serverName` in `tlsConfig`; on OpenShift the service CA's, which Prometheus has.
    """
    for steps, each in configurations(subject):
        if each.flag("tlsConfig", "insecureSkipVerify"):
            yield Flaw(
                message="Prometheus takes any certificate",
                at=(*steps, "tlsConfig", "insecureSkipVerify"),
                fix=f"{subject.object.reference}: leave it out, and give ca and serverName",
                correction="tlsConfig:\n  serverName: <service>.<namespace>.svc\n"
                "  ca: {configMap: {name: <name>, key: <key>}}",
            )


MONITOR = ObjectRule(
    id="monitor-unverified",
    title="Prometheus verifies what it scrapes",
    severity="medium",
    subjects=(SERVICE_MONITOR, POD_MONITOR, PROBE, SCRAPE_CONFIG),
    check=check_monitor,
    references=("monitoring.coreos.com/v1 SafeTLSConfig insecureSkipVerify",),
)
