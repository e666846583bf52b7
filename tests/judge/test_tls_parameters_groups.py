from __future__ import annotations

import pytest

from scanner.judge import judge
from scanner.judge.tls_parameters import known_groups
from scanner.kube.maybe import Unknown
from scanner.model.expectation import StatedGroups
from scanner.model.observation import Answers, Negotiated
from scanner.tls.codepoints import TLS10, TLS12, TLS13, VERSIONS
from scanner.values import replace
from tests.judge.cases import ALLOWED_GROUPS, CONFORMING, PROFILE, all_groups, answers, case, finding

P521, X448, FFDHE2048 = 0x0019, 0x001E, 0x0100
ENFORCED = {"groups": "enforced"}
ECDSA = Answers(accepted=(0x0017,), unasked="the certificate's own curve must be in every offer")


def with_groups(tls13: Answers, tls12: Answers | None = None) -> dict[str, object]:
    return {"groups": {TLS13: tls13, TLS12: tls12 or CONFORMING.groups[TLS12]}}


@pytest.mark.parametrize("policy", [{}, ENFORCED])
def test_no_group_outside_the_list_passes(policy: dict[str, str]) -> None:
    assert finding("tls-group", case(policy=policy)).verdict == "pass"
    turned = with_groups(answers(ALLOWED_GROUPS[::-1], all_groups()))
    assert finding("tls-group", case(observation=turned, policy=policy)).verdict == "pass", "order is not judged"


def test_a_group_outside_is_informational() -> None:
    of = case(observation=with_groups(answers((*ALLOWED_GROUPS, P521), all_groups())))
    found = finding("tls-group", of)
    assert (found.verdict, found.status, found.severity) == ("pass", "informational", "info")
    assert found.observed == ("secp521r1 (P-521, 0x0019) in TLSv1.3",)
    assert (judge(of).verdict, judge(of).status) == ("pass", "ok")


def test_a_group_outside_fails_where_the_policy_enforces_groups() -> None:
    of = case(
        observation=with_groups(
            answers((*ALLOWED_GROUPS, P521, X448), all_groups()), answers((*ALLOWED_GROUPS[1:], P521), all_groups())
        ),
        policy=ENFORCED,
    )
    found = finding("tls-group", of)
    assert (found.verdict, found.status, found.severity) == ("fail", "violation", "medium")
    assert found.observed == ("secp521r1 (P-521, 0x0019) in TLSv1.3, TLSv1.2", "x448 (0x001E) in TLSv1.3")
    assert found.reproduce == "adhere ask tls://127.0.0.1:443#a.example --version 1.3 --groups secp521r1,x448"
    assert judge(of).verdict == "fail"


STATED = StatedGroups(setting="Pod/x --tls-curve-preferences", codes=ALLOWED_GROUPS)


@pytest.mark.parametrize(
    ("expectation", "policy", "accepted", "found"),
    [
        ({"stated_groups": STATED}, {}, ALLOWED_GROUPS, ("pass", "ok", "medium")),
        ({"stated_groups": STATED}, {}, (*ALLOWED_GROUPS, P521), ("fail", "violation", "medium")),
        ({"stated_groups": STATED, "binding": "not-enforced"}, {}, (P521,), ("fail", "readiness", "medium")),
        ({"stated_groups": replace(STATED, unknown="x")}, {}, ALLOWED_GROUPS, ("inconclusive", "not-tested", "medium")),
        ({"without_groups": "etcd", "groups_configurable": False}, {}, (P521,), ("pass", "informational", "info")),
        (
            {"without_groups": "etcd", "groups_configurable": False},
            ENFORCED,
            (P521,),
            ("fail", "not-implemented", "info"),
        ),
        ({"without_groups": "etcd", "groups_configurable": False}, ENFORCED, ALLOWED_GROUPS, ("pass", "ok", "info")),
        ({"groups_configurable": False}, ENFORCED, (P521,), ("pass", "informational", "info")),
    ],
)
def test_groups_of_the_configuration_are_required_where_the_program_has_a_setting(
    expectation: dict[str, object], policy: dict[str, str], accepted: tuple[int, ...], found: tuple[str, ...]
) -> None:
    observation = with_groups(answers(accepted, all_groups()))
    of = finding("tls-group", case(expectation=expectation, observation=observation, policy=policy))
    assert (of.verdict, of.status, of.severity) == found
    assert ("etcd has no setting for groups" in of.message) is (of.status == "not-implemented")


def test_what_is_not_known_counts_only_where_groups_are_enforced() -> None:
    unknown = with_groups(CONFORMING.groups[TLS13], ECDSA)
    found = finding("tls-group", case(observation=unknown))
    assert (found.verdict, found.severity) == ("inconclusive", "info")
    assert "own curve" in found.message
    assert judge(case(observation=unknown)).verdict == "pass"
    assert judge(case(observation=unknown, policy=ENFORCED)).verdict == "inconclusive"


MAYBE_TLS13 = Answers(accepted=(TLS12,), refused=frozenset({*VERSIONS} - {TLS12, TLS13}), unasked="silence")


