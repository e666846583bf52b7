"""Validation of clients: by which CAs, and on which ports."""

from __future__ import annotations

from pathlib import Path

import pytest

from scanner.lint.gateway import ca_references, frontend_tls, reference_grants
from scanner.model.object_rule import ObjectRule
from tests.lint.examples import linted
from tests.lint.gateway.cases import core, listening, of, said, verdicts

HTTPS = "name: a, port: 443, protocol: HTTPS"
VALIDATED = "validation: {caCertificateRefs: [{group: '', kind: ConfigMap, name: clients}]}"


def gateway(frontend: str, *listeners: str, more: str = "") -> str:
    """A Gateway with this ``spec.tls.frontend``."""
    return listening(*(listeners or (HTTPS,)), more=f"  tls: {{frontend: {{{frontend}}}}}\n{more}")


def with_ca(*references: str) -> str:
    return gateway(f"default: {{validation: {{caCertificateRefs: [{', '.join(references)}]}}}}")


CLIENTS = "{group: '', kind: ConfigMap, name: clients}"


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ((gateway("default: {}"),), []),
        ((gateway("default: {validation: {}}"),), ["fail"]),
        ((with_ca(CLIENTS), core("ConfigMap", "clients", "data: {ca.crt: CA(clients)}")), []),
        ((with_ca(CLIENTS), core("ConfigMap", "clients", "data: {ca.crt: none}")), ["fail"]),
        ((with_ca(CLIENTS), core("ConfigMap", "clients", "data: {ca.crt: PEM(a.example)}")), ["fail"]),
        ((with_ca(CLIENTS), core("ConfigMap", "clients", "data: {tls.crt: CA(clients)}")), ["fail"]),
        ((with_ca(CLIENTS),), ["inconclusive"]),
        ((with_ca(CLIENTS.replace("ConfigMap", "Service")),), ["fail"]),
        ((with_ca(CLIENTS.replace("''", "example.com")),), ["fail"]),
        ((with_ca(CLIENTS.replace("ConfigMap", "Secret")),), ["fail", "inconclusive"]),
        ((with_ca(CLIENTS, CLIENTS), core("ConfigMap", "clients", "data: {ca.crt: CA(clients)}")), ["fail"]),
    ],
)
def test_client_cas(texts: tuple[str, ...], expected: list[str]) -> None:
    assert verdicts(ca_references.CLIENT_CA, *texts) == expected


def test_a_secret_that_does_not_exist() -> None:
    text = with_ca(CLIENTS.replace("ConfigMap", "Secret"))
    assert [each[2] for each in said(ca_references.CLIENT_CA, text, whole=True)][1:] == [
        "Secret/shop/clients does not exist: InvalidCACertificateRef"
    ]


@pytest.mark.parametrize(
    "more",
    [
        f"default: {{{VALIDATED.replace('name: clients', 'name: clients, namespace: ca')}}}",
        f"perPort: [{{port: 443, tls: {{{VALIDATED.replace('name: clients', 'name: clients, namespace: ca')}}}}}]",
    ],
)
def test_cas_of_other_namespaces_are_granted(more: str) -> None:
    from_ = "from: [{group: gateway.networking.k8s.io, kind: Gateway, namespace: shop}]"
    grant = of("ReferenceGrant", "g", from_ + ", to: [{group: '', kind: ConfigMap}]", namespace="ca")
    assert verdicts(reference_grants.NOT_GRANTED, gateway(more), whole=True) == ["fail"]
    assert verdicts(reference_grants.NOT_GRANTED, gateway(more), grant, whole=True) == []


TERMINATING = "name: db, port: 5432, protocol: TLS, tls: {mode: Terminate, certificateRefs: [{name: a}]}"
EXEMPTED, UNUSED, TLS_LISTENER = frontend_tls.EXEMPTED, frontend_tls.UNUSED, frontend_tls.TLS_LISTENER


@pytest.mark.parametrize(
    ("rule", "frontend", "expected"),
    [
        (EXEMPTED, f"default: {{{VALIDATED}}}, perPort: [{{port: 443, tls: {{}}}}]", ["fail"]),
        (EXEMPTED, f"default: {{{VALIDATED}}}, perPort: [{{port: 443}}]", ["fail"]),
        (EXEMPTED, f"default: {{{VALIDATED}}}, perPort: [{{port: 443, tls: {{{VALIDATED}}}}}]", []),
        (EXEMPTED, "default: {}, perPort: [{port: 443, tls: {}}]", []),
        (UNUSED, "default: {}, perPort: [{port: 443, tls: {}}]", []),
        (UNUSED, "default: {}, perPort: [{port: 443, tls: {}}, {port: 443, tls: {}}]", ["fail"]),
        (UNUSED, "default: {}, perPort: [{port: 5432, tls: {}}]", ["fail"]),
        (TLS_LISTENER, "default: {}", []),
        (TLS_LISTENER, f"default: {{{VALIDATED}}}", ["fail"]),
        (TLS_LISTENER, f"default: {{{VALIDATED}}}, perPort: [{{port: 5432, tls: {{}}}}]", []),
        (TLS_LISTENER, f"default: {{}}, perPort: [{{port: 5432, tls: {{{VALIDATED}}}}}]", ["fail"]),
        (TLS_LISTENER, f"default: {{}}, perPort: [{{port: 443, tls: {{{VALIDATED}}}}}]", []),
    ],
)
def test_ports(rule: ObjectRule, frontend: str, expected: list[str]) -> None:
    assert verdicts(rule, gateway(frontend, HTTPS, TERMINATING)) == expected


