"""Contour's delegations: who may refer to which Secret."""

from __future__ import annotations

from pathlib import Path

import pytest

from scanner.kube.contour import secret_name
from scanner.kube.kinds import TLS_CERTIFICATE_DELEGATION
from scanner.lint import RULES
from scanner.lint.contour import CONTOUR_RULES
from scanner.lint.contour.delegations import DELEGATION, SECRET_OF_DELEGATION, TARGET
from scanner.model.object_rule import ObjectRule
from tests.lint.contour.proxies import (
    ANNOTATED,
    CONFIGURED,
    FALLBACK,
    FILE,
    INGRESS,
    PROXY,
    REFERENCE,
    ROUTE,
    delegation,
)
from tests.lint.examples import WHOLE, linted

WILD = (
    "apiVersion: v1\nkind: Secret\nmetadata: {name: wild, namespace: certs}\ntype: kubernetes.io/tls\n"
    "data: {tls.crt: CERTIFICATE(*.example.com), tls.key: KEY(*.example.com)}\n"
)


def verdicts(directory: Path, rule: ObjectRule, *texts: str) -> list[str]:
    found, given = linted(directory, "\n---\n".join(texts), [rule])
    assert not given.bad
    return [each.finding.verdict for one in found for each in one.findings]


CASES = {
    "named": ([REFERENCE, delegation()], []),
    "all": ([REFERENCE, delegation(targets='["*"]')], []),
    "* beside another": ([REFERENCE, delegation(targets='["*", blog]')], ["fail"]),
    "* beside the right one": ([REFERENCE, delegation(targets='["*", shop]')], []),
    "nobody": ([REFERENCE, delegation(targets="[]")], ["fail"]),
    "to another": ([REFERENCE, delegation(targets="[blog]")], ["fail"]),
    "two objects, one right": (
        [REFERENCE, delegation(targets="[blog]"), delegation().replace("name: d", "name: e")],
        [],
    ),
    "of another Secret": ([REFERENCE, delegation("other")], ["inconclusive"]),
    "of the Secret * is literal": ([REFERENCE, delegation('"*"')], ["inconclusive"]),
    "with its namespace": ([REFERENCE, delegation("certs/wild")], ["inconclusive"]),
    "in another namespace": ([REFERENCE, delegation(namespace="shop")], ["inconclusive"]),
    "in the group that Contour no longer reads": (
        [REFERENCE, delegation(group="contour.heptio.com/v1beta1")],
        ["inconclusive"],
    ),
    "none given": ([REFERENCE], ["inconclusive"]),
    "none in the cluster": ([WHOLE + REFERENCE], ["fail"]),
    "the same namespace": ([PROXY % "{secretName: wild}"], []),
    "the same namespace, written out": ([PROXY % "{secretName: shop/wild}"], []),
    "passed through": ([WHOLE + PROXY % "{secretName: certs/wild, passthrough: true}"], []),
    "the CA of clients": ([WHOLE + PROXY % "{secretName: own, clientValidation: {caSecret: certs/ca}}"], ["fail"]),
    "the revocation list": (
        [WHOLE + PROXY % "{secretName: own, clientValidation: {caSecret: ca, crlSecret: certs/crl}}"],
        ["fail"],
    ),
    "the CA of a service": (
        [
            WHOLE
            + PROXY.replace("spec: {", "spec: {routes: [{services: [{validation: {caSecret: certs/ca}}]}], ")
            % "{secretName: own}"
        ],
        ["fail"],
    ),
    "the CA of a TCP service": (
        [
            WHOLE
            + PROXY.replace("spec: {", "spec: {tcpproxy: {services: [{validation: {caSecret: certs/ca}}]}, ")
            % "{secretName: own}"
        ],
        ["fail"],
    ),
    "the fallback certificate": ([FALLBACK, CONFIGURED, delegation(targets="[blog]")], ["fail"]),
    "the fallback certificate, delegated": ([FALLBACK, CONFIGURED, delegation()], []),
    "the fallback certificate of the file": ([FALLBACK, FILE, delegation(targets="[blog]")], ["fail"]),
    "the fallback certificate, configuration unknown": ([FALLBACK], ["inconclusive"]),
    "an annotated Ingress": ([ANNOTATED, delegation(targets="[blog]")], ["fail"]),
    "an annotated Ingress, delegated": ([ANNOTATED, delegation()], []),
    "a slash beats the annotation": ([ANNOTATED.replace("secretName: wild", "secretName: shop/wild")], []),
    "an Ingress of Contour": ([INGRESS % ("", "contour", "certs/wild"), delegation(targets="[blog]")], ["fail"]),
    "an Ingress of somebody else": ([WHOLE + INGRESS % ("", "nginx", "certs/wild")], []),
    "an IngressRoute by its own group": ([ROUTE, delegation(group="contour.heptio.com/v1beta1")], []),
    "an IngressRoute by the present group": ([ROUTE, delegation()], []),
    "an IngressRoute without": ([ROUTE, delegation(targets="[blog]")], ["fail"]),
    "no namespace, to all": ([REFERENCE.replace(", namespace: shop", ""), delegation(targets='["*"]')], []),
    "no namespace, to one": ([REFERENCE.replace(", namespace: shop", ""), delegation()], ["fail"]),
}


