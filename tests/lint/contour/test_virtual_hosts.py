"""TLS settings of HTTPProxies, of Ingresses and of Contour's configuration, one line a case."""

from __future__ import annotations

from pathlib import Path

import pytest

from scanner.kube.kinds import HTTP_PROXY
from scanner.lint import RULES
from scanner.lint.contour.contour_configuration import LIMITS
from scanner.lint.contour.contour_secrets import AUTHORITY, CERTIFICATE, SLASH
from scanner.lint.contour.proxy_status import STATUS
from scanner.lint.contour.root_proxies import FQDN
from scanner.lint.contour.upstream_tls import ANNOTATION, IGNORED, UNVERIFIED
from scanner.lint.contour.virtual_hosts import CLIENT_VALIDATION, FALLS_BACK, PLAINTEXT, SETTINGS, VERSION
from scanner.model.object_rule import ObjectRule
from scanner.values import replace
from tests.lint.contour.proxies import (
    ANNOTATED,
    CONFIGURED,
    CRL,
    FALLBACK,
    FILE,
    INGRESS,
    PAIR,
    PROXY,
    REFERENCE,
    ROUTE,
    delegation,
    found,
    secret,
)
from tests.lint.examples import WHOLE, empty, linted, manifests

HIGH, MEDIUM, LOW, UNKNOWN = ("fail", "high"), ("fail", "medium"), ("fail", "low"), ("inconclusive", "high")
OTHER = secret("CERTIFICATE(*.example.com)", "KEY(other.example.com)")
OLD = secret("EXPIRED(*.example.com)", "KEY(*.example.com)")
NAMED = secret("CERTIFICATE(web.example.org)", "KEY(web.example.org)")


def tls(text: str) -> str:
    return PROXY % f"{{secretName: own, {text}}}"


def proxy(spec: str, name: str = "web", namespace: str = "shop", more: str = "") -> str:
    return (
        f"apiVersion: projectcontour.io/v1\nkind: HTTPProxy\n"
        f"metadata: {{name: {name}, namespace: {namespace}{more}}}\nspec: {{{spec}}}\n"
    )


def configured(text: str, kind: str = "ContourConfiguration") -> str:
    above = "runtimeSettings: {" if kind == "ContourDeployment" else "{"
    inner = f"envoy: {{listener: {{tls: {{{text}}}}}}}"
    spec = f"{{{above}{inner}}}}}" if kind == "ContourDeployment" else f"{above}{inner}}}"
    return f"apiVersion: projectcontour.io/v1alpha1\nkind: {kind}\nmetadata: {{name: c, namespace: p}}\nspec: {spec}\n"


def service(annotations: str = "", ports: str = "{name: https, port: 443}") -> str:
    return (
        f"apiVersion: v1\nkind: Service\nmetadata: {{name: web, namespace: shop, annotations: {{{annotations}}}}}\n"
        f"spec: {{ports: [{ports}]}}\n"
    )


def behind(text: str) -> str:
    return proxy(f"routes: [{{services: [{{name: web, port: 443, {text}}}]}}]")


def judged(text: str, generation: int = 1) -> str:
    return proxy("", more=f", generation: {generation}") + f"status: {text}\n"


def including(spec: str, name: str = "root", included: str = "web") -> str:
    return proxy(", ".join(filter(None, [spec, f"includes: [{{name: {included}}}]"])), name)


def of_ingress(annotations: str = "", name: str = "contour") -> str:
    return INGRESS % (annotations, name, "a")


def at_least(version: str) -> str:
    return tls(f'minimumProtocolVersion: "{version}"')


def all_at_least(version: str) -> str:
    return configured(f'minimumProtocolVersion: "{version}"')


def in_a_file(text: str) -> str:
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c, namespace: p}}\ndata:\n  contour.yaml: {text}\n"


