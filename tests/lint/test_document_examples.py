"""The examples on the pages of rules on manifests, linted as ``adhere lint`` does it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from scanner.cluster.lint_input import read_manifests
from scanner.lint.manifest_rules import DUPLICATE, KIND_UNKNOWN, UNREADABLE
from scanner.linting import LINT_READS, declared, lint_report
from scanner.model.lint_report import LintReport
from scanner.model.rule import ScanRule
from scanner.pki.object_rules import DEFINITIONS, OBJECT
from tests.lint.examples import empty, examples

pytestmark = pytest.mark.crypto

EACH = pytest.mark.parametrize(
    "rule", [UNREADABLE, KIND_UNKNOWN, DUPLICATE, OBJECT, DEFINITIONS], ids=lambda each: each.id
)


def report(directory: Path, text: str) -> LintReport:
    """Lint a file with this text, to be applied to a cluster without any object."""
    file = directory / "example.yaml"
    file.write_text(text, encoding="utf-8")
    manifests = read_manifests([str(file)], LINT_READS)
    return lint_report(declared(manifests, empty()), manifests, started=datetime.now(UTC), sources=(), arguments=())


@EACH
def test_the_examples_that_fail_do(rule: ScanRule, tmp_path: Path) -> None:
    assert examples(rule, "fails")
    for text in examples(rule, "fails"):
        told = [each["verdict"] for each in report(tmp_path, text).every() if each["rule"] == rule.id]
        assert "fail" in told, text


@EACH
def test_the_examples_that_pass_do(rule: ScanRule, tmp_path: Path) -> None:
    """And everything in them was looked at."""
    assert examples(rule, "passes")
    for text in examples(rule, "passes"):
        told = report(tmp_path, text)
        assert [each["rule"] for each in told.every() if each["rule"] == rule.id] == [], text
        assert told.findings == [], text
        assert told.objects, text
        assert told.others == 0, text
