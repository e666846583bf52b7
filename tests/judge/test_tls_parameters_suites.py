from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scanner.judge.tls_parameters import suite_severity
from scanner.kube.maybe import Unknown
from scanner.model.observation import Answers
from scanner.tls.codepoints import TLS10, TLS11, TLS12, TLS13, VERSIONS
from scanner.tls.names import suite_code
from scanner.values import replace
from tests.judge.cases import (
    CONFORMING,
    PROFILE,
    TLS12_SUITES,
    TLS13_SUITES,
    all_suites,
    answers,
    case,
    finding,
    forbidden_suites,
)

RSA_CBC, ECDHE_CBC = 0x002F, 0xC013


def with_suites(**by_version: Answers) -> dict[str, object]:
    names = {"tls13": TLS13, "tls12": TLS12, "tls11": TLS11, "tls10": TLS10}
    changed = {names[name]: value for name, value in by_version.items()}
    versions = answers(tuple({*CONFORMING.versions.accepted, *changed}), set(VERSIONS))
    return {"suites": {**CONFORMING.suites, **changed}, "versions": versions}


@pytest.mark.parametrize(
    ("observation", "verdict"),
    [
        ({}, "pass"),
        (with_suites(tls12=answers(TLS12_SUITES[:1], all_suites(TLS12))), "pass"),
        (with_suites(tls10=Answers(accepted=(0xC02F,), unasked="one was enough")), "pass"),  # another rule's business
        (with_suites(tls13=answers((*TLS13_SUITES, 0x1305), all_suites(TLS13))), "fail"),
    ],
    ids=["all refused", "an allowed one is missing", "unknown in a forbidden version", "CCM of TLS 1.3"],
)
def test_only_an_accepted_suite_outside_the_set_fails(observation: dict[str, object], verdict: str) -> None:
    assert finding("tls-cipher-suite", case(observation=observation)).verdict == verdict


def test_a_suite_outside_the_set_fails_with_both_names_and_how_to_see_it_again() -> None:
    found = finding(
        "tls-cipher-suite",
        case(observation=with_suites(tls12=answers((*TLS12_SUITES, RSA_CBC, ECDHE_CBC), all_suites(TLS12)))),
    )
    assert (found.verdict, found.severity, found.status) == ("fail", "medium", "violation")
    assert found.observed == (
        "TLS_RSA_WITH_AES_128_CBC_SHA (AES128-SHA, 0x002F) in TLSv1.2",
        "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA (ECDHE-RSA-AES128-SHA, 0xC013) in TLSv1.2",
    )
    assert found.reproduce == (
        "adhere ask tls://127.0.0.1:443#a.example --version 1.2 "
        "--suites TLS_RSA_WITH_AES_128_CBC_SHA,TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA"
    )
    assert len(found.expected) == len(PROFILE.suites)
    assert found.fix


def test_one_item_for_a_suite_of_several_versions() -> None:
    accepted = answers((*TLS12_SUITES, RSA_CBC), all_suites(TLS12))
    found = finding("tls-cipher-suite", case(observation=with_suites(tls12=accepted, tls10=accepted)))
    assert found.observed[0].endswith(" in TLSv1.2, TLSv1")
    assert "--version 1.2 " in (found.reproduce or "")
    assert "(see tls-version)" not in found.message


def test_a_suite_accepted_only_in_a_forbidden_version_is_listed_and_said_to_go_with_it() -> None:
    found = finding(
        "tls-cipher-suite", case(observation=with_suites(tls10=Answers(accepted=(RSA_CBC,), unasked="one was enough")))
    )
    assert found.verdict == "fail"
    assert "(see tls-version)" in found.message
    assert found.evidence == ()


def test_the_three_suites_of_tls13_are_allowed_unless_a_list_is_honoured() -> None:
    two = replace(PROFILE, suites=(0x1301, 0x1302, *TLS12_SUITES))
    assert finding("tls-cipher-suite", case(expectation={"profile": two})).verdict == "pass"
    honoured = {"profile": two, "tls13_suites_configurable": True}
    found = finding("tls-cipher-suite", case(expectation=honoured))
    assert found.verdict == "fail"
    assert found.observed == ("TLS_CHACHA20_POLY1305_SHA256 (0x1303) in TLSv1.3",)


def test_a_suite_that_nobody_registered_fails_too() -> None:
    odd = with_suites(tls12=answers((*TLS12_SUITES, 0xFAFA), all_suites(TLS12)))
    assert finding("tls-cipher-suite", case(observation=odd)).observed == ("0xFAFA in TLSv1.2",)


