"""Which certificate a name is to be served with, by the objects that lead there."""

from __future__ import annotations

from typing import Any

import pytest

from scanner.model.expectation import DeclaredCertificates
from scanner.values import replace
from tests.expect.declared_objects import GATEWAY_API, PROXY, delegation, gateway, grant, listener, made, proxy, secret
from tests.expect.stories import endpoint, resolved, snapshot_of

pytestmark = pytest.mark.crypto


def found(origin: str, *objects: dict[str, Any], name: str = PROXY, **more: Any) -> DeclaredCertificates | None:  # noqa: ANN401
    where = replace(endpoint(name, {"origins": [origin]}), **more)
    return resolved(snapshot_of(list(objects))).of(where).certificate.declared


def wanted(stored: DeclaredCertificates | None) -> list[str]:
    assert stored is not None
    assert stored.exact
    return sorted(text.split()[0] for text in (*(each.place for each in stored.leaves), *stored.unread))


def test_a_gateways_listener_names_its_secrets() -> None:
    """Its own, and not those of the listener beside it, whose name begins in the same way."""
    one = gateway(
        listener("https", {"name": "web"}, {"name": "shared", "namespace": "certs"}),
        listener("https-b", {"name": "other"}),
    )
    lets = grant()
    stored = found("Gateway/edge/gw listener https", one, lets, secret("edge", "web"), secret("edge", "other"))
    assert wanted(stored) == ["Secret/certs/shared", "Secret/edge/web"]
    of_route = found("Gateway/edge/gw listener https TLSRoute/shop/web", one, lets)
    assert wanted(of_route) == ["Secret/certs/shared", "Secret/edge/web"]


def test_a_listener_set_has_secrets_of_its_own() -> None:
    parent = {"name": "gw", "namespace": "edge"}
    spec = {"parentRef": parent, "listeners": [listener("https", {"name": "web"})]}
    more = made("ListenerSet", "shop", "more", GATEWAY_API, spec=spec)
    assert wanted(found("ListenerSet/shop/more listener https", more, gateway())) == ["Secret/shop/web"]


@pytest.mark.parametrize(
    "tls",
    [{"mode": "Passthrough"}, {"certificateRefs": []}, {"certificateRefs": [{"name": "x", "kind": "Bundle"}]}],
)
def test_what_terminates_with_no_secret_says_nothing(tls: dict[str, Any]) -> None:
    one = gateway(listener("https", {"name": "web"}, **tls))
    assert found("Gateway/edge/gw listener https", one, secret("edge", "web")) is None


def test_an_ingress_names_a_secret_for_each_host() -> None:
    entries = [
        {"hosts": ["Web.Example", "b.example"], "secretName": "web"},
        {"hosts": ["c.example"], "secretName": "c"},
        {"hosts": ["web.example"]},
    ]
    one = made("Ingress", "shop", "web", "networking.k8s.io/v1", spec={"tls": entries})
    assert wanted(found("Ingress/shop/web", one, secret("shop", "web"))) == ["Secret/shop/web"]
    one["metadata"]["annotations"] = {"projectcontour.io/tls-cert-namespace": "certs"}
    assert wanted(found("Ingress/shop/web", one, delegation("web"))) == ["Secret/certs/web"]
    assert found("of another namespace: Ingress/shop/web", one, secret("certs", "web")) is None


def test_an_http_proxy_names_a_secret_here_or_elsewhere() -> None:
    for name, expected in (("web", "Secret/shop/web"), ("certs/web", "Secret/certs/web")):
        secrets = [secret("certs", "web"), secret("shop", "web")]
        stored = found("HTTPProxy/shop/web", proxy(secretName=name), delegation("web"), *secrets)
        assert wanted(stored) == [expected]
    backend = found("HTTPProxy/shop/web backend", proxy(secretName="web"), secret("shop", "web"))
    assert backend is None


def test_contours_fallback_is_for_whoever_gives_no_name() -> None:
    falls = proxy(secretName="web", enableFallbackCertificate=True)
    spec = {"httpproxy": {"fallbackCertificate": {"namespace": "certs", "name": "any"}}}
    contour = made("ContourConfiguration", "edge", "contour", "projectcontour.io/v1alpha1", spec=spec)
    named = endpoint(PROXY, {"origins": ["HTTPProxy/shop/web"], "subject": "HTTPProxy/shop/web", "address": "10.0.0.1"})
    bare = endpoint(PROXY.partition("#")[0], {"address": "10.0.0.1"})
    snapshot = snapshot_of([falls, contour, delegation("any"), secret("certs", "any"), secret("shop", "web")])
    expectations = resolved(snapshot, endpoints=(named, bare))
    assert wanted(expectations.of(bare).certificate.declared) == ["Secret/certs/any"]
    assert wanted(expectations.of(named).certificate.declared) == ["Secret/shop/web"]


def test_a_name_on_a_backend_is_not_the_gateways() -> None:
    one = gateway(listener("https", {"name": "web"}))
    assert found("Gateway/edge/gw listener https", one, secret("edge", "web"), segment="Backend") is None


def test_a_certificate_that_cert_manager_keeps_names_its_object() -> None:
    kept = secret("shop", "web")
    kept["metadata"]["annotations"] = {"cert-manager.io/certificate-name": "web-cert"}
    stored = found("HTTPProxy/shop/web", proxy(secretName="web"), kept)
    assert stored is not None
    assert [each.kept_by for each in stored.leaves] == ["Certificate/shop/web-cert"]


@pytest.mark.parametrize("odd", [{"listeners": 7}, {"listeners": [{"name": 3, "tls": []}]}, {}])
def test_odd_objects_name_nothing(odd: dict[str, Any]) -> None:
    one = made("Gateway", "edge", "gw", GATEWAY_API, spec=odd)
    assert found("Gateway/edge/gw listener https", one) is None
