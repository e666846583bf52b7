"""What is served against what is stored."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from scanner.judge import judge
from scanner.kube.maybe import Unknown
from scanner.model.expectation import CertificateExpectation, DeclaredCertificates, DeclaredLeaf
from scanner.model.finding import Finding
from scanner.values import replace
from tests.judge.cases import ISSUER, LEAF, NOW, case, finding, findings

SAME = DeclaredLeaf(
    place="Secret/shop/web-tls data[tls.crt]",
    sha256=LEAF.sha256,
    serial=5,
    names=frozenset({"DNS:a.example"}),
    issuer=LEAF.issuer,
    not_before=LEAF.not_before,
)
ROTATED = replace(SAME, sha256="ab" * 32, serial=6, not_before=NOW - timedelta(days=2))
FOREIGN = replace(ROTATED, names=frozenset({"DNS:other.example"}))
UNREAD = "Secret/shop/other was not read: 403 Forbidden"


def said(*leaves: DeclaredLeaf, unread: tuple[str, ...] = (), exact: bool = False, **others: Any) -> Finding:  # noqa: ANN401 - as case
    return of(DeclaredCertificates(leaves=leaves, unread=unread, exact=exact), **others)


def of(declared: DeclaredCertificates, **others: Any) -> Finding:  # noqa: ANN401 - as case
    expectation = {"certificate": CertificateExpectation(declared=declared)}
    return finding("cert-stored", case(expectation=expectation, **others))


def test_the_same_certificate_passes() -> None:
    found = said(FOREIGN, SAME, unread=(UNREAD,))
    assert (found.verdict, found.status) == ("pass", "ok")
    assert "Secret/shop/web-tls" in found.message


@pytest.mark.parametrize(("serial", "shown"), [(0x1A2B3C, "1a2b3c"), (None, "not readable")])
def test_one_that_was_rotated_and_not_loaded_fails_with_both(serial: int | None, shown: str) -> None:
    found = said(ROTATED, observation={"chain": (replace(LEAF, serial=serial),)})
    assert (found.verdict, found.severity, found.status) == ("fail", "medium", "violation")
    assert (
        "still serves the previous certificate, although its Secret was rotated 2026-11-19 12:00 UTC" in found.message
    )
    assert found.expected == (f"Secret/shop/web-tls data[tls.crt]: serial number 6, SHA-256 {'ab' * 32}",)
    assert found.observed == (f"served: serial number {shown}, SHA-256 {LEAF.sha256}",)
    assert found.reproduce


def test_a_failure_is_not_lost_for_a_secret_that_nobody_read() -> None:
    assert said(ROTATED, unread=(UNREAD,)).verdict == "fail"


@pytest.mark.parametrize(
    ("stored", "served", "exact", "verdict"),
    [
        ("CN=openshift-service-serving-signer@2", "CN=openshift-service-serving-signer@1", False, "fail"),
        # Another port of the same Service may serve one of its own making, for the same names.
        ("CN=me", "CN=openshift-service-serving-signer@1", False, "inconclusive"),
        ("CN=me", "CN=openshift-service-serving-signer@1", True, "fail"),
        ("CN=etcd-signer@2", "CN=etcd-metric-signer@1", False, "inconclusive"),  # a name is more than its time
        ("CN=etcd-signer", "CN=etcd-metric-signer", False, "inconclusive"),
        ("CN=etcd-signer@2", "CN=etcd-signer@1", False, "fail"),
        (None, "CN=etcd-signer@1", False, "inconclusive"),
    ],
)
def test_a_signer_that_was_rotated_too_is_the_same_one_and_any_other_is_not(
    stored: str | None, served: str, exact: bool, verdict: str
) -> None:
    leaf = replace(LEAF, issuer=served)
    assert said(replace(ROTATED, issuer=stored), observation={"chain": (leaf,)}, exact=exact).verdict == verdict


@pytest.mark.parametrize(
    ("stored", "age", "exact", "status"),
    [
        (ROTATED, timedelta(minutes=5), False, "converging"),
        (ROTATED, timedelta(minutes=65), False, "converging"),  # dated back by its signer
        (ROTATED, timedelta(minutes=71), False, "violation"),
        # Another certificate is not what was there before; whoever has to show it knows of it.
        (FOREIGN, timedelta(minutes=5), True, "converging"),
        (FOREIGN, timedelta(minutes=11), True, "violation"),
        # Not every signer dates back, and no two clocks agree.
        (ROTATED, timedelta(seconds=-30), True, "converging"),
        (FOREIGN, timedelta(seconds=-30), True, "converging"),
        (ROTATED, timedelta(hours=-1), True, "violation"),
        (FOREIGN, timedelta(hours=-1), True, "violation"),
    ],
)
def test_a_rotation_of_a_moment_ago_is_converging(
    stored: DeclaredLeaf, age: timedelta, exact: bool, status: str
) -> None:
    found = said(replace(stored, not_before=NOW - age), exact=exact)
    assert (found.verdict, found.status) == ("fail", status)


def test_a_rotation_after_the_secret_was_read_is_converging() -> None:
    """A scan reads the cluster first, and may take long."""
    younger = replace(LEAF, not_before=NOW - timedelta(minutes=2))
    found = said(replace(ROTATED, not_before=NOW - timedelta(days=60)), observation={"chain": (younger, ISSUER)})
    assert (found.verdict, found.status) == ("fail", "converging")
    assert "a newer certificate than its Secret contains" in found.message
    # Whoever makes the certificate can have it begin whenever he likes.
    future = replace(younger, not_before=NOW + timedelta(days=1))
    old = replace(ROTATED, not_before=NOW - timedelta(days=60))
    assert said(old, observation={"chain": (future, ISSUER)}).status == "violation"


@pytest.mark.parametrize(
    ("moved", "words"),
    [(timedelta(days=-50), "a newer certificate than its Secret contains"), (timedelta(0), "for the same names")],
)
def test_the_other_way_round_fails_too(moved: timedelta, words: str) -> None:
    assert LEAF.not_before is not None
    found = said(replace(ROTATED, not_before=LEAF.not_before + moved))
    assert found.verdict == "fail"
    assert words in found.message


def test_times_that_cannot_be_read_do_no_harm() -> None:
    assert "for the same names" in said(replace(ROTATED, not_before=None, serial=None)).message


def test_other_names_fail_only_where_an_object_says_that_it_is_this_one() -> None:
    assert said(FOREIGN, exact=True).verdict == "fail"
    found = said(FOREIGN)
    assert (found.verdict, found.status, found.severity) == ("inconclusive", "not-tested", "info")
    assert "another issuer or other names" in found.message


@pytest.mark.parametrize("exact", [True, False])
def test_a_secret_that_was_not_read_is_never_a_pass(exact: bool) -> None:
    for leaves in ((), (FOREIGN,)):
        found = said(*leaves, unread=(UNREAD,), exact=exact)
        assert (found.verdict, found.status) == ("inconclusive", "not-tested")
        assert UNREAD in found.message


def test_names_that_cannot_be_read_are_no_others_names() -> None:
    odd = replace(LEAF, dns_names=None, unreadable={"dns_names": "odd"})
    found = said(replace(ROTATED, names=None), observation={"chain": (odd,)})
    assert found.verdict == "inconclusive"
    nameless = replace(LEAF, dns_names=(), ip_addresses=(), other_names=())
    assert said(replace(ROTATED, names=frozenset()), observation={"chain": (nameless,)}).verdict == "inconclusive"


def test_a_chain_that_was_not_seen_is_open() -> None:
    found = said(SAME, observation={"chain": Unknown("it broke off")})
    assert (found.verdict, found.message.rpartition(": ")[2]) == ("inconclusive", "it broke off")


def test_without_secrets_it_is_noted_and_without_any_nothing_is_said() -> None:
    found = of(DeclaredCertificates(unread=(UNREAD,), wanted=False))
    assert (found.verdict, found.status, found.severity) == ("not_applicable", "informational", "info")
    assert findings("cert-stored", case()) == []


def test_the_worst_of_all_chains_counts() -> None:
    other = (replace(LEAF, sha256="99" * 32, der=b"other"), ISSUER)
    stored = CertificateExpectation(declared=DeclaredCertificates(leaves=(SAME,)))
    result = judge(case(expectation={"certificate": stored}, observation={"other_chains": (other,)}))
    (found,) = (each for each in result.findings if each.rule == "cert-stored")
    assert found.verdict == "fail"


def test_what_is_open_leaves_the_listener_as_it_is() -> None:
    stored = CertificateExpectation(declared=DeclaredCertificates(unread=(UNREAD,)))
    plain = judge(case())
    assert judge(case(expectation={"certificate": stored})).verdict == plain.verdict


ADMITTED = "Route/shop/web status.ingress[default]: Admitted is False, ExternalCertificateGetFailed"
DEFAULT = replace(SAME, place="Secret/openshift-ingress/router-certs-default data[tls.crt]")


def routed(*leaves: DeclaredLeaf, unread: tuple[str, ...] = ()) -> Finding:
    """A Route whose name is served with the router's default certificate."""
    return of(DeclaredCertificates(leaves=leaves, unread=unread, exact=True, default=DEFAULT, condition=ADMITTED))


