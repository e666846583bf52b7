"""Every rule about listeners has an example that fails and one that passes on its page, and they do."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

import pytest
import yaml

from scanner.config.scan_policy import parse
from scanner.files import yaml_values
from scanner.judge import RULES, judge
from scanner.judge.sslyze_result import DEEP_RULES
from scanner.kube.maybe import Unknown
from scanner.lint.fields import FIELD_RULES
from scanner.model.rule import Case, Rule
from tests.judge.cases import ISSUER
from tests.judge.examples import TO_DO, WORDS, case_of, certificate, place
from tests.lint.examples import examples, linted

pytestmark = pytest.mark.crypto

EACH = pytest.mark.parametrize("rule", [*RULES, *DEEP_RULES], ids=lambda rule: rule.id)

SILENT = ("tls-withheld", "backend-fail-open", "policy-override")
"""Report nothing where nothing is wrong; their examples that pass begin with ``QUIET``."""
QUIET = "# Nothing is reported\n"


described = cache(case_of)


def verdicts(rule: Rule, text: str) -> set[str]:
    return {each.verdict for each in rule.check(rule, described(text))}


@EACH
def test_the_examples_that_fail_do(rule: Rule) -> None:
    fails = examples(rule, "fails")
    assert [verdicts(rule, each) for each in fails] == [{"fail"}] * (len(fails) or 1), f"docs/rules/{rule.id}.md"


@EACH
def test_the_examples_that_pass_do(rule: Rule) -> None:
    passes = [each for each in examples(rule, "passes") if rule.id not in SILENT]
    number = len(passes) or (rule.id not in SILENT)
    assert [verdicts(rule, each) for each in passes] == [{"pass"}] * number, f"docs/rules/{rule.id}.md"


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
            assert {each for each, found in every if "fail" in found} == failed, f"{place(text)}: {TO_DO}"


@EACH
def test_the_configuration_in_the_examples_is_valid(rule: Rule, tmp_path: Path) -> None:
    for text in (*examples(rule, "fails"), *examples(rule, "passes")):
        for document in text.split("---\n"):
            kind = (yaml.safe_load(document) or {}).get("kind")
            if kind == "ScanPolicy":
                parse(yaml_values.load(document.encode(), f"{place(text)}: example"), [each.id for each in RULES])
            elif kind is not None:
                objects, _ = linted(tmp_path, document, FIELD_RULES)
                assert [each.finding.message for found in objects for each in found.findings] == [], place(text)
                assert objects or kind == "GatewayClass", place(text)  # no rule has it as its subject


WRONG = {
    "version: [TLSv1.2]": "unknown word 'version': add it to WORDS in tests/judge/examples.py",
    "certificate: {expires: in 10 days}": "'expires': add it to CERTIFICATE_WORDS in tests/judge/examples.py",
    "certificate: {ends: tomorrow}": "'tomorrow' is no time",
    "certificate: {serial: one}": "Expected `int | null`",
    "expectation: {certificates: {}}": "unknown field 'certificates' of Expectation",
    "expectation: {plainPort: {port: 80, path: /, owed: null, because: a, paths: []}}": "unknown field 'paths'",
    "heartbleed: maybe": "'maybe' is neither 'vulnerable' nor 'not vulnerable'",
    "kind: Secret": "unknown word 'Secret': add it to KINDS in tests/judge/examples.py",
}


@pytest.mark.parametrize("text", WRONG)
def test_an_unknown_word_or_value_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match=re.escape(WRONG[text])):
        case_of(text)


def test_an_error_has_the_page_with_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(WORDS, "robot")
    (text,) = examples(next(each for each in DEEP_RULES if each.id == "vuln-robot"), "fails")
    with pytest.raises(ValueError, match="unknown word 'robot'") as caught:
        case_of(text)
    (note,) = caught.value.__notes__
    assert re.fullmatch(r"docs/rules/vuln-robot\.md:\d+: robot: vulnerable", note)


FIELDS: Mapping[str, Callable[[Case], object]] = {
    "alpn: h2": lambda case: case.observation.alpn == "h2",
    "clientCertificate: {unknown: none}": lambda case: case.observation.client_certificate == Unknown("none"),
    "certificate: {serial: -5, isCA: true, keySize: null}": lambda case: (
        case.observation.chain == (certificate({"isCA": True, "keySize": None, "serialNumber": -5}), ISSUER)
    ),
    "expectation: {clientCertificate: required, certificate: {names: [b.example]}}": lambda case: (
        case.expectation.client_certificate == "required" and case.expectation.certificate.names == ("b.example",)
    ),
    "policy: {minRsaBits: 3072}": lambda case: case.policy.min_rsa_bits == 3072,
    "opinion: {flaws: {robot: true}}": lambda case: case.opinion and case.opinion.flaws == {"robot": True},
    "endpoint: {certainty: candidate}": lambda case: case.endpoint.certainty == "candidate",
}


@pytest.mark.parametrize("text", FIELDS)
def test_each_field_is_a_word(text: str) -> None:
    assert FIELDS[text](case_of(text))
