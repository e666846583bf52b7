"""OpenShift's service CA: a Service that asks for a serving certificate means to serve TLS.

Service annotation ``service.beta.openshift.io/serving-cert-secret-name`` (openshift/service-ca-operator).
"""

from __future__ import annotations

from collections.abc import Iterator

from scanner.discover import hints
from scanner.discover.balanced import READS, Service, ServicePort
from scanner.discover.draft import Claim, Found, Source
from scanner.discover.view import View
from scanner.kube.secrets import service_ca_secret
from scanner.model.endpoint import Origin


def _find(view: View) -> Iterator[Found]:
    for service in view.balanced.services.values():
        if service_ca_secret(service.raw):
            ports = [
                each for each in service.ports if each.protocol == "TCP" and not hints.is_plain(each.number, each.name)
            ]
            for wanted in ports:
                yield from view.through(service, wanted, _claim(service, wanted, alone=len(ports) == 1))


def _claim(service: Service, wanted: ServicePort, *, alone: bool) -> Claim:
    """The annotation does not say for which port the certificate is, and a plaintext port may be among them. If there
    is TLS, this is the name for it."""
    hinted = hints.certainty(wanted.number, wanted.name, wanted.app_protocol) == "hinted"
    origin = Origin(role="service-ca", reference=service.raw.reference)
    return Claim(certainty="declared" if alone or hinted else "candidate", origin=origin, name=service.dns)


SOURCE = Source(name="service-ca annotations", reads=READS, find=_find)
