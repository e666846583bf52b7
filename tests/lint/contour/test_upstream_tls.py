"""ExtensionServices, one line a case."""

from __future__ import annotations

from pathlib import Path

import pytest

from scanner.lint.contour.upstream_tls import EXTENSION
from tests.lint.examples import WHOLE, findings_of

HIGH, MEDIUM, LOW, UNKNOWN = ("fail", "high"), ("fail", "medium"), ("fail", "low"), ("inconclusive", "high")
GOOD = "validation: {caSecret: ca, subjectName: a}"


def service(spec: str) -> str:
    metadata = "metadata: {name: web, namespace: shop}"
    return f"apiVersion: projectcontour.io/v1alpha1\nkind: ExtensionService\n{metadata}\nspec: {{{spec}}}\n"


def ca(content: str = "ca.crt: CA(a)", namespace: str = "shop") -> str:
    metadata = f"metadata: {{name: ca, namespace: {namespace}}}"
    return f"apiVersion: v1\nkind: Secret\n{metadata}\ntype: Opaque\nstringData: {{{content}}}\n"


ELSEWHERE = service("validation: {caSecret: certs/ca, subjectName: a}")
DELEGATION = (
    "apiVersion: projectcontour.io/v1\nkind: TLSCertificateDelegation\nmetadata: {name: a, namespace: certs}\n"
    "spec: {delegations: [{secretName: ca, targetNamespaces: [shop]}]}\n"
)
CASES: dict[str, tuple[list[str], list[tuple[str, str]], str]] = {
    "verified": ([service(GOOD), ca()], [], ""),
    "verified, and says h2": ([service(f"protocol: h2, {GOOD}"), ca()], [], ""),
    "not verified": ([service("protocol: h2")], [MEDIUM], "does not verify its certificate"),
    "not verified by default": ([service("services: []")], [MEDIUM], "does not verify its certificate"),
    "plain": ([service("protocol: h2c")], [LOW], "in plaintext"),
    "plain, and verified": ([service(f"protocol: h2c, {GOOD}"), ca()], [HIGH], "InconsistentProtocol"),
    "no CA": ([service("validation: {subjectName: a}")], [HIGH], "no caSecret"),
    "no subject": ([service("validation: {caSecret: ca}"), ca()], [HIGH], "no subjectName"),
    "nothing in it": ([service("validation: {}")], [HIGH, HIGH], "no subjectName"),
    "subjects": ([service(f"{GOOD[:-1]}, subjectNames: [a, b]}}"), ca()], [], ""),
    "another first subject": ([service(f"{GOOD[:-1]}, subjectNames: [b, a]}}"), ca()], [HIGH], "the first of"),
    "not given": ([service(GOOD)], [UNKNOWN], "unknown"),
    "not there": ([WHOLE, service(GOOD)], [HIGH], "does not exist"),
    "a leaf": ([service(GOOD), ca("ca.crt: PEM(a)")], [HIGH], "is not a CA"),
    "no PEM": ([service(GOOD), ca("ca.crt: a")], [HIGH], "no certificate in PEM"),
    "not delegated": ([WHOLE, ELSEWHERE, ca(namespace="certs")], [HIGH], "CACertificateNotDelegated"),
    "delegated": ([WHOLE, ELSEWHERE, ca(namespace="certs"), DELEGATION], [], ""),
    "perhaps delegated": ([ELSEWHERE, ca(namespace="certs")], [UNKNOWN], "is delegated to this namespace"),
}


@pytest.mark.parametrize(("texts", "expected", "said"), CASES.values(), ids=CASES)
def test_findings(tmp_path: Path, texts: list[str], expected: list[tuple[str, str]], said: str) -> None:
    findings = findings_of(EXTENSION, tmp_path, *texts)
    assert [(each.verdict, each.severity) for each in findings] == expected
    assert said in (findings[0].message if findings else "")