@pytest.mark.parametrize("own", [FOREIGN, ROTATED])
def test_the_routers_default_certificate_is_told_apart_with_what_the_route_says(own: DeclaredLeaf) -> None:
    found = routed(own)
    assert (found.verdict, found.severity) == ("fail", "medium")
    assert "the router's default certificate instead of the Route's certificate" in found.message
    assert ADMITTED in found.evidence
    assert found.fix is not None
    assert "status.ingress" in found.fix


def test_the_default_certificate_is_no_violation_where_it_is_the_routes_own() -> None:
    assert routed(SAME).verdict == "pass"


def test_the_default_certificate_is_named_and_open_where_the_own_one_was_not_read() -> None:
    found = routed(unread=(UNREAD,))
    assert (found.verdict, found.severity) == ("inconclusive", "info")
    assert "default certificate" in found.message
    assert {UNREAD, ADMITTED} <= set(found.evidence)


def test_what_cert_manager_keeps_is_changed_there() -> None:
    found = said(replace(ROTATED, kept_by="Certificate/shop/web"))
    assert found.fix is not None
    assert "Certificate/shop/web" in found.fix
    assert "cert-manager" not in (said(ROTATED).fix or "")


def test_of_several_stored_certificates_for_its_names_the_newest_is_required() -> None:
    older = replace(ROTATED, sha256="cd" * 32, serial=7, not_before=NOW - timedelta(days=3))
    for leaves in ((older, ROTATED), (ROTATED, older)):
        assert said(*leaves).expected == (f"Secret/shop/web-tls data[tls.crt]: serial number 6, SHA-256 {'ab' * 32}",)


