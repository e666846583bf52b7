"""CAs and targets of the API server's calls to webhooks and aggregated APIs, one line a case."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path

import pytest

from scanner.lint.kubernetes.webhooks import BUNDLE, TARGET
from scanner.model.object_rule import ObjectRule
from tests.lint.examples import WHOLE, authority, findings_of, leaf
from tests.lint.kubernetes.declared_objects import HIGH, LOW, MEDIUM, api_service, conversion, webhook

UNKNOWN, INFO, UNSAID = ("inconclusive", "high"), ("inconclusive", "info"), ("inconclusive", "medium")
CA, LEAF = authority().pem, leaf("a.b.svc").pem
CUT = LEAF[:300] + b"\n-----END CERTIFICATE-----\n"
SERVED = "service: {name: a, namespace: b}"
SERVICE = "apiVersion: v1\nkind: Service\nmetadata: {name: a, namespace: b}\nspec: {ports: [{port: 443}]}\n"
FILLED = ", annotations: {cert-manager.io/inject-ca-from: b/a}"


def bundle(*content: bytes) -> str:
    return f"{SERVED}, caBundle: {b64encode(b''.join(content)).decode()}"


def ignored(client: str) -> str:
    return webhook(client).replace("{name: a, clientConfig", "{name: a, failurePolicy: Ignore, clientConfig")


BUNDLES = {
    "a CA": (webhook(bundle(CA)), [], ""),
    "a leaf": (webhook(bundle(LEAF)), [MEDIUM], "which is not a CA: it only verifies a server that serves it itself"),
    "a leaf beside its CA": (webhook(bundle(LEAF, CA)), [MEDIUM], "which is not a CA"),
    "cut off": (webhook(bundle(CUT)), [HIGH], "cannot be read, number 1: it is cut off"),
    "cut off beside a CA": (webhook(bundle(CA, CUT)), [MEDIUM], "cannot be read, number 2: it is cut off"),
    "a container": (webhook(bundle(bytes.fromhex("3003020103"))), [HIGH], "it is a PKCS #12 container"),
    "DER": (webhook(bundle(bytes.fromhex("30063004020100"))), [HIGH], "it is a certificate in DER"),
    "a key": (webhook(bundle(leaf("a").key_pem)), [UNKNOWN], "beside a private key"),
    "a key beside a CA": (webhook(bundle(CA, leaf("a").key_pem)), [UNKNOWN], "beside a private key"),
    "which failurePolicy Ignore hides": (ignored(bundle(b"a CA")), [HIGH], "failurePolicy Ignore hides this"),
    "to be filled": (webhook(SERVED, FILLED), [INFO], "what cert-manager puts into the caBundle"),
    "to be replaced": (webhook(bundle(b"a CA"), FILLED), [INFO], "what cert-manager puts into the caBundle"),
    "to be replaced, and refused": (webhook(f"{SERVED}, caBundle: '%'", FILLED), [HIGH], "is not base64"),
    "not replaced": (webhook(bundle(b"a CA"), f", uid: x{FILLED}"), [HIGH], "no certificate in PEM"),
}


def of_url(url: str) -> str:
    return webhook(f"url: '{url}'")


def service(spec: str, namespace: str = ", namespace: b") -> str:
    return f"apiVersion: v1\nkind: Service\nmetadata: {{name: a{namespace}}}\nspec: {{{spec}}}\n"


def together(*texts: str) -> str:
    return "\n---\n".join(texts)


TARGETS = {
    "a URL": (of_url("https://a.example/b"), [], ""),
    "a URL with a port": (of_url("https://a.example:8443/b"), [], ""),
    "http": (of_url("http://a.example"), [HIGH], "only https is allowed"),
    "no scheme": (of_url("a.example/b"), [HIGH, HIGH], "a host is required"),
    "a user": (of_url("https://a:b@a.example"), [HIGH], "user information is not permitted"),
    "a query": (of_url("https://a.example?b=c"), [HIGH], "query parameters are not permitted"),
    "an empty query": (of_url("https://a.example?"), [HIGH], "query parameters are not permitted"),
    "a fragment": (of_url("https://a.example#b"), [HIGH], "fragments are not permitted"),
    "no URL": (of_url("https://[a"), [HIGH], "is not a URL"),
    "an address": (of_url("https://192.0.2.7/"), [LOW], "is an address"),
    "an address in brackets": (of_url("https://[2001:db8::7]/"), [LOW], "is an address"),
    "localhost": (of_url("https://LOCALHOST:9443/"), [MEDIUM], "is the API server's own node"),
    "a loopback address": (of_url("https://127.0.0.1/"), [MEDIUM], "is the API server's own node"),
    "neither": (webhook(""), [HIGH], "exactly one of url or service is required, but neither is set"),
    "both": (together(webhook(f"url: 'https://a.example', {SERVED}"), SERVICE), [HIGH], "but both are set"),
    "a Service": (together(webhook(SERVED), SERVICE), [], ""),
    "a Service that was not given": (webhook(SERVED), [UNKNOWN], "so it is unknown whether it has port 443"),
    "no Service": (together(WHOLE, webhook(SERVED)), [HIGH], "Service/b/a does not exist: every call fails"),
    "no Service, and Ignore": (together(WHOLE, ignored(SERVED)), [HIGH], "which failurePolicy Ignore hides"),
    "a Service without a namespace is in default": (
        together(WHOLE, webhook(SERVED), service("ports: [{port: 443}]", "")),
        [HIGH],
        "does not exist",
    ),
    "another port": (together(webhook(SERVED), service("ports: [{port: 8443}]")), [HIGH], "has no port 443"),
    "the port": (
        together(webhook("service: {name: a, namespace: b, port: 8443}"), service("ports: [{port: 8443}]")),
        [],
        "",
    ),
    "no port": (webhook("service: {name: a, namespace: b, port: 0}"), [HIGH], "invalid port '0'"),
    "no namespace": (webhook("service: {name: a}"), [HIGH], "service has no namespace"),
    "elsewhere": (
        together(webhook(SERVED), service("type: ExternalName, externalName: a.example")),
        [MEDIUM],
        "has no certificate for a.b.svc",
    ),
    "a local API": (api_service("group: a"), [], ""),
    "an API's Service": (api_service(SERVED), [UNKNOWN], "whether it has port 443"),
    "a conversion": (
        conversion("strategy: Webhook, webhook: {clientConfig: {url: 'http://a.example'}}"),
        [HIGH],
        "only https is allowed",
    ),
    "a conversion without": (conversion("strategy: Webhook"), [HIGH], "neither is set"),
    "an idle conversion": (
        conversion("strategy: None, webhook: {clientConfig: {url: 'https://a.example'}}"),
        [MEDIUM],
        "webhook without strategy Webhook",
    ),
    "no conversion": (conversion("strategy: None"), [], ""),
}
CASES = [(BUNDLE, *each) for each in BUNDLES.values()] + [(TARGET, *each) for each in TARGETS.values()]


@pytest.mark.parametrize(("rule", "text", "expected", "said"), CASES, ids=[*BUNDLES, *TARGETS])
def test_findings(tmp_path: Path, rule: ObjectRule, text: str, expected: list[tuple[str, str]], said: str) -> None:
    findings = findings_of(rule, tmp_path, text)
    assert [(each.verdict, each.severity) for each in findings] == expected
    assert said in (findings[-1].message if findings else "")
    assert "PRIVATE KEY" not in str(findings)
