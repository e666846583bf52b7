"""Encrypted manifests: the cluster's object of the same name is not taken for the manifest."""

from __future__ import annotations

from pathlib import Path

import pytest

from scanner.cluster.retention import Pruner
from scanner.cluster.snapshot_objects import kept
from scanner.kube.kinds import SECRET
from scanner.kube.objects import KubeObject
from scanner.lint.contour.virtual_hosts import PLAINTEXT
from scanner.lint.kubernetes.ingress_rules import CERTIFICATE
from scanner.values import replace
from tests.lint.examples import WHOLE, empty, leaf, linted

VALUE = "'ENC[AES256_GCM,data:eA==,iv:eA==,tag:eA==,type:str]'"
INGRESS = (
    "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: web, namespace: shop}\n"
    "spec: {ingressClassName: nginx, tls: [{hosts: [a.example], secretName: web}]}\n"
)
SEALED = (
    "---\napiVersion: v1\nkind: Secret\nmetadata: {name: web, namespace: shop}\ntype: TYPE\n"
    f"data: {{tls.crt: {VALUE}}}\nsops: {{mac: {VALUE}}}\n"
)
PROXY = (
    "apiVersion: projectcontour.io/v1\nkind: HTTPProxy\nmetadata: {name: web, namespace: shop}\n"
    "spec: {virtualhost: {fqdn: a.example, tls: {secretName: web}}, includes: [{name: b}]}\n"
)
SEALED_PROXY = (
    "---\napiVersion: projectcontour.io/v1\nkind: HTTPProxy\nmetadata: {name: b, namespace: shop}\n"
    f"spec: {{routes: [{{x: {VALUE}}}]}}\nsops: {{mac: {VALUE}}}\n"
)


def old() -> KubeObject:
    """The cluster's objects."""
    data = {"tls.crt": leaf("a.example").pem.decode(), "tls.key": leaf("a.example").key_pem.decode()}
    metadata = {"name": "web", "namespace": "shop"}
    found = kept(SECRET, {"type": "kubernetes.io/tls", "metadata": metadata, "stringData": data}, Pruner())
    assert found
    return found


@pytest.mark.parametrize("there", [(), (old(),)], ids=["none in the cluster", "another in the cluster"])
@pytest.mark.parametrize("kind", ["kubernetes.io/tls", "Opaque"])
def test_what_refers_to_it_is_undecided(tmp_path: Path, there: tuple[KubeObject, ...], kind: str) -> None:
    cluster = replace(empty(), objects={**empty().objects, SECRET: there})
    (one,), _ = linted(tmp_path, INGRESS + SEALED.replace("TYPE", kind), [CERTIFICATE], cluster)
    assert [each.finding.verdict for each in one.findings] == ["inconclusive"]
    assert "encrypted with SOPS" in one.findings[0].finding.message


def test_there_is_another_of_its_kind(tmp_path: Path) -> None:
    (one,), _ = linted(tmp_path, f"{WHOLE}\n{PROXY}{SEALED_PROXY}", [PLAINTEXT])
    assert [each.finding.verdict for each in one.findings] == ["inconclusive"]
