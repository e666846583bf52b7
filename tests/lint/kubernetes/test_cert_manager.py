"""Certificates of cert-manager in place of the Secrets that no repository holds."""

from __future__ import annotations

from pathlib import Path

import pytest

from scanner.lint import RULES, lint
from scanner.lint.kubernetes.cert_manager import CERTIFICATE_MADE
from scanner.linting import declared
from scanner.values import replace
from tests.lint.examples import WHOLE, empty, linted

ISSUER = "apiVersion: cert-manager.io/v1\nkind: Issuer\nmetadata: {name: ca, namespace: shop}\nspec: {selfSigned: {}}\n"
ROUTE = """
apiVersion: route.openshift.io/v1
kind: Route
metadata: {name: web, namespace: shop}
spec:
  host: web.shop.example
  to: {kind: Service, name: web}
  tls: {termination: edge, insecureEdgeTerminationPolicy: Redirect, externalCertificate: {name: web-tls}}
"""
INGRESS = """
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web, namespace: shop}
spec:
  tls: [{hosts: [web.shop.example, www.shop.example], secretName: web-tls}]
  rules: [{host: web.shop.example}]
"""
GATEWAY = """
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: web, namespace: shop}
spec:
  gatewayClassName: example
  listeners:
  - {name: a, port: 80, protocol: HTTP}
  - {name: b, port: 443, protocol: HTTPS, hostname: "*.shop.example", tls: {certificateRefs: [{name: web-tls}]}}
"""
PROXY = """
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {name: web, namespace: shop}
spec: {virtualhost: {fqdn: web.shop.example, tls: {secretName: web-tls}}}
"""
ROUTER = """
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: router, namespace: shop}
rules: [{apiGroups: [""], resources: [secrets], resourceNames: [web-tls], verbs: [get, list, watch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: router, namespace: shop}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: router}
subjects: [{kind: ServiceAccount, name: router, namespace: openshift-ingress}]
"""
HIGH, MEDIUM, UNKNOWN = ("fail", "high"), ("fail", "medium"), ("inconclusive", "high")
INFO = ("inconclusive", "info")


def made(names: str, more: str = "", issuer: str = "{name: ca}") -> str:
    return (
        "apiVersion: cert-manager.io/v1\nkind: Certificate\nmetadata: {name: web, namespace: shop}\n"
        f"spec: {{secretName: web-tls, dnsNames: [{names}], issuerRef: {issuer}{more}}}\n"
    )


CASES: dict[str, tuple[list[str], list[tuple[str, str]]]] = {
    "the host": ([made("web.shop.example"), ISSUER, ROUTE], []),
    "a wildcard": ([made("'*.shop.example'"), ISSUER, ROUTE, GATEWAY, INGRESS, PROXY], []),
    "another host": ([made("www.shop.example"), ISSUER, ROUTE], [HIGH]),
    "another host of a proxy": ([made("www.shop.example"), ISSUER, PROXY], [HIGH]),
    "one of two hosts": ([made("web.shop.example"), ISSUER, INGRESS], [HIGH]),
    "a wildcard listener": ([made("web.shop.example"), ISSUER, GATEWAY], [HIGH]),
    "nobody serves it": ([made("www.shop.example"), ISSUER], []),
    "a Route without TLS": ([made("www.shop.example"), ISSUER, ROUTE.replace("edge", "passthrough")], []),
    "a key for no router": ([made("web.shop.example", ", privateKey: {algorithm: Ed25519}"), ISSUER, ROUTE], [HIGH]),
    "a key for others": ([made("web.shop.example", ", privateKey: {algorithm: Ed25519}"), ISSUER, PROXY], []),
    "an ECDSA key": ([made("web.shop.example", ", privateKey: {algorithm: ECDSA}"), ISSUER, ROUTE], []),
    "usages of clients": ([made("web.shop.example", ", usages: [client auth]"), ISSUER, ROUTE], [MEDIUM]),
    "usages of servers": ([made("web.shop.example", ", usages: [server auth]"), ISSUER, ROUTE], []),
    "no issuer seen": ([made("web.shop.example"), ROUTE], [INFO]),
    "no issuer of the cluster seen": ([made("a", issuer="{kind: ClusterIssuer, name: x}"), ISSUER], [INFO]),
    "another issuer seen": ([made("a", issuer="{name: cb}"), ISSUER], [UNKNOWN]),
    "another namespace's issuer seen": ([made("a", issuer="{name: cb}"), ISSUER.replace("shop", "till")], [INFO]),
    "no issuer": ([WHOLE, made("web.shop.example"), ROUTE], [MEDIUM]),
    "an issuer of the cluster": ([WHOLE, made("a", issuer="{kind: ClusterIssuer, name: ca}"), ISSUER], [MEDIUM]),
    "an issuer of others": ([WHOLE, made("a", issuer="{group: awspca.cert-manager.io, name: ca}")], []),
    "the Secret itself": (
        [
            made("www.shop.example"),
            ROUTE,
            (
                "apiVersion: v1\nkind: Secret\nmetadata: {name: web-tls, namespace: shop}\ntype: kubernetes.io/tls\n"
                "data: {tls.crt: CERTIFICATE(web.shop.example), tls.key: KEY(web.shop.example)}\n"
            ),
        ],
        [],
    ),
}


