"""What a waiver waives, what it never does, and what is said of those that are of no use."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scanner.judge import RULES, SCAN_RULES, WAIVABLE, judge, judgement
from scanner.judge.waivers import WaiverLedger, expired, waive
from scanner.kube.maybe import Unknown
from scanner.model.finding import Finding, Status
from scanner.model.report import NEVER_FAILS
from scanner.model.scan_policy import Selector, Waiver
from scanner.tls.codepoints import TLS10, TLS12, TLS13, VERSIONS
from scanner.values import replace
from tests.judge.cases import ENDPOINT, answers, case

TODAY = date(2026, 11, 21)
BAD_VERSIONS = {"versions": answers((TLS13, TLS12, TLS10), set(VERSIONS))}
WAIVER = Waiver(
    rule="tls-version",
    selector=Selector(endpoints=("target/a.example:*",)),
    reason="an appliance that knows no better",
    owner="team-legacy",
    expires=date(2027, 3, 31),
    source="adhere.yaml:9:5",
)
SAID = "team-legacy until 2027-03-31: an appliance that knows no better (adhere.yaml:9:5)"
EXPIRED_ONE = replace(WAIVER, expires=date(2026, 11, 20), source="adhere.yaml:4:5")
VIOLATION = Finding(rule="tls-version", severity="high", verdict="fail", status="violation", message="TLS 1.0")
UNKNOWN = replace(VIOLATION, verdict="inconclusive", status="not-tested", message="nobody knows")
PASSED = replace(VIOLATION, verdict="pass", status="ok", message="fine")


def only(finding: Finding, *waivers: Waiver) -> Finding:
    (result,) = waive([finding], waivers, TODAY).findings
    return result


def test_a_waived_failure_stays_a_failure_and_says_who_answers_for_it() -> None:
    done = only(VIOLATION, WAIVER)
    assert done == replace(VIOLATION, status="waived", waiver=SAID)
    assert done.status in NEVER_FAILS


def test_an_endpoint_with_a_waived_failure_neither_passes_nor_counts() -> None:
    judged = judge(case(observation=BAD_VERSIONS))
    waived = judgement(waive(judged.findings, [WAIVER], TODAY).findings)
    assert (judged.status, waived.verdict, waived.status) == ("violation", "fail", "waived")
    assert [each.rule for each in waived.findings] == [each.rule for each in judged.findings]


def test_another_failure_beside_it_still_counts() -> None:
    other = replace(VIOLATION, rule="cert-expired", severity="low")
    judged = judgement(waive([VIOLATION, other], [WAIVER], TODAY).findings)
    assert (judged.verdict, judged.status) == ("fail", "violation")


@pytest.mark.parametrize("rule", ["tls-version", "tls-*", "*"])
def test_a_rule_may_be_a_pattern(rule: str) -> None:
    assert only(VIOLATION, replace(WAIVER, rule=rule)).status == "waived"


OTHER_RULE = replace(WAIVER, rule="cert-*")


@pytest.mark.parametrize(
    ("finding", "waiver", "matched"),
    [
        (VIOLATION, OTHER_RULE, set()),
        (PASSED, WAIVER, set()),
        (replace(VIOLATION, status="readiness"), WAIVER, {WAIVER}),
        (replace(VIOLATION, status="converging"), WAIVER, {WAIVER}),
    ],
    ids=["another rule", "a pass", "readiness", "converging"],
)
def test_what_needs_no_waiver_stays_what_it_is(finding: Finding, waiver: Waiver, matched: set[Waiver]) -> None:
    waived = waive([finding], [waiver], TODAY)
    assert waived.findings == (finding,)
    assert waived.matched == matched


def test_what_is_not_known_is_never_waived_and_the_finding_says_so() -> None:
    waived = waive([UNKNOWN], [WAIVER], TODAY)
    (result,) = waived.findings
    assert (result.verdict, result.status, result.waiver) == ("inconclusive", "not-tested", None)
    assert "adhere.yaml:9:5" in result.evidence[-1]
    assert waived.matched == {WAIVER}, "the waiver may be needed when it can be told again"


@pytest.mark.parametrize(
    ("day", "over"), [(date(2027, 3, 30), False), (date(2027, 3, 31), False), (date(2027, 4, 1), True)]
)
def test_the_last_day_still_counts(day: date, over: bool) -> None:
    assert expired(WAIVER, day) is over
    (result,) = waive([VIOLATION], [WAIVER], day).findings
    assert (result.status == "waived") is not over


def test_an_expired_waiver_waives_nothing_and_the_finding_says_so() -> None:
    waived = waive([VIOLATION], [EXPIRED_ONE], TODAY)
    (result,) = waived.findings
    assert (result.verdict, result.status, result.waiver) == ("fail", "violation", None)
    assert result.evidence[-1].startswith("the waiver has expired: team-legacy until 2026-11-20")
    assert waived.overdue == {EXPIRED_ONE}


def test_of_several_the_one_that_lasts_longest_is_named() -> None:
    longer = replace(WAIVER, expires=date(2028, 1, 1), owner="team-new")
    result = only(VIOLATION, EXPIRED_ONE, WAIVER, longer)
    assert result.status == "waived"
    assert result.waiver is not None
    assert result.waiver.startswith("team-new")
    assert not waive([VIOLATION], [EXPIRED_ONE, WAIVER], TODAY).overdue


# --- The ledger -----------------------------------------------------------------------------------

OTHER = replace(ENDPOINT, id="target/b.example:443", instance="target/b.example:443@127.0.0.2")


def ledger(*waivers: Waiver) -> WaiverLedger:
    return WaiverLedger(waivers, TODAY, across=["replicas-differ"])


def test_a_waiver_holds_for_what_it_selects_only() -> None:
    run = ledger(WAIVER)
    assert [each.status for each in run.waive([VIOLATION], ENDPOINT)] == ["waived"]
    assert run.waive([VIOLATION], OTHER) == (VIOLATION,)
    assert run.findings(rules=WAIVABLE) == ()


def test_a_waiver_that_selects_nothing_is_reported() -> None:
    run = ledger(WAIVER)
    run.waive([VIOLATION], OTHER)
    (found,) = run.findings(rules=WAIVABLE)
    assert (found.rule, found.severity, found.verdict, found.status) == ("waiver-unused", "low", "fail", "violation")
    assert found.message == "the waiver of tls-version selects no endpoint of this scan"
    assert found.about == "adhere.yaml:9:5"
    assert found.evidence == (SAID,)
    assert found.fix
    run.waive([UNKNOWN], ENDPOINT)
    assert run.findings(rules=WAIVABLE) == (), "what is not known keeps a waiver in use"


def test_a_waiver_of_what_has_been_mended_is_reported() -> None:
    run = ledger(WAIVER)
    run.waive([PASSED], ENDPOINT)
    (found,) = run.findings(rules=WAIVABLE)
    assert found.message == "the waiver of tls-version selects 1 endpoint, but the rule does not fail there"


@pytest.mark.parametrize(
    ("rules", "complete", "why"),
    [
        (WAIVABLE, False, "the scan ended early"),
        (["cert-expired"], True, "its rule was not applied in this scan"),
    ],
)
def test_of_a_waiver_that_may_be_needed_nobody_says_that_it_is_not(rules: list[str], complete: bool, why: str) -> None:
    (found,) = ledger(WAIVER).findings(rules=rules, complete=complete)
    assert (found.verdict, found.status) == ("inconclusive", "not-tested")
    assert found.message.endswith(f": {why}")


def test_an_expired_waiver_that_is_still_needed_is_reported() -> None:
    run = ledger(EXPIRED_ONE)
    run.waive([VIOLATION], ENDPOINT)
    (found,) = run.findings(rules=WAIVABLE)
    assert (found.rule, found.severity, found.verdict) == ("waiver-expired", "medium", "fail")
    assert found.observed == ("expired after 2026-11-20",)
    assert "still fails on 1 endpoint" in found.message


@pytest.mark.parametrize(
    ("selected", "ignore", "status", "message", "fix"),
    [
        (0, False, "informational", "the waiver of tls-version selects no object of this run", "select"),
        (
            2,
            False,
            "violation",
            "the waiver of tls-version selects 2 objects, but the rule does not fail there",
            "select",
        ),
        (0, True, "violation", "the ignore of tls-version matches no finding", "place"),
    ],
)
def test_a_waiver_that_selects_no_object_may_be_for_another_file(
    selected: int, ignore: bool, status: Status, message: str, fix: str
) -> None:
    waiver = replace(WAIVER, ignore=ignore)
    run = WaiverLedger([waiver], TODAY, noun="object")
    for _ in range(selected):
        run.waive_by([waiver], [])
    (found,) = run.findings(rules=WAIVABLE)
    word = "ignore" if ignore else "waiver"
    assert found == Finding(
        rule="waiver-unused",
        severity="info" if status == "informational" else "low",
        verdict="fail",
        status=status,
        message=message,
        expected=(f"a finding that matches the {word}",),
        observed=("no finding",),
        fix=f"remove the {word} from adhere.yaml:9:5, or correct its rule or {fix}",
        evidence=(SAID,),
        about="adhere.yaml:9:5",
    )
    assert run.findings(rules=WAIVABLE, elsewhere=WAIVABLE) == ()


def test_an_expired_waiver_that_nobody_needs_is_merely_unused() -> None:
    (found,) = ledger(EXPIRED_ONE).findings(rules=WAIVABLE)
    assert found.rule == "waiver-unused"


def test_a_finding_across_endpoints_is_waived_by_the_id_that_they_share() -> None:
    differ = replace(VIOLATION, rule="replicas-differ", about=ENDPOINT.id)
    run = ledger(replace(WAIVER, rule="replicas-*"))
    run.waive([PASSED], ENDPOINT)
    elsewhere = replace(differ, about=OTHER.id)
    first, second = run.waive_across([differ, elsewhere])
    assert (first.status, second) == ("waived", elsewhere)
    assert run.findings(rules=WAIVABLE) == ()


FINDINGS = st.builds(
    Finding,
    rule=st.sampled_from(["tls-version", "cert-expired"]),
    severity=st.sampled_from(["low", "high"]),
    verdict=st.sampled_from(["pass", "fail", "inconclusive", "not_applicable"]),
    status=st.sampled_from(["ok", "violation", "readiness", "not-tested"]),
    message=st.just("x"),
)


@given(findings=st.lists(FINDINGS, max_size=4), waivers=st.lists(st.sampled_from([WAIVER, EXPIRED_ONE]), max_size=2))
def test_no_waiver_ever_changes_a_verdict_or_loses_a_finding(findings: list[Finding], waivers: list[Waiver]) -> None:
    result = waive(findings, waivers, TODAY).findings
    assert [(each.rule, each.verdict, each.severity) for each in result] == [
        (each.rule, each.verdict, each.severity) for each in findings
    ]
    assert judgement(result).verdict == judgement(findings).verdict
    assert all(each.verdict == "fail" for each in result if each.status == "waived")


def test_an_unknown_profile_is_not_waived_into_a_pass() -> None:
    judged = judge(case(expectation={"profile": Unknown("the object cannot be read")}))
    waived = judgement(waive(judged.findings, [replace(WAIVER, rule="*")], TODAY).findings)
    assert (waived.verdict, waived.status) == (judged.verdict, judged.status) == ("inconclusive", "not-tested")


def test_what_is_required_of_a_scan_cannot_be_waived() -> None:
    assert {each.id for each in RULES} <= set(WAIVABLE)
    assert {each.id for each in SCAN_RULES} - set(WAIVABLE) == {
        "profile-custom",
        "profile-names-dropped",
        "adherence-unknown",
        "require-endpoints",
        "require-determined",
        "require-adherence",
        "require-pki-coverage",
        "waiver-unused",
        "waiver-expired",
    }
