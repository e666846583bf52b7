"""Which Secret a listener serves its certificate from."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from scanner.config.certificate_names import load_names
from scanner.kube.kinds import SECRET
from scanner.kube.snapshot import Unreadable
from scanner.model.expectation import DeclaredCertificates
from scanner.tls.certificate import parse_certificate
from scanner.values import replace
from tests.certs import Authority
from tests.expect.declared_objects import FACTS, LEAF, ROUTED, ROUTER, controller, made, route, secret
from tests.expect.stories import endpoint, resolved, snapshot_of

pytestmark = pytest.mark.crypto

ANNOTATION = "service.beta.openshift.io/serving-cert-secret-name"

WEB = "Deployment/shop/web:8443#web.shop.svc"
DEFAULT = "router-certs-default"
ETCD = "StaticPod/openshift-etcd/etcd:2379"
KAS = "StaticPod/openshift-kube-apiserver/kube-apiserver:6443#localhost"


def service(secret_name: str = "web-tls") -> dict[str, Any]:
    return made("Service", "shop", "web", metadata={"annotations": {ANNOTATION: secret_name}}, spec={})


def found(
    name: str,
    *objects: dict[str, Any],
    said: dict[str, Any] | None = None,
    gap: Literal["forbidden", "not-asked"] | None = None,
) -> DeclaredCertificates | None:
    where = endpoint(name, said or {})
    snapshot = snapshot_of(list(objects))
    if gap:
        missing = Unreadable(kind=SECRET, gap=gap, reason=f"it is {gap}")
        snapshot = replace(snapshot, unreadable={**snapshot.unreadable, SECRET: missing})
    return resolved(snapshot).of(where).certificate.declared


def known(name: str, *objects: dict[str, Any], **more: Any) -> DeclaredCertificates:  # noqa: ANN401 - as found
    stored = found(name, *objects, **more)
    assert stored is not None
    return stored


def places(stored: DeclaredCertificates | None) -> list[str]:
    assert stored is not None
    assert stored.unread == ()
    return [each.place for each in stored.leaves]


def test_a_service_that_asks_the_service_ca() -> None:
    stored = known(WEB, service(), secret("shop", "web-tls"), secret("shop", "another"))
    assert places(stored) == ["Secret/shop/web-tls data[tls.crt]"]
    assert not stored.exact
    (leaf,) = stored.leaves
    assert (leaf.sha256, leaf.serial, leaf.not_before) == (FACTS.sha256, FACTS.serial, FACTS.not_before)
    assert leaf.names == frozenset({"DNS:web.shop.svc"})


def test_of_routes_with_one_host_any_of_their_certificates_may_be_shown() -> None:
    """Each has a path; the router chooses a certificate before it knows of any."""
    other = Authority("Other").leaf(names=("web.apps.example",))
    blog = route(certificate=other.pem.decode())
    plain = route(termination="reencrypt")
    through = route(termination="passthrough", certificate=other.pem.decode())
    for name, each in (("blog", blog), ("plain", plain), ("through", through)):
        each["metadata"]["name"] = name
    terminations = {"web": "edge", "blog": "edge", "plain": "reencrypt", "through": "passthrough"}
    origins = [f"Route/shop/{name} {how}" for name, how in terminations.items()]
    said = {**ROUTED, "origins": origins}
    objects = (blog, plain, through, controller(), secret("shop", "mine"), secret("openshift-ingress", DEFAULT))
    inline = "Route/shop/blog spec.tls.certificate"
    external = route(externalCertificate={"name": "mine"})
    assert places(found(ROUTER, external, *objects, said=said)) == ["Secret/shop/mine data[tls.crt]", inline]
    assert places(found(ROUTER, route(), *objects, said=said)) == [inline]
    neither = {**ROUTED, "origins": [each for each in origins if "blog" not in each]}
    assert places(found(ROUTER, route(), *objects, said=neither)) == [
        f"Secret/openshift-ingress/{DEFAULT} data[tls.crt]"
    ]


def test_what_stands_behind_a_certificate_is_kept_in_its_order() -> None:
    root = Authority("Root")
    upper = Authority("Upper", issuer=root)
    chain = Authority("Lower", issuer=upper).leaf(names=("web.apps.example",)).pem + upper.pem
    wanted = ["CN=Lower", "CN=Upper"]
    at_services = known(WEB, service(), secret("shop", "web-tls", chain))
    external = route(externalCertificate={"name": "mine"}, caCertificate=root.pem.decode())
    of_secret = known(ROUTER, external, controller(), secret("shop", "mine", chain), said=ROUTED)
    inline = route(certificate=chain.decode(), caCertificate=root.pem.decode())
    of_route = known(ROUTER, inline, controller(), said=ROUTED)
    assert [_issuers(each) for each in (at_services, of_secret, of_route)] == [
        wanted,
        [*wanted, "CN=Root"],
        [*wanted, "CN=Root"],
    ]


def _issuers(stored: DeclaredCertificates) -> list[str]:
    (leaf,) = stored.leaves
    return [(each.subject or "").rpartition(",")[2] for each in leaf.issuers]


def test_a_service_that_asks_nobody_says_nothing() -> None:
    assert found(WEB, made("Service", "shop", "web", spec={}), secret("shop", "web-tls")) is None


@pytest.mark.parametrize(
    ("tls", "spec", "wanted"),
    [
        ({}, {}, "openshift-ingress/router-certs-default"),
        ({}, {"defaultCertificate": {"name": "ours"}}, "openshift-ingress/ours"),
        ({"externalCertificate": {"name": "mine"}}, {}, "shop/mine"),
        ({"externalCertificate": {"name": "mine"}}, {"defaultCertificate": {"name": "ours"}}, "shop/mine"),
    ],
)
def test_a_router_serves_what_route_or_controller_name(tls: dict[str, Any], spec: dict[str, Any], wanted: str) -> None:
    namespace, _, name = wanted.partition("/")
    secrets = [secret(namespace, name), secret("shop", "decoy")]
    stored = known(ROUTER, route(**tls), controller(**spec), *secrets, said=ROUTED)
    assert places(stored) == [f"Secret/{wanted} data[tls.crt]"]
    assert stored.exact


def test_a_routes_own_certificate_stands_in_the_route_itself() -> None:
    """And is compared also where nobody asked for Secrets; the router's default is known where its Secret is."""
    condition = {"type": "Admitted", "status": "True", "reason": "ExternalCertificateSecretUpdated", "message": "new"}
    own = route(certificate=LEAF.pem.decode())
    own["status"] = {"ingress": [{"routerName": "default", "conditions": [condition]}]}
    default = Authority("Ingress").leaf(names=("*.apps.example",))
    secrets = secret("openshift-ingress", "router-certs-default", default.pem)
    stored = known(ROUTER, own, controller(), secrets, said=ROUTED)
    assert places(stored) == ["Route/shop/web spec.tls.certificate"]
    assert stored.default is not None
    assert stored.default.sha256 == parse_certificate(default.der).sha256
    assert (
        stored.condition
        == "Route/shop/web status.ingress[default]: Admitted is True, ExternalCertificateSecretUpdated new"
    )
    bare = known(ROUTER, own, controller(), said=ROUTED, gap="not-asked")
    assert (len(bare.leaves), bare.wanted, bare.exact, bare.default) == (1, True, True, None)