@pytest.mark.parametrize(("texts", "expected"), CASES.values(), ids=CASES)
def test_findings(tmp_path: Path, texts: list[str], expected: list[tuple[str, str]]) -> None:
    found, _ = linted(tmp_path, "\n---\n".join(texts), [CERTIFICATE_MADE])
    told = [(each.finding.verdict, each.finding.severity) for one in found for each in one.findings]
    assert told == expected


IDENTITY = (
    GATEWAY.replace("tls: {certificateRefs: [{name: web-tls}]}", "tls: {mode: Passthrough}").replace("HTTPS", "TLS")
    + "  tls: {backend: {clientCertificateRef: {name: web-tls}}}\n"
)


def test_other_uses_of_the_secret_stay_open(tmp_path: Path) -> None:
    """A CA is more than a Certificate says, and an identity of clients needs another usage."""
    authority = PROXY.replace("secretName: web-tls", "secretName: other, clientValidation: {caSecret: web-tls}")
    found, _ = linted(tmp_path, f"{authority}---\n{made('web.shop.example')}---\n{ISSUER}", RULES)
    unseen = {each.unseen.name for one in found for each in one.findings if each.unseen}
    assert "Secret/shop/web-tls" in unseen
    servers = made("web.shop.example", ", usages: [server auth]")
    (one,) = list(linted(tmp_path, f"{IDENTITY}---\n{servers}---\n{ISSUER}", [CERTIFICATE_MADE])[0])
    assert ["'client auth'" in each.finding.message for each in one.findings] == [True]


SERVING = {"Route": ROUTE + "---" + ROUTER, "Ingress": INGRESS, "HTTPProxy": PROXY, "Gateway": GATEWAY}


@pytest.mark.parametrize("issuer", ["", f"---\n{ISSUER}"], ids=["elsewhere", "here"])
@pytest.mark.parametrize("serving", SERVING.values(), ids=SERVING)
def test_what_a_certificate_will_make_is_no_open_question(tmp_path: Path, serving: str, issuer: str) -> None:
    """With the Certificate and without a Secret nothing is open, whatever the rule; without the Certificate it is."""
    names = made("web.shop.example, www.shop.example, '*.shop.example'")
    found, _ = linted(tmp_path, f"{serving}---\n{names}{issuer}", RULES)
    counted = [each.finding for one in found for each in one.findings if each.finding.severity != "info"]
    assert counted == []
    alone, _ = linted(tmp_path, serving, RULES)
    assert "inconclusive" in {each.finding.verdict for one in alone for each in one.findings}


ANNOTATED = "namespace: shop, annotations: {cert-manager.io/cluster-issuer: letsencrypt}}"
ACME = ANNOTATED.replace("cert-manager.io/cluster-issuer: letsencrypt", "kubernetes.io/tls-acme: 'true'")
MAKERS = {
    "an Ingress that asks for ACME": (INGRESS.replace("namespace: shop}", ACME), []),
    "an Ingress that asks for no ACME": (
        INGRESS.replace("namespace: shop}", ACME.replace("true", "false")),
        ["Secret/shop/web-tls"],
    ),
    "an Ingress": (INGRESS.replace("namespace: shop}", ANNOTATED), []),
    "a Gateway": (GATEWAY.replace("namespace: shop}", ANNOTATED), []),
    "an Ingress without hosts": (
        INGRESS.replace("namespace: shop}", ANNOTATED).replace("hosts: [web.shop.example, www.shop.example], ", ""),
        ["Secret/shop/web-tls"],
    ),
    "a Gateway for every host": (
        GATEWAY.replace("namespace: shop}", ANNOTATED).replace('hostname: "*.shop.example", ', ""),
        ["Secret/shop/web-tls"],
    ),
    "an HTTPProxy, at which cert-manager does not look": (
        PROXY.replace("namespace: shop}", ANNOTATED),
        ["Secret/shop/web-tls"],
    ),
}


@pytest.mark.parametrize(("text", "unseen"), MAKERS.values(), ids=MAKERS)
def test_an_annotation_that_names_an_issuer_makes_the_secret(tmp_path: Path, text: str, unseen: list[str]) -> None:
    found, given = linted(tmp_path, text, RULES)
    assert sorted({each.unseen.name for one in found for each in one.findings if each.unseen}) == unseen
    cluster = replace(empty(), objects={**empty().objects, given.objects[0].object.kind: (given.objects[0].object,)})
    of_cluster = lint(declared(None, cluster), RULES)
    assert any(each.finding.verdict != "pass" for one in of_cluster for each in one.findings)
