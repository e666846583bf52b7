from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scanner.kube.maybe import Unknown
from scanner.model.observation import Answers
from scanner.tls.codepoints import SSL2, SSL3, TLS10, TLS11, TLS12, TLS13, VERSIONS
from scanner.values import replace
from tests.judge.cases import BECAUSE_OBJECT, PROFILE, answers, case, finding

ALL = set(VERSIONS)
MODERN = replace(PROFILE, min_version=TLS13)


@pytest.mark.parametrize("accepted", [(TLS13, TLS12), (TLS12,)])
def test_everything_below_refused_passes(accepted: tuple[int, ...]) -> None:
    found = finding("tls-version", case(observation={"versions": answers(accepted, ALL)}))
    assert (found.verdict, found.status) == ("pass", "ok")


@pytest.mark.parametrize(
    ("accepted", "severity", "version"),
    [
        ((TLS12, TLS11), "high", "1.1"),
        ((TLS12, TLS11, TLS10), "high", "1.0"),
        ((TLS12, SSL3), "critical", "SSLv3"),
        ((TLS12, TLS10, SSL2), "critical", "SSLv2"),
    ],
)
def test_a_version_below_fails_by_name(accepted: tuple[int, ...], severity: str, version: str) -> None:
    found = finding("tls-version", case(observation={"versions": answers(accepted, ALL)}))
    assert (found.verdict, found.severity) == ("fail", severity)
    assert found.expected == ("TLSv1.2 or later (test/intermediate)",)
    assert found.reproduce == f"adhere ask tls://127.0.0.1:443#a.example --version {version}"


def test_each_version_below_is_listed() -> None:
    found = finding("tls-version", case(observation={"versions": answers((TLS12, TLS11, TLS10, SSL2), ALL)}))
    assert found.observed == ("SSLv2 (0x0002)", "TLSv1 (VersionTLS10, 0x0301)", "TLSv1.1 (VersionTLS11, 0x0302)")


def test_tls12_fails_under_modern_and_the_fix_names_the_object() -> None:
    found = finding(
        "tls-version", case(expectation={"profile": MODERN, "because": (replace(BECAUSE_OBJECT, decides=True),)})
    )
    assert found.observed == ("TLSv1.2 (VersionTLS12, 0x0303)",)
    assert found.fix == (
        "set the minimum version to TLSv1.3 in the listener's own configuration; "
        "APIServer/cluster spec.tlsSecurityProfile requires it"
    )


def test_an_acceptance_stands_whatever_else_is_not_known() -> None:
    versions = Answers(accepted=(TLS12, TLS10), unasked="the deadline came first")
    found = finding("tls-version", case(observation={"versions": versions}))
    assert found.verdict == "fail"
    assert "not determined: TLSv1.1 (the deadline came first)" in found.evidence


def test_what_was_not_told_is_named_with_the_reason() -> None:
    versions = Answers(accepted=(TLS12,), refused=frozenset({SSL2, SSL3, TLS11}), unasked="the listener was silent")
    found = finding("tls-version", case(observation={"versions": versions}))
    assert found.verdict == "inconclusive"
    assert found.evidence == ("TLSv1 (the listener was silent)",)


def test_a_listener_that_accepts_only_what_is_forbidden_fails() -> None:
    found = finding("tls-version", case(observation={"versions": answers((TLS10,), ALL)}))
    assert found.verdict == "fail"
    assert "no allowed version" in found.message


def test_a_listener_that_accepts_nothing_is_inconclusive() -> None:
    found = finding("tls-version", case(observation={"versions": answers((), ALL)}))
    assert found.verdict == "inconclusive"


def test_an_unknown_profile_is_inconclusive() -> None:
    found = finding("tls-version", case(expectation={"profile": Unknown("the object cannot be read")}))
    assert found.verdict == "inconclusive"
    assert "the object cannot be read" in found.message


@given(
    accepted=st.lists(st.sampled_from(VERSIONS), unique=True).map(tuple),
    refused=st.frozensets(st.sampled_from(VERSIONS)),
    minimum=st.sampled_from(VERSIONS),
)
def test_a_pass_means_that_every_version_below_was_refused(
    accepted: tuple[int, ...], refused: frozenset[int], minimum: int
) -> None:
    of = case(
        observation={"versions": Answers(accepted=accepted, refused=refused - set(accepted))},
        expectation={"profile": replace(PROFILE, min_version=minimum)},
    )
    if finding("tls-version", of).verdict == "pass":
        assert {v for v in VERSIONS if v < minimum} <= refused - set(accepted)
        assert any(v >= minimum for v in accepted)
