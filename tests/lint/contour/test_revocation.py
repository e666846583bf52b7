"""Revocation lists that shut out clients; one line a case."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scanner.lint.contour.revocation import REVOCATION
from tests.lint.examples import WHOLE, authority, linted

HIGH, MEDIUM, INFO = ("fail", "high"), ("fail", "medium"), ("inconclusive", "info")
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


CA = secret("ca", "ca.crt: CA(a)")
DELEGATION = (
    "apiVersion: projectcontour.io/v1\nkind: TLSCertificateDelegation\nmetadata: {name: a, namespace: certs}\n"
    "spec: {delegations: [{secretName: lists, targetNamespaces: [shop]}]}\n"
)
CASES: dict[str, tuple[list[str], list[tuple[str, str]], str]] = {
    "good": ([proxy(), CA, secret("lists", "crl.pem: CRL(a)")], [], ""),
    "ended": ([proxy(), CA, secret("lists", "crl.pem: CRL_EXPIRED(a)")], [HIGH], "ended"),
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
    "not given": ([proxy(), CA], [INFO], "whether its revocation list has ended"),
    "not there": ([WHOLE, proxy(), CA], [], ""),
    "nothing in it": ([proxy(), CA, secret("lists", "other: b")], [], ""),
    "none asked for": ([proxy("''"), CA], [], ""),
}


@pytest.mark.parametrize(("texts", "expected", "said"), CASES.values(), ids=CASES)
def test_findings(tmp_path: Path, texts: list[str], expected: list[tuple[str, str]], said: str) -> None:
    found, given = linted(tmp_path, "\n---\n".join(texts), [REVOCATION])
    assert not given.bad
    findings = [each.finding for one in found for each in one.findings]
    assert [(each.verdict, each.severity) for each in findings] == expected
    assert said in (findings[0].message if findings else "")


def test_a_ca_without_a_list_beside_one_that_has_one(tmp_path: Path) -> None:
    both = secret("ca", f"ca.crt: {json.dumps((authority('a').pem + authority('b').pem).decode())}")
    found, given = linted(tmp_path, "\n---\n".join([proxy(), both, secret("lists", "crl.pem: CRL(a)")]), [REVOCATION])
    assert not given.bad
    (finding,) = found[0].findings
    assert (finding.finding.verdict, finding.finding.severity) == MEDIUM
    assert finding.finding.message == "Secret/shop/lists: no revocation list is of CN=b: Envoy refuses its clients"
