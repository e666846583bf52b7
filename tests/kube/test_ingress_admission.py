"""Admission of a Custom profile by the ingress operator."""

from __future__ import annotations

import pytest

from scanner.kube.tls_profile import CustomProfile, router_refusals
from scanner.tls.names import TLS13_NAMES, is_a_set, is_open, is_tls13, suite_named

GCM = "ECDHE-RSA-AES128-GCM-SHA256"
CASES = [
    ({"ciphers": [GCM], "minTLSVersion": "VersionTLS12"}, []),
    ({"ciphers": ["TLS_AES_128_CCM_SHA256"], "minTLSVersion": "VersionTLS13"}, []),
    ({"ciphers": [GCM, "!AES128-SHA", "ECDHE+AESGCM"], "minTLSVersion": "VersionTLS10"}, []),
    ({}, ["ciphers", "minTLSVersion"]),
    ({"ciphers": [GCM]}, ["minTLSVersion"]),
    ({"ciphers": [], "minTLSVersion": "VersionTLS13"}, ["ciphers"]),
    ({"ciphers": [GCM], "minTLSVersion": "VersionTLS13"}, ["ciphers"]),
    ({"ciphers": ["TLS_AES_128_GCM_SHA256"], "minTLSVersion": "VersionTLS11"}, ["ciphers"]),
    ({"ciphers": [GCM, "@STRENGTH"], "minTLSVersion": "VersionTLS12"}, ["ciphers"]),
    ({"ciphers": [GCM, "!!A"], "minTLSVersion": "VersionTLS12"}, ["ciphers"]),
    ({"ciphers": [GCM, "A\nB"], "minTLSVersion": "VersionTLS12"}, ["ciphers"]),
    ({"ciphers": [GCM], "minTLSVersion": "VersionTLS14"}, []),  # the schema refuses it
]


@pytest.mark.parametrize(("custom", "fields"), CASES)
def test_what_is_refused(custom: dict[str, object], fields: list[str]) -> None:
    assert [each.field for each in router_refusals(CustomProfile(custom))] == fields


def test_its_names_of_tls13_are_suites_of_it() -> None:
    assert all(is_tls13(suite_named(name) or 0) for name in TLS13_NAMES)


@pytest.mark.parametrize(
    ("name", "known", "open_"),
    [
        ("HIGH", True, False),
        ("ECDHE+AESGCM", True, False),
        ("ALL", True, True),
        ("ECDHE+aNULL", True, True),
        (GCM, False, False),
        ("ECDHE+WORSE", False, False),
        ("", False, False),
    ],
)
def test_words_for_sets_of_suites(name: str, *, known: bool, open_: bool) -> None:
    assert is_a_set(name) is known
    assert is_open(name) is open_
