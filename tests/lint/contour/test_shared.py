"""Delegations: unused, to all namespaces, without a certificate; and the users who may create them."""

from __future__ import annotations

from pathlib import Path

import pytest

from scanner.lint.contour.delegations import BROAD, CREATORS, SECRET_OF_DELEGATION, TARGET
from scanner.lint.contour.removed_apis import FORMER_API
from scanner.lint.contour.root_proxies import ROOT
from scanner.model.object_rule import ObjectRule
from tests.lint.contour.proxies import (
    ANNOTATED,
    CONFIGURED,
    CRL,
    FALLBACK,
    PAIR,
    PROXY,
    REFERENCE,
    ROUTE,
    delegation,
    found,
    secret,
)
from tests.lint.examples import WHOLE

SINGLE = secret("CERTIFICATE(web.example.com)", "KEY(web.example.com)")
ALL = '["*"]'
NAMESPACES = "\n---\n".join(
    f"apiVersion: v1\nkind: Namespace\nmetadata: {{name: {name}}}\n" for name in ("shop", "blog")
)
USED = [PAIR, NAMESPACES]
TOP = (PROXY % "{}").replace("web,", "top,")
MEDIUM, LOW = ("fail", "medium"), ("fail", "low")
INCLUDES = "spec: {", "spec: {includes: [{name: web}], "
PLAIN = ", tls: {}", ""


def roots_in(namespaces: str) -> str:
    return CONFIGURED.replace("httpproxy: {", f"httpproxy: {{rootNamespaces: {namespaces}, ")


CASES: dict[str, tuple[ObjectRule, list[str], list[tuple[str, str]]]] = {
    "a pair": (SECRET_OF_DELEGATION, [delegation(), PAIR], []),
    "Opaque is taken": (SECRET_OF_DELEGATION, [delegation(), PAIR.replace("kubernetes.io/tls", "Opaque")], []),
    "another type": (SECRET_OF_DELEGATION, [delegation(), PAIR.replace("kubernetes.io/tls", "any")], [MEDIUM]),
    "a CA": (SECRET_OF_DELEGATION, [delegation(), secret(ca="CA(clients)", type_="Opaque")], []),
    "a revocation list": (SECRET_OF_DELEGATION, [delegation(), secret(crl=f'"{CRL}"', type_="Opaque")], []),
    "nothing": (SECRET_OF_DELEGATION, [delegation(), secret(type_="Opaque")], [MEDIUM]),
    "no Secret given": (SECRET_OF_DELEGATION, [delegation()], [("inconclusive", "medium")]),
    "no Secret": (SECRET_OF_DELEGATION, [WHOLE + "\n" + delegation()], [MEDIUM]),
    "a wildcard for all": (BROAD, [delegation(targets=ALL), PAIR], []),
    "one host for all": (BROAD, [delegation(targets=ALL), SINGLE], [MEDIUM]),
    "one host for one": (BROAD, [delegation(), SINGLE], []),
    "a CA for all": (BROAD, [delegation(targets=ALL), secret(ca="CA(clients)")], []),
    "unknown for all": (BROAD, [delegation(targets=ALL)], [("inconclusive", "medium")]),
    "used by a proxy": (TARGET, [WHOLE + REFERENCE, delegation(), *USED], []),
    "used by an Ingress": (TARGET, [WHOLE + ANNOTATED, delegation(), *USED], []),
    "used by an IngressRoute": (TARGET, [WHOLE + ROUTE, delegation(), *USED], []),
    "used as fallback": (TARGET, [WHOLE + FALLBACK, CONFIGURED, delegation(), *USED], []),
    "used from one of all": (TARGET, [WHOLE + REFERENCE, delegation(targets=ALL)], []),
    "used at home only": (
        TARGET,
        [WHOLE + REFERENCE.replace("namespace: shop", "namespace: certs"), delegation(targets=ALL), *USED],
        [LOW],
    ),
    "one of two is used": (TARGET, [WHOLE + REFERENCE, delegation(targets="[shop, blog]"), *USED], [LOW]),
    "used, and nothing more is known": (TARGET, [REFERENCE, delegation(), NAMESPACES], []),
    "unused, but not all is known": (TARGET, [delegation(), NAMESPACES], [("inconclusive", "info")]),
    "a star beside others is no namespace": (
        TARGET,
        [WHOLE + REFERENCE, delegation(targets='[shop, "*"]'), *USED],
        [MEDIUM],
    ),
    "namespaces that are not known": (TARGET, [delegation()], [("inconclusive", "info")] * 2),
    "a namespace of other manifests": (TARGET, [REFERENCE, delegation()], []),
    "namespaces that do not exist": (TARGET, [WHOLE, delegation(targets="[shop, blog]")], [LOW] * 2),
    "a Secret that does not exist": (TARGET, [WHOLE, delegation(targets="[shop, blog]"), NAMESPACES], []),
    "all namespaces": (TARGET, [WHOLE, delegation(targets=ALL)], []),
    "a former delegation": (FORMER_API, [delegation(group="contour.heptio.com/v1beta1")], [MEDIUM]),
    "the design document's": (FORMER_API, [delegation(group="contour.vmware.com/v1")], [MEDIUM]),
    "a former route with TLS": (FORMER_API, [ROUTE], [("fail", "high")]),
    "a former route without": (FORMER_API, [ROUTE.replace("tls:", "other:")], [MEDIUM]),
    "the present one": (FORMER_API, [REFERENCE, delegation()], []),
    "a root": (ROOT, [REFERENCE], []),
    "tls in the wrong place": (ROOT, [REFERENCE.replace("spec: {", "spec: {tls: {}, ")], [MEDIUM]),
    "no fqdn": (ROOT, [REFERENCE.replace("fqdn: web.example.com, ", "")], [MEDIUM]),
    "a root without TLS that includes one with": (ROOT, [REFERENCE, TOP.replace(*INCLUDES).replace(*PLAIN)], [MEDIUM]),
    "a root that includes another, both without TLS": (
        ROOT,
        [(PROXY % "{}").replace(*PLAIN), TOP.replace(*INCLUDES).replace(*PLAIN)],
        [],
    ),
    "an object that is no root includes one": (
        ROOT,
        [REFERENCE, TOP.replace("virtualhost: {fqdn: web.example.com, tls: {}}", "includes: [{name: web}]")],
        [],
    ),
    "a root that includes what nobody knows": (
        ROOT,
        [REFERENCE.replace("spec: {", "spec: {includes: [{name: a}], ")],
        [],
    ),
    "included by a TCP proxy": (
        ROOT,
        [REFERENCE, TOP.replace("spec: {", "spec: {tcpproxy: {include: {name: web}}, ")],
        [MEDIUM],
    ),
    "delegated to by an IngressRoute": (
        ROOT,
        [ROUTE, ROUTE.replace("web,", "top,").replace("spec: {", "spec: {routes: [{delegate: {name: web}}], ")],
        [MEDIUM],
    ),
    "another namespace's of that name is included": (
        ROOT,
        [REFERENCE, (PROXY % "{}").replace("shop", "blog").replace(*INCLUDES)],
        [],
    ),
    "no namespace for roots": (ROOT, [REFERENCE, roots_in("[edge]")], [MEDIUM]),
    "a namespace for roots": (ROOT, [REFERENCE, roots_in("[edge, shop]")], []),
}