def test_a_suite_of_another_version_is_outside_the_set_only_if_no_list_has_it() -> None:
    assert RSA_CBC not in forbidden_suites(PROFILE, TLS13)
    assert 0x1304 not in forbidden_suites(PROFILE, TLS12)
    assert 0x00C6 in forbidden_suites(PROFILE, TLS13)


MAYBE_TLS13 = Answers(accepted=(TLS12,), refused=frozenset({*VERSIONS} - {TLS12, TLS13}), unasked="silence")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (with_suites(tls12=Answers(accepted=TLS12_SUITES, unasked="the deadline")), ("TLSv1.2", "the deadline")),
        (with_suites(tls12=Answers(accepted=TLS12_SUITES)), ("TLSv1.2", "no clear refusal")),
        (with_suites(tls12=answers((), all_suites(TLS12))), ("TLSv1.2", "no suite is known to be accepted")),
        ({"suites": {TLS13: CONFORMING.suites[TLS13]}}, ("no suites were asked for TLSv1.2",)),
        ({"versions": answers((), set(VERSIONS)), "suites": {}}, ()),
        (
            {"versions": MAYBE_TLS13, "suites": {TLS12: CONFORMING.suites[TLS12]}},
            ("unknown whether TLSv1.3 is accepted (silence)",),
        ),
    ],
    ids=["deadline", "no refusal", "none accepted", "not asked", "no allowed version", "perhaps TLS 1.3"],
)
def test_what_is_not_known_is_inconclusive_with_the_reason(changes: dict[str, object], words: tuple[str, ...]) -> None:
    found = finding("tls-cipher-suite", case(observation=changes))
    assert found.verdict == "inconclusive"
    for each in words:
        assert each in found.message


@pytest.mark.parametrize(
    ("count", "listed"), [(1, "AES128-SHA, 0x002F)"), (3, "0x0033)"), (4, "0x0033), ..."), (5, "0x0033), ...")]
)
def test_three_of_the_unknown_suites_are_named(count: int, listed: str) -> None:
    unknown = (0x002F, 0x0032, 0x0033, 0x0035, 0x0038)[:count]
    known = replace(CONFORMING.suites[TLS12], refused=frozenset(all_suites(TLS12) - {*TLS12_SUITES, *unknown}))
    found = finding("tls-cipher-suite", case(observation={"suites": {**CONFORMING.suites, TLS12: known}}))
    assert found.message.partition(": ")[2].startswith(f"TLSv1.2: {count} suites (no clear refusal): TLS_RSA_WITH_AES")
    assert found.message.endswith(listed)


def test_an_unknown_profile_is_inconclusive() -> None:
    assert finding("tls-cipher-suite", case(expectation={"profile": Unknown("not read")})).verdict == "inconclusive"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("TLS_RSA_WITH_NULL_SHA256", "high"),
        ("TLS_NULL_WITH_NULL_NULL", "high"),
        ("TLS_DH_anon_WITH_AES_128_CBC_SHA", "high"),
        ("TLS_RSA_EXPORT_WITH_RC2_CBC_40_MD5", "high"),
        ("TLS_ECDHE_RSA_WITH_RC4_128_SHA", "high"),
        ("TLS_RSA_WITH_DES_CBC_SHA", "high"),
        ("TLS_SHA256_SHA256", "high"),
        ("TLS_RSA_WITH_3DES_EDE_CBC_SHA", "medium"),
        ("TLS_RSA_WITH_AES_128_GCM_SHA256", "medium"),
        ("0xFAFA", "medium"),
    ],
)
def test_severity(name: str, expected: str) -> None:
    assert suite_severity({suite_code(name): []}) == expected


@given(data=st.data())
def test_one_forbidden_suite_that_is_not_known_is_enough_to_prevent_a_pass(data: st.DataObject) -> None:
    version = data.draw(st.sampled_from([TLS12, TLS13]))
    forbidden = sorted(forbidden_suites(PROFILE, version))
    missing = data.draw(st.frozensets(st.sampled_from(forbidden), min_size=1))
    known = CONFORMING.suites[version]
    changed = replace(known, refused=known.refused - missing)
    found = finding("tls-cipher-suite", case(observation={"suites": {**CONFORMING.suites, version: changed}}))
    assert found.verdict == "inconclusive"
    accepted = replace(known, accepted=(*known.accepted, *missing))
    found = finding("tls-cipher-suite", case(observation={"suites": {**CONFORMING.suites, version: accepted}}))
    assert found.verdict == "fail"
    assert len(found.observed) == min(len(missing), 51)
