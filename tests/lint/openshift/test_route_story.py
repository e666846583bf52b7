"""One Route over time: from the default certificate to a Secret's and back, renewed, and broken."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path

import pytest

from scanner.lint.openshift import OPENSHIFT_RULES
from tests.lint.examples import WHOLE, leaf, linted
from tests.lint.openshift.saying import secret

HOST = "web.apps.cluster.example"
CLUSTER = """\
---
apiVersion: operator.openshift.io/v1
kind: IngressController
metadata: {name: default, namespace: openshift-ingress-operator}
spec: {domain: apps.cluster.example, tlsSecurityProfile: {type: Modern, modern: {}}}
---
apiVersion: config.openshift.io/v1
kind: ClusterVersion
metadata: {name: version}
status: {desired: {version: 4.22.3}}
---
"""
READER = """\
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: web-reader, namespace: shop}
rules: [{apiGroups: [""], resources: [secrets], resourceNames: [web], verbs: [get, list, watch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: web-reader, namespace: shop}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: web-reader}
subjects: [{kind: ServiceAccount, name: router, namespace: openshift-ingress}]
---
"""
BY_GROUP = READER.replace(
    "{kind: ServiceAccount, name: router, namespace: openshift-ingress}",
    "{kind: Group, name: 'system:serviceaccounts:openshift-ingress'}",
)
GOOD = secret(f"tls.crt: CERTIFICATE({HOST}), tls.key: KEY({HOST})")
RENEWED = secret(f"tls.crt: CERTIFICATE({HOST}, www.{HOST}), tls.key: KEY({HOST}, www.{HOST})")
SWAPPED = secret(f"tls.crt: CERTIFICATE({HOST}), tls.key: KEY(other.example)")
OPAQUE = secret(f"tls.crt: CERTIFICATE({HOST}), tls.key: KEY({HOST})", "Opaque")
OVER = leaf(HOST, expired=True)
ENDED = secret(f"tls.crt: {b64encode(OVER.pem).decode()}, tls.key: {b64encode(OVER.key_pem).decode()}")
FOREIGN = secret("tls.crt: CERTIFICATE(other.example), tls.key: KEY(other.example)")
FED = "{termination: edge, externalCertificate: {name: web}}"


def route(tls: str, reason: str = "", message: str = "") -> str:
    said = f"status: 'False', reason: {reason}, message: '{message}'" if reason else "status: 'True'"
    return (
        "apiVersion: route.openshift.io/v1\nkind: Route\nmetadata: {name: web, namespace: shop, uid: u}\n"
        f"spec: {{host: {HOST}, to: {{kind: Service, name: web}}, tls: {tls}}}\n"
        f"status: {{ingress: [{{routerName: default, host: {HOST}, conditions: [{{type: Admitted, {said}}}]}}]}}\n---\n"
    )


REJECTED = "ExternalCertificateValidationFailed"
STEPS: list[tuple[str, str, set[str]]] = [
    ("the default certificate", route("{termination: edge}"), set()),
    ("from a Secret", route(FED) + GOOD + READER, set()),
    ("renewed", route(FED) + RENEWED + READER, set()),
    ("renewed for another host", route(FED) + FOREIGN + READER, {"route-certificate-host"}),
    ("not renewed in time", route(FED) + ENDED + READER, {"route-certificate"}),
    (
        "the key of another",
        route(FED, "ExtendedValidationFailed", "tls: private key does not match public key") + SWAPPED + READER,
        {"route-external-secret", "route-status"},
    ),
    (
        "of another type",
        route(FED, REJECTED, "secret of type kubernetes.io/tls required") + OPAQUE + READER,
        {"route-external-secret", "route-status"},
    ),
    (
        "deleted",
        route(FED, "ExternalCertificateSecretDeleted", "secret deleted") + READER,
        {"route-external-secret", "route-status"},
    ),
    (
        "the right taken away",
        route(FED, REJECTED, "router serviceaccount does not have permission to get this secret") + GOOD,
        {"route-router-access", "route-status"},
    ),
    (
        "the right of a group",
        route(FED, REJECTED, "router serviceaccount does not have permission to get this secret") + GOOD + BY_GROUP,
        {"route-router-access", "route-status"},
    ),
    (
        "both certificates",
        route(
            f"{{termination: edge, certificate: PEM({HOST}), key: PEM_KEY({HOST}), externalCertificate: {{name: web}}}}"
        )
        + GOOD
        + READER,
        {"route-fields", "route-inline-key"},
    ),
    ("back to the default", route("{termination: edge}") + GOOD + READER, set()),
]


@pytest.mark.parametrize(("text", "expected"), [pytest.param(*step[1:], id=step[0]) for step in STEPS])
def test_each_step(tmp_path: Path, text: str, expected: set[str]) -> None:
    found, given = linted(tmp_path, f"{WHOLE}\n{text}{CLUSTER}", OPENSHIFT_RULES)
    assert not given.bad
    every = [each.finding for one in found for each in one.findings]
    assert {each.rule for each in every if each.verdict == "fail"} == expected
    assert [each.message for each in every if each.verdict == "inconclusive"] == []