OPEN_END = ("inconclusive", "medium")
OPEN = "routes: [{permitInsecure: true}, {}]"
WITH_TLS = "virtualhost: {fqdn: a.example.com, tls: {secretName: own}}"
UNREAD = (
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: contour, namespace: p}\n"
    "data: {contour.yaml: 'disablePermitInsecure: &yes true'}\n"
)
OFF = CONFIGURED.replace("httpproxy: {", "httpproxy: {disablePermitInsecure: true, ")
MINIMUM = "projectcontour.io/tls-minimum-protocol-version"
UPSIDE_DOWN = f'{MINIMUM}: "1.3", projectcontour.io/tls-maximum-protocol-version: "1.2"'
THROUGH = PROXY.replace("spec: {", "spec: {tcpproxy: {services: []}, ")
ROOTS = CONFIGURED.replace(
    "{fallbackCertificate: {namespace: certs", "{rootNamespaces: [shop], fallbackCertificate: {namespace: fall"
)
VALIDATED = "validation: {caSecret: ca, subjectName: web}"
TO_HTTPS = 'projectcontour.io/upstream-protocol.tls: "https"'
CLIENTS = tls("clientValidation: {caSecret: certs/wild}"), delegation()
REVOKED = tls("clientValidation: {crlSecret: certs/wild}"), delegation()
OPEN_ALONE, OPEN_ROOT = f"{WHOLE}\n" + proxy(OPEN), proxy(f"{WITH_TLS}, {OPEN}")
A_HOST, WITHOUT_TLS = "virtualhost: {fqdn: a.example.com}", "virtualhost: {fqdn: a}"
TOKENS = "fqdn:", "jwtProviders: [{name: a}], fqdn:"
CLAIMED = "spec: {", "spec: {rules: [{host: web.example.com}], "

