"""The design document's own example, in the group in which it stands there and in the one that was shipped."""

from __future__ import annotations

from pathlib import Path

import pytest

from scanner.lint.contour.delegations import DELEGATION
from scanner.lint.contour.removed_apis import FORMER_API
from tests.lint.contour.proxies import found
from tests.lint.examples import WHOLE

EXAMPLE = """
apiVersion: {version}
kind: TLSCertificateDelegation
metadata:
  name: wildcards
  namespace: kube-system
spec:
  delegations:
  - secretName: example-com-wildcard
    targetNamespaces:
    - dev-example
    - www-example
  - secretName: google-com
    targetNamespaces: ["finance"]
  - secretName: dev-wildcard
    targetNamespaces: ["*"]
"""
INGRESS = """
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {{name: web, namespace: {namespace}}}
spec: {{ingressClassName: contour, tls: [{{hosts: [web.example.com], secretName: kube-system/{secret}}}]}}
"""
ROUTE = """
apiVersion: contour.heptio.com/v1beta1
kind: IngressRoute
metadata: {{name: web, namespace: {namespace}}}
spec: {{virtualhost: {{fqdn: web.example.com, tls: {{secretName: kube-system/{secret}}}}}}}
"""
PROXY = ROUTE.replace("contour.heptio.com/v1beta1", "projectcontour.io/v1").replace("IngressRoute", "HTTPProxy")
SAYS = (
    ("example-com-wildcard", "dev-example", True),
    ("example-com-wildcard", "www-example", True),
    ("example-com-wildcard", "finance", False),
    ("google-com", "finance", True),
    ("google-com", "www-example", False),
    ("dev-wildcard", "finance", True),
    ("dev-wildcard", "anybody", True),
    ("another", "finance", False),
)


@pytest.mark.parametrize("user", [INGRESS, ROUTE, PROXY], ids=["Ingress", "IngressRoute", "HTTPProxy"])
@pytest.mark.parametrize(("secret", "namespace", "allowed"), SAYS)
def test_as_it_was_shipped_it_permits_what_the_document_says(
    tmp_path: Path, user: str, secret: str, namespace: str, *, allowed: bool
) -> None:
    texts = [WHOLE, EXAMPLE.format(version="projectcontour.io/v1"), user.format(secret=secret, namespace=namespace)]
    assert found(tmp_path, DELEGATION, *texts) == ([] if allowed else [("fail", "high")])


@pytest.mark.parametrize(("secret", "namespace"), [each[:2] for each in SAYS])
def test_in_the_document_s_group_it_permits_nothing(tmp_path: Path, secret: str, namespace: str) -> None:
    texts = [WHOLE, EXAMPLE.format(version="contour.vmware.com/v1"), PROXY.format(secret=secret, namespace=namespace)]
    assert found(tmp_path, DELEGATION, *texts) == [("fail", "high")]
    assert found(tmp_path, FORMER_API, *texts) == [("fail", "medium")]


def test_in_the_first_group_it_permits_ingress_routes_alone(tmp_path: Path) -> None:
    example = EXAMPLE.format(version="contour.heptio.com/v1beta1")
    names = {"secret": "google-com", "namespace": "finance"}
    assert found(tmp_path, DELEGATION, WHOLE, example, ROUTE.format(**names)) == []
    assert found(tmp_path, DELEGATION, WHOLE, example, PROXY.format(**names)) == [("fail", "high")]
