"""Secrets that objects refer to: which cannot be served, and what is only not known."""

from __future__ import annotations

import base64
from datetime import timedelta

import pytest

from scanner.cluster.retention import Pruner
from scanner.cluster.snapshot_objects import kept
from scanner.kube.kinds import CERTIFICATE, CONFIG_MAP, SECRET, Kind
from scanner.kube.objects import KubeObject
from scanner.kube.snapshot import Origin, Snapshot, Unreadable
from scanner.lint.referenced_certificates import authority_flaws, leaf_flaws
from scanner.lint.references import editable, look_up, name_flaws, secret_flaws
from scanner.model.declared import Declared, Missing
from scanner.model.finding import Verdict
from tests.lint.examples import authority, leaf

pytestmark = pytest.mark.crypto

PEM, KEY, OTHER_KEY = leaf("a.example").pem, leaf("a.example").key_pem, leaf("b.example").key_pem
NOW = authority().now


def known(*objects: KubeObject, gap: Kind | None = None) -> Declared:
    """A cluster with these."""
    kinds = (SECRET, CONFIG_MAP, CERTIFICATE)
    snapshot = Snapshot(
        taken_at=NOW,
        origin=Origin(name="test"),
        objects={kind: tuple(each for each in objects if each.kind == kind) for kind in kinds},
        unreadable={gap: Unreadable(kind=gap, gap="not-saved", reason="not given")} if gap else {},
    )
    return Declared(subjects=(), known=snapshot)


def secret(*, type_: str = "kubernetes.io/tls", **data: bytes) -> KubeObject:
    """As a manifest says it: ``tls_crt`` is ``tls.crt``."""
    found = kept(
        SECRET,
        {
            "metadata": {"name": "web", "namespace": "shop"},
            "type": type_,
            "data": {name.replace("_", "."): base64.b64encode(each).decode() for name, each in data.items()},
        },
        Pruner(),
    )
    assert found is not None
    return found


def raw_secret(certificate: str, key: str) -> KubeObject:
    """A Secret whose ``data`` is not base64."""
    raw = {"metadata": {"name": "web", "namespace": "shop"}, "type": "kubernetes.io/tls"}
    found = kept(SECRET, {**raw, "data": {"tls.crt": certificate, "tls.key": key}}, Pruner())
    assert found is not None
    return found


NOT_BASE64_KEY = "cannot be used: tls.key is not base64"


def config_map(**data: bytes) -> KubeObject:
    texts = {name.replace("_", "."): each.decode() for name, each in data.items()}
    return KubeObject({"metadata": {"name": "ca", "namespace": "shop"}, "data": texts}, CONFIG_MAP)


CERTIFICATE_OF_WEB = KubeObject(
    {"metadata": {"name": "web-cert", "namespace": "shop"}, "spec": {"secretName": "web"}}, CERTIFICATE
)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (secret(tls_crt=PEM, tls_key=KEY), []),
        (secret(tls_crt=PEM, tls_key=KEY, type_="Opaque"), ["is of type 'Opaque', not kubernetes.io/tls"]),
        (secret(tls_key=KEY), ["has no tls.crt"]),
        (secret(tls_crt=PEM), ["cannot be used: there is no tls.key"]),
        (secret(tls_crt=b"nothing", tls_key=KEY), ["has no certificate in PEM in tls.crt"]),
        (
            secret(tls_crt=bytes.fromhex("308204000201033082"), tls_key=KEY),
            ["has no certificate in PEM in tls.crt: it is a PKCS #12 container"],
        ),
        (secret(tls_crt=KEY, tls_key=KEY), ["has no certificate in PEM in tls.crt: it is a private key"]),
        (raw_secret("-----BEGIN", "7"), ["has no certificate in PEM in tls.crt: it is not base64", NOT_BASE64_KEY]),
        (secret(tls_crt=PEM, tls_key=b""), ["cannot be used: tls.key is empty"]),
        (secret(tls_crt=PEM, tls_key=b"nothing"), ["cannot be used: tls.key is no private key in PEM"]),
        (secret(tls_crt=PEM, tls_key=OTHER_KEY), ["has a key that does not belong to the certificate"]),
    ],
)
def test_what_cannot_be_served(given: KubeObject, said: list[str]) -> None:
    found = list(secret_flaws(known(given), given, ("spec", "ref")))
    assert [each.message for each in found] == ([f"Secret/shop/web {', and '.join(said)}"] if said else [])
    assert all(each.verdict == "fail" and each.at == ("spec", "ref") for each in found)


def test_a_key_that_nobody_looked_at_is_not_decided() -> None:
    bare = KubeObject({"type": "kubernetes.io/tls", "data": secret(tls_crt=PEM).at("data")}, SECRET)
    assert [each.verdict for each in secret_flaws(known(bare), bare, ())] == ["inconclusive"]


CUT = PEM[:300] + b"\n-----END CERTIFICATE-----\n"
JUNK = b"-----BEGIN CERTIFICATE-----\n" + base64.b64encode(b"nothing") + b"\n-----END CERTIFICATE-----\n"


