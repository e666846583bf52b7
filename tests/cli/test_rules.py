from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from scanner.cli import adhere
from scanner.cli.commands.rules import ALL, find, page
from scanner.errors import ResourceError, UsageError
from scanner.model import rule
from scanner.model.rule import RETIRED
from tests.cli.rule_index import index, written
from tests.lint.examples import examples

PAGES = Path(__file__).parents[2] / "docs" / "rules"
SECTIONS = ("What it requires", "What is inconclusive", "Example that fails", "Example that passes", "How to fix")


def test_the_list_has_id_severity_and_title_of_every_rule() -> None:
    result = CliRunner().invoke(adhere, ["rules"])
    assert result.exit_code == 0
    lines = result.output.splitlines()
    assert len(lines) == len(ALL)
    for line, each in zip(lines, ALL, strict=True):
        assert line.split()[:2] == [each.id, each.severity]
        assert line.endswith(each.title)


def test_show_prints_the_page() -> None:
    for each in ALL:
        result = CliRunner().invoke(adhere, ["rules", "show", each.id])
        assert result.exit_code == 0, each.id
        _, _, text = (PAGES / f"{each.id}.md").read_text().split("---\n", 2)
        references = "\n".join(f"* {reference}" for reference in each.references)
        heading = f"# {each.title}\n\nRule `{each.id}`, severity {each.severity}.\n"
        assert result.output == f"{heading}{text}\n## References\n\n{references}\n"


def test_the_explanation_stands_on_the_page_alone() -> None:
    summaries = [inspect.getdoc(each.check) or "" for each in ALL]
    assert [each for each in summaries if "\n" in each or not each.endswith(".")] == []


def test_the_index_has_every_rule_under_its_topic() -> None:
    assert written() == index(), "docs/rules/README.md: renew it: .venv/bin/python -m tests.cli.rule_index"
    assert index().count("](") == len(ALL)


@pytest.mark.parametrize(
    "front",
    [
        "",
        "id: other\ntitle: T\nseverity: low\ntopic: T\nreferences: [x]\n",
        "id: one\ntitle: T\nseverity: bad\ntopic: T\nreferences: [x]\n",
        "id: one\ntitle: [T]\nseverity: low\ntopic: T\nreferences: [x]\n",
        "id: one\nid: one\ntitle: T\nseverity: low\ntopic: T\nreferences: [x]\n",
        "id: one\ntitle: T\nseverity: low\ntopic: T\n",
    ],
)
def test_a_page_with_other_front_matter_is_refused(front: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "one.md").write_text(f"---\n{front}---\n\nText.\n")
    monkeypatch.setattr(rule, "data", lambda kind: tmp_path)
    with pytest.raises(ResourceError, match=r"one\.md"):
        rule.rule_page.__wrapped__("one")


def test_a_missing_page_names_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rule, "data", lambda kind: tmp_path)
    with pytest.raises(ResourceError, match=r"one\.md") as caught:
        rule.rule_page.__wrapped__("one")
    assert caught.value.hint == "install adhere again"


def test_a_page_has_an_example_of_what_fails_and_of_what_passes() -> None:
    """In this order, before how to fix it; the tests of the rule's own package run them."""
    for each in ALL:
        assert examples(each, "fails"), each.id
        assert examples(each, "passes"), each.id
        positions = [page(each).find(f"\n## {title}") for title in SECTIONS]
        assert -1 not in positions, each.id
        assert positions == sorted(positions), each.id


def test_no_page_is_left_of_a_rule_that_is_gone() -> None:
    left = {path.name for path in PAGES.glob("*.md")} - {f"{each.id}.md" for each in ALL}
    assert left == {"README.md"}, "delete the page in docs/rules, or register the rule"


def test_retired_ids_are_listed_with_what_replaces_them() -> None:
    rows = re.findall(r"^\| `(\S+)` \| \[`(\S+)`\]\((\S+)\.md\) \|$", (PAGES / "README.md").read_text(), re.MULTILINE)
    assert {former: now for former, now, _ in rows} == RETIRED
    ids = {each.id for each in ALL}
    assert not ids & RETIRED.keys()
    assert all(now == page_of and now in ids for _, now, page_of in rows)


def test_show_accepts_a_retired_id() -> None:
    for former, now in RETIRED.items():
        assert CliRunner().invoke(adhere, ["rules", "show", former]).output == page(find(now)) + "\n"


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [
        ("tls-versions", "tls-version"),
        ("TLS-GROUP", "tls-group"),
        ("cert-expire", "cert-expired"),
        ("xyzzy", "'adhere rules' lists all rules"),
    ],
)
def test_an_unknown_rule_is_a_usage_error_with_a_suggestion(wrong: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        find(wrong)
    assert wrong in caught.value.message
    assert hint in caught.value.hint


def test_show_leaves_the_error_to_the_command_line() -> None:
    result = CliRunner().invoke(adhere, ["rules", "show", "xyzzy"])
    assert isinstance(result.exception, UsageError)