def test_a_route_whose_certificate_cannot_be_read_is_as_good_as_unread() -> None:
    stored = known(ROUTER, route(certificate="-----BEGIN CERTIFICATE-----"), controller(), said=ROUTED)
    assert (stored.leaves, stored.unread) == ((), ("Route/shop/web has no certificate in spec.tls.certificate",))


def test_what_a_router_shows_without_a_name_is_its_default() -> None:
    bare = ROUTER.partition("#")[0]
    stored = found(bare, controller(), secret("openshift-ingress", "router-certs-default"))
    assert places(stored) == ["Secret/openshift-ingress/router-certs-default data[tls.crt]"]


def test_a_passed_through_route_has_no_certificate_of_the_routers() -> None:
    through = route(termination="passthrough", certificate=LEAF.pem.decode())
    assert found(ROUTER, through, controller(), said=ROUTED) is None


def test_well_known_names_of_the_control_plane() -> None:
    secrets = [secret("openshift-etcd", f"etcd-serving-{node}") for node in ("a", "b")]
    stored = found(ETCD, *secrets, secret("shop", "etcd-serving-a"), said={"node": "a"})
    assert places(stored) == [f"Secret/openshift-etcd/etcd-serving-{node} data[tls.crt]" for node in ("a", "b")]


def test_kube_apiserver_may_serve_what_administrators_gave_it() -> None:
    spec = {"servingCerts": {"namedCertificates": [{"servingCertificate": {"name": "api-tls"}}]}}
    server = made("APIServer", None, "cluster", "config.openshift.io/v1", spec=spec)
    stored = known(KAS, server, secret("openshift-config", "api-tls"), said={"node": "m"})
    assert [each.place for each in stored.leaves] == ["Secret/openshift-config/api-tls data[tls.crt]"]
    assert any("localhost-serving-cert-certkey was not read" in each for each in stored.unread)
    assert not stored.exact
    assert found(KAS.replace("6443", "6080"), server, said={"node": "m"}) is None  # its health check
    of_etcd = [secret("openshift-etcd", "etcd-serving-a"), secret("openshift-config", "api-tls")]
    assert places(found(ETCD, server, *of_etcd, said={"node": "a"})) == [
        "Secret/openshift-etcd/etcd-serving-a data[tls.crt]"
    ]


