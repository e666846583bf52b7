"""Clients in the cluster that verify no certificate."""

from __future__ import annotations

from collections.abc import Iterator

from scanner.kube.kinds import API_SERVICE, POD_MONITOR, PROBE, SCRAPE_CONFIG, SERVICE_MONITOR
from scanner.kube.service_callers import APIService, Monitor
from scanner.model.object_rule import Flaw, ObjectRule, Subject


def check_api_service(subject: Subject) -> Iterator[Flaw]:
    """The API server verifies aggregated APIs."""
    client = APIService.of(subject.object).client_config
    if client.insecure_skip_tls_verify:
        refused = "; the API server refuses it beside caBundle: may not be true if caBundle is present"
        yield Flaw(
            message=f"the API server takes any certificate{refused if client.ca_bundle else ''}",
            at=("spec", "insecureSkipTLSVerify"),
            fix=f"{subject.object.reference}: leave it out, and give caBundle",
            correction="insecureSkipTLSVerify: false\ncaBundle: <base64 of the CA's certificate in PEM>",
        )


API = ObjectRule(id="api-service-unverified", subjects=(API_SERVICE,), check=check_api_service)


def check_monitor(subject: Subject) -> Iterator[Flaw]:
    """Prometheus verifies what it scrapes."""
    for each in Monitor.of(subject.object).scrapes:
        if each.tls_config.insecure_skip_verify:
            yield Flaw(
                message="Prometheus takes any certificate",
                at=(*each.tls_config.steps, "insecureSkipVerify"),
                fix=f"{subject.object.reference}: leave it out, and give ca and serverName",
                correction="tlsConfig:\n  serverName: <service>.<namespace>.svc\n"
                "  ca: {configMap: {name: <name>, key: <key>}}",
            )


MONITOR = ObjectRule(
    id="monitor-unverified",
    subjects=(SERVICE_MONITOR, POD_MONITOR, PROBE, SCRAPE_CONFIG),
    check=check_monitor,
)
