"""BackendTLSPolicies: for which Services, and by which CA and name they validate."""

from __future__ import annotations

from pathlib import Path

import pytest

from scanner.lint import RULES
from scanner.lint.gateway import backend_tls, ca_references
from tests.lint.examples import WHOLE, linted
from tests.lint.gateway.cases import core, listening, of, said, secret, verdicts

SYSTEM = "validation: {hostname: web.shop.example, wellKnownCACertificates: System}"
SERVICE = core("Service", "web", "spec: {ports: [{name: https, port: 443}, {name: http, port: 80}]}")
ROUTE = of("HTTPRoute", "web", "parentRefs: [{name: edge}], rules: [{backendRefs: [{name: web, port: 443}]}]")


def policy(
    targets: str = "{group: '', kind: Service, name: web}",
    rest: str = SYSTEM,
    *,
    name: str = "web",
    version: str = "v1",
    more: str = "",
) -> str:
    field = f"targetRef: {targets}" if version == "v1alpha2" else f"targetRefs: [{targets}]"
    return of("BackendTLSPolicy", name, f"{field}, {rest}", version=version, more=more)


TO_WEB = "{group: '', kind: Service, name: web"


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ((policy(), SERVICE, ROUTE), []),
        ((policy(version="v1alpha2"), SERVICE, ROUTE), []),
        ((policy(version="v1alpha3"), SERVICE, ROUTE), []),
        ((policy(""), SERVICE, ROUTE), ["names no target"]),
        ((policy(), ROUTE), ["TargetNotFound"]),
        ((policy(), SERVICE), ["no route leads"]),
        ((policy(TO_WEB + ", sectionName: https}"), SERVICE, ROUTE), []),
        ((policy(TO_WEB + ", sectionName: '443'}"), SERVICE, ROUTE), ["no port with the name"]),
        ((policy(f"{TO_WEB}}}, {TO_WEB}}}"), SERVICE, ROUTE), ["must be unique"]),
        ((policy(f"{TO_WEB}}}, {TO_WEB}, sectionName: https}}"), SERVICE, ROUTE), ["must be specified"]),
        ((policy(f"{TO_WEB}, sectionName: http}}, {TO_WEB}, sectionName: https}}"), SERVICE, ROUTE), []),
        ((policy(), policy(name="other"), SERVICE, ROUTE), ["BackendTLSPolicy/shop/other has the same target"]),
        ((policy(), policy(TO_WEB + ", sectionName: https}", name="other"), SERVICE, ROUTE), []),
        ((policy(more="status: {ancestors: []}"), SERVICE, ROUTE), ["names no Gateway"]),
        (
            (
                policy(
                    more="status: {ancestors: [{conditions: [{type: Accepted, status: 'False', reason: Invalid}]}]}"
                ),
                SERVICE,
                ROUTE,
            ),
            ["Accepted is False: 'Invalid'"],
        ),
    ],
)
def test_targets(texts: tuple[str, ...], expected: list[str]) -> None:
    found = said(backend_tls.TARGET, *texts, whole=True)
    assert len(found) == len(expected)
    assert all(word in message for word, (_, _, message) in zip(expected, found, strict=True))
    assert all(verdict == "fail" for verdict, _, _ in found)


def test_the_older_policy_comes_first() -> None:
    younger = policy(name="a").replace("name: a,", "name: a, creationTimestamp: '2026-01-02T00:00:00Z',")
    older = policy(name="b").replace("name: b,", "name: b, creationTimestamp: '2026-01-01T00:00:00Z',")
    ((_, _, message),) = said(backend_tls.TARGET, younger, older, policy(name="A"), SERVICE, ROUTE, whole=True)[:1]
    assert message.startswith("BackendTLSPolicy/shop/b has the same target")


FILTERS = [
    "filters: [{type: RequestMirror, requestMirror: {backendRef: {name: web, port: 443}}}]",
    "filters: [{type: ExternalAuth, externalAuth: {protocol: GRPC, backendRef: {name: web, port: 443}}}]",
    "backendRefs: [{name: other, port: 80, filters: [{requestMirror: {backendRef: {name: web, port: 443}}}]}]",
]


