"""Whom the clients of the demo's listeners trust: of endpoints as discovery finds them."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache

import pytest

from scanner.assessment import READS, Viewpoint, assess
from scanner.demo.layout import lay_out
from scanner.demo.objects import objects
from scanner.kube.kinds import INGRESS_CONFIG, INGRESS_CONTROLLER, SERVICE, Kind
from scanner.kube.objects import KubeObject
from scanner.kube.snapshot import Origin, Snapshot
from scanner.model.endpoint import Endpoint
from scanner.model.expectation import CertificateExpectation

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
OBJECTS = {
    kind: tuple(KubeObject(each, kind) for each in several) for kind, several in objects(lay_out(10, NOW)).items()
}
ROUTER_CA = "ConfigMap/openshift-config-managed/default-ingress-cert data[ca-bundle.crt]"
SERVICE_CA = "ConfigMap/openshift-service-ca/signing-cabundle data[ca-bundle.crt]"
OAUTH = "oauth-openshift.apps.demo.example"


def found(**instead: tuple[Kind, list[KubeObject]]) -> dict[str, tuple[Endpoint, CertificateExpectation]]:
    """Every endpoint of the demo by its id, with what its certificate owes."""
    held = {kind: OBJECTS.get(kind, ()) for kind in READS} | {kind: tuple(every) for kind, every in instead.values()}
    snapshot = Snapshot(taken_at=NOW, origin=Origin(name="demo"), objects=held)
    looked_at = assess(snapshot, Viewpoint(loopback=True))
    return {each.id: (each, looked_at.expectations.of(each).certificate) for each in looked_at.discovery.endpoints}


@cache
def demo() -> dict[str, tuple[Endpoint, CertificateExpectation]]:
    return found()


def anchors(where: dict[str, tuple[Endpoint, CertificateExpectation]], part: str) -> set[str]:
    return {certificate.anchor_source for id_, (_, certificate) in where.items() if part in id_}


@pytest.mark.parametrize(
    ("part", "source"),
    [
        ("shop/web:8443#web.shop.svc", SERVICE_CA),
        ("oauth-openshift:6443#oauth-openshift.openshift-authentication.svc", SERVICE_CA),
        (f"#{OAUTH}", ROUTER_CA),
        ("#catalog.apps.demo.example", ROUTER_CA),
        # Passed through to a user's workload: it serves whatever it likes.
        ("#checkout.apps.demo.example", ""),
        # In the same annotated Service as 8443, and nothing says that it speaks TLS at all.
        ("shop/web:9402", ""),
    ],
)
def test_whom_clients_trust(part: str, source: str) -> None:
    assert anchors(demo(), part) == {source}


def test_a_service_that_asks_for_no_certificate_gives_no_anchor() -> None:
    plain = [each for each in OBJECTS[SERVICE] if each.name != "web"]
    web = next(each for each in OBJECTS[SERVICE] if each.name == "web")
    bare = KubeObject({**web.raw, "metadata": {"name": "web", "namespace": "shop"}}, SERVICE)
    assert anchors(found(services=(SERVICE, [*plain, bare])), "shop/web:8443") == {""}


@pytest.mark.parametrize(
    "spec",
    [
        {"componentRoutes": [{"hostname": OAUTH, "servingCertKeyPairSecret": {"name": "ours"}}]},
        None,  # nobody saw the object: who knows
    ],
)
def test_a_certificate_that_the_administrator_gave_the_login_page_has_no_known_anchor(
    spec: dict[str, object] | None,
) -> None:
    config = [] if spec is None else [_cluster(INGRESS_CONFIG, spec)]
    assert anchors(found(ingress=(INGRESS_CONFIG, config)), f"#{OAUTH}") == {""}


def test_a_router_with_another_default_certificate_has_no_known_anchor() -> None:
    (first, *others) = OBJECTS[INGRESS_CONTROLLER]
    own = {**first.fields("spec").raw, "defaultCertificate": {"name": "ours"}}
    changed = KubeObject({**first.raw, "spec": own}, INGRESS_CONTROLLER)
    where = found(controllers=(INGRESS_CONTROLLER, [changed, *others]))
    assert anchors(where, f"#{OAUTH}") == {""}


def _cluster(kind: Kind, spec: dict[str, object]) -> KubeObject:
    return KubeObject({"metadata": {"name": "cluster"}, "spec": spec}, kind)