@pytest.mark.parametrize(
    ("pem", "said"),
    [
        (CUT, "the certificate in tls.crt cannot be read: it is cut off"),
        (PEM + JUNK, "certificate 2 of 2 in tls.crt cannot be read: it is no certificate (RFC 5280 section 4.1)"),
        (PEM[:300], "the certificate in tls.crt cannot be read: certificate 1 in PEM has no end"),
        (PEM.replace(b"\nM", b"\n!"), "the certificate in tls.crt cannot be read: a certificate in PEM is not base64"),
    ],
    ids=["cut off", "junk behind it", "no end", "not base64"],
)
def test_a_certificate_that_nobody_can_read_is_one_failure_in_our_words(pem: bytes, said: str) -> None:
    given = secret(tls_crt=pem, tls_key=KEY)
    (found,) = leaf_flaws(given, ("spec", "ref"), NOW)
    assert (found.verdict, found.severity, found.message) == ("fail", "high", f"Secret/shop/web: {said}")
    assert "Error" not in found.message
    assert [each.verdict for each in name_flaws(given, ["b.example"], ())] == (
        ["fail"] if pem.startswith(PEM) else ["inconclusive"]
    )


@pytest.mark.parametrize(
    ("declared", "kind", "verdict"),
    [
        (known(), SECRET, "fail"),
        (known(gap=SECRET), SECRET, "inconclusive"),
        (known(CERTIFICATE_OF_WEB), SECRET, "inconclusive"),
        (known(), CONFIG_MAP, "inconclusive"),
    ],
)
def test_what_absence_means(declared: Declared, kind: Kind, verdict: Verdict) -> None:
    found = look_up(declared, kind, "web", "shop")
    assert isinstance(found, Missing)
    assert [each.verdict for each in secret_flaws(declared, found, ())] == [verdict]


def test_what_is_there_is_found() -> None:
    given = secret(tls_crt=PEM, tls_key=KEY)
    assert look_up(known(given, gap=SECRET), SECRET, "web", "shop") is given


def test_cert_manager_owns_what_it_makes() -> None:
    assert editable(known(CERTIFICATE_OF_WEB), "web", "shop").startswith("Certificate/shop/web-cert (")
    assert editable(known(CERTIFICATE_OF_WEB), "web", "other") == "Secret/other/web"


@pytest.mark.parametrize(
    ("names", "missing"),
    [
        (("a.example",), ()),
        (("A.Example", "a.example"), ()),
        (("b.example", "a.example"), ("b.example",)),
        (("x.w.example",), ()),
        (("x.y.w.example",), ("x.y.w.example",)),
        (("*.w.example",), ()),
        (("*.example",), ("*.example",)),
    ],
)
def test_names(names: tuple[str, ...], missing: tuple[str, ...]) -> None:
    given = secret(tls_crt=leaf("a.example, *.w.example").pem)
    found = list(name_flaws(given, names, ()))
    assert [each.expected for each in found] == ([missing] if missing else [])


def test_of_many_names_some_are_shown() -> None:
    (flaw,) = name_flaws(secret(tls_crt=PEM), tuple(f"{n}.example" for n in range(2000)), ())
    assert flaw.message.endswith("4.example and others")


MONTH = timedelta(days=30)


@pytest.mark.parametrize(
    ("pem", "said"),
    [
        (PEM, ()),
        (leaf("a.example", expired=True).pem, ("expired on",)),
        (
            authority().leaf(names=("a",), not_before=NOW + MONTH, not_after=NOW + 2 * MONTH).pem,
            ("is not valid before",),
        ),
        (authority().leaf(names=("a",), key="rsa1024").pem, ("RSA with 1024 bits",)),
        (authority().leaf(names=("a",), ca=True).pem, ("is a CA",)),
        (authority().leaf(names=("a",), eku=("clientAuth",)).pem, ("is not for serverAuth",)),
        (authority().leaf(names=("a",), eku=()).pem, ()),
        (PEM + authority().pem, ()),
    ],
)
def test_leaves(pem: bytes, said: tuple[str, ...]) -> None:
    found = list(leaf_flaws(secret(tls_crt=pem), (), NOW))
    assert len(found) == len(said)
    assert all(word in each.message for word, each in zip(said, found, strict=True))


@pytest.mark.parametrize(
    ("holder", "said"),
    [
        (config_map(ca_crt=authority().pem), ()),
        (secret(ca_crt=authority().pem), ()),
        (config_map(other=authority().pem), ("has no ca.crt",)),
        (config_map(ca_crt=b"nothing"), ("no certificate in PEM",)),
        (config_map(ca_crt=JUNK + authority().pem), ("certificate 1 of 2 in ca.crt cannot be read",)),
        (secret(ca_crt=b"-----BEGIN X509 CRL-----"), ("no certificate in PEM: it is a revocation list",)),
        (config_map(ca_crt=authority().pem + PEM), ("is not a CA",)),
        (config_map(ca_crt=KEY), ("no certificate in PEM: it is a private key",)),
    ],
)
def test_authorities(holder: KubeObject, said: tuple[str, ...]) -> None:
    found = list(authority_flaws(holder, (), NOW))
    assert len(found) == len(said)
    assert all(word in each.message for word, each in zip(said, found, strict=True))


def test_an_authority_that_has_ended() -> None:
    (flaw,) = authority_flaws(config_map(ca_crt=authority().pem), (), NOW + timedelta(days=4000))
    assert "expired on" in flaw.message
