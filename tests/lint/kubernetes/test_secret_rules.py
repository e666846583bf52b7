"""Secrets that nothing refers to, and private keys where they do not belong; one line a case."""

from __future__ import annotations

import json
from base64 import b64encode
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, pkcs12

from scanner.lint.kubernetes.secret_rules import EXPOSED, REUSE, SECRET_CERTIFICATE
from scanner.model.object_rule import ObjectRule
from tests.lint.examples import authority, leaf, linted
from tests.lint.kubernetes.declared_objects import (
    ENTRY,
    HIGH,
    INFO,
    LOW,
    MEDIUM,
    ingress,
    pod,
    secret,
    webhook,
    workload,
)

pytestmark = pytest.mark.crypto

PEM, KEY = leaf("a.example").pem, leaf("a.example").key_pem
QUOTED = json.dumps(KEY.decode())
CODED_KEY, CODED = b64encode(KEY).decode(), b64encode(PEM).decode()
CA = authority().leaf(names=("a",), ca=True)
PAIR = secret("CERTIFICATE(web.example.com)", "KEY(web.example.com)")
FOREIGN = secret("CERTIFICATE(web.example.com)", "KEY(other.example.com)")
WITHHOLDING = BestAvailableEncryption(b"x")
TRUSTED = pkcs12.serialize_java_truststore([pkcs12.PKCS12Certificate(authority().certificate, b"a")], WITHHOLDING)
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def opaque(data: str, field: str = "data") -> str:
    return (
        f"apiVersion: v1\nkind: Secret\nmetadata: {{name: web, namespace: shop}}\ntype: Opaque\n{field}: {{{data}}}\n"
    )


def config_map(data: str, field: str = "data") -> str:
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: web, namespace: shop}}\n{field}: {{{data}}}\n"


def route(tls: str) -> str:
    return (
        "apiVersion: route.openshift.io/v1\nkind: Route\nmetadata: {name: web, namespace: shop}\n"
        f"spec: {{host: a.example, tls: {{termination: edge, {tls}}}}}\n"
    )


def applied(text: str, data: str) -> str:
    annotation = json.dumps(json.dumps({"data": {"tls.key": data}}))
    return text.replace("namespace: shop", f"namespace: shop, annotations: {{{LAST_APPLIED}: {annotation}}}", 1)


