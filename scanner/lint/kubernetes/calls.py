"""What the API server calls by TLS: webhooks, conversions, aggregated APIs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Final

from scanner.files.source_positions import Steps
from scanner.kube.kinds import API_SERVICE, CUSTOM_RESOURCE_DEFINITION, MUTATING_WEBHOOK, VALIDATING_WEBHOOK, Kind
from scanner.kube.objects import Fields
from scanner.model.object_rule import Subject

CONVERSION: Final[tuple[str, ...]] = ("spec", "conversion", "webhook", "clientConfig")
_MOST: Final = 1000
"""Webhooks of one object."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call of the API server."""

    steps: Steps
    """Of what says where it goes."""
    client: Fields
    ignored: bool = False
    """Whether a request goes on without it when it fails."""

    @property
    def in_cluster(self) -> bool:
        """Whether it is to a Service's name, which no public CA signs."""
        return bool(self.client.fields("service").raw)


def _webhooks(subject: Subject) -> Iterator[Call]:
    for steps, each in islice(subject.items("webhooks"), _MOST):
        ignored = each.text("failurePolicy") == "Ignore"
        yield Call((*steps, "clientConfig"), each.fields("clientConfig"), ignored)


def _conversion(subject: Subject) -> Iterator[Call]:
    if subject.object.text("spec", "conversion", "strategy") == "Webhook":
        yield Call(CONVERSION, subject.object.fields(*CONVERSION))


def _aggregated(subject: Subject) -> Iterator[Call]:
    """Without a Service it is one of the API server's own."""
    spec = subject.object.fields("spec")
    if spec.fields("service").raw:
        yield Call(("spec",), spec)


CALLS: Final[Mapping[Kind, Callable[[Subject], Iterator[Call]]]] = {
    VALIDATING_WEBHOOK: _webhooks,
    MUTATING_WEBHOOK: _webhooks,
    CUSTOM_RESOURCE_DEFINITION: _conversion,
    API_SERVICE: _aggregated,
}
"""By kind, the calls that an object makes the API server do."""
