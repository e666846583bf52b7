"""Every rule on a scan as a whole has an example that fails and one that passes on its page, and they do."""

from __future__ import annotations

import pytest

from scanner.judge import SCAN_RULES
from scanner.judge.require import PKI_COVERAGE, REQUIRE_RULES
from scanner.model.rule import ScanRule
from tests.judge.examples import TO_DO, place
from tests.judge.scan_examples import findings
from tests.lint.examples import examples

EACH = pytest.mark.parametrize("rule", SCAN_RULES, ids=lambda rule: rule.id)


@EACH
def test_the_examples_that_fail_do(rule: ScanRule) -> None:
    texts = examples(rule, "fails")
    assert texts
    for text in texts:
        expected = ("inconclusive", "not-tested") if rule is PKI_COVERAGE else ("fail", "violation")
        assert {(each.verdict, each.status) for each in findings(rule, text)} == {expected}, f"{place(text)}: {TO_DO}"


@EACH
def test_the_examples_that_pass_do(rule: ScanRule) -> None:
    """A requirement that is met is said; of the others nothing is, or what is merely worth knowing."""
    texts = examples(rule, "passes")
    assert texts
    for text in texts:
        said = [each.status for each in findings(rule, text)]
        assert said == ["ok"] if rule in REQUIRE_RULES else set(said) <= {"informational"}, f"{place(text)}: {TO_DO}"


@EACH
def test_an_example_that_passes_differs_from_the_one_that_fails_in_few_lines(rule: ScanRule) -> None:
    """One that passes because it describes something else says nothing."""
    failing, passing = (examples(rule, which)[0].splitlines() for which in ("fails", "passes"))
    assert len(failing) == len(passing)
    assert 1 <= sum(one != other for one, other in zip(failing, passing, strict=True)) <= 2
