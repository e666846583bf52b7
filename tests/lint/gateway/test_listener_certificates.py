"""The certificates of listeners: whether they have the names of the routes, and are good enough."""

from __future__ import annotations

from pathlib import Path

import pytest

from scanner.kube.snapshot import Snapshot
from scanner.lint.gateway import listener_certificates
from scanner.linting import declared
from scanner.values import replace
from tests.lint.examples import empty, linted, manifests
from tests.lint.gateway.cases import listening, of, said, secret, verdicts

pytestmark = pytest.mark.crypto

NAME, FAULT = listener_certificates.NAME, listener_certificates.FAULT


def gateway(hostname: str = "", *secrets: str) -> str:
    """An HTTPS listener with these Secrets."""
    refs = ", ".join(f"{{name: {each}}}" for each in secrets or ("a",))
    host = f'hostname: "{hostname}", ' if hostname else ""
    return listening(f"name: a, port: 443, protocol: HTTPS, {host}tls: {{certificateRefs: [{refs}]}}")


def route(*hostnames: str, parent: str = "name: edge", namespace: str = "shop") -> str:
    names = ", ".join(f'"{each}"' for each in hostnames)
    return of("HTTPRoute", "web", f"parentRefs: [{{{parent}}}], hostnames: [{names}]", namespace=namespace)


@pytest.mark.parametrize(
    ("hostname", "routes", "certificate", "bare"),
    [
        ("", (), "a.example", None),
        ("a.example", (), "a.example", None),
        ("a.example", (), "b.example", "a.example"),
        ("*.example", (), "*.example", None),
        ("*.example", (), "a.example", "*.example"),
        ("*.example", (route("a.example"),), "a.example", None),
        ("*.example", (route("a.b.example"),), "*.example", "a.b.example"),
        ("*.example", (route("*.b.example"),), "*.b.example", None),
        ("*.example", (route("other.test"),), "a.example", "*.example"),
        ("", (route("a.example"),), "b.example", "a.example"),
        ("", (route("b.example", parent="name: edge, sectionName: other"),), "a.example", None),
        ("", (route("b.example", namespace="other", parent="name: edge, namespace: shop"),), "a.example", None),
    ],
)
def test_names(hostname: str, routes: tuple[str, ...], certificate: str, bare: str | None) -> None:
    found = said(NAME, gateway(hostname), secret("a", certificate), *routes, whole=True)
    message = f"the certificate in Secret/shop/a is not valid for {bare}"
    assert [each[2] for each in found] == ([message] if bare else [])


def test_one_of_several_certificates_is_enough() -> None:
    both = gateway("", "a", "b"), secret("a", "a.example"), secret("b", "b.example")
    assert said(NAME, *both, route("a.example", "b.example")) == []
    assert verdicts(NAME, *both, route("a.example", "c.example")) == ["fail"]


def test_a_secret_that_was_not_seen_decides_nothing() -> None:
    assert verdicts(NAME, gateway("a.example", "a", "b"), secret("a", "b.example")) == ["inconclusive"]
    assert verdicts(FAULT, gateway("a.example")) == ["inconclusive"]


def test_a_certificate_that_has_ended_is_said_once() -> None:
    listener = "name: NAME, port: 443, protocol: HTTPS, hostname: NAME.example, tls: {certificateRefs: [{name: a}]}"
    text = listening(listener.replace("NAME", "a"), listener.replace("NAME", "b"))
    ((verdict, field, message),) = said(FAULT, text, secret("a", "a.example, b.example", token="EXPIRED"))
    assert (verdict, field) == ("fail", "spec.listeners[0].tls.certificateRefs[0]")
    assert "expired on" in message


def known(directory: Path, *texts: str) -> Snapshot:
    """A cluster that has this and nothing else."""
    given = manifests(directory, "\n".join(texts))
    return declared(given, empty()).known


@pytest.mark.parametrize(
    ("hostname", "certificate", "names", "expected"),
    [
        ("*.example", "*.example", ("a.example",), []),
        ("*.example", "*.example", ("a.b.example",), [("fail", "spec.parentRefs[0]")]),
        ("*.example", "*.example", ("a.b.example", "b.example"), [("fail", "spec.parentRefs[0]")]),
        ("a.example", "b.example", (), [("fail", "spec.parentRefs[0]")]),
        ("a.example", "a.example", (), []),
        ("", "a.example", (), []),
    ],
)
def test_a_route_whose_gateway_is_in_the_cluster(
    tmp_path: Path, hostname: str, certificate: str, names: tuple[str, ...], expected: list[tuple[str, str]]
) -> None:
    cluster = known(tmp_path, gateway(hostname), secret("a", certificate))
    found, _ = linted(tmp_path, route(*names), [NAME], cluster)
    assert [(each.finding.verdict, each.field) for one in found for each in one.findings] == expected


def test_a_route_is_judged_where_its_gateway_is(tmp_path: Path) -> None:
    """Once, then, and at the Gateway."""
    texts = gateway("*.example"), secret("a", "*.example"), route("a.b.example")
    ((verdict, field, _),) = said(NAME, *texts)
    assert (verdict, field) == ("fail", "spec.listeners[0].tls.certificateRefs[0]")


def test_a_route_of_which_the_gateway_or_its_secret_was_not_seen(tmp_path: Path) -> None:
    assert verdicts(NAME, route("a.example")) == ["inconclusive"]
    unread = replace(known(tmp_path, gateway("*.example")), unreadable=dict(declared(None, None).known.unreadable))
    found, _ = linted(tmp_path, route("a.example"), [NAME], unread)
    assert [each.finding.verdict for one in found for each in one.findings] == ["inconclusive"]