CASES: dict[str, tuple[ObjectRule, list[str], list[tuple[str, str]]]] = {
    "a good certificate": (CERTIFICATE, [REFERENCE, delegation(), PAIR], []),
    "the key of another": (CERTIFICATE, [REFERENCE, delegation(), OTHER], [HIGH]),
    "expired": (CERTIFICATE, [REFERENCE, delegation(), OLD], [HIGH, HIGH]),  # nor is the key that of the expired one
    "another host's": (CERTIFICATE, [REFERENCE, delegation(), NAMED], [HIGH]),
    "not delegated: nothing is said of it": (CERTIFICATE, [f"{WHOLE}\n" + REFERENCE, NAMED], []),
    "delegation not known": (CERTIFICATE, [REFERENCE, NAMED], [HIGH]),
    "no Secret given": (CERTIFICATE, [REFERENCE, delegation()], [UNKNOWN]),
    "no Secret": (CERTIFICATE, [f"{WHOLE}\n" + REFERENCE, delegation()], [HIGH]),
    "a wildcard host": (
        CERTIFICATE,
        [REFERENCE.replace("web.", '"*.').replace(".com", '.com"'), delegation(), PAIR],
        [],
    ),
    "of an Ingress elsewhere": (CERTIFICATE, [ANNOTATED, delegation(), NAMED], [HIGH]),
    "of an Ingress at home": (CERTIFICATE, [f"{WHOLE}\n" + INGRESS % ("", "contour", "wild")], []),
    "of an IngressRoute": (CERTIFICATE, [ROUTE, delegation(), NAMED], [HIGH]),
    "the fallback": (CERTIFICATE, [CONFIGURED, PAIR], []),
    "a fallback with the key of another": (CERTIFICATE, [CONFIGURED, OTHER], [HIGH]),
    "a fallback that was not given": (CERTIFICATE, [CONFIGURED], [UNKNOWN]),
    "a fallback of a file": (CERTIFICATE, [FILE, OTHER], [HIGH]),
    "Envoy's own, for servers": (
        CERTIFICATE,
        [CONFIGURED.replace("httpproxy: {fallbackCertificate:", "envoy: {clientCertificate:"), PAIR],
        [MEDIUM],
    ),
    "outside of the roots' namespaces": (CERTIFICATE, [REFERENCE, delegation(), PAIR, ROOTS], [HIGH, UNKNOWN]),
    "in the fallback's namespace": (
        CERTIFICATE,
        [REFERENCE, delegation(), PAIR, ROOTS.replace("namespace: fall", "namespace: certs")],
        [],
    ),
    "of no root": (CERTIFICATE, [REFERENCE, delegation(), PAIR, ROOTS.replace("[shop]", "[certs]")], [UNKNOWN]),
    "of an Ingress outside of the roots' namespaces": (
        CERTIFICATE,
        [INGRESS % ("", "contour", "own"), ROOTS.replace("[shop]", "[certs]")],
        [HIGH, UNKNOWN],
    ),
    "a CA outside of the roots' namespaces": (AUTHORITY, [*CLIENTS, secret(ca="CA(clients)"), ROOTS], [HIGH]),
    "a CA": (AUTHORITY, [*CLIENTS, secret(ca="CA(clients)")], []),
    "no CA": (AUTHORITY, [*CLIENTS, PAIR], [HIGH]),
    "a leaf as CA": (AUTHORITY, [*CLIENTS, secret(ca="PEM(web.example.com)")], [HIGH]),
    "a CA that was not given": (AUTHORITY, [tls("clientValidation: {caSecret: ca}")], [UNKNOWN]),
    "a revocation list": (AUTHORITY, [*REVOKED, secret(crl=f'"{CRL}"')], []),
    "no revocation list": (AUTHORITY, [*REVOKED, PAIR], [HIGH]),
    "the CA of a service": (AUTHORITY, [WHOLE + "\n" + behind(VALIDATED)], [HIGH]),
    "one of two": (SETTINGS, [REFERENCE], []),
    "both": (SETTINGS, [tls("passthrough: true")], [HIGH]),
    "neither": (SETTINGS, [PROXY % "{}"], [HIGH]),
    "no tls": (SETTINGS, [proxy(A_HOST)], []),
    "passthrough with clients": (SETTINGS, [THROUGH % "{passthrough: true, clientValidation: {caSecret: a}}"], [HIGH]),
    "passthrough to nothing": (SETTINGS, [PROXY % "{passthrough: true}"], [HIGH]),
    "passthrough": (SETTINGS, [THROUGH % "{passthrough: true}"], []),
    "fallback with clients": (
        SETTINGS,
        [tls("enableFallbackCertificate: true, clientValidation: {caSecret: a}")],
        [HIGH],
    ),
    "fallback with tokens": (SETTINGS, [FALLBACK.replace(*TOKENS)], [HIGH]),
    "fallback passed through": (SETTINGS, [THROUGH % "{passthrough: true, enableFallbackCertificate: true}"], [HIGH]),
    "TCP without TLS": (SETTINGS, [proxy("virtualhost: {fqdn: a}, tcpproxy: {services: []}")], [HIGH]),
    "TCP of an included object": (SETTINGS, [proxy("tcpproxy: {services: []}")], []),
    "1.3": (VERSION, [at_least("1.3")], []),
    "not in quotes": (VERSION, [tls("minimumProtocolVersion: 1.3")], [MEDIUM]),
    "1.1": (VERSION, [tls('minimumProtocolVersion: "1.1", maximumProtocolVersion: TLSv1.2')], [MEDIUM, MEDIUM]),
    "annotated upside down": (VERSION, [of_ingress(UPSIDE_DOWN)], [HIGH]),
    "upside down": (VERSION, [tls('minimumProtocolVersion: "1.3", maximumProtocolVersion: "1.2"')], [HIGH]),
    "looser than all": (VERSION, [at_least("1.2"), all_at_least("1.3")], [LOW]),
    "looser than one of two": (VERSION, [at_least("1.2"), all_at_least("1.3"), CONFIGURED], []),
    "stricter than all": (VERSION, [at_least("1.3"), all_at_least("1.2")], []),
    "annotated": (VERSION, [of_ingress(f'{MINIMUM}: "1.4"')], [MEDIUM]),
    "annotated well": (VERSION, [of_ingress(f'{MINIMUM}: "1.3"')], []),
    "enforced": (CLIENT_VALIDATION, [tls("clientValidation: {caSecret: a}")], []),
    "skipped": (CLIENT_VALIDATION, [tls("clientValidation: {caSecret: a, skipClientCertValidation: true}")], [HIGH]),
    "skipped for an authorizer": (
        CLIENT_VALIDATION,
        [proxy("virtualhost: {authorization: {}, tls: {clientValidation: {skipClientCertValidation: true}}}")],
        [],
    ),
    "no CA named": (CLIENT_VALIDATION, [tls("clientValidation: {}")], [HIGH]),
    "optional": (
        CLIENT_VALIDATION,
        [tls("clientValidation: {caSecret: a, optionalClientCertificate: true}")],
        [MEDIUM],
    ),
    "one with the fallback": (FALLS_BACK, [FALLBACK, CONFIGURED], [MEDIUM]),
    "the fallback, perhaps": (FALLS_BACK, [FALLBACK], [MEDIUM, ("inconclusive", "medium")]),
    "the fallback, which is not there": (FALLS_BACK, [WHOLE + FALLBACK], [MEDIUM, HIGH]),
    "the fallback with tokens": (FALLS_BACK, [FALLBACK.replace(*TOKENS), CONFIGURED], [HIGH]),
    "two proxies": (FQDN, [proxy(A_HOST), proxy(A_HOST.replace("a.", "A."), "b", "blog")], [HIGH, HIGH]),
    "two classes": (FQDN, [proxy(A_HOST), proxy(f"{A_HOST}, ingressClassName: inner", "b")], []),
    "a proxy and an Ingress": (FQDN, [REFERENCE, of_ingress().replace(*CLAIMED)], [MEDIUM]),
    "a proxy and somebody else's Ingress": (FQDN, [REFERENCE, of_ingress(name="nginx").replace(*CLAIMED)], []),
    "no fqdn": (FQDN, [proxy(""), proxy("", "b")], []),
    "permitted": (PLAINTEXT, [OPEN_ROOT], [MEDIUM]),
    "permitted, and nobody knows who includes it": (PLAINTEXT, [proxy(OPEN)], [OPEN_END]),
    "permitted, and nobody includes it": (PLAINTEXT, [OPEN_ALONE], []),
    "permitted, and a root with TLS includes it": (PLAINTEXT, [proxy(OPEN), including(WITH_TLS)], [MEDIUM]),
    "permitted, and a root without TLS includes it": (PLAINTEXT, [OPEN_ALONE, including(WITHOUT_TLS)], [LOW]),
    "permitted, and a root includes what includes it": (
        PLAINTEXT,
        [OPEN_ALONE, including("", "b"), including(WITH_TLS, "c", "b")],
        [MEDIUM],
    ),
    "permitted, in a circle": (PLAINTEXT, [OPEN_ALONE, including("", "b"), including("", "web", "b")], []),
    "permitted, below a root that a root with TLS includes": (
        PLAINTEXT,
        [OPEN_ALONE, including(WITHOUT_TLS, "b"), including(WITH_TLS, "c", "b")],
        [LOW],
    ),
    "permitted, and a root includes another of its name": (
        PLAINTEXT,
        [OPEN_ALONE, including(WITH_TLS, "b").replace("name: web}]", "name: web, namespace: other}]")],
        [],
    ),
    "included and not given": (PLAINTEXT, [including(WITH_TLS)], [OPEN_END]),
    "included and not there": (PLAINTEXT, [f"{WHOLE}\n" + including(WITH_TLS)], []),
    "included and not given, by a root without TLS": (PLAINTEXT, [including(WITHOUT_TLS)], [LOW]),
    "permitted and switched off below a root": (PLAINTEXT, [proxy(OPEN), including(WITH_TLS), OFF], []),
    "permitted where there is no TLS": (PLAINTEXT, [proxy(f"virtualhost: {{fqdn: a}}, {OPEN}")], [LOW]),
    "no TLS at all": (PLAINTEXT, [proxy("virtualhost: {fqdn: a}, routes: []")], [LOW]),
    "no TLS, where a rule on TCP says it": (PLAINTEXT, [proxy("virtualhost: {fqdn: a}, tcpproxy: {}")], []),
    "permitted and switched off": (PLAINTEXT, [OPEN_ROOT, OFF], []),
    "permitted, and a file of Contour cannot be read": (PLAINTEXT, [OPEN_ROOT, UNREAD], [OPEN_END]),
    "switched off, and a file of Contour cannot be read": (PLAINTEXT, [OPEN_ROOT, OFF, UNREAD], [OPEN_END]),
    "switched on, and a file of Contour cannot be read": (PLAINTEXT, [OPEN_ROOT, CONFIGURED, UNREAD], [MEDIUM]),
    "an Ingress": (PLAINTEXT, [of_ingress()], [MEDIUM]),
    "an Ingress that redirects": (PLAINTEXT, [of_ingress('ingress.kubernetes.io/force-ssl-redirect: "true"')], []),
    "an Ingress that closes": (PLAINTEXT, [of_ingress('kubernetes.io/ingress.allow-http: "false"')], []),
    "an Ingress of somebody else": (PLAINTEXT, [of_ingress(name="nginx")], []),
    "a slash": (SLASH, [INGRESS % ("", "contour", "certs/a")], [HIGH]),
    "no slash": (SLASH, [of_ingress()], []),
    "verified": (IGNORED, [behind(f"protocol: h2, {VALIDATED}")], []),
    "verified in vain": (IGNORED, [behind(VALIDATED), service()], [HIGH]),
    "verified in clear": (IGNORED, [behind(f"protocol: h2c, {VALIDATED}"), service(TO_HTTPS)], [HIGH]),
    "verified by the annotation": (IGNORED, [behind(VALIDATED), service(TO_HTTPS)], []),
    "verified by the number": (IGNORED, [behind(VALIDATED), service(TO_HTTPS.replace("https", "80, 443"))], []),
    "annotated for another port": (IGNORED, [behind(VALIDATED), service(TO_HTTPS.replace("https", "80"))], [HIGH]),
    "the Service is not known": (IGNORED, [behind(VALIDATED)], [UNKNOWN]),
    "a TCP service": (
        IGNORED,
        [proxy(f"tcpproxy: {{services: [{{name: web, port: 443, {VALIDATED}}}]}}"), service()],
        [HIGH],
    ),
    "TLS unverified": (UNVERIFIED, [behind("protocol: tls")], [MEDIUM]),
    "TLS unverified by the annotation": (UNVERIFIED, [behind("weight: 1"), service(TO_HTTPS)], [MEDIUM]),
    "TLS verified": (UNVERIFIED, [behind(f"protocol: tls, {VALIDATED}")], []),
    "no TLS": (UNVERIFIED, [behind("weight: 1"), service()], []),
    "annotations": (ANNOTATION, [service('projectcontour.io/upstream-protocol.h2: "443, https,80"')], [MEDIUM]),
    "the pods' port": (ANNOTATION, [service('projectcontour.io/upstream-protocol.tls: "8443"')], [MEDIUM]),
    "former annotations": (ANNOTATION, [service('contour.heptio.com/upstream-protocol.tls: "443"')], [MEDIUM]),
    "of all, good": (LIMITS, [configured('minimumProtocolVersion: "1.3", ecdhCurves: [X25519, P-256]')], []),
    "of all, unknown": (LIMITS, [configured('minimumProtocolVersion: "1.1", ecdhCurves: [secp256r1]')], [HIGH, HIGH]),
    "of all, weak": (
        LIMITS,
        [configured("cipherSuites: [AES128-SHA, ECDHE-RSA-AES128-SHA, 3DES]")],
        [MEDIUM, MEDIUM, HIGH],
    ),
    "of a deployment": (LIMITS, [configured("cipherSuites: [AES128-SHA]", "ContourDeployment")], [MEDIUM]),
    "of a file": (
        LIMITS,
        [in_a_file("|\n    tls: {minimum-protocol-version: 1.1, cipher-suites: [AES256-SHA]}")],
        [HIGH, MEDIUM],
    ),
    **{
        f"of a file that nobody can read: {text}": (
            LIMITS,
            [in_a_file(f"'{text}'")],
            [UNKNOWN],
        )
        for text in ("[}", "tls: &a {cipher-suites: [AES128-SHA]}")
    },
    "of an empty file": (LIMITS, [in_a_file("''")], []),
    "no status": (STATUS, [proxy("")], []),
    "valid": (STATUS, [judged("{currentStatus: valid, conditions: [{type: Valid, status: 'True'}]}")], []),
    "invalid": (
        STATUS,
        [judged("{conditions: [{type: Valid, errors: [{reason: SecretNotValid}, {}]}]}")],
        [HIGH, HIGH],
    ),
    "warned": (STATUS, [judged("{conditions: [{type: Valid, status: 'True', warnings: [{reason: Any}]}]}")], [LOW]),
    "orphaned": (STATUS, [judged("{currentStatus: orphaned, description: no root}")], [LOW]),
    "invalid without errors": (STATUS, [judged("{conditions: [{type: Valid, status: 'False'}]}")], [HIGH]),
    "stale": (STATUS, [judged("{conditions: [{type: Valid, status: 'True', observedGeneration: 1}]}", 2)], [UNKNOWN]),
}


