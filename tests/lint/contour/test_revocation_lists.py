"""Revocation lists that shut out clients; one line a case."""

from __future__ import annotations

import json
from base64 import b64decode
from pathlib import Path

import pytest

from scanner.lint.contour import revocation_lists
from scanner.lint.contour.revocation_lists import REVOCATION
from tests.certs import Authority
from tests.lint.examples import WHOLE, authority, findings_of, linted, revocation_list

pytestmark = pytest.mark.crypto

HIGH, MEDIUM, INFO = ("fail", "high"), ("fail", "medium"), ("inconclusive", "info")
SAID, OPEN = ("fail", "info"), ("inconclusive", "high")
PROXY = (
    "apiVersion: projectcontour.io/v1\nkind: HTTPProxy\nmetadata: {name: web, namespace: shop}\nspec:\n"
    "  virtualhost: {fqdn: a.example, tls: {secretName: web, clientValidation: {caSecret: ca, crlSecret: LISTS}}}\n"
)
JUNK = '"-----BEGIN X509 CRL-----\\nMIIB\\n-----END X509 CRL-----\\n"'


def secret(name: str, data: str, namespace: str = "shop") -> str:
    metadata = f"{{name: {name}, namespace: {namespace}}}"
    return f"apiVersion: v1\nkind: Secret\nmetadata: {metadata}\ntype: Opaque\nstringData: {{{data}}}\n"


def proxy(lists: str = "lists") -> str:
    return PROXY.replace("LISTS", lists)


def pem(name: str, *made: bytes) -> str:
    return f"{name}: {json.dumps(b''.join(made).decode())}"


A = authority("a")
AGAIN = Authority("a")
"""A CA with the same name and another key."""
EDWARDS = Authority("a", key="ed25519")
RSA = Authority("a", key="rsa2048")
NO_LISTS = A.self_signed(names=("a.example",), common_name="a", key=A.key)
"""The same name and key in a certificate whose keyUsage has no cRLSign."""
CA = secret("ca", "ca.crt: CA(a)")


def signed(given: str, lists: bytes) -> list[str]:
    """The proxy with these CAs and lists."""
    return [proxy(), secret("ca", given), secret("lists", pem("crl.pem", lists))]


BOTH = pem("ca.crt", A.pem, AGAIN.pem)


def kept(**more: str) -> str:
    """The parts of a list that a snapshot keeps; the list itself only with more."""
    listed = {"issuer": "CN=a", "thisUpdate": "2026-01-01T00:00:00Z", "nextUpdate": "2090-01-01T00:00:00Z", **more}
    return f"adhere: {json.dumps({'revocationLists': ['crl.pem'], 'revocation': {'crl.pem': [listed]}})}\n"


