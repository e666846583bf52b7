"""What a scan keeps for later: whole, readable again, and without a key."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import TextIO

import pytest

from scanner import saved_scan
from scanner.errors import InputError
from scanner.files.begun import BEGUN
from scanner.kube.profile_catalogue import load_profile
from scanner.model.observation import Reach
from scanner.model.saved_scan import HEAD, OBSERVATIONS, ROWS, Head, read
from scanner.saved_scan import load_head
from tests.cli.calling import Call, assert_refused
from tests.cli.conftest import Farm


def test_a_scan_of_targets_is_kept(call: Call, farm: Farm, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    answer = call("scan", farm["tls10"].target, "--save", kept, "--quiet", "--format", "json")
    assert load_head(str(kept)).profile == load_profile("intermediate")
    (seen,) = read(kept / OBSERVATIONS)
    assert seen.observation.reach is Reach.TLS
    assert [json.loads(line) for line in (kept / ROWS).read_text().splitlines()] == answer.document["endpoints"]
    assert kept.stat().st_mode & 0o77 == 0
    assert all("PRIVATE KEY" not in file.read_text() for file in kept.iterdir())


def test_the_next_scan_replaces_it(call: Call, farm: Farm, tmp_path: Path) -> None:
    for profile in ("old", "modern"):
        call("scan", farm["tls10"].target, "--save", tmp_path / "kept", "--profile", profile)
    assert load_head(str(tmp_path / "kept")).profile == load_profile("modern")
    assert len(list(read(tmp_path / "kept" / OBSERVATIONS))) == 1


def test_a_save_that_was_killed_is_made_again(
    call: Call, farm: Farm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before its description was written: a Job that is tried again has the same directory."""
    left: list[set[str]] = []

    def written(head: Head, out: TextIO) -> None:
        left.append({each.name for each in (tmp_path / "kept").iterdir()})
        write_head(head, out)

    write_head = saved_scan._write_head
    monkeypatch.setattr(saved_scan, "_write_head", written)
    call("scan", farm["tls10"].target, "--save", tmp_path / "kept")
    assert {BEGUN, "targets.jsonl"} <= left[0]
    for name in left[0]:
        (tmp_path / "killed").mkdir(exist_ok=True)
        (tmp_path / "killed" / name).touch()
    assert call("scan", farm["tls10"].target, "--save", tmp_path / "killed").code == 1
    assert BEGUN not in {each.name for each in (tmp_path / "killed").iterdir()}


def test_a_directory_with_something_else_in_it_is_left_alone(call: Call, farm: Farm, tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    assert_refused(call("scan", farm["tls10"].target, "--save", tmp_path), "it has other content")
    assert [file.name for file in tmp_path.iterdir()] == ["thesis.txt"]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (None, "cannot be read"),
        ("{", "not JSON"),
        ("[]", "scan.json"),
        ('{"schema": "adhere.saved/v2"}', "not an adhere.saved/v1"),
        ('{"schema": 7}', "schema"),
        ('{"colour": "red"}', "colour"),
        ('{"clusters": ["a"], "components": 300000000}', "components: there cannot be 300000000"),
        ('{"clusters": ["a"], "thresholds": {"expires_within_days": 999999999}}', "not from 0 to 36500: 999999999"),
        ('{"clusters": ["a"], "earlier": -1}', "earlier: there cannot be -1"),
    ],
)
def test_what_is_no_saved_scan_is_said(tmp_path: Path, text: str | None, complaint: str) -> None:
    if text is not None:
        (tmp_path / HEAD).write_text(text)
    with pytest.raises(InputError, match=complaint) as raised:
        load_head(str(tmp_path))
    assert "--save" in raised.value.hint


def test_a_pipe_in_the_results_is_not_waited_for(call: Call, farm: Farm, tmp_path: Path) -> None:
    call("scan", farm["tls10"].target, "--save", tmp_path / "kept")
    (tmp_path / "kept" / OBSERVATIONS).unlink()
    os.mkfifo(tmp_path / "kept" / OBSERVATIONS)
    with pytest.raises(InputError, match=f"{OBSERVATIONS}: not a regular file"):
        load_head(str(tmp_path / "kept"))


def test_a_head_of_clusters_has_no_profile() -> None:
    assert Head(clusters=("prod",)).profile is None


def test_thresholds_of_a_configuration_file_are_kept_too(call: Call, farm: Farm, tmp_path: Path) -> None:
    """What ``--config`` made a violation must not newly pass where nothing is changed."""
    config = tmp_path / "adhere.yaml"
    config.write_text("policy: {min_rsa_bits: 8192}\n")
    scanned = call("scan", farm["intermediate-rsa"].target, "--config", config, "--save", tmp_path / "kept")
    assert scanned.code == 1
    answer = call("whatif", tmp_path / "kept", "--format", "json")
    assert (answer.code, json.loads(answer.out)["changes"]) == (0, [])


def test_a_history_shows_the_scans_of_the_same_targets_over_time(call: Call, farm: Farm, tmp_path: Path) -> None:
    target, html = farm["tls10"].target, tmp_path / "report.html"
    for name in ("a", "b"):
        call("scan", target, "--save", tmp_path / "scans" / name)
    old = json.loads((tmp_path / "scans/a" / HEAD).read_text())
    assert old["outcomes"]["fail"] == 1
    del old["outcomes"]  # as an earlier release wrote it: counted from the rows
    (tmp_path / "scans/a" / HEAD).write_text(json.dumps({**old, "started": "2026-01-01T00:00:00Z"}))
    (tmp_path / "scans/c").mkdir()
    (tmp_path / "scans/c" / HEAD).write_text(json.dumps({**old, "interrupted": "SIGTERM"}))
    answer = call("scan", target, "--history", tmp_path / "scans", "--format", f"html={html}")
    assert answer.code == 1
    assert "2 earlier scans; 1 scan not shown: stopped, or of other clusters" in answer.err
    text = html.read_text()
    (points,) = re.findall(r'<polyline class="fail"[^>]* points="([^"]*)"', text)
    assert len(points.split()) == 3
    assert points.startswith("2.0,6.0 ")
    assert text.count('<th scope="row">2026-01-01 00:00+00:00</th><td>1</td>') == 1


def test_a_first_scan_has_no_history_and_a_mistyped_directory_is_refused(
    call: Call, farm: Farm, tmp_path: Path
) -> None:
    html = tmp_path / "report.html"
    assert call("scan", farm["tls10"].target, "--history", tmp_path, "--format", f"html={html}").code == 1
    assert "<polyline" not in html.read_text()
    assert call("scan", farm["tls10"].target, "--history", tmp_path / "gone").code == 2
