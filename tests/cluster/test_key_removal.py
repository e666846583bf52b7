"""The kept form of a Secret with kubeconfigs: their certificates, and no credentials."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from scanner.cluster.retention import Pruner
from scanner.cluster.snapshot_objects import kept
from scanner.kube.kinds import SECRET
from scanner.kube.objects import Fields
from scanner.model.pem import REMOVED
from tests.certs import Authority

pytestmark = pytest.mark.crypto

ROOT = Authority("Root")
CLIENT = ROOT.leaf(names=("admin",), eku=("clientAuth",))


def coded(content: bytes) -> str:
    return b64encode(content).decode()


KUBECONFIG = f"""
apiVersion: v1
kind: Config
clusters:
- {{name: prod, cluster: {{server: "https://api:6443", certificate-authority-data: {coded(ROOT.pem)}}}}}
users:
- name: admin
  user:
    client-certificate-data: {coded(b"a comment" + CLIENT.pem + CLIENT.key_pem)}
    client-key-data: {coded(CLIENT.key_pem)}
    token: sha256~an-opaque-token
"""


def secret(**data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "k", "namespace": "a"}, "data": data}


def after(raw: dict[str, Any]) -> dict[str, Any]:
    found = kept(SECRET, raw, Pruner())
    assert found is not None
    return dict(found.raw)


def test_the_certificates_of_a_kubeconfig_stay_and_nothing_else() -> None:
    found = after(secret(kubeconfig=coded(KUBECONFIG.encode()), other=coded(b"client-certificate-data: no")))
    assert found["data"] == {}
    assert found["adhere"]["kubeconfigs"] == {
        "kubeconfig": {"certificate-authority-data": ROOT.pem.decode(), "client-certificate-data": CLIENT.pem.decode()}
    }
    everything = json.dumps(found)
    assert "PRIVATE" not in everything
    assert "token" not in everything


def test_json_and_several_clusters_in_one() -> None:
    entry = {"cluster": {"certificate-authority-data": coded(ROOT.pem)}}
    found = after(secret(config=coded(json.dumps({"clusters": [entry, entry]}).encode())))
    assert found["adhere"]["kubeconfigs"] == {"config": {"certificate-authority-data": 2 * ROOT.pem.decode()}}


def test_what_was_kept_once_is_kept_again() -> None:
    once = after(secret(kubeconfig=coded(KUBECONFIG.encode())))
    assert after(once) == once


def test_a_saved_secret_with_a_key_where_certificates_were_kept_loses_it() -> None:
    said = {"kubeconfig": {"client-certificate-data": CLIENT.pem.decode() + CLIENT.key_pem.decode(), "x": 1}}
    found = after({**secret(), "adhere": {"kubeconfigs": said}})
    assert found["adhere"]["kubeconfigs"] == {"kubeconfig": {"client-certificate-data": CLIENT.pem.decode()}}


def test_certificates_under_other_names_stay_and_what_stands_beside_them_does_not() -> None:
    mixed = b"# the client\n" + CLIENT.pem + CLIENT.key_pem + b"password: hunter2\n"
    raw = secret(**{"client.pem": coded(mixed), "client.key": coded(CLIENT.key_pem), "token": coded(b"hunter2")})
    raw["stringData"] = {"ca-bundle.crt": (ROOT.pem + CLIENT.pem).decode()}
    found = after(raw)
    assert {name: b64decode(text) for name, text in found["data"].items()} == {
        "client.pem": CLIENT.pem,
        "ca-bundle.crt": ROOT.pem + CLIENT.pem,
    }
    assert after(found) == found


def test_a_key_that_is_called_a_certificate_does_not_stay() -> None:
    body = "".join(CLIENT.key_pem.decode().splitlines()[1:-1])
    text = f"-----BEGIN CERTIFICATE-----\n{body}\n-----END CERTIFICATE-----\n"
    found = json.dumps(after(secret(**{"odd.crt": coded(text.encode())})))
    assert coded(text.encode()) not in found
    assert body[:40] not in b64decode(json.loads(found)["data"].get("odd.crt", "")).decode()


def test_nor_does_one_in_a_kubeconfig_or_in_what_was_kept_of_it() -> None:
    body = "".join(CLIENT.key_pem.decode().splitlines()[1:-1])
    text = f"-----BEGIN CERTIFICATE-----\n{body}\n-----END CERTIFICATE-----\n"
    new = secret(kubeconfig=coded(f"client-certificate-data: {coded(text.encode())}".encode()))
    old = {**secret(), "adhere": {"kubeconfigs": {"kubeconfig": {"client-certificate-data": text}}}}
    for raw in (new, old):
        found = after(raw)["adhere"]["kubeconfigs"]["kubeconfig"]["client-certificate-data"]
        assert "CERTIFICATE" in found
        assert body[:40] not in found


KEY = CLIENT.key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())


@pytest.mark.parametrize("content", [KEY, CLIENT.key_pem.decode().encode("utf-16"), KEY.hex().encode()])
@pytest.mark.parametrize("name", ["tls.crt", "ca.crt"])
def test_what_is_no_text_in_pem_leaves_only_that_it_was_there(name: str, content: bytes) -> None:
    found = after(secret(**{name: coded(content)}))
    assert b64decode(found["data"][name]) == b"[removed]"
    assert after(found) == found


def test_names_of_data_are_bounded() -> None:
    found = after(secret(**{f"{number}.crt": coded(ROOT.pem) for number in range(500)}))
    assert len(found["data"]) == 100


def test_a_secret_without_a_kubeconfig_says_nothing_of_it() -> None:
    raw = secret(**{"tls.crt": coded(ROOT.pem), "password": coded(b"hunter2")})
    found = Fields(after(raw))
    assert b64decode(found.text("data", "tls.crt")) == ROOT.pem
    assert not found.has("adhere", "kubeconfigs")


def test_a_key_in_a_revocation_list_is_taken_out() -> None:
    now = ROOT.now
    hidden = x509.UnrecognizedExtension(x509.ObjectIdentifier("1.3.6.1.4.1.32473.1"), CLIENT.key_pem)
    builder = x509.CertificateRevocationListBuilder(ROOT.subject, now, now).add_extension(hidden, critical=False)
    content = builder.sign(ROOT.key, SHA256()).public_bytes(Encoding.PEM)
    (found,) = after(secret(**{"crl.pem": coded(content)}))["adhere"]["revocation"]["crl.pem"]
    assert found["issuer"] == ROOT.subject.rfc4514_string()
    assert REMOVED in found["der"]
    assert coded(CLIENT.key_pem)[60:90] not in json.dumps(found)


def test_of_a_revocation_list_its_name_stays() -> None:
    listed = coded(b"-----BEGIN X509 CRL-----\nMIIB\n-----END X509 CRL-----\n")
    found = after(secret(**{"crl.pem": listed, "other": coded(b"hunter2"), "ca.crt": coded(ROOT.pem)}))
    assert found["adhere"]["revocationLists"] == ["crl.pem"]
    assert found["adhere"]["revocation"] == {
        "crl.pem": [{"unreadable": "it is no revocation list (RFC 5280 section 5.1)"}]
    }
    assert listed not in json.dumps(found)
    assert after(found) == found
