"""Commands behave as recorded (``tests/behaviour.py``)."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import pytest

from tests import behaviour
from tests.behaviour import GOLDEN, MESSAGES, PARTS, Case, Recorded
from tests.cli.calling import ROOT, environment
from tests.e2e.assets import Missing

LANES = (
    "commands rbac lint-stories judged-examples certs formats",
    pytest.param("scan whatif explain", marks=pytest.mark.slow),
    pytest.param("lint-examples lint-e2e", marks=pytest.mark.slow),
)
"""In groups that share a process and its scans. ``tests/e2e/test_projects.py`` has the part that is left."""


@pytest.mark.parametrize("parts", LANES)
def test_parts_are_as_recorded(parts: str) -> None:
    compare(parts)


def compare(parts: str) -> None:
    """In a process of its own, which cannot connect to other addresses than loopback."""
    argv = (sys.executable, "-m", "tests.behaviour", "--check", *parts.split())
    ended = subprocess.run(argv, cwd=ROOT, env=environment(), capture_output=True, text=True, check=False)
    lines, errors = ended.stdout.splitlines(), ended.stderr.splitlines()
    more = [f"... and {len(lines) - SHOWN} lines more"] if len(lines) > SHOWN else []
    assert ended.returncode == 0, "\n".join((*lines[:SHOWN], *more, *errors[-SHOWN:], "", TO_DO))


SHOWN = 100
"""Lines of a failure."""
TO_DO = "tests/behaviour.py explains the differences. If they are meant: .venv/bin/python -m tests.behaviour --write"


def test_every_recorded_file_and_section_has_a_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(behaviour, "GOLDEN", GOLDEN)
    assert {path.name for path in GOLDEN.glob("*.txt")} == {MESSAGES, *(f"{part}.txt" for part in PARTS)}
    assert behaviour.read_sections(MESSAGES).keys() == PARTS.keys()


FAILS, PASSES = "high fail violation", "high pass ok"
NOT_APPLICABLE, UNKNOWN = "info not_applicable ok", "high inconclusive not-tested"
A, B, C, *OTHERS = (f"Route/shop/{name}" for name in "abcdef")
RESULTS = {A: PASSES, B: NOT_APPLICABLE, C: FAILS, **dict.fromkeys(OTHERS, PASSES)}


def made(
    results: Mapping[str, str] = RESULTS, *, rules: Iterable[str] = ("rule",), name: str = "case", word: str = "it is"
) -> Recorded:
    """A part with one case: the result of each of the rules for each subject, none where it is empty."""
    case, part = Case(name, "adhere rbac"), Recorded("rbac")
    for subject, result in results.items():
        case.lines.append(f"= {subject}")
        case.subjects.append(("Route", subject))
        severity, verdict, status = result.split() or ("", "", "")
        found = {"severity": severity, "verdict": verdict, "status": status, "message": f"{word} {verdict}"}
        findings = [{**dict.fromkeys(("about", "second_opinion", "waiver")), "rule": rule, **found} for rule in rules]
        behaviour.add_findings(case, findings if result else [], subject, "Route")
    part.add(case)
    return part


@pytest.fixture(autouse=True)
def golden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a part is recorded, elsewhere than in the repository."""
    monkeypatch.setattr(behaviour, "GOLDEN", tmp_path)
    behaviour.write(made())
    return tmp_path


def test_what_is_as_recorded_has_no_difference() -> None:
    assert list(behaviour.differences(made())) == []


def test_a_difference_names_the_case_the_object_and_the_commands() -> None:
    (found,) = behaviour.differences(made({**RESULTS, C: "low fail violation"}))
    parts = (f"rbac.txt: case = {C}", "-  rule high fail", "+  rule low fail", "adhere rbac", "--show rbac case")
    assert [part for part in parts if part not in found] == []


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param({C: PASSES}, id="fail to pass"),
        pytest.param({C: NOT_APPLICABLE}, id="fail to not applicable"),
        pytest.param({C: UNKNOWN}, id="fail to inconclusive"),
        pytest.param({C: ""}, id="fail to no result"),
        pytest.param({A: FAILS}, id="pass to fail"),
        pytest.param({A: UNKNOWN}, id="pass to inconclusive"),
        pytest.param({A: NOT_APPLICABLE}, id="pass to not applicable"),
        pytest.param({A: "low pass ok"}, id="another severity"),
        pytest.param({A: ""}, id="pass to no result"),
        pytest.param({B: PASSES}, id="not applicable to pass"),
        pytest.param({B: ""}, id="not applicable to no result"),
        pytest.param({A: NOT_APPLICABLE, B: PASSES}, id="two that swap"),
        pytest.param({A: NOT_APPLICABLE, B: PASSES, **dict.fromkeys(OTHERS, NOT_APPLICABLE)}, id="all that swap"),
    ],
)
def test_another_result_for_one_subject_is_a_difference(changed: dict[str, str]) -> None:
    assert "\nrbac.txt: " in "\n" + "\n".join(behaviour.differences(made({**RESULTS, **changed})))


def test_a_text_is_a_difference_of_its_rule_in_messages_alone() -> None:
    (found,) = behaviour.differences(made(word="it was"))
    assert found.startswith("messages.txt: rbac\n")
    assert "--show rbac rule" in found


def test_a_new_rule_changes_only_its_own_lines(golden: Path) -> None:
    def lines() -> list[str]:
        return [line for path in sorted(golden.iterdir()) for line in path.read_text().splitlines()]

    before = lines()
    behaviour.write(made(dict.fromkeys(RESULTS, PASSES) | {C: FAILS, B: NOT_APPLICABLE}, rules=("other", "rule")))
    after = lines()
    new = [line for line in after if "other" in line]
    assert [line for line in after if line not in new] == before
    assert [line.partition(" ")[0] for line in new] == ["other:", "", "other:"]


def test_a_new_case_changes_no_line_of_a_rule_that_has_its_usual_result() -> None:
    both = made()
    both.add(made({A: PASSES}, name="another").made[0])
    (found,) = behaviour.differences(both)
    assert found.startswith("rbac.txt: another")


def test_a_case_that_is_gone_is_a_difference() -> None:
    assert any(found.startswith("rbac.txt: case") for found in behaviour.differences(Recorded("rbac")))


@pytest.mark.parametrize("writes", [False, True])
def test_a_part_without_inputs_on_this_machine_keeps_its_files(
    golden: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], writes: bool
) -> None:
    def lacking() -> Iterator[Case]:
        yield Case("case", "adhere rbac", ["the first of two"])
        raise Missing("`make e2e` fetches the rest")

    monkeypatch.setattr(behaviour, "PARTS", {"rbac": lacking})
    before = {path.name: path.read_text() for path in golden.iterdir()}
    assert behaviour.each_part(["rbac"], writes=writes) == 0
    assert {path.name: path.read_text() for path in golden.iterdir()} == before
    assert capsys.readouterr().out == "rbac: skipped: `make e2e` fetches the rest\n"


def test_times_and_digests_are_left_out_and_numbers_of_rules_are_not() -> None:
    assert (
        behaviour.stable("ends 2026-11-21T12:00:00Z, 0123456789abcdef, 12 of 13 (0x1301)")
        == "ends ~, ~, 12 of 13 (0x1301)"
    )
