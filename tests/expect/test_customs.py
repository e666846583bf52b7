"""Custom profiles of the stories' clusters, as their readers see them."""

from __future__ import annotations

from scanner.judge.custom_profiles import custom_findings
from scanner.survey import Viewpoint, surroundings, survey
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


def test_what_survives_is_told_for_each_reader() -> None:
    """Go has no DHE, is given OpenSSL's names only and speaks TLS 1.3 whole; HAProxy takes the list as it is."""
    uses = {str(use.reference): use for use in load("custom").expectations.customs()}
    (finding,) = custom_findings([uses["APIServer/cluster"]])
    go, haproxy = finding.observed
    assert go == (
        "library-go: TLSv1.1 or later with TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, "
        "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, TLS_AES_128_GCM_SHA256, TLS_AES_256_GCM_SHA384, "
        "TLS_CHACHA20_POLY1305_SHA256"
    )
    assert haproxy.startswith("the ingress operator: TLSv1.1 or later with")
    assert "TLS_DHE_RSA_WITH_AES_128_GCM_SHA256" in haproxy
    assert any("library-go: Go does not have TLS_DHE_RSA_WITH_AES_128_GCM_SHA256" in each for each in finding.evidence)
    assert any("Go is not given TLS_RSA_WITH_AES_128_CBC_SHA" in each for each in finding.evidence)


def test_a_list_of_tls13_alone_restricts_the_router() -> None:
    uses = {str(use.reference): use for use in load("custom").expectations.customs()}
    (finding,) = custom_findings([uses["IngressController/openshift-ingress-operator/own"]])
    assert finding.observed == ("the ingress operator: TLSv1.3 or later with TLS_AES_256_GCM_SHA384",)


def test_it_reaches_the_report() -> None:
    found = surroundings([survey(load("custom").snapshot, Viewpoint())]).findings
    assert [each.rule for each in found] == ["profile-custom", "profile-custom"]
