"""Clients in the cluster that verify no certificate."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from scanner.files.source_positions import Steps
from scanner.kube.kinds import API_SERVICE, POD_MONITOR, PROBE, SCRAPE_CONFIG, SERVICE_MONITOR, Kind
from scanner.kube.objects import Fields
from scanner.model.object_rule import Flaw, ObjectRule, Subject

ENDPOINTS: Final[Mapping[Kind, str]] = {SERVICE_MONITOR: "endpoints", POD_MONITOR: "podMetricsEndpoints"}


def check_api_service(subject: Subject) -> Iterator[Flaw]:
    """The API server verifies aggregated APIs."""
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
    subjects=(API_SERVICE,),
    check=check_api_service,
)


def configurations(subject: Subject) -> Iterator[tuple[Steps, Fields]]:
    """Each endpoint of a ServiceMonitor or PodMonitor; of a Probe or ScrapeConfig, its spec."""
    field = ENDPOINTS.get(subject.object.kind)
    if field is None:
        yield ("spec",), subject.object.fields("spec")
    else:
        yield from subject.items("spec", field)


def check_monitor(subject: Subject) -> Iterator[Flaw]:
    """Prometheus verifies what it scrapes."""
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
    subjects=(SERVICE_MONITOR, POD_MONITOR, PROBE, SCRAPE_CONFIG),
    check=check_monitor,
)
