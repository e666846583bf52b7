"""Compare a scan of the demo's cluster with the outcome that each listener should have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from scanner.demo.listeners import ClusterListener
from scanner.model.report import EndpointRow

Place = tuple[str, int, str | None]


def unexpected(rows: Iterable[EndpointRow], listeners: Iterable[ClusterListener]) -> list[str]:
    """Return the differences, one line each; each is a bug of adhere.

    A row of no listener may only be not applicable: a port that the catalogue lists as possible.
    """
    by_place = {(each.address, each.port, each.server_name): each for each in listeners}
    met: set[Place] = set()
    wrong: list[str] = []
    for row in rows:
        place = (row["address"] or "", row["port"], row["server_name"])
        place = place if place in by_place else (*place[:2], None)
        met.add(place)
        wrong += _row(row, by_place.get(place))
    return wrong + [
        f"{each.whose} at {each.address}:{each.port} was not found; this is a bug"
        for place, each in by_place.items()
        if place not in met
    ]


def _row(row: EndpointRow, listener: ClusterListener | None) -> Iterator[str]:
    if listener is None:
        if row["verdict"] != "not_applicable":
            yield f"{row['id']} is {row['verdict']} and belongs to no listener of the demo; this is a bug"
        return
    outcome = listener.outcome
    failing = {finding["rule"] for finding in row["findings"] if finding["verdict"] == "fail"}
    expected = (outcome.verdict, outcome.reach.value, outcome.status)
    observed = (row["verdict"], row["reach"], row["status"])
    if expected != observed:
        yield f"{row['id']} should be {' '.join(expected)} and is {' '.join(observed)}; this is a bug"
    elif missing := set(outcome.breaks) - failing:
        yield f"{row['id']} should break {', '.join(sorted(missing))}; this is a bug"
