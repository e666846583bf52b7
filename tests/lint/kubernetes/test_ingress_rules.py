"""Classes of Ingresses, and hosts for which there are several certificates; one line a case."""

from __future__ import annotations

from pathlib import Path

import pytest

from scanner.lint.kubernetes.ingress_rules import CLASS, HOSTS, ONE_CERTIFICATE
from scanner.model.object_rule import ObjectRule
from tests.lint.examples import WHOLE, findings_of, linted
from tests.lint.kubernetes.declared_objects import HIGH, INFO, MEDIUM

CLASSES = "apiVersion: networking.k8s.io/v1\nkind: IngressClass\nmetadata: {name: public}\nspec: {controller: a.b/c}\n"
SAME, OTHER = "{hosts: [a.example], secretName: a}", "{hosts: [A.example], secretName: b}"
OWN = "{hosts: [a.example]}"


def ingress(tls: str, name: str = "web", namespace: str = "shop", cls: str = "", annotations: str = "") -> str:
    metadata = f"{{name: {name}, namespace: {namespace}, annotations: {{{annotations}}}}}"
    named = f"ingressClassName: {cls}, " if cls else ""
    return f"apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {metadata}\nspec: {{{named}tls: [{tls}]}}\n"


def secret(name: str, names: str) -> str:
    return (
        f"apiVersion: v1\nkind: Secret\nmetadata: {{name: {name}, namespace: shop}}\ntype: kubernetes.io/tls\n"
        f"data: {{tls.crt: CERTIFICATE({names}), tls.key: KEY({names})}}\n"
    )


def default_backend(tls: str) -> str:
    return ingress(tls).replace("tls:", "defaultBackend: {service: {name: a}}, tls:")


INTERNAL = "kubernetes.io/ingress.class: internal"
CASES: dict[str, tuple[ObjectRule, list[str], list[tuple[str, str]]]] = {
    "one class": (CLASS, [ingress(SAME, cls="public"), CLASSES], []),
    "no class": (CLASS, [WHOLE, ingress(SAME)], []),
    "twice the same": (
        CLASS,
        [ingress(SAME, cls="public", annotations="kubernetes.io/ingress.class: public"), CLASSES],
        [],
    ),
    "two classes": (CLASS, [ingress(SAME, cls="public", annotations=INTERNAL), CLASSES], [HIGH]),
    "by annotation": (CLASS, [WHOLE, ingress(SAME, annotations=INTERNAL)], []),
    "a class that does not exist": (CLASS, [WHOLE, ingress(SAME, cls="internal"), CLASSES], [MEDIUM]),
    "a class that was not given": (CLASS, [ingress(SAME, cls="internal"), CLASSES], [INFO]),
    "in one Ingress": (ONE_CERTIFICATE, [ingress(f"{SAME}, {OTHER}")], [MEDIUM, MEDIUM]),
    "twice the same entry": (ONE_CERTIFICATE, [ingress(f"{SAME}, {SAME}")], []),
    "in two Ingresses": (ONE_CERTIFICATE, [ingress(SAME), ingress(OTHER, "api")], [MEDIUM, MEDIUM]),
    "of two namespaces": (ONE_CERTIFICATE, [ingress(SAME), ingress(SAME, "api", "blog")], [MEDIUM, MEDIUM]),
    "of two classes": (ONE_CERTIFICATE, [ingress(SAME, cls="a"), ingress(OTHER, "api", cls="b")], []),
    "of a class and none": (ONE_CERTIFICATE, [ingress(SAME, cls="a"), ingress(OTHER, "api")], [MEDIUM, MEDIUM]),
    "by a class of an annotation": (
        ONE_CERTIFICATE,
        [ingress(SAME, cls="a"), ingress(OTHER, "api", annotations=INTERNAL)],
        [],
    ),
    "the default certificate too": (ONE_CERTIFICATE, [ingress(SAME), ingress(OWN, "api")], [MEDIUM, MEDIUM]),
    "the default certificate alone": (ONE_CERTIFICATE, [ingress(OWN), ingress(OWN, "api", "blog")], []),
    "equal certificates": (
        ONE_CERTIFICATE,
        [ingress(SAME), ingress(OTHER, "api"), secret("a", "a.example"), secret("b", "a.example")],
        [],
    ),
    "different certificates": (
        ONE_CERTIFICATE,
        [ingress(SAME), ingress(OTHER, "api"), secret("a", "a.example"), secret("b", "a.example, b.example")],
        [MEDIUM, MEDIUM],
    ),
    "the same by Contour's annotation": (
        ONE_CERTIFICATE,
        [ingress(SAME), ingress(SAME, "api", "blog", annotations="projectcontour.io/tls-cert-namespace: shop")],
        [],
    ),
    "a wildcard": (ONE_CERTIFICATE, [ingress(SAME), ingress('{hosts: ["*.example"], secretName: b}', "api")], []),
    "a default backend": (HOSTS, [default_backend("")], [("fail", "low")]),
    "a default backend with TLS": (HOSTS, [default_backend(SAME)], []),
}


@pytest.mark.parametrize(("rule", "texts", "expected"), CASES.values(), ids=CASES)
def test_findings(tmp_path: Path, rule: ObjectRule, texts: list[str], expected: list[tuple[str, str]]) -> None:
    assert [(each.verdict, each.severity) for each in findings_of(rule, tmp_path, *texts)] == expected


def test_both_are_named(tmp_path: Path) -> None:
    found, _ = linted(tmp_path, "\n---\n".join([ingress(SAME), ingress(OWN, "api")]), [ONE_CERTIFICATE])
    messages = [each.finding.message.partition("chooses: ")[2] for one in found for each in one.findings]
    assert messages == [
        "here it is Secret/shop/a, Ingress/shop/api has the default certificate",
        "here it is the default certificate, Ingress/shop/web has Secret/shop/a",
    ]
