"""Certificates that nobody has let a listener have, and listeners that are to serve nothing."""

from __future__ import annotations

from typing import Any

import pytest

from scanner.judge import judge
from scanner.kube.maybe import Known, Unknown
from scanner.model.expectation import (
    CertificateExpectation,
    DeclaredCertificates,
    DeclaredLeaf,
    MissingGrant,
    PlainPort,
)
from scanner.model.finding import Finding
from scanner.model.observation import Reach
from scanner.values import replace
from tests.judge.cases import LEAF, case, finding, findings

RULE = "cert-not-granted"
MINE = DeclaredLeaf(
    place="Secret/certs/web data[tls.crt]",
    sha256=LEAF.sha256,
    serial=5,
    names=frozenset({"DNS:a.example"}),
    issuer=LEAF.issuer,
    not_before=LEAF.not_before,
)
OTHER = replace(MINE, sha256="ab" * 32)
UNREAD = Unknown("Secret/certs/web was not read: 403 Forbidden")


def named(leaf: Known[DeclaredLeaf], **more: Any) -> MissingGrant:  # noqa: ANN401 - fields
    return MissingGrant(who="Gateway/edge/gw listener one", secret="Secret/certs/web", leaf=leaf, **more)


def said(
    *every: MissingGrant, declared: DeclaredCertificates | None = None, beside: frozenset[str] = frozenset()
) -> Finding:
    certificate = CertificateExpectation(missing_grants=every, declared=declared, beside=beside)
    return finding(RULE, case(expectation={"certificate": certificate, "binding": "not-enforced"}))


def test_the_certificate_of_another_namespaces_secret_is_critical() -> None:
    found = said(named(OTHER), named(MINE))
    assert (found.verdict, found.severity, found.status) == ("fail", "critical", "violation")
    who = "to which Gateway/edge/gw listener one refers without a grant"
    assert found.observed == (f"the certificate of Secret/certs/web (SHA-256 {LEAF.sha256}), {who}",)


STORED = DeclaredCertificates(leaves=(MINE,))


@pytest.mark.parametrize(
    ("grant", "more", "verdict"),
    [
        (named(OTHER), {}, "pass"),
        (named(OTHER, doubt="403"), {}, "pass"),
        (named(MINE), {"declared": STORED}, "pass"),
        (named(MINE), {"beside": frozenset({LEAF.sha256})}, "pass"),
        (named(UNREAD), {}, "inconclusive"),
        (named(UNREAD), {"declared": STORED}, "pass"),
        (named(UNREAD, asked=False), {}, "not_applicable"),
    ],
    ids=["another", "another in doubt", "a copy", "a neighbour", "unread", "a copy of one unread", "without Secrets"],
)
def test_a_certificate_without_a_grant_counts_where_it_is_the_one_that_is_served(
    grant: MissingGrant, more: dict[str, Any], verdict: str
) -> None:
    assert said(grant, **more).verdict == verdict


def test_where_permission_is_in_doubt_so_is_the_verdict() -> None:
    """Although what may be served then has it too."""
    doubtful = named(MINE, doubt="a ReferenceGrant in certs may allow it: 403")
    found = said(doubtful, declared=DeclaredCertificates(leaves=(MINE,), unread=("whether",)))
    assert (found.verdict, found.status) == ("inconclusive", "not-tested")
    assert "403" in found.message


def test_a_chain_that_was_not_seen_is_open_and_nothing_named_says_nothing() -> None:
    certificate = CertificateExpectation(missing_grants=(named(MINE),))
    unseen = case(expectation={"certificate": certificate}, observation={"chain": Unknown("it broke off")})
    assert finding(RULE, unseen).verdict == "inconclusive"
    assert findings(RULE, case()) == []


WHY = "Gateway/edge/gw status.listeners[one]: ResolvedRefs is False, InvalidCertificateRef"


def test_whatever_is_served_under_a_name_that_is_withheld_fails() -> None:
    found = finding("tls-withheld", case(expectation={"rejection": WHY, "binding": "not-enforced"}))
    assert (found.verdict, found.severity, found.status) == ("fail", "high", "violation")
    assert WHY in found.message
    assert found.reproduce
    assert findings("tls-withheld", case()) == []


def test_a_withheld_name_whose_certificate_was_not_seen_is_open() -> None:
    unseen = case(expectation={"rejection": WHY}, observation={"chain": Unknown("it broke off")})
    found = finding("tls-withheld", unseen)
    assert (found.verdict, found.reproduce) == ("inconclusive", None)


@pytest.mark.parametrize(
    ("reach", "verdict"),
    [
        (Reach.CLOSED, "not_applicable"),
        (Reach.HUNG_UP, "not_applicable"),
        (Reach.RESET, "not_applicable"),
        (Reach.REJECTED, "not_applicable"),
        (Reach.NAME_REQUIRED, "not_applicable"),
        (Reach.SILENT, "inconclusive"),
        (Reach.FILTERED, "inconclusive"),
        (Reach.UNREACHABLE, "inconclusive"),
        (Reach.INTERRUPTED, "inconclusive"),
        (Reach.PLAINTEXT, "fail"),
    ],
)
def test_nothing_under_a_withheld_name_is_as_it_must_be(reach: Reach, verdict: str) -> None:
    seen = {"reach": reach, "chain": Unknown("nothing was seen")}
    assert judge(case(expectation={"rejection": WHY}, observation=seen)).verdict == verdict
    assert judge(case(expectation={"refusal": WHY}, observation=seen)).verdict == verdict
    assert judge(case(observation=seen)).verdict in ("inconclusive", "fail")


STALE = "the status of Gateway/edge/gw is of an older generation"


def test_a_stale_status_leaves_broken_promises_open_and_keeps_what_is_kept() -> None:
    stored = CertificateExpectation(declared=DeclaredCertificates(leaves=(OTHER,), exact=True))
    for stale, verdict in ((STALE, "inconclusive"), ("", "fail")):
        result = judge(case(expectation={"certificate": stored, "stale_status": stale}))
        (found,) = (each for each in result.findings if each.rule == "cert-stored")
        assert found.verdict == verdict
        assert (STALE in found.message) == bool(stale)
    kept = CertificateExpectation(declared=DeclaredCertificates(leaves=(MINE,), exact=True))
    result = judge(case(expectation={"certificate": kept, "stale_status": STALE}))
    assert [each.verdict for each in result.findings if each.rule == "cert-stored"] == ["pass"]


def test_a_stale_status_leaves_the_port_without_tls_open_too() -> None:
    """As of an HTTPProxy from which permitInsecure was taken a second ago."""
    port = PlainPort(port=8080, path="/", owed="redirect", because="HTTPProxy/shop/web spec.routes")
    for stale, verdict in ((STALE, "inconclusive"), ("", "fail")):
        told = case(expectation={"plain_port": port, "stale_status": stale}, observation={"plain_port": "HTTP/1.1 200"})
        (found,) = [each for each in judge(told).findings if each.rule == "http-redirect"]
        assert found.verdict == verdict


def test_a_stale_status_excuses_no_profile_and_no_ungranted_certificate() -> None:
    certificate = CertificateExpectation(missing_grants=(named(MINE),))
    result = judge(case(expectation={"certificate": certificate, "stale_status": STALE}))
    assert [each.verdict for each in result.findings if each.rule == RULE] == ["fail"]