@pytest.mark.parametrize(("rule", "texts", "expected"), CASES.values(), ids=CASES)
def test_findings(tmp_path: Path, rule: ObjectRule, texts: list[str], expected: list[tuple[str, str]]) -> None:
    assert found(tmp_path, rule, *texts) == expected


BINDING = """
apiVersion: rbac.authorization.k8s.io/v1
kind: {kind}Binding
metadata: {{name: {name}{home}}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: {kind}, name: {name}}}
subjects: [{who}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {kind}
metadata: {{name: {name}{home}}}
rules: [{rule}]
"""
DELEGATE = "{apiGroups: [projectcontour.io], resources: [tlscertificatedelegations], verbs: [%s]}"
READ = '{apiGroups: [""], resources: [secrets], verbs: [get]}'
ANN, TEAM, ROBOT = "{kind: User, name: ann}", "{kind: Group, name: team}", "{kind: ServiceAccount, name: robot}"


def bound(name: str, rule: str, who: str = ANN, *, kind: str = "Role") -> str:
    return BINDING.format(name=name, rule=rule, who=who, kind=kind, home=", namespace: certs" if kind == "Role" else "")


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ([bound("a", DELEGATE % "create")], ["fail"]),
        ([bound("a", DELEGATE % "patch")], ["fail"]),
        ([bound("a", DELEGATE % "get")], []),
        ([bound("a", DELEGATE % "create", f"{ANN}, {TEAM}, {ROBOT}")], ["fail"] * 3),
        ([bound("a", DELEGATE % "create"), bound("b", READ)], []),
        ([bound("a", DELEGATE % "create", TEAM), bound("b", READ)], ["fail"]),
        ([bound("a", DELEGATE % "create"), bound("b", READ, kind="ClusterRole")], []),
        ([bound("a", DELEGATE % "create", kind="ClusterRole"), bound("b", READ)], ["fail"]),
        ([bound("a", '{apiGroups: ["*"], resources: ["*"], verbs: ["*"]}')], []),
    ],
)
def test_who_may_delegate_what_they_may_not_read(tmp_path: Path, texts: list[str], expected: list[str]) -> None:
    assert [verdict for verdict, _ in found(tmp_path, CREATORS, WHOLE, *texts)] == expected


def test_without_all_bindings_it_is_not_told(tmp_path: Path) -> None:
    assert found(tmp_path, CREATORS, bound("a", DELEGATE % "create")) == [("inconclusive", "medium")]