OPEN = "  allowedListeners: {namespaces: {from: Same}}"


def test_a_port_of_a_listener_set() -> None:
    text = gateway("default: {}, perPort: [{port: 8443, tls: {}}]", more=OPEN)
    listener = "listeners: [{name: b, port: 8443, protocol: HTTPS}]"
    assert verdicts(UNUSED, text) == ["inconclusive"]
    assert verdicts(UNUSED, text, whole=True) == ["fail"]
    assert verdicts(UNUSED, text, of("ListenerSet", "more", f"parentRef: {{name: edge}}, {listener}")) == []


@pytest.mark.parametrize(
    ("status", "count"),
    [
        ("{type: InsecureFrontendValidationMode, status: 'True'}", 1),
        ("{type: InsecureFrontendValidationMode, status: 'True', observedGeneration: 2}", 1),
        ("{type: InsecureFrontendValidationMode, status: 'True', observedGeneration: 1}", 0),
        ("{type: InsecureFrontendValidationMode, status: 'False'}", 0),
        ("{type: Accepted, status: 'True'}", 0),
    ],
)
def test_a_fallback_that_only_the_status_says(tmp_path: Path, status: str, count: int) -> None:
    text = gateway("default: {validation: {}}").replace("namespace: shop}", "namespace: shop, generation: 2}")
    text += f"status: {{conditions: [{status}]}}"
    ((*findings,),) = (one.findings for one in linted(tmp_path, text, [frontend_tls.INSECURE_FALLBACK])[0])
    assert [each.finding.severity for each in findings] == ["high"] * count


@pytest.mark.parametrize(
    ("status", "count"),
    [
        ("", 1),
        ("status: {conditions: [{type: Accepted, status: 'True'}]}", 2),
        ("status: {conditions: [{type: InsecureFrontendValidationMode, status: 'True'}]}", 1),
    ],
)
def test_a_fallback_that_the_status_does_not_say(status: str, count: int) -> None:
    text = gateway("default: {validation: {mode: AllowInsecureFallback}}") + status
    assert len(said(frontend_tls.INSECURE_FALLBACK, text)) == count


@pytest.mark.parametrize(
    ("frontend", "allowed", "expected"),
    [
        (f"default: {{{VALIDATED}}}", "from: All", ["inconclusive"]),
        (f"default: {{{VALIDATED}}}", "from: Same", ["inconclusive"]),
        (f"default: {{{VALIDATED}}}", "from: None", []),
        (f"default: {{}}, perPort: [{{port: 8443, tls: {{{VALIDATED}}}}}]", "from: All", ["inconclusive"]),
        ("default: {}", "from: All", []),
    ],
)
def test_listener_sets_that_were_not_seen_may_end_tls(frontend: str, allowed: str, expected: list[str]) -> None:
    more = f"  allowedListeners: {{namespaces: {{{allowed}}}}}\n  tls: {{frontend: {{{frontend}}}}}\n"
    text = listening("name: a, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: a}]}", more=more)
    assert verdicts(TLS_LISTENER, text) == expected
    assert verdicts(TLS_LISTENER, text, whole=True) == []
    there = of("ListenerSet", "team", f"parentRef: {{name: edge}}, listeners: [{{{TERMINATING}}}]")
    found = verdicts(TLS_LISTENER, text, there, whole=True)
    assert found == (["fail"] if expected and "8443" not in frontend and allowed != "from: None" else [])


def test_a_trust_bundle_is_taken_by_some_implementations() -> None:
    reference = "caCertificateRefs: [{group: '', kind: ClusterTrustBundle, name: cas}]"
    frontend = f"frontend: {{default: {{validation: {{{reference}}}}}}}"
    gateway = of("Gateway", "edge", f"gatewayClassName: example, listeners: [], tls: {{{frontend}}}")
    ((verdict, _, message),) = said(ca_references.CLIENT_CA, gateway, whole=True)
    assert (verdict, "ClusterTrustBundle 'cas'" in message) == ("inconclusive", True)
