"""What metric families are made of."""

from __future__ import annotations

from collections.abc import Iterable

from prometheus_client.core import GaugeMetricFamily

from scanner.model.inventory import moment

Sample = tuple[tuple[str, ...], float]
"""Values of the labels, in the order of their names; and the value."""

LONGEST = 200
"""Characters of one label's value."""


def family(name: str, help_text: str, labels: tuple[str, ...], samples: Iterable[Sample]) -> GaugeMetricFamily:
    """A gauge with all its series."""
    made = GaugeMetricFamily(name, help_text, labels=labels)
    for values, value in samples:
        made.add_metric(values, value)
    return made


def single(name: str, help_text: str, value: float) -> GaugeMetricFamily:
    """A gauge with one series."""
    return family(name, help_text, (), [((), value)])


def seconds(text: str | None) -> float | None:
    """Seconds since 1970 of a row's timestamp; None where there is none, or a saved row says anything."""
    found = moment(text)
    return None if found is None else found.timestamp()


def label(text: str) -> str:
    """Text from outside as a label: printable ASCII, nothing that a log or a terminal would obey."""
    shown = text.encode("unicode_escape").decode()
    return shown if len(shown) <= LONGEST else f"{shown[: LONGEST - 3]}..."
