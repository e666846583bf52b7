"""Nothing that could be accepted is left out, and the order makes the first answer worth most."""

from __future__ import annotations

import pytest

from scanner.probe import candidates
from scanner.probe.offers import Offer
from scanner.probe.talk import lean, length
from scanner.tls.codepoints import ALL_SUITES, GROUPS, SSL3, TLS10, TLS11, TLS12, TLS13
from scanner.tls.names import authentication, is_tls13, needs_credentials

SPOKEN = (SSL3, TLS10, TLS11, TLS12, TLS13)


@pytest.mark.parametrize("version", SPOKEN)
def test_every_suite_is_asked_for_once(version: int) -> None:
    asked = (*candidates.suites(version), *candidates.credential_suites(version))
    assert sorted(asked) == sorted(s.code for s in ALL_SUITES if is_tls13(s.code) == (version == TLS13))


@pytest.mark.parametrize("version", SPOKEN)
def test_what_needs_credentials_travels_apart(version: int) -> None:
    assert not any(needs_credentials(code) for code in candidates.suites(version))
    assert all(needs_credentials(code) for code in candidates.credential_suites(version))


def test_every_group_is_asked_for_in_tls13() -> None:
    assert sorted(candidates.groups(TLS13)) == sorted(group.code for group in GROUPS)


@pytest.mark.parametrize("version", [TLS10, TLS11, TLS12])
def test_only_curves_are_asked_for_below(version: int) -> None:
    assert sorted(candidates.groups(version)) == sorted(group.code for group in GROUPS if group.code < 0x0100)


@pytest.mark.parametrize("version", SPOKEN)
def test_the_likely_stand_last_in_their_order(version: int) -> None:
    codes = candidates.suites(version)
    likely = tuple(code for code in candidates.LIKELY if code in codes)
    assert likely
    assert codes[-len(likely) :] == likely


def test_every_likely_code_exists() -> None:
    assert set(candidates.LIKELY) <= {suite.code for suite in ALL_SUITES}
    assert set(candidates.LIKELY_GROUPS) <= {group.code for group in GROUPS}
    assert set(candidates.LEAN_SUITES) <= set(candidates.suites(TLS12))


def test_by_likelihood_orders_any_codes() -> None:
    assert candidates.by_likelihood([0xC02F, 0x0005, 0x000A, 0x0004]) == [0x0004, 0x0005, 0x000A, 0xC02F]


def test_what_fits_the_certificate_goes_last_and_keeps_its_order() -> None:
    codes = [0xC02C, 0xC02B, 0xC030, 0xC02F, 0x002F]
    assert candidates.fitting_last(codes, 0xC02B) == [0xC030, 0xC02F, 0x002F, 0xC02C, 0xC02B]
    assert authentication(candidates.fitting_last(codes, 0x002F)[-1]) == "RSA"


@pytest.mark.parametrize("version", [SSL3, TLS10, TLS11, TLS12])
def test_a_lean_offer_is_short_and_keeps_its_groups(version: int) -> None:
    groups = candidates.groups(version) if version > SSL3 else ()
    offer = lean(Offer("", version, candidates.suites(version), groups))
    assert offer.groups == groups
    assert length(offer) - 5 + len("a-name-of-forty-bytes.in-a.namespace.svc") + 9 < 256
