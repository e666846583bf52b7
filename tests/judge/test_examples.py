"""Every rule about listeners has an example that fails and one that passes on its page, and they do."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from scanner.config.scan_policy import parse
from scanner.files import yaml_values
from scanner.judge import RULES, judge
from scanner.judge.sslyze_result import DEEP_RULES
from scanner.judge.tls_parameters import PQ_READINESS
from scanner.lint.fields import FIELD_RULES
from scanner.model.rule import Rule
from tests.judge.cases import finding
from tests.judge.examples import TABLES, WORDS, case_of
from tests.lint.examples import examples, linted

EACH = pytest.mark.parametrize("rule", [*RULES, *DEEP_RULES], ids=lambda rule: rule.id)

SILENT = ("tls-withheld", "backend-fail-open", "policy-override")
"""Report nothing where nothing is wrong; their examples that pass begin with ``QUIET``."""
QUIET = "# Nothing is reported\n"


def verdicts(rule: Rule, text: str) -> set[str]:
    return {each.verdict for each in rule.check(rule, case_of(text))}


@EACH
def test_the_examples_that_fail_do(rule: Rule) -> None:
    fails = examples(rule, "fails")
    assert [verdicts(rule, each) for each in fails] == [{"fail"}] * (len(fails) or 1)


@EACH
def test_the_examples_that_pass_do(rule: Rule) -> None:
    passes = [each for each in examples(rule, "passes") if rule.id not in SILENT]
    assert [verdicts(rule, each) for each in passes] == [{"pass"}] * (len(passes) or (rule.id not in SILENT))


@pytest.mark.parametrize("rule", [each for each in RULES if each.id in SILENT], ids=lambda rule: rule.id)
def test_where_a_silent_rule_has_nothing_to_report_the_page_says_so(rule: Rule) -> None:
    passes = examples(rule, "passes")
    assert [each.startswith(QUIET) for each in passes] == [True] * (len(passes) or 1)
    told = [each.rule for text in passes for each in judge(case_of(text)).findings]
    assert "tls-reach" in told
    assert rule.id not in told


@EACH
def test_the_listeners_are_in_order_but_for_that(rule: Rule) -> None:
    shown = {"fails": {rule.id}, "passes": set[str]()}
    for which, failed in shown.items():
        for text in examples(rule, which):
            every = [(each.id, verdicts(each, text)) for each in (rule, *RULES)]
            assert {each for each, found in every if "fail" in found} == failed, text


def test_the_examples_on_readiness_tell_ready_from_not() -> None:
    (ready, *others) = [finding("tls-pq-readiness", case_of(text)) for text in examples(PQ_READINESS, "passes")]
    assert (ready.verdict, ready.message) == ("pass", "it accepts a group with ML-KEM")
    assert others
    assert {each.message for each in others} == {"no post-quantum group is accepted"}


@EACH
def test_the_configuration_in_the_examples_is_valid(rule: Rule, tmp_path: Path) -> None:
    for text in (*examples(rule, "fails"), *examples(rule, "passes")):
        for document in text.split("---\n"):
            kind = (yaml.safe_load(document) or {}).get("kind")
            if kind == "ScanPolicy":
                parse(yaml_values.load(document.encode(), "example"), [each.id for each in RULES])
            elif kind is not None:
                objects, _ = linted(tmp_path, document, FIELD_RULES)
                assert [each.finding.message for found in objects for each in found.findings] == []
                assert objects or kind == "GatewayClass"  # no rule has it as its subject


def test_a_word_means_one_thing() -> None:
    assert len(WORDS) == sum(map(len, TABLES))


@pytest.mark.parametrize("text", ["version: [TLSv1.2]", "certificate: {expires: in 10 days}", "heartbleed: maybe"])
def test_a_word_that_nobody_knows_is_not_passed_over(text: str) -> None:
    with pytest.raises(KeyError):
        case_of(text)
