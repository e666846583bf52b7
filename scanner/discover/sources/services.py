"""Services: each TCP port leads to its backends."""

from __future__ import annotations

from collections.abc import Iterator

from scanner.discover import hints
from scanner.discover.balanced import READS, Service, ServicePort
from scanner.discover.draft import Claim, Found, Omission, Source
from scanner.discover.view import View
from scanner.model.endpoint import Origin


def _find(view: View) -> Iterator[Found]:
    for service in view.balanced.services.values():
        if service.raw.is_external_name:
            yield Omission("Services that are only another name (ExternalName)")
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


SOURCE = Source(name="Services", reads=READS, find=_find)
