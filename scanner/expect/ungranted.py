"""Certificates of other namespaces that an object names and that nobody has let it name: they are not to be served."""

from __future__ import annotations

from collections.abc import Iterator

from scanner.expect.facts import Facts
from scanner.expect.named import Named
from scanner.expect.references import references
from scanner.expect.stored import leaf_of, wants_secrets
from scanner.kube.maybe import Unknown
from scanner.model.endpoint import Endpoint
from scanner.model.expectation import Ungranted


def ungranted(facts: Facts, said: Named) -> tuple[Ungranted, ...]:
    """Each of them, with its certificate where that could be read."""
    asked = wants_secrets(facts.snapshot)
    return tuple(
        Ungranted(
            who=each.who,
            secret=f"Secret/{'/'.join(each.secret)}",
            leaf=leaf_of(facts.snapshot, each.secret),
            asked=asked,
            doubt=each.allowed.reason if isinstance(each.allowed, Unknown) else "",
        )
        for each in said.refused
    )


def beside(facts: Facts, endpoint: Endpoint) -> frozenset[str]:
    """What else may be shown at ``endpoint``'s place: a listener for more names may answer this one too."""
    return frozenset(_beside(facts, endpoint))


def _beside(facts: Facts, endpoint: Endpoint) -> Iterator[str]:
    for each in facts.listening.get((endpoint.address, endpoint.port), ()):
        for reference in references(facts, each) if each.segment != "Backend" else ():
            if reference.allowed is True:
                leaf = leaf_of(facts.snapshot, reference.secret)
                if not isinstance(leaf, Unknown):
                    yield leaf.sha256
