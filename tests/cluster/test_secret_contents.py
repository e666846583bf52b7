"""Private keys and passwords in any form are removed, public content is kept."""

from __future__ import annotations

import json
from base64 import b64encode, encodebytes, urlsafe_b64encode
from functools import cache

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    pkcs12,
)

from scanner.cluster.retention import Pruner
from scanner.cluster.secret_contents import arguments, scrubbed
from scanner.cluster.snapshot_objects import kept
from scanner.kube.kinds import INGRESS, POD
from scanner.model.pem import CONTAINER, REMOVED, WITHHELD
from tests.certs import Authority
from tests.growth import interrupted

pytestmark = pytest.mark.crypto

PASSWORD = "hunter2-secret"
BODY = b64encode(b"k" * 120).decode()
BLOCK = f"-----BEGIN PRIVATE KEY-----\n{BODY}\n-----END PRIVATE KEY-----\n"
BAG = "Bag Attributes\n    localKeyID: 01\n    friendlyName: web\nKey Attributes: <No Attributes>\n"


def coded(text: str) -> str:
    return b64encode(text.encode()).decode()


@cache
def keys() -> dict[str, bytes]:
    """Keys in DER, by what they are."""
    elliptic, large = ec.generate_private_key(ec.SECP256R1()), rsa.generate_private_key(65537, 1024)
    secret = BestAvailableEncryption(b"x")
    return {
        "RSA PKCS #8": large.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption()),
        "RSA PKCS #1": large.private_bytes(Encoding.DER, PrivateFormat.TraditionalOpenSSL, NoEncryption()),
        "EC PKCS #8": elliptic.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption()),
        "EC SEC 1": elliptic.private_bytes(Encoding.DER, PrivateFormat.TraditionalOpenSSL, NoEncryption()),
        "Ed25519": ed25519.Ed25519PrivateKey.generate().private_bytes(
            Encoding.DER, PrivateFormat.PKCS8, NoEncryption()
        ),
        "encrypted": large.private_bytes(Encoding.DER, PrivateFormat.PKCS8, secret),
        "PKCS #12": pkcs12.serialize_key_and_certificates(b"web", elliptic, None, None, secret),
        "PKCS #12 of trusted certificates": pkcs12.serialize_java_truststore(
            [pkcs12.PKCS12Certificate(Authority("An authority").certificate, b"ca")], secret
        ),
    }


TEXTS = {
    "PEM": BLOCK,
    "four dashes": BLOCK.replace("-----BEGIN ", "---- BEGIN ").replace("KEY-----\n", "KEY ----\n"),
    "OpenPGP": BLOCK.replace("PRIVATE KEY", "PGP PRIVATE KEY BLOCK"),
    "cut off": BLOCK[:120],
    "escaped": json.dumps({"k": BLOCK}),
    "base64": coded(BLOCK),
    "a line before": coded("\n" + BLOCK),
    "a comment before": coded("# " + BLOCK),
    "Bag Attributes": coded(BAG + BLOCK),
    "a certificate before": coded(f"-----BEGIN CERTIFICATE-----\n{'A' * 64}\n-----END CERTIFICATE-----\n{BLOCK}"),
    "twice": coded(coded(BLOCK)),
    "three times": coded(coded(coded("\n" + BLOCK))),
    "for URLs": urlsafe_b64encode((BLOCK + "???>>>").encode()).decode(),
    "in lines": encodebytes((BAG + BLOCK).encode()).decode(),
    "in escaped lines": json.dumps(encodebytes((BAG + BLOCK).encode()).decode()),
    "after a word": f"key/{coded(BLOCK)}",
    "PuTTY": f"PuTTY-User-Key-File-3: ssh-rsa\nPublic-Lines: 1\nAAAA\nPrivate-Lines: 1\n{BODY}\nPrivate-MAC: 0a",
    "PuTTY in base64": coded(f"PuTTY-User-Key-File-2: ssh-rsa\nPrivate-Lines: 4\n{BODY}"),
    "JWK": json.dumps({"kty": "RSA", "n": "AQAB", "d": BODY}),
    "JWK escaped": json.dumps(json.dumps({"kty": "EC", "d": BODY})),
    "JWK in base64": coded(json.dumps({"keys": [{"kty": "EC", "d": BODY}]})),
}


