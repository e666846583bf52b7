from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from scanner.judge import judge
from scanner.kube.maybe import Known, Unknown
from scanner.model.expectation import CertificateExpectation
from scanner.model.finding import Finding
from scanner.tls.certificate import CertificateFacts
from scanner.values import replace
from tests.judge.cases import ISSUER, LEAF, NOW, ROOT, case, finding, findings

NAMED = {"certificate": CertificateExpectation(names=("a.example",))}
FIELDS = [
    ("cert-expired", "not_after"),
    ("cert-not-yet-valid", "not_before"),
    ("cert-expiring", "not_after"),
    ("cert-name", "dns_names"),
    ("cert-key-size", "key_algorithm"),
    ("cert-key-size", "key_size"),
    ("cert-signature", "signature"),
    ("cert-ca-as-leaf", "is_ca"),
]
"""Each rule with the fields that it reads."""
RULES = sorted({rule for rule, _ in FIELDS})
SECOND = timedelta(seconds=1)


def judged(rule: str, *chain: CertificateFacts, **policy: int) -> Finding:
    return finding(rule, case(observation={"chain": chain}, expectation=NAMED, policy=policy))


@pytest.mark.parametrize("rule", RULES)
def test_a_certificate_without_fault_passes(rule: str) -> None:
    assert judged(rule, LEAF, ISSUER, ROOT).verdict == "pass"


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("chain", [Unknown("the handshake broke off"), ()])
def test_a_chain_that_is_not_known_is_inconclusive(rule: str, chain: Known[tuple[CertificateFacts, ...]]) -> None:
    found = finding(rule, case(observation={"chain": chain}, expectation=NAMED))
    assert found.verdict == "inconclusive"
    assert ("the handshake broke off" if chain else "sent no certificate") in found.message


@pytest.mark.parametrize(("rule", "field"), FIELDS)
def test_a_field_that_cannot_be_read_is_inconclusive_and_named(rule: str, field: str) -> None:
    changes: dict[str, Any] = {field: None, "unreadable": {field: "garbage"}}
    if field == "signature":
        changes["signature_hash"] = None
    found = judged(rule, replace(LEAF, **changes), ISSUER)
    assert found.verdict == "inconclusive"
    assert f"{field} cannot be read (garbage)" in found.message


def test_without_expected_names_none_are_judged() -> None:
    assert findings("cert-name", case()) == []


def test_a_name_that_is_not_covered_fails_and_lists_those_that_are() -> None:
    found = judged("cert-name", replace(LEAF, dns_names=("b.example", "*.c.example"), ip_addresses=("192.0.2.1",)))
    assert (found.verdict, found.severity) == ("fail", "medium")
    assert "a.example" in found.message
    assert found.expected == ("a.example",)
    assert found.observed == ("DNS:b.example", "DNS:*.c.example", "IP:192.0.2.1")


def test_a_certificate_without_names_says_so() -> None:
    assert judged("cert-name", replace(LEAF, dns_names=())).observed == ("no subject alternative name",)


def test_every_expected_name_must_be_covered() -> None:
    both = {"certificate": CertificateExpectation(names=("a.example", "192.0.2.1"))}
    found = finding("cert-name", case(expectation=both))
    assert found.verdict == "fail"
    assert "192.0.2.1" in found.message
    assert found.expected == ("a.example", "192.0.2.1")


def test_thousands_of_names_are_cut_off() -> None:
    found = judged("cert-name", replace(LEAF, dns_names=tuple(f"{n}.example" for n in range(5000))))
    assert len(found.observed) == 51
    assert found.observed[-1] == "and 4950 more"