@pytest.mark.parametrize("rule", FILTERS)
@pytest.mark.parametrize("kind", ["HTTPRoute", "GRPCRoute"])
def test_a_filter_leads_to_a_service_too(kind: str, rule: str) -> None:
    route = of(kind, "web", f"parentRefs: [{{name: edge}}], rules: [{{{rule}}}]")
    assert said(backend_tls.TARGET, policy(), SERVICE, route, whole=True) == []
    elsewhere = route.replace("name: web, port", "name: web, namespace: elsewhere, port")
    assert len(said(backend_tls.TARGET, policy(), SERVICE, elsewhere, whole=True)) == 1


def status(accepted: str, reason: str = "Any") -> str:
    return f"status: {{ancestors: [{{conditions: [{{type: Accepted, status: '{accepted}', reason: {reason}}}]}}]}}"


def test_a_policy_without_a_route_is_informational_and_none_that_is_accepted(tmp_path: Path) -> None:
    """A mesh uses it, or an implementation's own policy."""
    ((finding,),) = (one.findings for one in linted(tmp_path, f"{WHOLE}\n{policy()}{SERVICE}", [backend_tls.TARGET])[0])
    assert finding.finding.severity == "info"
    assert said(backend_tls.TARGET, policy(more=status("True")), SERVICE, whole=True) == []
    assert len(said(backend_tls.TARGET, policy(more=status("False")), SERVICE, whole=True)) == 2


def test_a_policy_that_lost_a_conflict_names_the_winner() -> None:
    lost = policy(name="b", more=status("False", "Conflicted"))
    found = said(backend_tls.TARGET, lost, policy(name="a"), SERVICE, ROUTE, whole=True)
    assert [message for _, _, message in found] == [
        "BackendTLSPolicy/shop/a has the same target and takes precedence: Conflicted"
    ]
    first = policy(name="a", more=status("True"))
    found = said(backend_tls.TARGET, policy(name="A", more=status("True")), first, SERVICE, ROUTE, whole=True)
    assert [message for _, _, message in found] == [
        "BackendTLSPolicy/shop/A has the same target and takes precedence, but the status accepts both"
    ]
    refused = policy(name="A", more=status("False", "Invalid"))
    found = said(backend_tls.TARGET, first, refused, SERVICE, ROUTE, whole=True)
    assert [message for _, _, message in found] == ["Gateway '' does not apply it: Accepted is False: 'Invalid'"]


def test_what_was_not_seen_is_not_decided() -> None:
    assert verdicts(backend_tls.TARGET, policy()) == ["inconclusive"] * 2
    assert verdicts(backend_tls.PASSTHROUGH, policy()) == ["inconclusive"]
    assert verdicts(backend_tls.TARGET, policy("{group: example.com, kind: Thing, name: a}")) == ["inconclusive"]


PASSED = "name: a, port: 443, protocol: TLS, tls: {mode: Passthrough}"
ENDED = "name: b, port: 444, protocol: TLS, tls: {mode: Terminate, certificateRefs: [{name: a}]}"


@pytest.mark.parametrize(
    ("listeners", "section", "count"),
    [((PASSED,), "", 1), ((PASSED, ENDED), "", 0), ((PASSED, ENDED), ", sectionName: a", 1), ((ENDED,), "", 0)],
)
def test_passthrough(listeners: tuple[str, ...], section: str, count: int) -> None:
    rules = "hostnames: [web.shop.example], rules: [{backendRefs: [{name: web, port: 443}]}]"
    route = of("TLSRoute", "web", f"parentRefs: [{{name: edge{section}}}], {rules}")
    assert verdicts(backend_tls.PASSTHROUGH, policy(), route, listening(*listeners), whole=True) == ["fail"] * count


WITH_CA = "validation: {hostname: web.shop.svc, caCertificateRefs: [{group: '', kind: ConfigMap, name: ca}]}"