@pytest.mark.parametrize(("texts", "expected"), CASES.values(), ids=CASES)
def test_what_is_delegated(tmp_path: Path, texts: list[str], expected: list[str]) -> None:
    assert verdicts(tmp_path, DELEGATION, *texts) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("a", ("own", "a")), ("b/a", ("b", "a")), ("/a", ("own", "a")), ("b/a/c", ("b", "a/c")), ("b/", ("b", ""))],
)
def test_a_name_is_split_at_its_first_slash(text: str, expected: tuple[str, str]) -> None:
    found = secret_name(text, "own")
    assert (found.namespace, found.name) == expected


def test_a_cluster_s_ingress_class_tells_whose_an_ingress_is(tmp_path: Path) -> None:
    named = "apiVersion: networking.k8s.io/v1\nkind: IngressClass\nmetadata: {name: edge}\nspec: {controller: %s}\n"
    ingress = INGRESS % ("", "edge", "certs/wild")
    other = delegation(targets="[blog]")
    assert verdicts(tmp_path, DELEGATION, ingress, other, named % "projectcontour.io/ingress-controller") == ["fail"]
    assert verdicts(tmp_path, DELEGATION, ingress, other, named % "k8s.io/ingress-nginx") == []


@pytest.mark.parametrize(
    ("rule", "secret", "targets", "expected"),
    [
        (TARGET, "wild", '["*"]', 0),
        (TARGET, "wild", '["*", "*"]', 1),  # two are not one: Contour compares the list's length
        (TARGET, "wild", '[shop, "*"]', 1),
        (TARGET, "wild", "[]", 1),
        (SECRET_OF_DELEGATION, '""', "[shop]", 1),
        (SECRET_OF_DELEGATION, '"*"', "[shop]", 1),
        (SECRET_OF_DELEGATION, "certs/wild", "[shop]", 1),
        (TARGET, "wild", "[certs]", 1),
        (TARGET, "wild", '["*.shop", "a/b", ""]', 3),
    ],
)
def test_what_a_delegation_says(tmp_path: Path, rule: ObjectRule, secret: str, targets: str, expected: int) -> None:
    assert verdicts(tmp_path, rule, delegation(secret, targets)).count("fail") == expected


@pytest.mark.parametrize(
    "text",
    [
        delegation(targets="[shpo]"),
        delegation("wlid"),
        delegation("certs/wild"),
        delegation(targets='["*", shop]'),
    ],
)
def test_one_slip_is_one_finding(tmp_path: Path, text: str) -> None:
    """Findings of all rules on delegations, in a cluster that has the other objects."""
    shop = "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n"
    rules = [rule for rule in CONTOUR_RULES if TLS_CERTIFICATE_DELEGATION in rule.subjects]
    texts = (f"{WHOLE}\n{REFERENCE}", text, shop, WILD)
    found = [each for one in linted(tmp_path, "\n---\n".join(texts), rules)[0] for each in one.findings]
    assert [(each.finding.rule[:19], each.finding.verdict) for each in found] == [("contour-delegation-", "fail")]


@pytest.mark.parametrize("name", ['"*"', "certs/wild", '""'])
def test_no_fix_creates_a_secret_whose_name_cannot_be(tmp_path: Path, name: str) -> None:
    text = f"{WHOLE}\n{delegation(name)}"
    fixes = [each.finding.fix or "" for one in linted(tmp_path, text, RULES)[0] for each in one.findings]
    assert fixes
    assert not [each for each in fixes if each.startswith("create Secret")]