@pytest.mark.parametrize(("rule", "texts", "expected"), CASES.values(), ids=CASES)
def test_findings(tmp_path: Path, rule: ObjectRule, texts: list[str], expected: list[tuple[str, str]]) -> None:
    assert found(tmp_path, rule, *texts) == expected


@pytest.mark.parametrize(
    ("name", "fix"),
    [
        ("contour", "set the namespace in the annotation projectcontour.io/tls-cert-namespace"),
        ("nginx", "name a Secret in shop"),
    ],
)
def test_the_annotation_is_a_fix_for_contour_alone(tmp_path: Path, name: str, fix: str) -> None:
    ((placed,),) = (each.findings for each in linted(tmp_path, INGRESS % ("", name, "certs/a"), [SLASH])[0])
    assert placed.finding.fix == f"Ingress/shop/web: {fix}"


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ("ab", "HTTPProxy/shop/b also claims a.example.com:"),
        ("abc", "HTTPProxy/shop/b, HTTPProxy/shop/c also claim a.example.com:"),
    ],
)
def test_the_others_are_told(tmp_path: Path, names: str, said: str) -> None:
    texts = [proxy("virtualhost: {fqdn: a.example.com}", name) for name in names]
    first = linted(tmp_path, "---\n".join(texts), [FQDN])[0][0]
    assert [said in each.finding.message for each in first.findings] == [True]


