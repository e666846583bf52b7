"""OpenShift's service CA: a Service that asks for a serving certificate means to serve TLS.

Service annotation ``service.beta.openshift.io/serving-cert-secret-name`` (openshift/service-ca-operator).
"""

from __future__ import annotations

from collections.abc import Iterator

from scanner.discover import hints
from scanner.discover.balanced import READS, Service, ServicePort
from scanner.discover.draft import Claim, Found, Source
from scanner.discover.view import View

ANNOTATIONS = (
    "service.beta.openshift.io/serving-cert-secret-name",
    "service.alpha.openshift.io/serving-cert-secret-name",
)


def _find(view: View) -> Iterator[Found]:
    for service in view.balanced.services.values():
        if any(service.raw.text("metadata", "annotations", each) for each in ANNOTATIONS):
            for wanted in _meant(service):
                yield from view.through(service, wanted, _claim(service))


def _meant(service: Service) -> list[ServicePort]:
    """The ports for which the certificate is: the annotation does not say, and a plaintext port may be among them."""
    ports = [each for each in service.ports if each.protocol == "TCP"]
    if len(ports) == 1:
        return ports
    return [each for each in ports if hints.certainty(each.number, each.name, each.app_protocol) == "hinted"]


def _claim(service: Service) -> Claim:
    origin = f"Service/{service.namespace}/{service.name} service-ca annotation"
    return Claim(certainty="declared", origin=origin, name=service.dns)


SOURCE = Source(name="service-ca annotations", reads=READS, find=_find)