@pytest.mark.parametrize(
    ("key", "verdict", "says"),
    [
        ({"key_algorithm": "RSA", "key_size": 1024, "curve": None}, "fail", "RSA with 1024 bits"),
        ({"key_algorithm": "RSA", "key_size": 2047, "curve": None}, "fail", "2047"),
        ({"key_algorithm": "RSA", "key_size": 2048, "curve": None}, "pass", ""),
        ({"key_algorithm": "ECDSA", "key_size": 192, "curve": "P-192"}, "fail", "ECDSA P-192 with 192 bits"),
        ({"key_algorithm": "ECDSA", "key_size": None, "curve": "1.3.132.0.6"}, "inconclusive", "1.3.132.0.6"),
        ({"key_algorithm": "ECDSA", "key_size": None, "curve": None}, "inconclusive", "key_size"),
        ({"key_algorithm": "RSA-PSS", "key_size": 1024, "curve": None}, "fail", "RSA-PSS with 1024 bits"),
        ({"key_algorithm": "ECDSA", "key_size": 224, "curve": "P-224"}, "pass", ""),
        ({"key_algorithm": "ECDSA", "key_size": 256, "curve": "brainpoolP256r1"}, "pass", ""),
        ({"key_algorithm": "DSA", "key_size": 3072, "curve": None}, "fail", "DSA"),
        ({"key_algorithm": "Ed25519", "key_size": None, "curve": None}, "pass", ""),
        ({"key_algorithm": "Ed448", "key_size": None, "curve": None}, "pass", ""),
        ({"key_algorithm": "ML-DSA-65", "key_size": None, "curve": None}, "pass", ""),
        ({"key_algorithm": "1.2.3.4", "key_size": None, "curve": None}, "inconclusive", "1.2.3.4"),
    ],
)
def test_key_size(key: dict[str, Any], verdict: str, says: str) -> None:
    found = judged("cert-key-size", replace(LEAF, **key))
    assert found.verdict == verdict
    assert says in " ".join((found.message, *found.observed))


def test_the_policy_sets_the_least_rsa_size() -> None:
    rsa = replace(LEAF, key_algorithm="RSA", key_size=2048, curve=None)
    assert judged("cert-key-size", rsa, min_rsa_bits=3072).verdict == "fail"


def test_the_key_of_every_certificate_that_is_sent_counts() -> None:
    weak = {"key_algorithm": "RSA", "key_size": 1024, "curve": None}
    found = judged("cert-key-size", LEAF, replace(ISSUER, **weak), replace(ROOT, **weak))  # type: ignore[arg-type]
    assert found.observed == ("issuer CN=Some CA: RSA with 1024 bits", "issuer CN=Root: RSA with 1024 bits")


@pytest.mark.parametrize(
    ("signature", "digest", "verdict"),
    [
        ("sha1WithRSAEncryption", "SHA1", "fail"),
        ("md5WithRSAEncryption", "MD5", "fail"),
        ("ecdsa-with-SHA1", "SHA-1", "fail"),
        ("sha384WithRSAEncryption", "SHA384", "pass"),
        ("ed25519", None, "pass"),
        ("Ed448", None, "pass"),
        ("id-ml-dsa-65", None, "pass"),
        ("ML-DSA-65", None, "pass"),
        ("1.2.3.4", None, "inconclusive"),
    ],
)
def test_signature(signature: str, digest: str | None, verdict: str) -> None:
    assert judged("cert-signature", replace(LEAF, signature=signature, signature_hash=digest)).verdict == verdict


def test_a_roots_own_signature_is_not_looked_at_and_an_intermediates_is() -> None:
    weak = {"signature": "sha1WithRSAEncryption", "signature_hash": "SHA1"}
    assert judged("cert-signature", LEAF, ISSUER, replace(ROOT, **weak)).verdict == "pass"  # type: ignore[arg-type]
    found = judged("cert-signature", LEAF, replace(ISSUER, **weak))  # type: ignore[arg-type]
    assert found.observed == ("issuer CN=Some CA: signed with sha1WithRSAEncryption",)


def test_an_authoritys_certificate_as_leaf_fails() -> None:
    found = judged("cert-ca-as-leaf", replace(LEAF, is_ca=True), ISSUER)
    assert (found.verdict, found.severity) == ("fail", "medium")
    assert found.observed == ("leaf CN=a.example: CA:TRUE",)


@pytest.mark.parametrize(
    ("host", "addresses", "verdict"),
    [
        ("10.0.0.7", ("10.0.0.7",), "pass"),
        ("2001:db8::7", ("2001:db8:0::7",), "pass"),
        ("10.0.0.7", ("10.0.0.8",), "not_applicable"),
        ("10.0.0.7", (), "not_applicable"),
        ("10.0.0.7", None, "not_applicable"),
    ],
)
def test_a_target_that_is_an_address_fails_for_no_name_and_it_is_said(
    host: str, addresses: tuple[str, ...] | None, verdict: str
) -> None:
    leaf = replace(LEAF, ip_addresses=addresses)
    found = finding("cert-name", case(observation={"chain": (leaf,)}, endpoint={"host": host}))
    assert (found.verdict, found.severity, found.status) == (verdict, "info", "informational")
    assert ("address:port#name" in found.message) == (verdict == "not_applicable")
    assert addresses is None or "DNS:" in found.observed[0]


# --- Validity period --------------------------------------------------------------------------------------------------


