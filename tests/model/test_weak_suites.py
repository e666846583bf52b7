"""Weak cipher suites, by their names."""

from __future__ import annotations

import pytest

from scanner.kube.profile_catalogue import load_profile
from scanner.kube.tls_profile import Profile
from scanner.model.weak_suites import WEAKNESSES, weakness
from scanner.tls.codepoints import ALL_SUITES
from scanner.tls.names import suite_code

CASES = {
    "TLS_RSA_WITH_NULL_SHA256": ("high", "does not encrypt"),
    "TLS_SHA256_SHA256": ("high", "does not encrypt"),
    "TLS_DH_anon_WITH_AES_128_CBC_SHA": ("high", "does not authenticate the server"),
    "TLS_RSA_EXPORT_WITH_DES40_CBC_SHA": ("high", "export"),
    "TLS_RSA_WITH_RC4_128_MD5": ("high", "RC4"),
    "TLS_DHE_RSA_WITH_DES_CBC_SHA": ("high", "56 bits"),
    "TLS_RSA_WITH_3DES_EDE_CBC_SHA": ("medium", "64 bits"),
    "TLS_RSA_WITH_IDEA_CBC_SHA": ("medium", "64 bits"),
    "TLS_RSA_WITH_AES_128_GCM_SHA256": ("low", "forward secrecy"),
    "TLS_ECDH_RSA_WITH_AES_128_GCM_SHA256": ("low", "forward secrecy"),
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA": ("low", "CBC"),
    "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256": None,
    "TLS_DHE_RSA_WITH_AES_128_CCM": None,
    "TLS_AES_128_GCM_SHA256": None,
}


@pytest.mark.parametrize(("name", "expected"), CASES.items())
def test_the_worst_of_a_suite(name: str, expected: tuple[str, str] | None) -> None:
    found = weakness(suite_code(name))
    if expected is None:
        assert found is None
    else:
        assert found is not None
        assert (found.severity, expected[1] in found.why) == (expected[0], True)


@pytest.mark.parametrize("each", WEAKNESSES, ids=lambda each: each.why)
def test_every_weakness_is_one_of_a_suite_that_there_is(each: object) -> None:
    assert any(weakness(suite.code) is each for suite in ALL_SUITES)


@pytest.mark.parametrize("name", ["intermediate", "modern"])
def test_the_named_profiles_have_none(name: str) -> None:
    profile = load_profile(name, release="4.23")
    assert isinstance(profile, Profile)
    assert [code for code in profile.suites if weakness(code)] == []