CASES: dict[str, tuple[ObjectRule, list[str], list[tuple[str, str]]]] = {
    "a pair": (SECRET_CERTIFICATE, [PAIR], []),
    "another key": (SECRET_CERTIFICATE, [FOREIGN], [HIGH]),
    "another key, and an Ingress": (SECRET_CERTIFICATE, [FOREIGN, ingress(ENTRY)], []),
    "another key, and an Ingress of others": (
        SECRET_CERTIFICATE,
        [FOREIGN, ingress(ENTRY).replace("namespace: shop", "namespace: blog")],
        [HIGH],
    ),
    "no key": (SECRET_CERTIFICATE, [secret(CODED, "''")], [HIGH]),
    "no certificate": (SECRET_CERTIFICATE, [secret("''", CODED_KEY)], [HIGH]),
    "nothing": (SECRET_CERTIFICATE, [secret("''", "''")], [HIGH]),
    "no base64": (SECRET_CERTIFICATE, [secret("'%'", CODED_KEY)], [HIGH]),
    "lines": (SECRET_CERTIFICATE, [secret(f'"{CODED[:64]}\\r\\n{CODED[64:]}\\n"', CODED_KEY)], []),
    "lines that YAML folds": (SECRET_CERTIFICATE, [secret(f'"{CODED[:64]} {CODED[64:]}"', CODED_KEY)], [HIGH]),
    "a key that YAML folds": (SECRET_CERTIFICATE, [secret(CODED, f'"{CODED_KEY[:64]} {CODED_KEY[64:]}"')], [HIGH]),
    "cut off": (SECRET_CERTIFICATE, [secret(b64encode(PEM[:300]).decode(), CODED_KEY)], [HIGH]),
    "expired": (SECRET_CERTIFICATE, [secret("EXPIRED(a.example)", "KEY(a.example)")], [HIGH, HIGH]),
    "a CA": (
        SECRET_CERTIFICATE,
        [secret(b64encode(CA.pem).decode(), b64encode(CA.key_pem).decode())],
        [("fail", "info")],
    ),
    "clients": (SECRET_CERTIFICATE, [secret("CLIENT(a.example)", "CLIENT_KEY(a.example)")], []),
    "Opaque with another key": (
        SECRET_CERTIFICATE,
        [opaque("tls.crt: CERTIFICATE(a.example), tls.key: KEY(b.example)")],
        [HIGH],
    ),
    "Opaque with a certificate alone": (SECRET_CERTIFICATE, [opaque("tls.crt: EXPIRED(a.example)")], []),
    "of another program": (SECRET_CERTIFICATE, [secret(CODED, "''", type_="example.com/own")], []),
    "text over data": (SECRET_CERTIFICATE, [f"{PAIR}stringData: {{tls.key: PEM_KEY(other.example.com)}}\n"], [HIGH]),
    "text alone": (
        SECRET_CERTIFICATE,
        [opaque("tls.crt: PEM(a.example), tls.key: PEM_KEY(a.example)", "stringData")],
        [],
    ),
    "a key in its place": (EXPOSED, [PAIR], []),
    "a key in tls.crt": (EXPOSED, [secret(CODED_KEY, CODED_KEY)], [HIGH]),
    "a key behind the certificate": (EXPOSED, [secret(b64encode(PEM + KEY).decode(), CODED_KEY)], [HIGH]),
    "a key in ca.crt": (EXPOSED, [opaque(f"ca.crt: {CODED_KEY}")], [HIGH]),
    "a key in ca.crt as text": (EXPOSED, [opaque(f"ca.crt: {QUOTED}", "stringData")], [HIGH]),
    "a key of another name": (EXPOSED, [opaque(f"server.pem: {CODED_KEY}")], []),
    "a key as it was applied": (EXPOSED, [applied(PAIR, CODED_KEY)], [LOW]),
    "a certificate as it was applied": (EXPOSED, [applied(PAIR, CODED)], []),
    "a Secret's annotation": (EXPOSED, [PAIR.replace("name: web", f"name: web, annotations: {{a: {QUOTED}}}")], [HIGH]),
    "a ConfigMap": (EXPOSED, [config_map(f"a: {QUOTED}")], [HIGH]),
    "a ConfigMap twice": (EXPOSED, [config_map(f"a: {QUOTED}, b: 'no key', c: {CODED_KEY}")], [HIGH, HIGH]),
    "a ConfigMap's binary data": (EXPOSED, [config_map(f"a: {CODED_KEY}", "binaryData")], [HIGH]),
    "a ConfigMap as it was applied": (EXPOSED, [applied(config_map("a: b"), KEY.decode())], [HIGH]),
    "a ConfigMap of certificates": (EXPOSED, [config_map("a: PEM(a.example)")], []),
    "a placeholder": (
        EXPOSED,
        [config_map('a: "-----BEGIN PRIVATE KEY-----\\n<here>\\n-----END PRIVATE KEY-----"')],
        [],
    ),
    "a container of trusted certificates": (
        EXPOSED,
        [config_map(f"a.p12: {b64encode(TRUSTED).decode()}", "binaryData")],
        [INFO],
    ),
    "a variable": (EXPOSED, [workload(f"env: [{{name: A, value: {QUOTED}}}]")], [HIGH]),
    "an argument": (EXPOSED, [pod(f"args: [--key, {QUOTED}]")], [HIGH]),
    "a script that looks for one": (
        EXPOSED,
        [pod("args: ['grep -q -e \"-----BEGIN PRIVATE KEY-----\" /a && exit 0']")],
        [],
    ),
    "a Route's certificate": (EXPOSED, [route(f"certificate: {QUOTED}")], [HIGH]),
    "a Route's key": (EXPOSED, [route(f"certificate: PEM(a.example), key: {QUOTED}")], []),
    "a bundle": (EXPOSED, [webhook(f"url: 'https://a.example', caBundle: {CODED_KEY}")], [HIGH]),
    "the same in an Opaque Secret": (
        REUSE,
        [PAIR, PAIR.replace("shop", "blog").replace("kubernetes.io/tls", "Opaque")],
        [MEDIUM, MEDIUM],
    ),
    "the same as text": (
        REUSE,
        [
            secret("CERTIFICATE(a.example)", "KEY(a.example)"),
            opaque("tls.crt: PEM(a.example), tls.key: PEM_KEY(a.example)", "stringData").replace("shop", "blog"),
        ],
        [MEDIUM, MEDIUM],
    ),
}


@pytest.mark.parametrize(("rule", "texts", "expected"), CASES.values(), ids=CASES)
def test_findings(tmp_path: Path, rule: ObjectRule, texts: list[str], expected: list[tuple[str, str]]) -> None:
    found, given = linted(tmp_path, "\n---\n".join(texts), [rule])
    assert not given.bad
    findings = [each for one in found for each in one.findings]
    assert [(each.finding.verdict, each.finding.severity) for each in findings] == expected
    assert KEY.decode().splitlines()[1] not in str(findings)
    assert CODED_KEY[:60] not in str(findings)


def test_the_place_is_named(tmp_path: Path) -> None:
    found, _ = linted(tmp_path, workload(f"args: [a, {QUOTED}]"), [EXPOSED])
    (finding,) = found[0].findings
    assert finding.field == "spec.template.spec.containers[0].args[1]"
    expected = "a private key is in this field, which every user who may read deployments can read"
    assert finding.finding.message == expected