def test_an_end_in_the_past_fails() -> None:
    found = judged("cert-expired", replace(LEAF, not_after=NOW - SECOND))
    assert (found.verdict, found.severity) == ("fail", "high")
    assert found.observed == ("leaf CN=a.example: expired 1 second ago (2026-11-21 11:59 UTC)",)
    assert found.message == "certificate expired 1 second ago (2026-11-21 11:59 UTC)"
    assert found.fix
    assert found.reproduce
    assert judged("cert-expired", replace(LEAF, not_after=NOW)).verdict == "pass", "the last second is still valid"


def test_an_intermediate_that_has_ended_fails_and_a_root_does_not_matter() -> None:
    past = NOW - timedelta(days=1)
    found = judged("cert-expired", LEAF, replace(ISSUER, not_after=past))
    assert found.observed == ("issuer CN=Some CA: expired 24 hours ago (2026-11-20 12:00 UTC)",)
    assert found.message == "issuer certificate CN=Some CA expired 24 hours ago (2026-11-20 12:00 UTC)"
    assert judged("cert-expired", LEAF, replace(ROOT, not_after=past)).verdict == "pass"
    assert judged("cert-expired", replace(ROOT, not_after=past)).verdict == "fail", "a self-signed leaf is judged"


def test_a_violation_stands_beside_a_date_that_cannot_be_read() -> None:
    found = judged("cert-expired", replace(LEAF, not_after=NOW - SECOND), replace(ISSUER, not_after=None))
    assert found.verdict == "fail"
    assert "not_after" in found.evidence[0]


@pytest.mark.parametrize("rule", ["cert-expired", "cert-expiring"])
@pytest.mark.parametrize("others", [timedelta(days=3650), None])
def test_the_message_names_the_certificate_that_fails_and_no_other(rule: str, others: timedelta | None) -> None:
    """One that expired does not expire soon, and of one whose date cannot be read nothing is said."""
    past, soon = replace(LEAF, not_after=NOW - SECOND), replace(ISSUER, not_after=NOW + timedelta(hours=1))
    third = replace(ISSUER, subject="CN=Third", not_after=None if others is None else NOW + others)
    expected = {
        "cert-expired": "certificate expired 1 second ago",
        "cert-expiring": "issuer certificate CN=Some CA expires",
    }
    assert judged(rule, past, soon, third).message.startswith(expected[rule])


def test_a_pass_says_which_certificate_of_a_short_lifetime_expires_first() -> None:
    """Up to the policy's number of days; after that none does."""
    short = {"not_before": NOW - timedelta(hours=1), "not_after": NOW + timedelta(days=5)}
    found = judged("cert-expiring", replace(LEAF, **short), ISSUER)  # type: ignore[arg-type]
    assert found.message.startswith("certificate expires in 5 days")
    assert found.message.endswith(": not due for renewal, because its lifetime is short")
    found = judged("cert-expiring", replace(LEAF, not_after=NOW + timedelta(days=30)))
    assert (found.verdict, found.message) == ("pass", "no served certificate expires within 30 days")


def test_a_start_in_the_future_fails() -> None:
    found = judged("cert-not-yet-valid", replace(LEAF, not_before=NOW + SECOND))
    assert (found.verdict, found.severity) == ("fail", "high")
    assert judged("cert-not-yet-valid", replace(LEAF, not_before=NOW)).verdict == "pass"


@pytest.mark.parametrize(
    ("ends_in", "days", "verdict"),
    [
        (timedelta(days=29), 30, "fail"),
        (timedelta(days=30), 30, "pass"),
        (timedelta(days=29), 7, "pass"),
        (timedelta(0), 30, "fail"),
        (-SECOND, 30, "pass"),
        (timedelta(days=5), 0, "pass"),
    ],
)
def test_expiring_is_what_the_policy_says_and_not_what_has_ended(ends_in: timedelta, days: int, verdict: str) -> None:
    found = judged("cert-expiring", replace(LEAF, not_before=None, not_after=NOW + ends_in), expires_within_days=days)
    assert found.verdict == verdict


YEAR, HOUR, DAY = timedelta(days=365), timedelta(hours=1), timedelta(days=1)


