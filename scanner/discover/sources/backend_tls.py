"""BackendTLSPolicies: the gateway connects to a Service by TLS and verifies a name (gateway.networking.k8s.io)."""

from __future__ import annotations

from collections.abc import Iterator

from scanner.discover.balanced import READS, Service, ServicePort
from scanner.discover.claims import backend
from scanner.discover.draft import Found, Source
from scanner.discover.names import server_name
from scanner.discover.view import View
from scanner.kube.backend_tls import MAX_TARGETS, BackendTLSPolicy, Target
from scanner.kube.kinds import BACKEND_TLS_POLICY
from scanner.model.endpoint import Origin


def _find(view: View) -> Iterator[Found]:
    for policy in map(BackendTLSPolicy.of, view.snapshot.every(BACKEND_TLS_POLICY)):
        origin = Origin(role="policy", reference=policy.reference)
        targets = view.cuts.first(list(policy.every_target), MAX_TARGETS, "targets of one BackendTLSPolicy", policy)
        for target in targets:
            service = view.balanced.get(policy.namespace or "", target.name)
            if service and target.is_service:
                claim = backend(origin, server_name(policy.validation.hostname), policy.namespace)
                claim.naming = "only" if claim.name else "soft"
                claim.subject = policy
                for wanted in _ports(service, target):
                    yield from view.through(service, wanted, claim)


def _ports(service: Service, target: Target) -> list[ServicePort]:
    """The one that ``sectionName`` names; without it all of them."""
    return [each for each in service.ports if each.protocol == "TCP" and target.section_name in ("", each.name)]


SOURCE = Source(name="BackendTLSPolicies", reads=(BACKEND_TLS_POLICY, *READS), find=_find)
