"""Claims: the same words for the same thing in every source."""

from __future__ import annotations

from scanner.discover.balanced import Service
from scanner.discover.draft import Claim
from scanner.kube.objects import KubeObject
from scanner.model.endpoint import Origin


def verified(origin: Origin, service: Service, subject: KubeObject | None = None) -> Claim:
    """TLS that a client of a Service verifies under the Service's name: ``only`` that name is asked."""
    return Claim(certainty="declared", origin=origin, name=service.dns, naming="only", subject=subject)


def frontend(origin: Origin, name: str, subject: KubeObject) -> Claim:
    """A name that a router or gateway serves for ``subject``, beside what it serves otherwise."""
    return Claim(
        certainty="declared",
        origin=origin,
        name=name,
        naming="also",
        segment="Frontend",
        subject=subject,
        writer=subject.namespace,
        beyond="fronts",
    )


def backend(origin: Origin, name: str | None, writer: str | None) -> Claim:
    """What a router or gateway connects to by TLS, or passes TLS on to, as an object of ``writer`` says."""
    return Claim(certainty="declared", origin=origin, name=name, segment="Backend", writer=writer)
