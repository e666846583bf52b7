"""Services: each TCP port leads to its backends, and one that asks OpenShift's service CA for a certificate serves TLS.

Service annotation ``service.beta.openshift.io/serving-cert-secret-name`` (openshift/service-ca-operator)."""

from __future__ import annotations

from collections.abc import Iterator

from scanner.discover import hints
from scanner.discover.index import Index, Source
from scanner.discover.listener_claims import Claim, Found
from scanner.discover.services import READS, Service, ServicePort
from scanner.discover.truncation import Omission
from scanner.kube.secrets import service_ca_secret
from scanner.model.endpoint import Origin


def _find(view: Index) -> Iterator[Found]:
    for service in view.balanced.services.values():
        if service.raw.is_external_name:
            yield Omission("Services of type ExternalName")
            continue
        for wanted in service.ports:
            if wanted.protocol == "TCP":
                yield from view.through(service, wanted, _claim(service, wanted))
            else:
                yield Omission(f"{wanted.protocol if wanted.protocol in ('UDP', 'SCTP') else 'other'} ports")


def _claim(service: Service, wanted: ServicePort) -> Claim:
    # A target port's number says as much as the Service's own: 443 leads to 8080 where TLS ends before it.
    number = wanted.target if isinstance(wanted.target, int) else wanted.number
    return Claim(
        certainty=hints.certainty(number, wanted.name, wanted.app_protocol),
        origin=Origin(role="port", reference=service.raw.reference, part=wanted.name or str(wanted.number)),
        app_protocol=wanted.app_protocol,
    )


PORTS = Source(name="Services", reads=READS, find=_find)


def _find_annotated(view: Index) -> Iterator[Found]:
    for service in view.balanced.services.values():
        if service_ca_secret(service.raw):
            ports = [
                each for each in service.ports if each.protocol == "TCP" and not hints.is_plain(each.number, each.name)
            ]
            for wanted in ports:
                yield from view.through(service, wanted, _claim_of_name(service, wanted, alone=len(ports) == 1))


def _claim_of_name(service: Service, wanted: ServicePort, *, alone: bool) -> Claim:
    """The annotation does not say for which port the certificate is, and a plaintext port may be among them. If there
    is TLS, this is the name for it."""
    hinted = hints.certainty(wanted.number, wanted.name, wanted.app_protocol) == "hinted"
    origin = Origin(role="service-ca", reference=service.raw.reference)
    return Claim(certainty="declared" if alone or hinted else "candidate", origin=origin, name=service.dns)


ANNOTATED = Source(name="service-ca annotations", reads=READS, find=_find_annotated)
