"""Certificates that a listener served, as they are held there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from scanner.kube.maybe import Unknown
from scanner.model.endpoint import Endpoint
from scanner.model.held_certificate import HeldCertificate, Place, Role
from scanner.model.observation import Observation
from scanner.tls.certificate import CertificateFacts

_NOTHING: Mapping[str, str] = {}


def served(
    endpoint: Endpoint, observation: Observation, given: Mapping[str, str] = _NOTHING
) -> Iterator[HeldCertificate]:
    """Every certificate of every chain that the listener sent, each once. ``given``: by the SHA-256 of what
    somebody gave, who did."""
    first = () if isinstance(observation.chain, Unknown) else observation.chain
    seen: set[str] = set()
    for chain in (first, *observation.other_chains):
        for number, facts in enumerate(chain):
            if facts.sha256 not in seen:
                seen.add(facts.sha256)
                place = _place(endpoint, "issuer" if number else "leaf", given.get(facts.sha256))
                yield HeldCertificate(facts=facts, place=place, chain=_behind(chain, number))


def _behind(chain: tuple[CertificateFacts, ...], number: int) -> tuple[CertificateFacts, ...]:
    return chain[number + 1 :] if number == 0 else ()


def _place(endpoint: Endpoint, role: Role, given: str | None) -> Place:
    return Place(
        role=role,
        endpoint=endpoint.id,
        port=endpoint.port,
        component=endpoint.component,
        user_provided=given,
    )