@pytest.mark.parametrize(
    ("validation", "others", "expected"),
    [
        (SYSTEM, (), []),
        (SYSTEM.replace("web.shop.example", "web.shop.svc"), (), ["fail"]),
        (SYSTEM.replace("web.shop.example", "web.shop.svc.cluster.local"), (), ["fail"]),
        (SYSTEM.replace("web.shop.example", "web"), (), ["fail"]),
        (WITH_CA, (core("ConfigMap", "ca", "data: {ca.crt: CA(ca)}"),), []),
        (WITH_CA, (core("ConfigMap", "ca", "data: {service-ca.crt: CA(ca)}"),), ["fail"]),
        (WITH_CA, (core("ConfigMap", "ca", "data: {ca.crt: PEM(a.example)}"),), ["fail"]),
        (WITH_CA, (core("ConfigMap", "ca", "data: {ca.crt: CA(ca)}", namespace="other"),), ["inconclusive"]),
        (WITH_CA.replace("ConfigMap", "Secret"), (), ["fail", "inconclusive"]),
        (WITH_CA.replace("ConfigMap", "Pod"), (), ["fail"]),
    ],
)
def test_authorities(validation: str, others: tuple[str, ...], expected: list[str]) -> None:
    assert verdicts(ca_references.CA, policy(rest=validation), *others) == expected


def test_the_first_version_has_other_names() -> None:
    block = "tls: {hostname: web.shop.svc, caCertRefs: [{group: '', kind: ConfigMap, name: ca}]}"
    old = policy(rest=block, version="v1alpha2")
    assert verdicts(ca_references.CA, old, core("ConfigMap", "ca", "data: {}")) == ["fail"]
    assert verdicts(backend_tls.VALIDATION, old) == []
    assert verdicts(backend_tls.VALIDATION, policy(rest=block)) == ["fail", "fail"]


@pytest.mark.parametrize(
    ("validation", "fields"),
    [
        ("hostname: a.example, wellKnownCACertificates: System", []),
        ("hostname: a.example", ["caCertificateRefs"]),
        ("hostname: a.example, caCertificateRefs: []", ["caCertificateRefs"]),
        (
            "hostname: a.example, wellKnownCACertificates: System, caCertificateRefs: [{name: a, namespace: b}]",
            ["wellKnownCACertificates", "caCertificateRefs[0].namespace"],
        ),
        ("wellKnownCACertificates: System", ["hostname"]),
        ("hostname: '*.example', wellKnownCACertificates: System", ["hostname"]),
        ("hostname: 192.0.2.1, wellKnownCACertificates: System", ["hostname"]),
    ],
)
def test_what_is_refused(validation: str, fields: list[str]) -> None:
    found = said(backend_tls.VALIDATION, policy(rest=f"validation: {{{validation}}}"))
    assert [field for _, field, _ in found] == [f"spec.validation.{each}" for each in fields]


@pytest.mark.parametrize(
    ("name", "refused", "unnamed"),
    [
        ("{type: Hostname, hostname: web.shop.example}", 0, 0),
        ("{type: Hostname, hostname: WEB.shop.example}", 0, 0),
        ("{type: Hostname, hostname: other.example}", 0, 1),
        ("{type: Hostname, hostname: '*.shop.example'}", 1, 1),
        ("{type: Hostname}", 1, 1),
        ("{type: URI, uri: 'spiffe://a/b'}", 0, 1),
        ("{type: URI, hostname: web.shop.example}", 1, 0),
        ("{type: Hostname, hostname: web.shop.example, uri: 'spiffe://a/b'}", 1, 0),
    ],
)
def test_alternative_names(name: str, refused: int, unnamed: int) -> None:
    text = policy(rest=f"{SYSTEM[:-1]}, subjectAltNames: [{name}]}}")
    assert len(said(backend_tls.VALIDATION, text)) == refused
    assert len(said(backend_tls.NAMES, text)) == unnamed


