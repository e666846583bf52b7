"""What the second witness's opinion does to findings, and what it is asked."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from scanner.judge import judge, judgement
from scanner.judge.sslyze_result import (
    CERTIFICATE_RULES,
    DEEP_RULES,
    SSLYZE_EVIDENCE,
    apply_sslyze_result,
    confirm,
    inquiry,
)
from scanner.kube.maybe import Known, Unknown
from scanner.model.finding import Finding
from scanner.model.observation import Answers, ClientCertificate, Inquiry, Opinion, Reach
from scanner.model.rule import Case
from scanner.tls.codepoints import SSL2, TLS10, TLS12, TLS13, VERSIONS
from scanner.values import replace
from tests.judge.cases import ALLOWED_GROUPS, CONFORMING, LEAF, NOW, TLS12_SUITES, all_groups, all_suites, answers, case

CBC, RSA_CBC, NO_SUCH = 0xC013, 0x002F, 0x00C0
WITNESS = "sslyze 6.3.1"
OLD_LEAF = replace(LEAF, sha256="0" * 64, not_after=NOW - timedelta(days=1))
ACCEPTS_CBC = {
    "suites": {**CONFORMING.suites, TLS12: answers((*TLS12_SUITES, CBC, RSA_CBC), all_suites(TLS12))},
}
ACCEPTS_TLS10 = {
    "versions": answers((TLS13, TLS12, TLS10), set(VERSIONS)),
    "suites": {**CONFORMING.suites, TLS10: answers((CBC,), all_suites(TLS10))},
}


told = partial(Opinion, witness=WITNESS, highest=TLS13)


def suites(version: int, accepted: tuple[int, ...], refused: tuple[int, ...]) -> dict[int, Answers]:
    return {version: Answers(accepted=accepted, refused=frozenset(refused), unasked="unknown to it")}


def heard(rule_id: str, opinion: Opinion, of: Case) -> Finding:
    """What becomes of the one violation of ``rule_id``."""
    judged = judge(of)
    assert [f.verdict for f in judged.findings if f.rule == rule_id] == ["fail"]
    (found,) = [f for f in confirm(judged.findings, replace(of, opinion=opinion)) if f.rule == rule_id]
    return found


OUTCOMES = [
    ("tls-version", ACCEPTS_TLS10, told(suites=suites(TLS10, (CBC,), ())), "confirmed"),
    ("tls-version", ACCEPTS_TLS10, told(suites=suites(TLS10, (RSA_CBC,), (CBC,))), "confirmed"),
    ("tls-version", ACCEPTS_TLS10, told(suites=suites(TLS10, (), (CBC, RSA_CBC))), "contradicted"),
    ("tls-version", ACCEPTS_TLS10, told(suites=suites(TLS10, (), (RSA_CBC,))), "not-visible-to-sslyze"),
    ("tls-version", ACCEPTS_TLS10, told(suites=suites(TLS12, (CBC,), ())), "not-visible-to-sslyze"),
    ("tls-version", ACCEPTS_TLS10, told(failure="no connection"), "not-visible-to-sslyze"),
    (
        "tls-version",
        {"versions": answers((TLS13, TLS12, SSL2), set(VERSIONS))},
        told(suites=suites(SSL2, (), (0x010080,))),
        "contradicted",
    ),
    ("tls-cipher-suite", ACCEPTS_CBC, told(suites=suites(TLS12, (CBC, RSA_CBC), ())), "confirmed"),
    ("tls-cipher-suite", ACCEPTS_CBC, told(suites=suites(TLS12, (CBC,), (RSA_CBC,))), "confirmed"),
    ("tls-cipher-suite", ACCEPTS_CBC, told(suites=suites(TLS12, (), (CBC, RSA_CBC))), "contradicted"),
    ("tls-cipher-suite", ACCEPTS_CBC, told(suites=suites(TLS12, (), (CBC,))), "not-visible-to-sslyze"),
    ("tls-cipher-suite", ACCEPTS_CBC, told(suites=suites(TLS10, (), (CBC, RSA_CBC))), "not-visible-to-sslyze"),
    ("cert-expired", {"chain": (OLD_LEAF,)}, told(certificates=frozenset({"1" * 64, "0" * 64})), "confirmed"),
    ("cert-expired", {"chain": (OLD_LEAF,)}, told(certificates=frozenset({"1" * 64})), "contradicted"),
    ("cert-expired", {"chain": (OLD_LEAF,)}, told(certificates=Unknown("it failed")), "not-visible-to-sslyze"),
    ("tls-reach", {"reach": Reach.PLAINTEXT, "protocol": "http"}, told(), "not-visible-to-sslyze"),
]


@pytest.mark.parametrize(("rule_id", "observation", "opinion", "expected"), OUTCOMES)
def test_what_the_witness_makes_of_a_violation(
    rule_id: str, observation: dict[str, Any], opinion: Opinion, expected: str
) -> None:
    found = heard(rule_id, opinion, case(observation=observation))
    assert found.second_opinion == expected
    assert WITNESS in found.evidence[-1]
    assert found.verdict == ("inconclusive" if expected == "contradicted" else "fail")


def test_a_contradicted_violation_keeps_both_sides_and_is_no_pass() -> None:
    of = case(observation=ACCEPTS_CBC)
    opinion = told(suites=suites(TLS12, (), (CBC, RSA_CBC)))
    found = heard("tls-cipher-suite", opinion, of)
    assert "but sslyze 6.3.1 did not confirm it" in found.message
    ours, theirs = found.evidence[-2:]
    assert ours.startswith("adhere saw: TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA (ECDHE-RSA-AES128-SHA, 0xC013)")
    assert theirs.startswith("sslyze 6.3.1 did not see it: ")
    assert "TLS_RSA_WITH_AES_128_CBC_SHA (AES128-SHA, 0x002F) in TLSv1.2" in theirs
    assert found.observed
    after = judgement(confirm(judge(of).findings, replace(of, opinion=opinion)))
    assert (after.verdict, after.status) == ("inconclusive", "not-tested")


GROUPS_OF_13 = {"groups": {**CONFORMING.groups, TLS13: answers((*ALLOWED_GROUPS, 0x0019, 0x0202), all_groups())}}


@pytest.mark.parametrize(
    ("group", "opinion", "expected"),
    [
        (0x0019, told(groups=Answers(accepted=(0x0019,))), "confirmed"),
        (0x0019, told(groups=Answers(refused=frozenset({0x0019}))), "contradicted"),
        (0x0019, told(groups=Answers(refused=frozenset({0x0019})), highest=TLS12), "not-visible-to-sslyze"),
        (0x0202, told(groups=Answers(accepted=(0x001D,), refused=frozenset({0x0019}))), "not-visible-to-sslyze"),
    ],
)
def test_groups_and_that_it_is_blind_to_ml_kem(group: int, opinion: Opinion, expected: str) -> None:
    groups = {**CONFORMING.groups, TLS13: answers((*ALLOWED_GROUPS, group), all_groups())}
    of = case(observation={"groups": groups}, policy={"groups": "enforced"})
    assert heard("tls-group", opinion, of).second_opinion == expected


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        ("requested", "confirmed"),
        ("required", "contradicted"),
        (Unknown("sslyze could not determine it"), "not-visible-to-sslyze"),
    ],
)
def test_the_request_for_a_client_certificate(seen: Known[ClientCertificate], expected: str) -> None:
    of = case(observation={"client_certificate": "requested"}, expectation={"client_certificate": "required"})
    assert heard("tls-client-certificate", told(client_certificate=seen), of).second_opinion == expected


def test_without_a_server_name_a_refusal_contradicts_nothing() -> None:
    of = case(observation=ACCEPTS_CBC, endpoint={"server_name": None})
    found = heard("tls-cipher-suite", told(suites=suites(TLS12, (), (CBC, RSA_CBC))), of)
    assert found.second_opinion == "not-visible-to-sslyze"
    assert "sends a server name" in found.evidence[-1]
    assert heard("tls-cipher-suite", told(suites=suites(TLS12, (CBC,), ())), of).second_opinion == "confirmed"


def test_what_is_no_violation_is_left_alone() -> None:
    of = case(observation=ACCEPTS_CBC, expectation={"binding": "not-enforced"})
    findings = judge(of).findings
    assert confirm(findings, replace(of, opinion=told(suites=suites(TLS12, (), (CBC, RSA_CBC))))) == findings


def test_a_violation_that_it_could_not_be_asked_about_says_so() -> None:
    of = case(observation={"reach": Reach.PLAINTEXT, "protocol": "http"})
    found = confirm(judge(of).findings, of)
    assert [(f.rule, f.verdict, f.second_opinion) for f in found] == [("tls-reach", "fail", "not-visible-to-sslyze")]
    assert "sslyze cannot determine it" in found[0].evidence[-1]


@pytest.mark.parametrize(
    ("observation", "policy", "asked"),
    [
        ({}, {}, None),
        (ACCEPTS_TLS10, {}, Inquiry(versions=frozenset({TLS10}))),
        (ACCEPTS_CBC, {}, Inquiry(versions=frozenset({TLS12}))),
        ({**ACCEPTS_TLS10, **ACCEPTS_CBC}, {}, Inquiry(versions=frozenset({TLS10, TLS12}))),
        ({"chain": (OLD_LEAF,)}, {}, Inquiry(certificate=True)),
        (GROUPS_OF_13, {"groups": "enforced"}, Inquiry(groups=True)),
        (GROUPS_OF_13, {}, None),
        ({"reach": Reach.PLAINTEXT}, {}, None),
    ],
)
def test_the_witness_is_asked_for_no_more_than_the_violations(
    observation: dict[str, Any], policy: dict[str, Any], asked: Inquiry | None
) -> None:
    of = case(observation=observation, policy=policy)
    findings = judge(of).findings
    assert inquiry(findings, of, confirm=True, deep=False) == asked
    assert inquiry(findings, of, confirm=False, deep=False) is None


@pytest.mark.parametrize("confirmed", [False, True])
@pytest.mark.parametrize("deep", [False, True])
def test_a_result_is_applied_to_what_was_asked_for(confirmed: bool, deep: bool) -> None:
    of = replace(case(observation=ACCEPTS_CBC), opinion=told(suites=suites(TLS12, (CBC, RSA_CBC), ())))
    before = judge(of).findings
    after = apply_sslyze_result(before, of, confirmed=confirmed, deep=deep)
    assert after[: len(before)] == (confirm(before, of) if confirmed else before)
    assert [each.rule for each in after[len(before) :]] == [each.id for each in DEEP_RULES if deep]


def test_looking_for_vulnerabilities_asks_for_them_alone() -> None:
    of = case(observation=ACCEPTS_CBC)
    assert inquiry(judge(of).findings, of, confirm=False, deep=True) == Inquiry(flaws=True)
    both = inquiry(judge(of).findings, of, confirm=True, deep=True)
    assert both == Inquiry(flaws=True, versions=frozenset({TLS12}))
    closed = case(observation={"reach": Reach.CLOSED})
    assert inquiry((), closed, confirm=True, deep=True) is None


def test_every_rule_that_it_can_repeat_exists() -> None:
    from scanner.judge import RULES

    assert set(SSLYZE_EVIDENCE) <= {rule.id for rule in RULES}
    leaves = {rule.id for rule in RULES if rule.id.startswith("cert-")} - {"cert-stored-chain"}
    # sslyze says nothing of what is sent behind a leaf.
    assert set(CERTIFICATE_RULES) == leaves, (
        "add a rule on the leaf to CERTIFICATE_RULES in scanner/judge/sslyze_result.py"
    )