@pytest.mark.parametrize(("exact", "verdict"), [(True, "fail"), (False, "inconclusive")])
def test_what_is_not_the_routers_default_certificate_is_not_called_so(exact: bool, verdict: str) -> None:
    """The Route's rejection explains the default certificate alone."""
    stored = DeclaredCertificates(
        leaves=(FOREIGN,), exact=exact, default=replace(DEFAULT, sha256="ef" * 32), condition=ADMITTED
    )
    found = finding("cert-stored", case(expectation={"certificate": CertificateExpectation(declared=stored)}))
    assert found.verdict == verdict
    assert "default certificate" not in found.message
    assert ADMITTED not in found.evidence
    assert "status.ingress" not in (found.fix or "")


def test_of_several_certificates_that_objects_declare_the_first_is_named_where_none_is_served() -> None:
    """Of those with the served one's names the newest."""
    second = replace(FOREIGN, place="Secret/shop/second data[tls.crt]", sha256="cd" * 32, serial=7)
    found = said(FOREIGN, second, exact=True)
    assert found.message == "it does not serve the certificate of Secret/shop/web-tls data[tls.crt]"
    assert found.expected[0].startswith("Secret/shop/web-tls data[tls.crt]: serial number 6, ")
    assert "of Secret/shop/web-tls" in said(FOREIGN, second).message
    older = replace(ROTATED, place="Secret/shop/older", not_before=NOW - timedelta(days=5))
    undated = replace(ROTATED, place="Secret/shop/undated", not_before=None)
    for leaves in ((older, ROTATED, undated), (undated, ROTATED, older)):
        assert said(*leaves).expected[0].startswith("Secret/shop/web-tls data[tls.crt]: ")