def test_what_is_included_from_the_cluster(tmp_path: Path) -> None:
    """Only the root is judged, so the finding is on the root."""
    (tmp_path / "cluster").mkdir()
    cluster = manifests(tmp_path / "cluster", proxy(OPEN)).objects
    known = replace(empty(), objects={**empty().objects, HTTP_PROXY: tuple(each.object for each in cluster)})
    findings, _ = linted(tmp_path, including(WITH_TLS), [PLAINTEXT], known)
    ((placed,),) = (each.findings for each in findings)
    assert placed.finding.verdict == "fail"
    assert placed.field == "spec.includes[0]"
    assert placed.finding.message.startswith("the included HTTPProxy/shop/web has a route")


def test_an_ingress_of_two_classes_is_no_contours(tmp_path: Path) -> None:
    """The API server refuses it, which one finding says."""
    text = (
        "apiVersion: networking.k8s.io/v1\nkind: Ingress\n"
        "metadata: {name: web, namespace: shop, annotations: {kubernetes.io/ingress.class: contour}}\n"
        "spec: {ingressClassName: nginx, tls: [{hosts: [a.example], secretName: w}], rules: [{host: a.example}]}\n"
    )
    found, _ = linted(tmp_path, text, RULES)
    failing = [each.finding.rule for one in found for each in one.findings if each.finding.verdict == "fail"]
    assert failing == ["ingress-class"]
