"""The rules that only the second witness can answer."""

from __future__ import annotations

import re
from typing import get_args

import pytest

from scanner.judge import RULES
from scanner.judge.sslyze_result import DEEP_RULES, vulnerability_findings
from scanner.kube.maybe import Known, Unknown
from scanner.model.finding import Finding
from scanner.model.observation import Flaw, Opinion, Reach
from scanner.model.rule import Rule
from scanner.tls.codepoints import TLS13
from scanner.values import replace
from tests.judge.cases import case

SOUND: dict[Flaw, Known[bool]] = dict.fromkeys(get_args(Flaw), False)

FLAWS: list[tuple[Flaw, str, str]] = [
    ("heartbleed", "vuln-heartbleed", "critical"),
    ("robot", "vuln-robot", "high"),
    ("ccs-injection", "vuln-ccs-injection", "high"),
    ("insecure-renegotiation", "vuln-renegotiation", "medium"),
    ("client-renegotiation", "vuln-renegotiation", "low"),
    ("compression", "vuln-compression", "medium"),
    ("no-fallback-scsv", "vuln-fallback-scsv", "low"),
]


def opinion(flaws: dict[Flaw, Known[bool]]) -> Opinion:
    return Opinion(witness="sslyze 6.3.1", highest=TLS13, flaws=flaws)


def found(told: Opinion | None) -> list[Finding]:
    return list(vulnerability_findings(replace(case(), opinion=told)))


def test_a_sound_listener_passes_every_rule() -> None:
    assert [(f.rule, f.verdict) for f in found(opinion(SOUND))] == [(rule.id, "pass") for rule in DEEP_RULES]
    assert {flaw for flaw, _, _ in FLAWS} == set(SOUND)


@pytest.mark.parametrize(("flaw", "rule_id", "severity"), FLAWS)
def test_a_flaw_fails_its_rule_alone_and_one_that_is_unknown_is_inconclusive(
    flaw: Flaw, rule_id: str, severity: str
) -> None:
    (failed,) = [f for f in found(opinion({**SOUND, flaw: True})) if f.verdict != "pass"]
    assert (failed.rule, failed.severity, failed.verdict, failed.status) == (rule_id, severity, "fail", "violation")
    assert failed.observed
    assert failed.fix
    assert "sslyze 6.3.1" in failed.evidence[0]
    (unclear,) = [f for f in found(opinion({**SOUND, flaw: Unknown("a timeout")})) if f.verdict != "pass"]
    assert (unclear.rule, unclear.verdict) == (rule_id, "inconclusive")
    assert "a timeout" in unclear.message


def test_a_flaw_that_was_seen_stands_whatever_else_is_not_known() -> None:
    flaws: dict[Flaw, Known[bool]] = {"insecure-renegotiation": Unknown("a timeout"), "client-renegotiation": True}
    (failed,) = [f for f in found(opinion({**SOUND, **flaws})) if f.rule == "vuln-renegotiation"]
    assert failed.verdict == "fail"
    assert any("a timeout" in line for line in failed.evidence)


@pytest.mark.parametrize(
    ("told", "words"),
    [(None, ""), (opinion({}), ""), (Opinion(witness="sslyze 6.3.1", failure="no connection"), "no connection")],
    ids=["no opinion", "an opinion on other things", "it saw nothing"],
)
def test_what_nobody_answered_is_never_a_pass(told: Opinion | None, words: str) -> None:
    """The deadline may come before a seat on the witness's bench is free."""
    assert [(f.rule, f.verdict) for f in found(told)] == [(rule.id, "inconclusive") for rule in DEEP_RULES]
    assert all(words in f.message for f in found(told))


def test_where_there_is_no_tls_there_is_nothing_to_ask_for() -> None:
    assert vulnerability_findings(case(observation={"reach": Reach.CLOSED})) == ()


def test_on_a_listener_that_is_not_bound_it_is_readiness() -> None:
    of = case(expectation={"binding": "not-enforced"})
    (failed, *_) = vulnerability_findings(replace(of, opinion=opinion({**SOUND, "heartbleed": True})))
    assert (failed.verdict, failed.status) == ("fail", "readiness")


SECTIONS = (
    "## What it requires",
    "## Why",
    "## What fails",
    "## What is inconclusive",
    "## Example that fails",
    "## Example that passes",
    "## How to fix",
)


@pytest.mark.parametrize("rule", DEEP_RULES, ids=lambda rule: rule.id)
def test_every_rule_has_its_page(rule: Rule) -> None:
    assert rule.id not in {each.id for each in RULES}
    assert re.fullmatch(r"vuln-[a-z-]+", rule.id)
    assert [line for line in rule.page.splitlines() if line.startswith("##")] == list(SECTIONS)
    assert rule.references
