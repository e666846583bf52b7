"""Nothing that could be accepted is left out, and the order makes the first answer worth most."""

from __future__ import annotations

import pytest

from scanner.probe import candidates
from scanner.probe.offers import Offer
from scanner.probe.session import lean, length
from scanner.tls.codepoints import ALL_SUITES, GROUPS, SSL3, TLS10, TLS11, TLS12, TLS13
from scanner.tls.names import authentication, is_tls13, key_exchange, needs_credentials

pytestmark = pytest.mark.crypto

SPOKEN = (SSL3, TLS10, TLS11, TLS12, TLS13)


@pytest.mark.parametrize("version", SPOKEN)
def test_every_suite_is_asked_for_once(version: int) -> None:
    asked = (*candidates.suites(version), *candidates.credential_suites(version))
    assert sorted(asked) == sorted(s.code for s in ALL_SUITES if is_tls13(s.code) == (version == TLS13))


@pytest.mark.parametrize("version", SPOKEN)
def test_what_needs_credentials_travels_apart(version: int) -> None:
    assert not any(needs_credentials(code) for code in candidates.suites(version))
    assert all(needs_credentials(code) for code in candidates.credential_suites(version))


OBSOLETE_GROUPS = {*range(0x0001, 0x0017), *range(0x001A, 0x001D), 0xFF01, 0xFF02}


def test_every_group_is_asked_for_in_tls13_but_those_that_it_forbids() -> None:
    """RFC 8446, section 4.2.7: obsolete_RESERVED "MUST NOT be offered"."""
    assert sorted(candidates.groups(TLS13)) == sorted({group.code for group in GROUPS} - OBSOLETE_GROUPS)


@pytest.mark.parametrize("version", [TLS10, TLS11, TLS12])
def test_curves_and_finite_fields_are_asked_for_below_and_no_hybrids(version: int) -> None:
    groups = candidates.groups(version)
    assert sorted(groups) == sorted(group.code for group in GROUPS if group.code <= 0x0104)
    assert groups[: len(candidates.LIKELY_CURVES)] == candidates.LIKELY_CURVES
    assert groups[-5:] == (0x0100, 0x0101, 0x0102, 0x0103, 0x0104)


@pytest.mark.parametrize("version", SPOKEN)
def test_the_likely_stand_behind_the_unlikely_of_their_kind_and_obsolete_ones_behind_all(version: int) -> None:
    codes = candidates.suites(version)
    today = [code for code in codes if not candidates.is_obsolete(code)]
    assert codes[: len(today)] == tuple(today)
    assert all(key_exchange(code) in ("RSA", "DHE", "ECDHE", "any") for code in today)
    for kind in {authentication(code) for code in today}:
        same = [code for code in today if authentication(code) == kind]
        likely = [code for code in candidates.LIKELY if code in same]
        assert same[len(same) - len(likely) :] == likely


@pytest.mark.parametrize("code", [0x0003, 0x0014, 0x001B, 0x008C, 0xC004, 0xC00E, 0xC018, 0xC01D, 0x0031])
def test_obsolete_are_static_anonymous_export_and_credential_suites(code: int) -> None:
    assert candidates.is_obsolete(code)


def test_every_likely_code_exists() -> None:
    assert set(candidates.LIKELY) <= {suite.code for suite in ALL_SUITES}
    assert set(candidates.LIKELY_GROUPS) <= {group.code for group in GROUPS}
    assert set(candidates.LEAN_SUITES) <= set(candidates.suites(TLS12))


def test_by_likelihood_orders_any_codes() -> None:
    assert candidates.by_likelihood([0xC004, 0xC02F, 0x0005, 0x000A, 0x0004]) == [
        0x0004,
        0x0005,
        0x000A,
        0xC02F,
        0xC004,
    ]


def test_what_fits_the_certificate_goes_last_and_keeps_its_order() -> None:
    codes = [0xC02F, 0xC030, 0xC02B, 0xC02C, 0x002F]
    assert candidates.by_likelihood(codes, last="ECDSA") == [0x002F, 0xC030, 0xC02F, 0xC02C, 0xC02B]
    assert authentication(candidates.by_likelihood(codes)[-1]) == "RSA"


@pytest.mark.parametrize("last", ["RSA", "ECDSA"])
def test_in_the_other_order_the_last_kind_of_certificate_comes_first(last: str) -> None:
    codes = candidates.by_likelihood(candidates.suites(TLS12), last)
    other = candidates.in_other_order(codes)
    assert sorted(other) == sorted(code for code in codes if not candidates.is_obsolete(code))
    assert authentication(other[0]) == last
    kinds = [[authentication(code) for code in some if not candidates.is_obsolete(code)] for some in (codes, other)]
    one, two = (list(dict.fromkeys(kind for kind in some if kind != "DSS")) for some in kinds)
    assert sorted(one) == ["ECDSA", "RSA"]
    assert one == two[::-1]


def test_suites_for_rsa_and_for_ecdsa_are_parts_of_their_own_and_all_others_one_part() -> None:
    """More parts would use up the connections that a listener of short offers may cost."""
    codes = [0xC02F, 0xC02B, 0x0032, 0x0018, 0x002F]
    assert [authentication(code) for code in codes] == ["RSA", "ECDSA", "DSS", "anon", "RSA"]
    assert candidates.by_certificate(codes) == [[0xC02F, 0x002F], [0xC02B], [0x0032, 0x0018]]


@pytest.mark.parametrize("version", [SSL3, TLS10, TLS11, TLS12])
def test_a_lean_offer_is_short_and_has_few_groups(version: int) -> None:
    groups = candidates.groups(version) if version > SSL3 else ()
    offer = lean(Offer("", version, candidates.suites(version), groups))
    assert offer.groups == (candidates.LEAN_GROUPS if version > SSL3 else ())
    assert length(offer) - 5 + len("a-name-of-forty-bytes.in-a.namespace.svc") + 9 < 256
    assert lean(Offer("", version, candidates.suites(version), groups), few=False).groups == groups


def test_a_lean_offer_of_tls13_has_shares_for_two_of_its_groups() -> None:
    offer = lean(Offer("", TLS13, candidates.suites(TLS13), candidates.groups(TLS13)))
    assert (offer.suites, offer.groups) == (candidates.LEAN_TLS13, candidates.LEAN_GROUPS_TLS13)
    assert (offer.shares, offer.lean) == ("common", True)


def test_a_lean_hello_holds_nothing_but_likely_suites() -> None:
    assert set(candidates.LEAN_SUITES) | set(candidates.LEAN_TLS13) <= set(candidates.LIKELY)
    assert set(candidates.LEAN_GROUPS_TLS13) <= set(candidates.LIKELY_GROUPS) & set(candidates.groups(TLS13))
