"""What users get is what was recorded (``tests/behaviour.py``), for the parts that take a few seconds."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests import behaviour
from tests.behaviour import Case, Recorded
from tests.cli.calling import ROOT, environment

QUICK = ("commands rbac", "lint-stories", "judged-examples", "explain", "certs formats")
"""In groups, which workers of pytest-xdist take one by one."""


@pytest.mark.parametrize("parts", QUICK)
def test_the_quick_parts_are_as_recorded(parts: str) -> None:
    """``python -m tests.behaviour --check`` compares all of them, in a minute."""
    argv = (sys.executable, "-m", "tests.behaviour", "--check", *parts.split())
    ended = subprocess.run(argv, cwd=ROOT, env=environment(), capture_output=True, text=True, timeout=300, check=False)
    assert ended.returncode == 0, ended.stdout[-5000:] + ended.stderr[-2000:]


def made(line: str, word: str = "it is", **document: object) -> Recorded:
    """A part with one case."""
    found = Recorded("rbac")
    keys: dict[str, set[str]] = {}
    found.add(Case("case", "adhere rbac", ["= Route/shop/web", line], [word], documents=[("lint", document)]), keys)
    found.keys = behaviour.typed(keys)
    return found


@pytest.fixture
def recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Recorded:
    """What is kept of a case, elsewhere than in the repository."""
    monkeypatch.setattr(behaviour, "GOLDEN", tmp_path)
    now = made("rule high fail violation 3:1", a=1)
    behaviour.write(now)
    return now


def test_what_is_as_recorded_has_no_difference(recorded: Recorded) -> None:
    assert list(behaviour.differences(recorded)) == []


def test_a_difference_names_the_case_the_object_and_the_commands(recorded: Recorded) -> None:
    (found,) = behaviour.differences(made("rule low fail violation 3:1", a=1))
    said = (
        "rbac.txt: case",
        "= Route/shop/web",
        "-rule high fail",
        "+rule low fail",
        "adhere rbac",
        "--show rbac case",
    )
    assert [each for each in said if each not in found] == []


@pytest.mark.parametrize(
    ("now", "file"),
    [
        (made("rule high fail violation 3:1", "it was", a=1), "messages.txt: case"),
        (made("rule high fail violation 3:1", b=1), "keys.txt: rbac: lint"),
        (made("rule high fail violation 3:1", a="1"), "keys.txt: rbac: lint"),
    ],
)
def test_words_and_keys_are_apart(recorded: Recorded, now: Recorded, file: str) -> None:
    (found,) = behaviour.differences(now)
    assert found.startswith(file)


def test_a_case_that_is_gone_is_a_difference_but_where_it_could_not_be_made(recorded: Recorded) -> None:
    gone = Recorded("rbac", keys=recorded.keys)
    (found,) = behaviour.differences(gone)
    assert found.startswith("rbac.txt: case")
    gone.partial = True
    assert list(behaviour.differences(gone)) == []


def test_times_and_digests_are_left_out_and_numbers_of_rules_are_not() -> None:
    assert (
        behaviour.stable("ends 2026-11-21T12:00:00Z, 0123456789abcdef, 12 of 13 (0x1301)")
        == "ends ~, ~, 12 of 13 (0x1301)"
    )