@pytest.mark.parametrize(
    ("known", "version", "expected"),
    [
        ("System", "v1", []),
        ("example.com/roots", "v1", ["inconclusive"]),
        ("system", "v1", ["fail"]),
        ("Other", "v1", ["fail"]),
        ("example.com/roots", "v1alpha2", ["inconclusive"]),
    ],
)
def test_authorities_that_have_a_name(known: str, version: str, expected: list[str]) -> None:
    block = f"hostname: web.shop.example, wellKnownCACer{'tificates' if version == 'v1' else 'ts'}: {known}"
    rest = f"validation: {{{block}}}" if version == "v1" else f"tls: {{{block}}}"
    assert verdicts(ca_references.CA, policy(rest=rest, version=version), whole=True) == expected


def test_a_policy_that_is_about_to_be_made_comes_last() -> None:
    """The cluster's policies are older, so they win whatever the name of the manifest's."""
    there = policy(name="b").replace("{name: b", "{creationTimestamp: '2026-01-01T00:00:00Z', name: b")
    found = said(backend_tls.TARGET, policy(name="a"), there, SERVICE, ROUTE, whole=True)
    assert [message for _, _, message in found] == [
        "BackendTLSPolicy/shop/b has the same target and takes precedence: Conflicted"
    ]


@pytest.mark.parametrize("group", ["''", "certificates.k8s.io"])
def test_a_trust_bundle_is_taken_by_some_implementations(group: str) -> None:
    reference = f"caCertificateRefs: [{{group: {group}, kind: ClusterTrustBundle, name: cas}}]"
    texts = policy(rest=f"validation: {{hostname: web.shop.svc, {reference}}}"), SERVICE, ROUTE
    ((verdict, _, message),) = said(ca_references.CA, *texts, whole=True)
    assert verdict == "inconclusive"
    assert "whether this implementation accepts the ClusterTrustBundle 'cas'" in message


POLICED = (
    listening("name: a, port: 443, protocol: HTTPS, hostname: a.example, tls: {certificateRefs: [{name: w}]}")
    + "  gatewayClassName: example\n"
    + secret("w", "a.example")
    + core("Service", "web", "spec: {ports: [{name: https, port: 443}]}")
    + core("ConfigMap", "ca", "data: {ca.crt: CA(backends)}")
    + of("HTTPRoute", "web", "parentRefs: [{name: edge}], rules: [{backendRefs: [{name: web, port: 443}]}]")
    + """---
apiVersion: gateway.networking.k8s.io/v1
kind: BackendTLSPolicy
metadata: {name: web, namespace: shop}
spec:
  targetRefs: [{group: "", kind: Service, name: web, sectionName: https}]
  validation: {hostname: web.shop.svc, caCertificateRefs: [{group: "", kind: ConfigMap, name: ca}]}
"""
)
SLIPS = {
    "a port that the Service does not have": (POLICED.replace("sectionName: https", "sectionName: htps"), "medium"),
    "two kinds of CAs": (POLICED.replace("validation: {", "validation: {wellKnownCACertificates: System, "), "high"),
    "a name of another type": (
        POLICED.replace("validation: {", "validation: {subjectAltNames: [{type: URI, hostname: web.shop.svc}], "),
        "high",
    ),
}


@pytest.mark.parametrize(("text", "severity"), SLIPS.values(), ids=SLIPS)
@pytest.mark.parametrize("before", ["", f"{WHOLE}\n"])
def test_one_slip_in_a_policy_is_one_finding(tmp_path: Path, text: str, severity: str, before: str) -> None:
    assert counted(tmp_path, before + POLICED) == []
    assert counted(tmp_path, before + text) == [("fail", severity)]


def counted(directory: Path, text: str) -> list[tuple[str, str]]:
    """Verdict and severity of what changes the exit code."""
    found = (each.finding for one in linted(directory, text, RULES)[0] for each in one.findings)
    return [(each.verdict, each.severity) for each in found if each.severity != "info"]