@pytest.mark.parametrize(
    ("observation", "words"),
    [
        ({"groups": {}}, "not asked"),
        (with_groups(answers((), all_groups())), "no group is known to be accepted (no clear refusal)"),
        ({"versions": answers((TLS10,), set(VERSIONS)), "groups": {}}, ""),
        (
            {"versions": MAYBE_TLS13, "groups": {TLS12: CONFORMING.groups[TLS12]}},
            "unknown whether TLSv1.3 is accepted (silence)",
        ),
    ],
    ids=["not asked", "none accepted", "neither TLS 1.2 nor 1.3", "perhaps TLS 1.3"],
)
def test_groups_that_are_not_known_are_inconclusive(observation: dict[str, object], words: str) -> None:
    found = finding("tls-group", case(observation=observation, policy=ENFORCED))
    assert found.verdict == "inconclusive"
    assert words in found.message


def test_a_profile_without_an_opinion_requires_nothing() -> None:
    found = finding("tls-group", case(expectation={"profile": replace(PROFILE, groups=None)}, policy=ENFORCED))
    assert (found.verdict, found.status) == ("not_applicable", "informational")


@pytest.mark.parametrize(("policy", "severity"), [({}, "info"), (ENFORCED, "medium")])
def test_an_unknown_profile_is_inconclusive(policy: dict[str, str], severity: str) -> None:
    found = finding("tls-group", case(expectation={"profile": Unknown("not read")}, policy=policy))
    assert (found.verdict, found.severity) == ("inconclusive", severity)


def test_finite_field_and_hybrid_groups_are_asked_for_in_tls13_alone() -> None:
    assert {FFDHE2048, 0x11EC, P521} <= known_groups(TLS13)
    assert P521 in known_groups(TLS12)
    assert not {FFDHE2048, 0x11EC} & known_groups(TLS12)


def test_a_post_quantum_group_is_ready() -> None:
    found = finding("tls-pq-readiness", case())
    assert (found.verdict, found.status) == ("not_applicable", "informational")
    assert found.observed == ("X25519MLKEM768 (0x11EC)",)


@pytest.mark.parametrize(
    "observation",
    [
        with_groups(answers(ALLOWED_GROUPS[1:], all_groups())),
        {"versions": answers((TLS12,), set(VERSIONS)), "groups": {TLS12: CONFORMING.groups[TLS12]}},
    ],
    ids=["classical only", "no TLS 1.3"],
)
def test_no_post_quantum_group_is_informational_and_never_fails(observation: dict[str, object]) -> None:
    of = case(observation=observation, policy={"groups": "informational"})
    found = finding("tls-pq-readiness", of)
    assert (found.verdict, found.status, found.observed) == ("not_applicable", "informational", ())
    assert judge(of).verdict == "pass"


def test_the_negotiated_group_is_evidence_of_readiness() -> None:
    negotiated = Negotiated(version=TLS13, suite=0x1301, group=0x11EC)
    found = finding("tls-pq-readiness", case(observation={"groups": {}, "negotiated": negotiated}))
    assert found.observed == ("X25519MLKEM768 (0x11EC)",)


def test_readiness_that_is_not_known_is_said_and_does_not_count() -> None:
    of = case(observation={"groups": {TLS13: Answers(accepted=(0x001D,), unasked="verdict mode")}})
    found = finding("tls-pq-readiness", of)
    assert (found.verdict, found.severity) == ("inconclusive", "info")
    assert "verdict mode" in found.message
    assert judge(of).verdict == "pass"


REQUIRED = {"post_quantum": "critical"}
KYBER = 0x6399  # X25519Kyber768Draft00


@pytest.mark.parametrize(
    ("observation", "verdict", "words"),
    [
        ({}, "pass", "it accepts a group with ML-KEM"),
        (with_groups(answers(ALLOWED_GROUPS[1:], all_groups())), "fail", "it accepts no group with ML-KEM"),
        (with_groups(answers((KYBER,), all_groups())), "fail", "it accepts no group with ML-KEM"),
        ({"versions": answers((TLS12,), set(VERSIONS)), "groups": {}}, "fail", "it accepts no group with ML-KEM"),
        ({"groups": {TLS13: Answers(accepted=(KYBER,), unasked="a deadline")}}, "inconclusive", "a deadline"),
        ({"groups": {}, "negotiated": Negotiated(version=TLS13, suite=0x1301, group=0x11EC)}, "pass", "it accepts"),
    ],
    ids=["ready", "classical", "Kyber", "no TLS 1.3", "unknown", "negotiated"],
)
@pytest.mark.parametrize("binding", ["must-follow", "not-enforced"])
def test_required_ml_kem_fails_or_is_open_whatever_binds_the_listener(
    observation: dict[str, object], verdict: str, words: str, binding: str
) -> None:
    of = case(observation=observation, expectation={"binding": binding}, policy=REQUIRED)
    found = finding("tls-pq-readiness", of)
    assert (found.verdict, found.severity) == (verdict, "critical")
    assert found.status == {"pass": "ok", "fail": "violation", "inconclusive": "not-tested"}[verdict]
    assert words in found.message
    assert judge(of).verdict == ("fail" if verdict == "fail" else verdict)
    if verdict == "fail":
        assert "X25519MLKEM768" in (found.fix or "")


@pytest.mark.parametrize("spoken", [TLS12, TLS13])
def test_a_version_that_is_refused_leaves_nothing_unknown_about_its_groups(spoken: int) -> None:
    only = {"versions": answers((spoken,), set(VERSIONS)), "groups": {spoken: CONFORMING.groups[spoken]}}
    assert finding("tls-group", case(observation=only, policy=ENFORCED)).verdict == "pass"
