"""Routes as the API server stores them, and the certificate and hosts that a router serves."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scanner.kube.ingress import Route
from scanner.kube.kinds import ROUTE
from scanner.kube.objects import KubeObject


def route(spec: object, status: object = None) -> Route:
    return Route.of(
        KubeObject({"metadata": {"name": "web", "namespace": "shop"}, "spec": spec, "status": status}, ROUTE)
    )


@pytest.mark.parametrize(
    ("tls", "termination"),
    [
        ({}, "edge"),
        ({"termination": ""}, "edge"),
        ({"termination": "", "destinationCACertificate": "PEM"}, ""),
        ({"termination": "Edge"}, "edge"),
        ({"termination": "Reencrypt"}, "reencrypt"),
        ({"termination": "Passthrough"}, "passthrough"),
        ({"termination": "EDGE"}, "EDGE"),
        ({"termination": "ReEncrypt"}, "ReEncrypt"),
    ],
)
def test_termination_as_admission_stores_it(tls: dict[str, str], termination: str) -> None:
    found = route({"tls": tls})
    assert found.termination == termination
    assert found.is_terminated is (termination in ("edge", "reencrypt"))


def test_certificate_that_the_router_serves() -> None:
    inline = {"certificate": "PEM"}
    assert route({"tls": inline}).inline_certificate == "PEM"
    assert route({"tls": {**inline, "externalCertificate": {"name": "web-tls"}}}).external_secret == "web-tls"
    assert not route({"tls": {**inline, "externalCertificate": {"name": "web-tls"}}}).inline_certificate
    assert route({"tls": {**inline, "externalCertificate": {}}}).inline_certificate == "PEM"
    passed_through = route({"tls": {"termination": "passthrough", "externalCertificate": {"name": "web-tls"}}})
    assert not passed_through.external_secret


def test_backends_are_services() -> None:
    found = route(
        {"to": {"name": "a"}, "alternateBackends": [{"kind": "Service", "name": "b"}, {"kind": "X", "name": "c"}]}
    )
    assert [(each.service, each.steps) for each in found.backends] == [
        ("a", ("spec", "to")),
        ("b", ("spec", "alternateBackends", 0)),
        ("", ("spec", "alternateBackends", 1)),
    ]


def test_hosts_and_admission() -> None:
    said = [{"type": "Admitted", "status": "True"}]
    status = {"ingress": [{"host": "B.example.com", "conditions": said}, {"host": "a.example.com"}]}
    found = route({"host": "a.example.com"}, status)
    assert found.hosts == ("a.example.com", "b.example.com")
    assert [each.is_admitted for each in found.ingresses] == [True, False]
    assert route({"host": "a.example.com", "wildcardPolicy": "Subdomain"}).hosts == ("*.example.com",)


@given(
    st.recursive(st.none() | st.booleans() | st.text(max_size=3), lambda each: st.lists(each, max_size=2), max_leaves=4)
)
def test_no_value_can_fail(value: object) -> None:
    for spec in (value, {"tls": value, "to": value, "host": value, "alternateBackends": value}):
        found = route(spec, {"ingress": value})
        assert isinstance(found.termination, str)
        assert all(isinstance(each.service, str) for each in found.backends)
        assert all(isinstance(each, str) for each in found.hosts)
        assert not found.external_secret
