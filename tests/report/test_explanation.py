"""``adhere explain``: what a listener must do, and which object says so."""

from __future__ import annotations

from scanner.kube.maybe import Unknown
from scanner.kube.profile_catalogue import load_profile
from scanner.model.expectation import Expectation
from scanner.report.explanation import explain
from scanner.values import replace
from tests.report.samples import endpoint

ENDPOINT = endpoint("a", 1)
EXPECTATION = Expectation(
    profile=load_profile("intermediate"),
    client_certificate="required",
    client_source="Gateway/shop/edge spec.tls.frontend.default.validation",
    client_trust="ConfigMap/shop/clients",
)


def test_the_object_that_requires_a_client_certificate_is_named() -> None:
    for expectation in (EXPECTATION, replace(EXPECTATION, profile=Unknown("no profile was read"))):
        lines = [line.strip() for line in explain([ENDPOINT], expectation)]
        assert "client certificate  required, by Gateway/shop/edge spec.tls.frontend.default.validation" in lines
        assert "trusted: those of ConfigMap/shop/clients" in lines


def test_where_nothing_is_asked_of_clients_nothing_is_said() -> None:
    told = "\n".join(
        explain([ENDPOINT], replace(EXPECTATION, client_certificate=None, client_source="", client_trust=None))
    )
    assert "client certificate" not in told
    assert "trusted" not in told
