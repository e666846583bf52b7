"""Where each report goes, and what is never overwritten on its way."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scanner.cli.output import Output, briefly, parse_output, parse_outputs, rows_path, write_reports
from scanner.errors import ResourceError, UsageError
from scanner.report import FORMATS
from tests.cli.calling import Call, called, valid
from tests.report import samples
from tests.servers import closed_port


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_and_its_path(name: str, tmp_path: Path) -> None:
    assert parse_output(name) == Output(format=name)
    assert parse_output(f"{name}=-") == Output(format=name)
    assert parse_output(f"{name}={tmp_path}/a=b") == Output(format=name, path=tmp_path / "a=b")
    assert parse_output(f"{name}={tmp_path}") == Output(format=name, path=tmp_path / FORMATS[name].file_name)


def test_text_where_nothing_is_asked_for() -> None:
    assert parse_outputs(()) == (Output(format="text"),)


@pytest.mark.parametrize(
    "values",
    [("xml",), ("",), ("=x",), ("JSON",), ("json=",), ("json=/nonexistent/x",), ("json", "text"), ("json", "json"),
     ("json=-", "text"), ("json={tmp}/a", "html={tmp}/./a"), ("json={tmp}/a", "html={tmp}/al")],
)  # fmt: skip
def test_refused(values: tuple[str, ...], tmp_path: Path) -> None:
    with pytest.raises(UsageError) as raised:
        parse_outputs(value.format(tmp=tmp_path) for value in values)
    assert raised.value.hint


def test_rows_are_kept_beside_the_json_report(tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    assert rows_path(parse_outputs([f"json={tmp_path}"]), scratch) == tmp_path / "report.jsonl"
    assert rows_path(parse_outputs(["text", f"json={tmp_path}/a"]), scratch) == tmp_path / "al"
    assert rows_path(parse_outputs(["json", f"html={tmp_path}"]), scratch).parent == scratch


def test_rows_are_not_kept_beside_a_device() -> None:
    assert rows_path((Output(format="json", path=Path("/dev/null")),), Path("/s")) == Path("/s/rows.jsonl")


def test_somebodys_file_is_not_overwritten_by_rows(call: Call, tmp_path: Path) -> None:
    """Such as the list of targets itself."""
    with closed_port() as (address, port):
        targets = tmp_path / "hosts.jsonl"
        targets.write_text(f"{address}:{port}\n")
        answer = call("scan", "--targets", targets, "--format", f"json={tmp_path / 'hosts.json'}")
        assert answer.code == 2
        assert answer.err.startswith(f"adhere: {targets} is not a file of adhere")
        assert targets.read_text() == f"{address}:{port}\n"


def test_what_a_killed_scan_left_is_replaced(call: Call, tmp_path: Path) -> None:
    (tmp_path / "report.jsonl").write_text('{"id":"cut o')
    with closed_port() as (address, port):
        assert call("scan", f"{address}:{port}", "--format", f"json={tmp_path}").code == 3
    assert [path.name for path in tmp_path.iterdir()] == ["report.json"]


def test_files_first_and_the_text_last(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is read on the terminal is then there in full."""
    outputs = (Output(format="text"), Output(format="json", path=tmp_path / "r.json"))
    write_reports(samples.report(), outputs, FORMATS)
    out, err = capsys.readouterr()
    assert err == f"adhere: wrote {tmp_path / 'r.json'}\n"
    assert "SUMMARY" in out
    assert valid((tmp_path / "r.json").read_text())


def test_colour_is_for_terminals(capsys: pytest.CaptureFixture[str]) -> None:
    write_reports(samples.report(), (Output(format="text"),), FORMATS)
    assert "\x1b" not in capsys.readouterr().out


def test_an_unwritable_place_is_told(tmp_path: Path) -> None:
    path = tmp_path / "gone" / "r.json"
    with pytest.raises(ResourceError, match=r"r\.json: cannot write the report"):
        write_reports(samples.report(), (Output(format="json", path=path),), FORMATS)


def test_what_was_finished_survives_a_report_that_cannot_be_written(tmp_path: Path) -> None:
    """The page cannot be written, the rows stay."""
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    with closed_port() as (address, port):
        formats = ["--format", f"json={tmp_path}", "--format", "html=/dev/full"]
        answer = called("scan", f"{address}:{port}", *formats)
    assert answer.code == 2
    assert answer.err.splitlines()[-2].startswith("adhere: /dev/full: cannot write the report: No space left")
    assert {path.name for path in tmp_path.iterdir()} >= {"report.jsonl"}


def test_brief_is_for_json_alone(tmp_path: Path) -> None:
    outputs = briefly(parse_outputs([f"json={tmp_path / 'a.json'}", f"csv={tmp_path / 'a.csv'}"]))
    assert [each.brief for each in outputs] == [True, False]
    write_reports(samples.report(), outputs, FORMATS, quiet=True)
    assert json.loads((tmp_path / "a.json").read_text())["schema"] == "adhere.scan-brief/v1"


def test_without_a_report_on_standard_output_the_exit_line_is_a_note(call: Call, tmp_path: Path) -> None:
    with closed_port() as (address, port):
        target = f"{address}:{port}"
        silent = call("scan", target, "--format", f"json={tmp_path / 'a.json'}")
        assert (silent.code, silent.out) == (3, "")
        assert silent.err.splitlines()[-1].startswith("exit 3: not complete")
        assert "exit 3" not in call("scan", target, "--format", f"json={tmp_path / 'a.json'}", "--quiet").err
        assert "exit 3" not in call("scan", target, "--format", "json").err
