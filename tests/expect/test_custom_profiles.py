"""Custom profiles of the stories' clusters, as their readers see them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest

from scanner.assessment import Viewpoint, assess, surroundings
from scanner.judge.custom_profiles import custom_findings
from scanner.kube.kinds import API_SERVER, INGRESS_CONTROLLER
from scanner.kube.tls_profile import INGRESS_OPERATOR, dropped_name
from scanner.kube.tls_profile import LIBRARY_GO as GO
from scanner.lint.openshift.tls_profiles import check_ciphers
from scanner.model.object_rule import Subject
from scanner.values import replace
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
    """Go has no DHE, takes OpenSSL's names only and speaks TLS 1.3 whole; HAProxy takes OpenSSL's names."""
    uses = {str(use.reference): use for use in load("custom").expectations.customs()}
    finding, _ = custom_findings([uses["APIServer/cluster"]])
    go, haproxy = finding.observed
    assert go == (
        "library-go: TLSv1.1 or later with TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, "
        "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, TLS_AES_128_GCM_SHA256, TLS_AES_256_GCM_SHA384, "
        "TLS_CHACHA20_POLY1305_SHA256"
    )
    assert haproxy.startswith("the ingress operator: TLSv1.1 or later with")
    assert "TLS_DHE_RSA_WITH_AES_128_GCM_SHA256" in haproxy
    assert any(
        "library-go: Go does not support TLS_DHE_RSA_WITH_AES_128_GCM_SHA256" in each for each in finding.evidence
    )
    assert "TLS_RSA_WITH_AES_128_CBC_SHA" not in haproxy
    assert any("Go accepts OpenSSL names only, and drops TLS_RSA" in each for each in finding.evidence)


def test_what_is_dropped_is_a_finding_of_its_own() -> None:
    uses = {str(use.reference): use for use in load("custom").expectations.customs()}
    _, finding = custom_findings([uses["APIServer/cluster"]])
    assert (finding.rule, finding.verdict, finding.severity) == ("profile-names-dropped", "fail", "medium")
    assert finding.message == (
        "APIServer/cluster lists cipher names that components drop without an error: "
        "DHE-RSA-AES128-GCM-SHA256, TLS_RSA_WITH_AES_128_CBC_SHA"
    )
    go, haproxy = finding.observed
    assert go.startswith(
        "library-go drops DHE-RSA-AES128-GCM-SHA256, TLS_RSA_WITH_AES_128_CBC_SHA; remaining: "
        "TLSv1.1 or later with TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, TLS_AES"
    )
    assert haproxy.startswith("the ingress operator may drop TLS_RSA_WITH_AES_128_CBC_SHA; remaining: TLSv1.1 or later")
    assert finding.fix == "DHE-RSA-AES128-GCM-SHA256: remove it; TLS_RSA_WITH_AES_128_CBC_SHA: write AES128-SHA"
    assert finding.about == "APIServer/cluster spec.tlsSecurityProfile.custom.ciphers"
    use = uses["APIServer/cluster"]
    _, alone = custom_findings([replace(use, readings=use.readings[:1])])
    assert (alone.message, alone.fix) == (finding.message, finding.fix), "every name that one reader drops"


def test_what_a_router_takes_of_ianas_names_depends_on_its_openssl() -> None:
    """OpenSSL 3.0 refuses them and 4.0 takes them. What Go certainly drops decides the fix."""
    uses = {str(use.reference): use for use in load("custom").expectations.customs()}
    use = uses["APIServer/cluster"]
    iana = replace(use, readings=use.readings[1:])
    _, finding = custom_findings([iana])
    assert (finding.verdict, finding.status) == ("inconclusive", "not-tested")
    assert "may drop without an error: TLS_RSA_WITH_AES_128_CBC_SHA" in finding.message
    name = "TLS_DHE_RSA_WITH_AES_128_GCM_SHA256"
    both = [
        (reader, replace(read, dropped=tuple(filter(None, [dropped_name(name, consumer)]))))
        for (reader, read), consumer in zip(use.readings, (GO, INGRESS_OPERATOR), strict=True)
    ]
    _, finding = custom_findings([replace(use, readings=tuple(both))])
    assert (finding.verdict, finding.fix) == ("fail", f"{name}: remove it")


@pytest.mark.parametrize("story", ["custom", "spec-example-custom", "custom-tls13-conflict"])
def test_lint_names_the_same_names(story: str) -> None:
    loaded = load(story)
    for use in loaded.expectations.customs():
        found = [each for each in custom_findings([use]) if each.rule == "profile-names-dropped"]
        every = (*loaded.snapshot.every(API_SERVER), *loaded.snapshot.every(INGRESS_CONTROLLER))
        object_ = next(each for each in every if each.reference == use.reference)
        flaws = [each.message.split()[0] for each in check_ciphers(cast("Subject", SimpleNamespace(object=object_)))]
        assert [name for name in flaws if name in str(found)] == flaws


def test_a_list_of_tls13_alone_restricts_the_router() -> None:
    uses = {str(use.reference): use for use in load("custom").expectations.customs()}
    (finding,) = custom_findings([uses["IngressController/openshift-ingress-operator/own"]])
    assert finding.observed == ("the ingress operator: TLSv1.3 or later with TLS_AES_256_GCM_SHA384",)


def test_it_reaches_the_report() -> None:
    found = surroundings([assess(load("custom").snapshot, Viewpoint())]).findings
    assert [each.rule for each in found] == ["profile-custom", "profile-names-dropped", "profile-custom"]
