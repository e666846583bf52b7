"""Every rule on keys and certificates has an example that fails and one that passes on its page, and they do."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from scanner.model.rule import ScanRule
from scanner.pki.rules import PKI_RULES
from tests.lint.examples import examples
from tests.pki.example_certificates import parsed
from tests.pki.examples import judged

pytestmark = pytest.mark.crypto

EACH = pytest.mark.parametrize("rule", PKI_RULES, ids=lambda rule: rule.id)
NAMED = frozenset({"pki-lifetime"})
"""Rules that fail nothing, as their pages say: their example is one that is named."""


@EACH
def test_the_examples_that_fail_do(rule: ScanRule, tmp_path: Path) -> None:
    texts = examples(rule, "fails")
    assert texts
    for text in texts:
        found = {(each.verdict, each.status) for each in judged(tmp_path, text).of(rule)}
        assert (("pass", "informational") if rule.id in NAMED else ("fail", "violation")) in found, text


@EACH
def test_the_examples_that_pass_do(rule: ScanRule, tmp_path: Path) -> None:
    texts = examples(rule, "passes")
    assert texts
    for text in texts:
        done = judged(tmp_path, text)
        assert done.looked_at
        assert {each.status for each in done.of(rule)} <= {"ok"}, text


@EACH
def test_the_example_that_passes_has_what_the_one_that_fails_is_judged_by(rule: ScanRule, tmp_path: Path) -> None:
    """As many certificates: one that was not recognised would pass, too."""
    failing, passing = (
        sorted(
            [each.name for each in judged(tmp_path, text).certificates.inventory.entries()]
            for text in examples(rule, which)
        )
        for which in ("fails", "passes")
    )
    assert failing == passing


@pytest.mark.parametrize("words", ["web.shop.example, RSA", "web.shop.example, made yesterday"])
def test_words_that_nobody_knows_are_refused(words: str) -> None:
    with pytest.raises(KeyError):
        parsed(words, datetime.now(UTC))
