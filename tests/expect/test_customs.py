"""Custom profiles of the stories' clusters, as their readers see them."""

from __future__ import annotations

from tests.expect.stories import load


def test_the_conflict_of_the_two_operators_is_seen() -> None:
    """VersionTLS13 must have no ciphers in an APIServer, and an IngressController that inherits it wants one."""
    (use,) = load("custom-tls13-conflict").expectations.customs()
    assert str(use.reference) == "APIServer/cluster"
    readings = dict(use.readings)
    assert readings["library-go"].refused is None
    assert readings["the ingress operator"].refused


def test_a_custom_profile_is_seen_and_a_named_one_is_none() -> None:
    assert {use.field for use in load("custom").expectations.customs()} == {"spec.tlsSecurityProfile.custom"}
    assert load("modern-strict").expectations.customs() == ()
