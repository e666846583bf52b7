"""Two routes of one Gateway and one name: the one in plaintext has no business but to redirect."""

from __future__ import annotations

from pathlib import Path

import pytest

from scanner.lint.gateway.plaintext_twin import TWIN
from tests.lint.examples import linted
from tests.lint.gateway.cases import listening, of, said

EDGE = listening("name: http, port: 80, protocol: HTTP", "name: https, port: 443, protocol: HTTPS")
ELSEWHERE = listening("name: https, port: 443, protocol: HTTPS").replace("edge", "inner")
SERVES = "rules: [{backendRefs: [{name: web, port: 80}]}]"
REDIRECTS = "rules: [{filters: [{type: RequestRedirect, requestRedirect: {scheme: https}}]}]"
CHALLENGE = "{path: {type: Exact, value: /.well-known/acme-challenge/abc}}"
ANSWERS = f"rules: [{{matches: [{CHALLENGE}], backendRefs: [{{name: solver, port: 80}}]}}]"


def route(name: str, section: str, rules: str, host: str = "a.example", parent: str = "edge") -> str:
    hosts = f"hostnames: ['{host}']," if host else ""
    return of("HTTPRoute", name, f"parentRefs: [{{name: {parent}, sectionName: {section}}}], {hosts} {rules}")


@pytest.mark.parametrize(
    ("plain", "encrypted", "count"),
    [
        (route("plain", "http", SERVES), route("web", "https", SERVES), 1),
        (route("plain", "http", SERVES, "A.example"), route("web", "https", SERVES), 1),
        (route("plain", "http", REDIRECTS), route("web", "https", SERVES), 0),
        (route("plain", "http", ANSWERS), route("web", "https", SERVES), 0),
        (route("plain", "http", ANSWERS.replace(CHALLENGE, f"{CHALLENGE}, {{}}")), route("web", "https", SERVES), 1),
        (route("plain", "http", SERVES, "b.example"), route("web", "https", SERVES), 0),
        (route("plain", "http", SERVES, "*.example"), route("web", "https", SERVES), 0),
        (route("plain", "http", SERVES, ""), route("web", "https", SERVES), 0),
        (route("plain", "http", SERVES), route("web", "https", SERVES, parent="inner"), 0),
        (route("plain", "http", SERVES), route("web", "http", SERVES), 0),
    ],
)
def test_twins(plain: str, encrypted: str, count: int) -> None:
    found = said(TWIN, EDGE, ELSEWHERE, plain, encrypted)
    message = "serves 'a.example' in plaintext, which HTTPRoute/shop/web serves over HTTPS"
    assert [each for each in found if "HTTPS listener" not in each[2]] == [
        ("fail", "spec.parentRefs[0]", message)
    ] * count


@pytest.mark.parametrize(
    ("rules", "section", "severities"),
    [(SERVES, "http", ["low"]), (SERVES, "https", []), (REDIRECTS, "http", []), (ANSWERS, "http", [])],
)
def test_a_route_without_tls_is_low(tmp_path: Path, rules: str, section: str, severities: list[str]) -> None:
    found = linted(tmp_path, EDGE + route("web", section, rules), [TWIN])[0]
    assert [each.finding.severity for one in found for each in one.findings] == severities


def test_a_listener_set_belongs_to_its_gateway() -> None:
    listeners = "listeners: [{name: https, port: 443, protocol: HTTPS}]"
    closed = listening("name: http, port: 80, protocol: HTTP", more="  allowedListeners: {namespaces: {from: Same}}")
    more = of("ListenerSet", "more", f"parentRef: {{name: edge}}, {listeners}")
    encrypted = of(
        "HTTPRoute", "web", f"parentRefs: [{{kind: ListenerSet, name: more}}], hostnames: [a.example], {SERVES}"
    )
    assert len(said(TWIN, closed, more, route("plain", "http", SERVES), encrypted)) == 1
