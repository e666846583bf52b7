"""Whether a scan of the demo's cluster says what it should: every listener has its story, and each story is told."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from scanner.demo.speakers import Speaker
from scanner.model.report import EndpointRow

Place = tuple[str, int, str | None]


def surprises(rows: Iterable[EndpointRow], speakers: Iterable[Speaker]) -> list[str]:
    """What is otherwise than its story, in words; each is a bug of ours.

    A row that belongs to no story may only be not applicable: a port that the catalogue thought possible.
    """
    by_place = {(each.address, each.port, each.server_name): each for each in speakers}
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


def _row(row: EndpointRow, speaker: Speaker | None) -> Iterator[str]:
    if speaker is None:
        if row["verdict"] != "not_applicable":
            yield f"{row['id']} is {row['verdict']} and in no story; this is a bug"
        return
    told = speaker.told
    failing = {finding["rule"] for finding in row["findings"] if finding["verdict"] == "fail"}
    wanted = (told.verdict, told.reach.value, told.status)
    got = (row["verdict"], row["reach"], row["status"])
    if wanted != got:
        yield f"{row['id']} should be {' '.join(wanted)} and is {' '.join(got)}; this is a bug"
    elif missing := set(told.breaks) - failing:
        yield f"{row['id']} should break {', '.join(sorted(missing))}; this is a bug"
