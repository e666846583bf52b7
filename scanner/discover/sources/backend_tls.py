"""BackendTLSPolicies: the gateway connects to a Service by TLS and verifies a name (gateway.networking.k8s.io)."""

from __future__ import annotations

from collections.abc import Iterator

from scanner.discover.balanced import READS, Service, ServicePort
from scanner.discover.claims import backend
from scanner.discover.draft import Found, Source
from scanner.discover.names import server_name
from scanner.discover.view import View
from scanner.kube.kinds import BACKEND_TLS_POLICY
from scanner.kube.objects import Fields
from scanner.model.endpoint import Origin

MAX_TARGETS = 32


def _find(view: View) -> Iterator[Found]:
    for policy in view.snapshot.every(BACKEND_TLS_POLICY):
        # v1alpha2 had one spec.targetRef, and the name in spec.tls.
        every = policy.each("spec", "targetRefs")
        targets = view.cuts.first(every, MAX_TARGETS, "targets of one BackendTLSPolicy", policy)
        targets = [*targets, policy.fields("spec", "targetRef")]
        name = policy.text("spec", "validation", "hostname") or policy.text("spec", "tls", "hostname")
        origin = Origin(role="policy", reference=policy.reference)
        for target in targets:
            service = view.balanced.get(policy.namespace or "", target.text("name"))
            if service and target.text("kind") == "Service":
                claim = backend(origin, server_name(name), policy.namespace)
                claim.naming = "only" if claim.name else "soft"
                claim.subject = policy
                for wanted in _ports(service, target):
                    yield from view.through(service, wanted, claim)


def _ports(service: Service, target: Fields) -> list[ServicePort]:
    """The one that ``sectionName`` names; without it all of them."""
    section = target.text("sectionName")
    return [each for each in service.ports if each.protocol == "TCP" and section in ("", each.name)]


SOURCE = Source(name="BackendTLSPolicies", reads=(BACKEND_TLS_POLICY, *READS), find=_find)
