"""Mounted certificates."""

from __future__ import annotations

import pytest

from tests.discover.mounts import CERTIFICATE, SECRET, pod
from tests.discover.objects import found, left_out, only, origins

SERVICE_CA = """
---
{kind: Service, metadata: {name: other, namespace: shop,
  annotations: {service.beta.openshift.io/serving-cert-secret-name: web-tls}}, spec: {ports: []}}
"""


@pytest.mark.parametrize(
    ("volume", "others", "what"),
    [
        (SECRET, CERTIFICATE, "Secret/shop/web-tls of Certificate/shop/web"),
        (SECRET, SERVICE_CA, "Secret/shop/web-tls of the service CA"),
        (
            "projected: {sources: [{secret: {name: web-tls}}]}",
            CERTIFICATE,
            "Secret/shop/web-tls of Certificate/shop/web",
        ),
        ("projected: {sources: [{podCertificate: {signerName: a/b}}]}", "", "a certificate of the pod's own"),
        ("csi: {driver: csi.cert-manager.io}", "", "a certificate of cert-manager's CSI driver"),
    ],
)
def test_who_mounts_a_certificate_probably_serves_it(volume: str, others: str, what: str) -> None:
    one = only(found(pod(volume) + others))
    assert (one.id, one.certainty) == ("Pod/shop/web:7000", "hinted")
    assert any(f"Pod/shop/web container c mounts {what}" in each for each in origins(one))


def test_every_certificate_that_is_mounted_is_named() -> None:
    both = "projected: {sources: [{secret: {name: web-tls}}, {podCertificate: {signerName: a/b}}]}"
    listed = [each for each in origins(only(found(pod(both) + CERTIFICATE))) if "mounts" in each]
    assert len(listed) == 2


def test_a_secret_of_the_platform_is_known_by_its_name() -> None:
    text = pod("secret: {secretName: signing-key}", namespace="openshift-service-ca")
    assert only(found(text)).certainty == "candidate"
    serving = pod("secret: {secretName: machine-config-server-tls}", namespace="openshift-machine-config-operator")
    assert only(found(serving)).certainty == "hinted"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (pod(SECRET), "nobody says that there is a certificate in the Secret"),
        (pod(SECRET, namespace="other") + CERTIFICATE, "the Certificate is of another namespace"),
        (pod(SECRET, mounted="d") + CERTIFICATE, "the container does not mount it"),
        (pod(SECRET, "containerPort: 80") + CERTIFICATE, "the number says that it is plain"),
        (pod(SECRET, "name: http-api, containerPort: 7000") + CERTIFICATE, "the name says that it is plain"),
        (pod("configMap: {name: web-tls}") + CERTIFICATE, "no Secret"),
        (pod("csi: {driver: csi.example}"), "another driver"),
    ],
)
def test_what_says_nothing_of_a_port(text: str, why: str) -> None:
    assert only(found(text)).certainty == "candidate", why


CUT = "volumes of one pod, or Secrets in them, beyond the first 200: truncated, not read"


def test_volumes_beyond_the_bound_are_counted() -> None:
    more = ", ".join(f"{{name: v{number}, emptyDir: {{}}}}" for number in range(205))
    text = pod(SECRET).replace("volumes: [", f"volumes: [{more}, ")
    discovery = found(text + CERTIFICATE)
    assert left_out(discovery)[CUT] == 6
    assert discovery.truncated == 6


def test_secrets_in_a_volume_and_ports_are_bounded_as_elsewhere() -> None:
    sources = ", ".join(["{podCertificate: {signerName: a/b}}"] * 205)
    ports = ", ".join(f"{{containerPort: {number}}}" for number in range(1001, 1401))
    text = pod(f"projected: {{sources: [{sources}]}}").replace("[{containerPort: 7000}]", f"[{ports}]")
    discovery = found(text)
    assert {each.certainty for each in discovery.endpoints} == {"hinted"}
    assert len(discovery.endpoints) == 300
    assert left_out(discovery) == {CUT: 5, "ports and probes of one pod beyond the first 300: truncated, not read": 100}


def test_several_containers_each_have_what_they_mount() -> None:
    text = pod(SECRET).replace("containers: [", "containers: [{name: b, ports: [{containerPort: 7001}]}, ")
    discovery = found(text + CERTIFICATE)
    assert {each.port: each.certainty for each in discovery.endpoints} == {7000: "hinted", 7001: "candidate"}