def told(text: str) -> str:
    """An object with this in an annotation, as it is kept."""
    raw = {"metadata": {"name": "x", "namespace": "y", "annotations": {"a": text}}}
    found = kept(INGRESS, raw, Pruner())
    assert found is not None
    return found.annotations["a"]


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_no_text_with_a_private_key_stays(text: str) -> None:
    found = told(text)
    assert REMOVED in found
    marks = [text[start : start + 40] for start in range(len(text) // 2, len(text) - 60, 20)]
    assert not any(mark in found for mark in marks)
    assert BODY[:40] not in found
    assert scrubbed(found) == found


@pytest.mark.parametrize("name", list(keys()))
@pytest.mark.parametrize("layers", [1, 2])
def test_no_key_in_der_stays(name: str, layers: int) -> None:
    text = b64encode(keys()[name]).decode()
    for _ in range(layers - 1):
        text = coded(text)
    mark = CONTAINER if "trusted" in name else REMOVED
    assert told(f'{{"key": "{text}"}}') == f'{{"key": "{mark}"}}'
    assert told(encodebytes(keys()[name]).decode().strip()) == mark


@pytest.mark.parametrize(
    "text",
    [
        "-----BEGIN PRIVATE KEY-----\nREPLACE_ME\n-----END PRIVATE KEY-----",
        "until grep -q -e '-----BEGIN PRIVATE KEY-----' /tls/key; do sleep 1; done",
    ],
)
def test_what_only_looks_like_a_key_is_not_called_one(text: str) -> None:
    found = told(text)
    assert WITHHELD in found
    assert REMOVED not in found
    assert "PRIVATE KEY" not in found
    assert scrubbed(found) == found


def test_what_is_public_stays() -> None:
    leaf = Authority("An authority").leaf(names=("a.example",))
    public = ec.generate_private_key(ec.SECP256R1()).public_key()
    texts = (
        leaf.pem.decode() * 3,
        coded(leaf.pem.decode()),
        coded(coded(leaf.pem.decode())),
        b64encode(public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).decode(),
        json.dumps({"kty": "EC", "crv": "P-256", "x": BODY, "y": BODY}),
        "quay.io/openshift-release-dev/ocp-v4.0-art-dev@sha256:" + "0123456789abcdef" * 4,
        "/etc/kubernetes/static-pod-resources/configmaps/kube-apiserver-cert-syncer-kubeconfig/kubeconfig",
        "an ordinary sentence about a key that is private, and about https://example.com/a@b",
    )
    for text in texts:
        assert told(text) == text


@pytest.mark.parametrize(
    "line",
    [
        [f"--auth=user:{PASSWORD}"],
        ["--basic-auth", f"user:{PASSWORD}"],
        ["-u", f"user:{PASSWORD}"],
        [f"--passphrase={PASSWORD}"],
        ["--passphrase", PASSWORD],
        [f"--db-password={PASSWORD}"],
        [f'sh -c "--password "{PASSWORD} and more""'],
        [f"https://u:{PASSWORD}@h/"],
        [f"--remote=https://{PASSWORD}@h/path"],
        ["sh", "-c", f"export DB_PASSWORD='{PASSWORD}'; run"],
        ["sh", "-c", f"API_KEY={PASSWORD} run"],
    ],
)
def test_no_password_of_a_command_line_stays(line: list[str]) -> None:
    found = arguments(line)
    assert PASSWORD not in " ".join(found)
    assert arguments(found) == found


def test_what_is_no_password_stays() -> None:
    line = [
        "--client-cert-auth=true",
        "--anonymous-auth=false",
        "--tls-private-key-file=/etc/tls/tls.key",
        "--authentication-token-webhook=true",
        "--token-auth-file=/etc/tokens",
        "--secure-port=6443",
        "--listen-client-urls=https://127.0.0.1:2379,https://192.0.2.10:2379",
        "--user=web",
    ]
    assert arguments(line) == line


def test_of_a_password_in_a_variable_its_name_stays() -> None:
    names = ("SSL_KEYSTORE_PASSWORD", "TLS_KEY_PASSPHRASE", "TLS_CLIENT_SECRET", "CERT_TOKEN", "TLS_PWD")
    variables = [*({"name": name, "value": PASSWORD} for name in names), {"name": "TLS_MIN", "value": "1.2"}]
    raw = {"metadata": {"name": "p", "namespace": "n"}, "spec": {"containers": [{"name": "c", "env": variables}]}}
    found = kept(POD, raw, Pruner())
    assert found is not None
    (container,) = found.each("spec", "containers")
    assert container.at("env") == [*({"name": name} for name in names), {"name": "TLS_MIN", "value": "1.2"}]


@pytest.mark.parametrize(
    "text",
    [
        "A" * 1_000_000,
        "word " * 200_000,
        ("A" * 50 + "\n") * 20_000,
        "-----BEGIN PRIVATE KEY" * 50_000,
        "kty" + '"d":' * 250_000,
        "https://a@" * 100_000,
        "://" + "@" * 1_000_000,
        "PuTTY-User-Key-File-" * 50_000,
        coded("A" * 700_000),
    ],
    ids=["one run", "words", "lines", "beginnings", "members", "URLs", "signs", "PuTTY", "coded"],
)
def test_the_cost_of_a_long_text_is_linear(text: str) -> None:
    with interrupted():
        scrubbed(text)


def test_withheld_is_said() -> None:
    assert arguments([f"--passphrase={PASSWORD}", "--token", PASSWORD]) == [
        f"--passphrase={WITHHELD}",
        "--token",
        WITHHELD,
    ]