DELEGATION = (
    "apiVersion: projectcontour.io/v1\nkind: TLSCertificateDelegation\nmetadata: {name: a, namespace: certs}\n"
    "spec: {delegations: [{secretName: lists, targetNamespaces: [shop]}]}\n"
)
CASES: dict[str, tuple[list[str], list[tuple[str, str]], str]] = {
    "good": ([proxy(), CA, secret("lists", "crl.pem: CRL(a)")], [], ""),
    "ended": ([proxy(), CA, secret("lists", "crl.pem: CRL_EXPIRED(a)")], [HIGH], "expired on"),
    "of another CA": ([proxy(), CA, secret("lists", "crl.pem: CRL(b)")], [HIGH], "no revocation list is of a CA in"),
    "of another CA, which was not given": ([proxy(), secret("lists", "crl.pem: CRL(b)")], [], ""),
    "not readable": ([proxy(), CA, secret("lists", f"crl.pem: {JUNK}")], [HIGH], "cannot be read"),
    "in another namespace, and not delegated": (
        [WHOLE, proxy("certs/lists"), CA, secret("lists", "crl.pem: CRL_EXPIRED(a)", "certs")],
        [],
        "",
    ),
    "in another namespace": (
        [proxy("certs/lists"), CA, DELEGATION, secret("lists", "crl.pem: CRL_EXPIRED(a)", "certs")],
        [HIGH],
        "Secret/certs/lists: the revocation list of CN=a",
    ),
    "not given": ([proxy(), CA], [INFO], "whether its revocation list is expired"),
    "not there": ([WHOLE, proxy(), CA], [], ""),
    "signed with Ed25519": (signed(pem("ca.crt", EDWARDS.pem), revocation_list(EDWARDS)), [], ""),
    "signed with RSA": (signed(pem("ca.crt", RSA.pem), revocation_list(RSA)), [], ""),
    "signed with another key": (signed("ca.crt: CA(a)", revocation_list(AGAIN)), [HIGH], "is not signed with the key"),
    "signed with another kind of key": (signed("ca.crt: CA(a)", revocation_list(RSA)), [HIGH], "is not signed with"),
    "signed with the key of one of two": (
        signed(BOTH, revocation_list(AGAIN)),
        [MEDIUM],
        "no revocation list is of CN=a",
    ),
    "signed with the keys of both": (signed(BOTH, revocation_list(A) + revocation_list(AGAIN)), [], ""),
    "signed with none of two": (signed(BOTH, revocation_list(RSA)), [HIGH], "is not signed with the key"),
    "good beside one with another key": (
        signed("ca.crt: CA(a)", revocation_list(A) + revocation_list(AGAIN)),
        [HIGH],
        "is not signed with the key",
    ),
    "good beside one of another CA": (
        signed("ca.crt: CA(a)", revocation_list(A) + revocation_list(authority("b"))),
        [SAID],
        "the revocation list of CN=b is of no CA in Secret/shop/ca",
    ),
    "of a CA without cRLSign": (signed(pem("ca.crt", NO_LISTS.pem), revocation_list(A)), [HIGH], "has no cRLSign"),
    "too long to be kept": (
        [proxy(), CA, secret("lists", "other: b") + kept()],
        [OPEN],
        "unknown: whether it is signed with the key",
    ),
    "beside what it should say of itself": (
        [proxy(), CA, secret("lists", pem("crl.pem", revocation_list(AGAIN))) + kept()],
        [HIGH],
        "is not signed with the key",
    ),
    "kept with what is no list": (
        [proxy(), CA, secret("lists", "other: b") + kept(der="AAAA")],
        [OPEN],
        "unknown: whether it is signed with the key",
    ),
    "nothing in it": ([proxy(), CA, secret("lists", "other: b")], [], ""),
    "none asked for": ([proxy("''"), CA], [], ""),
}


@pytest.mark.parametrize(("texts", "expected", "said"), CASES.values(), ids=CASES)
def test_findings(tmp_path: Path, texts: list[str], expected: list[tuple[str, str]], said: str) -> None:
    findings = findings_of(REVOCATION, tmp_path, *texts)
    assert [(each.verdict, each.severity) for each in findings] == expected
    assert said in (findings[0].message if findings else "")


@pytest.mark.parametrize(("only_leaves", "expected"), [("false", [MEDIUM]), ("true", [])])
def test_a_root_whose_intermediate_has_a_list(
    tmp_path: Path, only_leaves: str, expected: list[tuple[str, str]]
) -> None:
    below = Authority("below", issuer=A)
    asking = proxy().replace("crlSecret:", f"crlOnlyVerifyLeafCert: {only_leaves}, crlSecret:")
    texts = [asking, *signed(pem("ca.crt", A.pem, below.pem), revocation_list(below))[1:]]
    found, _ = linted(tmp_path, "\n---\n".join(texts), [REVOCATION])
    assert [(each.finding.verdict, each.finding.severity) for each in found[0].findings] == expected


def test_a_ca_without_a_list_beside_one_that_has_one(tmp_path: Path) -> None:
    both = secret("ca", f"ca.crt: {json.dumps((authority('a').pem + authority('b').pem).decode())}")
    found, given = linted(tmp_path, "\n---\n".join([proxy(), both, secret("lists", "crl.pem: CRL(a)")]), [REVOCATION])
    assert not given.bad
    (finding,) = found[0].findings
    assert (finding.finding.verdict, finding.finding.severity) == MEDIUM
    assert finding.finding.message == "Secret/shop/lists: no revocation list is of CN=b: Envoy refuses its clients"


def test_a_list_is_decoded_once_for_many_hosts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def decoded(coded: str, *, validate: bool) -> bytes:
        seen.append(coded)
        return b64decode(coded, validate=validate)

    seen: list[str] = []
    monkeypatch.setattr(revocation_lists, "b64decode", decoded)
    hosts = [proxy().replace("web", f"web{number}").replace("a.example", f"a{number}.example") for number in range(9)]
    own = secret("lists", pem("crl.pem", revocation_list(Authority("a"))))
    linted(tmp_path, "---\n".join([*hosts, CA, own]), [REVOCATION])
    assert len(seen) == 1