def test_the_kubelets_certificate_is_in_no_secret() -> None:
    assert found("Node/m:10250") is None


def test_of_one_port_all_well_known_certificates_are_in_secrets_or_none() -> None:
    by_port: dict[tuple[str, int], set[bool]] = {}
    for each in load_names().all:
        for component, port in ((name, port) for name, ports in each.recognition.listeners for port in ports):
            by_port.setdefault((component, port), set()).add(bool(each.recognition.secrets))
    assert {len(each) for each in by_port.values()} == {1}


@pytest.mark.parametrize(("gap", "wanted"), [("forbidden", True), ("not-asked", False)])
def test_secrets_that_were_not_read_are_named(gap: Literal["forbidden", "not-asked"], wanted: bool) -> None:
    for name, said, objects in ((WEB, {}, [service()]), (ETCD, {"node": "a"}, [])):
        stored = known(name, *objects, said=said, gap=gap)
        assert (stored.leaves, stored.wanted) == ((), wanted)
        assert all(f"was not read: it is {gap}" in each for each in stored.unread)
        assert stored.unread


def test_secrets_that_were_read_by_name_without_a_list_were_asked_for() -> None:
    """``adhere rbac --with secrets`` grants get and no list."""
    gap = Unreadable(kind=SECRET, gap="not-asked", reason="the list of Secrets was refused", option="secrets-list")
    snapshot = snapshot_of([service(), secret("shop", "web-tls")])
    snapshot = replace(snapshot, unreadable={SECRET: gap})
    stored = resolved(snapshot).of(endpoint(WEB, {})).certificate.declared
    assert stored is not None
    assert (stored.wanted, places(stored)) == (True, ["Secret/shop/web-tls data[tls.crt]"])


@pytest.mark.parametrize("content", [b"", b"no certificate", b"-----BEGIN CERTIFICATE-----\nAA\n"])
def test_a_secret_without_a_certificate_is_as_good_as_unread(content: bytes) -> None:
    stored = known(WEB, service(), secret("shop", "web-tls", content))
    assert stored.leaves == ()
    assert stored.unread == ("Secret/shop/web-tls has no certificate in data[tls.crt]",)


def test_a_secret_that_is_odd_does_no_harm() -> None:
    odd = made("Secret", "shop", "web-tls", data={"tls.crt": 7})
    stored = found(WEB, service(), odd)
    assert stored is not None
    assert len(stored.unread) == 1


def test_a_well_known_name_means_the_secret_in_its_own_namespace() -> None:
    name = "localhost-serving-cert-certkey"
    stored = found(KAS, secret("openshift-kube-apiserver", name), secret("shop", name), said={"node": "m"})
    assert stored is not None
    wanted = f"Secret/openshift-kube-apiserver/{name} data[tls.crt]"
    assert wanted in [each.place for each in stored.leaves]
    assert not any(name in each for each in stored.unread)


def test_the_default_certificate_of_a_router_is_that_of_no_other_listener() -> None:
    """The only IngressController of a cluster is nothing to a workload that clients reach without a Route."""
    objects = controller(), secret("openshift-ingress", DEFAULT)
    assert places(found("Deployment/openshift-ingress/router-default:443", *objects, said={"segment": "Frontend"}))
    assert found("Deployment/shop/web:8443", *objects, said={"segment": "Frontend"}) is None
    assert found("Deployment/shop/web:8443", *objects) is None
