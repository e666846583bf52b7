"""Names, labels and what a suite's name says about it."""

from __future__ import annotations

import pytest

from scanner.tls import names
from scanner.tls.codepoints import EXTRA_SUITES, GROUPS, SUITES, VERSIONS

EVERY_SUITE = (*SUITES, *EXTRA_SUITES)


def test_every_suite_is_found_by_each_of_its_names() -> None:
    for suite in EVERY_SUITE:
        assert names.suite_code(suite.iana) == suite.code
        assert names.suite_code(f"0x{suite.code:04x}") == suite.code
        if suite.openssl:
            assert names.suite_code(suite.openssl) == suite.code


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("EDH-RSA-DES-CBC3-SHA", 0x0016),
        ("DHE-RSA-DES-CBC3-SHA", 0x0016),
        ("TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305", 0xCCA8),
        ("TLS_AES_128_CCM_8_SHA256", 0x1305),
        ("0x5A5A", 0x5A5A),
        ("0X2f", 0x002F),
    ],
)
def test_aliases_and_numbers(name: str, code: int) -> None:
    assert names.suite_code(name) == code


@pytest.mark.parametrize("name", ["", "aes128-sha", "AES128", "0x", "0x12345", "0x-1", "0x_1", "0x1_1", "47", "0x٣"])
def test_an_unknown_suite_is_a_key_error(name: str) -> None:
    with pytest.raises(KeyError):
        names.suite_code(name)


@pytest.mark.parametrize(
    ("code", "label"),
    [
        (0x002F, "TLS_RSA_WITH_AES_128_CBC_SHA (AES128-SHA, 0x002F)"),
        (0x1301, "TLS_AES_128_GCM_SHA256 (0x1301)"),
        (0xC0B4, "TLS_SHA256_SHA256 (0xC0B4)"),
        (0x5A5A, "0x5A5A"),
    ],
)
def test_suite_labels(code: int, label: str) -> None:
    assert names.suite_label(code) == label
    assert label.startswith(names.suite_name(code))


@pytest.mark.parametrize(
    ("code", "label"),
    [
        (0x0017, "secp256r1 (P-256, 0x0017)"),
        (0x001D, "x25519 (0x001D)"),
        (0x11EC, "X25519MLKEM768 (0x11EC)"),
        (0x1A1A, "0x1A1A"),
    ],
)
def test_group_labels(code: int, label: str) -> None:
    assert names.group_label(code) == label
    assert label.startswith(names.group_name(code))


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("P-256", 0x0017),
        ("p-521", 0x0019),
        ("prime256v1", 0x0017),
        ("X25519", 0x001D),
        ("x25519mlkem768", 0x11EC),
        ("0x11ec", 0x11EC),
    ],
)
def test_group_codes(name: str, code: int) -> None:
    assert names.group_code(name) == code


def test_every_group_is_found_by_each_of_its_names() -> None:
    for group in GROUPS:
        for name in (group.iana, group.nist, *group.aliases):
            assert name is None or names.group_code(name.upper()) == group.code


def test_an_unknown_group_is_a_key_error() -> None:
    with pytest.raises(KeyError, match="P-257"):
        names.group_code("P-257")


def test_versions_both_ways() -> None:
    spoken = [names.version_name(version) for version in VERSIONS]
    assert spoken == ["SSLv2", "SSLv3", "TLSv1", "TLSv1.1", "TLSv1.2", "TLSv1.3"]
    assert tuple(names.version_code(name) for name in spoken) == VERSIONS
    assert names.version_name(0x7F1C) == "0x7F1C"


@pytest.mark.parametrize("name", ["1.2", "TLS1.2", "TLSv1.2", "tls 1.2", "VersionTLS12", "tlsv1_2"])
def test_version_spellings(name: str) -> None:
    assert names.version_code(name) == 0x0303


@pytest.mark.parametrize("name", ["TLSv1", "TLSv1.0", "1.0", "VersionTLS10"])
def test_spellings_of_the_first_version(name: str) -> None:
    assert names.version_code(name) == 0x0301


@pytest.mark.parametrize("name", ["", "1", "2.0", "TLSv1.4", "DTLSv1.2"])
def test_an_unknown_version_is_a_key_error(name: str) -> None:
    with pytest.raises(KeyError):
        names.version_code(name)


def test_what_has_no_name_keeps_its_number() -> None:
    assert names.alert_name(40) == "handshake_failure"
    assert names.alert_name(99) == "alert_99"
    assert names.openssl_name(0xFFFF) is None


@pytest.mark.parametrize(
    ("name", "exchange", "authentication"),
    [
        ("TLS_AES_128_GCM_SHA256", "any", "any"),
        ("TLS_SM4_GCM_SM3", "any", "any"),
        ("AES128-SHA", "RSA", "RSA"),
        ("EXP-RC4-MD5", "RSA", "RSA"),
        ("EXP1024-RC4-SHA", "RSA", "RSA"),
        ("DH-DSS-AES128-SHA", "DH", "DSS"),
        ("EXP-EDH-RSA-DES-CBC-SHA", "DHE", "RSA"),
        ("ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE", "ECDSA"),
        ("ECDH-RSA-AES128-SHA", "ECDH", "RSA"),
        ("ADH-AES128-SHA", "DH_anon", "anon"),
        ("AECDH-NULL-SHA", "ECDH_anon", "anon"),
        ("EXP-ADH-RC4-MD5", "DH_anon", "anon"),
        ("ECDHE-PSK-AES128-CBC-SHA256", "ECDHE_PSK", "PSK"),
        ("DHE-PSK-AES128-CCM8", "DHE_PSK", "PSK"),
        ("SRP-RSA-AES-128-CBC-SHA", "SRP", "RSA"),
        ("KRB5-DES-CBC-SHA", "KRB5", "KRB5"),
        ("0x5A5A", "unknown", "unknown"),
    ],
)
def test_exchange_and_authentication(name: str, exchange: str, authentication: str) -> None:
    code = names.suite_code(name)
    assert (names.key_exchange(code), names.authentication(code)) == (exchange, authentication)


def test_no_suite_that_we_know_is_of_unknown_kind() -> None:
    assert [suite.iana for suite in EVERY_SUITE if names.key_exchange(suite.code) == "unknown"] == []


def test_suites_that_need_credentials_say_so_in_their_names() -> None:
    told = {suite.iana for suite in EVERY_SUITE if names.needs_credentials(suite.code)}
    words = ("PSK", "SRP", "KRB5", "ECCPWD", "FORTEZZA_KEA")
    assert told == {suite.iana for suite in EVERY_SUITE if any(word in suite.iana for word in words)}


def test_tls13_suites_are_those_without_a_key_exchange_in_their_names() -> None:
    told = {suite.iana for suite in EVERY_SUITE if names.is_tls13(suite.code)}
    assert told == {
        suite.iana for suite in EVERY_SUITE if "_WITH_" not in suite.iana or "_MGM_" in suite.iana
    }  # RFC 9367's names kept the old form


@pytest.mark.parametrize(
    ("code", "label"),
    [
        (0x0002, "SSLv2 (0x0002)"),
        (0x0302, "TLSv1.1 (VersionTLS11, 0x0302)"),
        (0x0304, "TLSv1.3 (VersionTLS13, 0x0304)"),
        (0x0305, "0x0305"),
    ],
)
def test_a_version_has_the_name_of_go_beside_its_own(code: int, label: str) -> None:
    assert names.version_label(code) == label