@pytest.mark.parametrize(
    ("lasts", "left", "severity", "time"),
    [
        (YEAR, 20 * HOUR, "high", "20 hours"),
        (YEAR, 3 * DAY - SECOND, "high", "2 days"),
        (YEAR, 3 * DAY, "medium", "3 days"),
        (YEAR, 14 * DAY - SECOND, "medium", "13 days"),
        (YEAR, 14 * DAY, "low", "14 days"),
        (YEAR, 30 * DAY - SECOND, "low", "29 days"),
        (None, 20 * HOUR, "high", "20 hours"),
        (80 * DAY, 15 * DAY, "low", "15 days"),
        (30 * DAY, 5 * DAY, "medium", "5 days"),
        (30 * DAY, 20 * HOUR, "high", "20 hours"),
        (DAY, 90 * timedelta(minutes=1), "high", "90 minutes"),
        (DAY, 90 * SECOND, "high", "90 seconds"),
        (DAY, SECOND, "high", "1 second"),
    ],
)
def test_the_sooner_it_expires_the_graver_and_the_time_left_is_said(
    lasts: timedelta | None, left: timedelta, severity: str, time: str
) -> None:
    end = NOW + left
    found = judged("cert-expiring", replace(LEAF, not_before=None if lasts is None else end - lasts, not_after=end))
    assert (found.verdict, found.severity) == ("fail", severity)
    assert found.message == f"certificate expires in {time} ({end:%Y-%m-%d %H:%M} UTC)"


def test_the_policy_says_how_grave() -> None:
    of = case(
        observation={"chain": (replace(LEAF, not_before=None, not_after=NOW + 5 * DAY),)},
        policy={"expires_within_days": 20, "expires_within_days_medium": 5, "expires_within_days_high": 1},
    )
    assert finding("cert-expiring", of).severity == "low"
    assert finding("cert-expiring", replace(of, now=NOW + SECOND)).severity == "medium"
    assert finding("cert-expiring", replace(of, now=NOW + 4 * DAY + SECOND)).severity == "high"


def test_the_certificate_that_expires_first_is_named_and_the_gravest_counts() -> None:
    first, other = (replace(each, not_before=None) for each in (ISSUER, LEAF))
    chain = (replace(other, not_after=NOW + 20 * DAY), replace(first, not_after=NOW + 2 * DAY))
    found = judged("cert-expiring", *chain)
    assert found.message.startswith("issuer certificate CN=Some CA expires in 2 days (")
    assert (found.severity, len(found.observed)) == ("high", 2)


def test_of_two_chains_the_graver_decides() -> None:
    soon, sooner = (replace(LEAF, not_before=None, not_after=NOW + days * DAY) for days in (20, 1))
    for one, other in ((soon, sooner), (sooner, soon)):
        judgement = judge(case(observation={"chain": (one,), "other_chains": ((other,),)}))
        (found,) = [each for each in judgement.findings if each.rule == "cert-expiring"]
        assert (found.severity, len(found.observed)) == ("high", 2)
        assert found.message.startswith("certificate expires in 24 hours (")


@pytest.mark.parametrize(
    ("lasts", "left", "verdict"),
    [
        (90, 29, "fail"),  # renewed a month before its end
        (30, 15, "pass"),  # renewed half-way: nobody has missed anything yet
        (30, 7, "pass"),
        (30, 5, "fail"),
        (1, 0.5, "pass"),
        (1, 0.1, "fail"),
    ],
)
def test_what_is_made_for_a_short_time_is_renewed_late(lasts: float, left: float, verdict: str) -> None:
    end = NOW + timedelta(days=left)
    short = replace(LEAF, not_before=end - timedelta(days=lasts), not_after=end)
    assert judged("cert-expiring", short, expires_within_days=30).verdict == verdict


def test_a_certificate_that_is_made_for_a_short_time_is_spoken_of_as_it_is() -> None:
    end = NOW + 20 * DAY
    short = replace(LEAF, not_before=end - 60 * DAY, not_after=end)
    message = judged("cert-expiring", short, expires_within_days=30).message
    assert message.startswith("certificate expires in 20 days (")
    failing = replace(case(observation={"chain": (short,)}), now=NOW + 10 * DAY)
    assert finding("cert-expiring", failing).expected == (f"valid beyond {NOW + 22 * DAY:%Y-%m-%d %H:%M} UTC",)


def test_times_at_the_edge_of_the_calendar_are_printed() -> None:
    first = datetime(1, 1, 1, tzinfo=UTC)
    assert "0001-01-01" in judged("cert-expired", replace(LEAF, not_after=first)).observed[0]
    last = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)
    assert judged("cert-expiring", replace(LEAF, not_after=last)).verdict == "pass"


def test_a_certificate_without_a_readable_subject_is_named_by_its_digest() -> None:
    found = judged("cert-expired", replace(LEAF, subject=None, not_after=NOW - SECOND))
    assert LEAF.sha256 in found.observed[0]


def test_a_long_subject_is_cut_off() -> None:
    found = judged("cert-expired", replace(LEAF, subject="CN=" + "x" * 10_000, not_after=NOW - SECOND))
    assert len(found.observed[0]) < 300
