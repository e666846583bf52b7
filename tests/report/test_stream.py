"""The row file keeps what is finished and forgives only a last line that is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from scanner.errors import InputError, ResourceError
from scanner.model.report import EndpointRow
from scanner.report.rows import endpoint_row
from scanner.report.stream import RowFile, dumps, read_rows, row_text
from tests.report import samples


@pytest.fixture
def rows() -> list[EndpointRow]:
    """All but the hostile one, whose lone surrogates become U+FFFD on the way."""
    return [endpoint_row(*part) for part in samples.parts() if "hostile" not in part[0].id]


def test_rows_come_back_as_often_as_one_likes(tmp_path: Path, rows: list[EndpointRow]) -> None:
    with RowFile(tmp_path / "rows.jsonl") as kept:
        for row in rows:
            kept.append(row)
        assert list(kept.rows()) == rows
    assert list(kept.rows()) == rows


def test_every_row_is_on_disk_at_once(tmp_path: Path, rows: list[EndpointRow]) -> None:
    with RowFile(tmp_path / "rows.jsonl") as kept:
        for count, row in enumerate(rows, start=1):
            kept.append(row)
            assert len(kept.path.read_bytes().splitlines()) == count


@pytest.mark.parametrize("part", tuple(samples.parts()), ids=lambda part: part[0].id)
def test_the_lists_that_are_filled_in_afterwards_change_nothing(part: samples.Parts) -> None:
    row = endpoint_row(*part)
    row["origins"].append('"refused":[]')
    assert row_text(row) == dumps(row)


def test_a_row_that_was_cut_off_was_never_finished(tmp_path: Path, rows: list[EndpointRow]) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes((dumps(rows[0]) + "\n" + dumps(rows[1])[:-7]).encode())
    assert list(read_rows(path)) == rows[:1]


def test_hostile_text_keeps_to_its_line(tmp_path: Path) -> None:
    hostile = next(endpoint_row(*part) for part in samples.parts() if "hostile" in part[0].id)
    with RowFile(tmp_path / "rows.jsonl") as kept:
        kept.append(hostile)
        (back,) = kept.rows()
    assert back["observed"]["alpn"] == samples.HOSTILE.replace("\udc80", "\ufffd").replace("\ud83d", "\ufffd")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"{broken\n", r"rows\.jsonl:2:2: "),
        (b"\xff\xfe\n", r"rows\.jsonl:2:1: not a line of JSON"),
        (b"[" * 100_000 + b"\n", r"rows\.jsonl:2:1: "),
        (b"[]\n", r"rows\.jsonl:2:1: not a row"),
        (b'{"id": "only"}\n', r"rows\.jsonl:2:1: not a row"),
        (b"\n", r"rows\.jsonl:2:"),
    ],
)
def test_anything_else_is_refused_with_its_place(
    tmp_path: Path, rows: list[EndpointRow], line: bytes, message: str
) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(dumps(rows[0]).encode() + b"\n" + line)
    with pytest.raises(InputError, match=message):
        list(read_rows(path))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("instance", {}),
        ("status", []),
        ("verdict", {}),
        ("port", "443"),
        ("sampled", 1),
        ("expected", None),
        ("expected", {"profile": "x"}),
        ("observed", []),
        ("origins", [1]),
        ("findings", [{}]),
        ("reasons", {"a": 1}),
        ("component", 5),
    ],
)
def test_a_row_of_other_types_is_refused(tmp_path: Path, rows: list[EndpointRow], field: str, value: object) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(f"{dumps(rows[0])}\n{dumps({**rows[0], field: value})}\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"rows\.jsonl:2:1: not a row"):
        list(read_rows(path))


def test_a_file_that_cannot_be_is_said(tmp_path: Path) -> None:
    with pytest.raises(ResourceError, match="cannot keep the results"):
        RowFile(tmp_path / "missing" / "rows.jsonl")
    with pytest.raises(InputError, match="cannot read the rows"):
        list(read_rows(tmp_path / "missing.jsonl"))
    with RowFile(Path("/dev/full")) as full, pytest.raises(ResourceError, match="No space left"):
        full.append(endpoint_row(*next(samples.parts())))
