from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from scanner.cli.rules import ALL, find, page, rules
from scanner.errors import UsageError
from scanner.model.rule import Rule, ScanRule

PAGES = Path(__file__).parents[2] / "docs" / "rules"


def test_the_list_has_id_severity_and_title_of_every_rule() -> None:
    result = CliRunner().invoke(rules, [])
    assert result.exit_code == 0
    lines = result.output.splitlines()
    assert len(lines) == len(ALL)
    for line, each in zip(lines, ALL, strict=True):
        assert line.split()[:2] == [each.id, each.severity]
        assert line.endswith(each.title)


@pytest.mark.parametrize("each", ALL, ids=lambda each: each.id)
def test_show_prints_the_page_that_stands_in_the_documentation(each: Rule | ScanRule) -> None:
    result = CliRunner().invoke(rules, ["show", each.id])
    assert result.exit_code == 0
    assert result.output == page(each) + "\n"
    written = PAGES / f"{each.id}.md"
    assert written.read_text() == result.output, f"renew it: adhere rules show {each.id} >docs/rules/{each.id}.md"


def test_no_page_is_left_of_a_rule_that_is_gone() -> None:
    assert {path.stem for path in PAGES.glob("*.md")} == {each.id for each in ALL}


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [
        ("tls-versions", "tls-version"),
        ("TLS-GROUP", "tls-group"),
        ("cert-expire", "cert-expired"),
        ("xyzzy", "adhere rules lists them all"),
    ],
)
def test_an_unknown_rule_is_a_usage_error_with_a_suggestion(wrong: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        find(wrong)
    assert wrong in caught.value.message
    assert hint in caught.value.hint


def test_show_leaves_the_error_to_the_command_line() -> None:
    result = CliRunner().invoke(rules, ["show", "xyzzy"])
    assert isinstance(result.exception, UsageError)
