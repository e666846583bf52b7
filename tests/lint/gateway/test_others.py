"""Client certificates of Gateways, options, ListenerSets, statuses and XBackends."""

from __future__ import annotations

import pytest

from scanner.lint.gateway import backend_protocol, backend_tls, gateway_status, listener_sets, listener_tls
from tests.lint.gateway.cases import GATEWAY, core, listening, of, said, secret, verdicts

CLIENT = listening(
    "name: a, port: 80, protocol: HTTP", more="  tls: {backend: {clientCertificateRef: {name: identity}}}\n"
)
IDENTITY = secret("identity", "gateway.example", token="CLIENT").replace("KEY(", "CLIENT_KEY(")


@pytest.mark.parametrize(
    ("texts", "said_"),
    [
        ((CLIENT, IDENTITY), []),
        ((CLIENT, secret("identity", "gateway.example")), ["is not for clientAuth"]),
        (
            (CLIENT, secret("identity", "a.example", token="EXPIRED")),
            ["key that does not", "expired on", "not for clientAuth"],
        ),
        ((CLIENT,), ["does not exist"]),
        ((CLIENT.replace("name: identity", "name: a, kind: ConfigMap"),), ["InvalidClientCertificateRef"]),
        ((listening("name: a, port: 80, protocol: HTTP"),), []),
    ],
)
def test_client_certificates(texts: tuple[str, ...], said_: list[str]) -> None:
    found = said(backend_tls.CERTIFICATE, *texts, whole=True)
    assert len(found) == len(said_)
    assert all(word in message for word, (_, _, message) in zip(said_, found, strict=True))


def test_a_client_certificate_that_was_not_seen() -> None:
    assert verdicts(backend_tls.CERTIFICATE, CLIENT) == ["inconclusive"]


ROUTE = of("HTTPRoute", "web", "parentRefs: [{name: edge}], rules: [{backendRefs: [{name: web, port: 443}]}]")
POLICY = of("BackendTLSPolicy", "web", "targetRefs: [{group: '', kind: Service, name: web}]")


@pytest.mark.parametrize(
    ("texts", "whole", "expected"),
    [
        ((CLIENT, ROUTE, POLICY), False, []),
        ((CLIENT, ROUTE), True, ["fail"]),
        ((CLIENT, POLICY), True, ["fail"]),
        ((CLIENT, ROUTE.replace("name: edge", "name: other"), POLICY), True, ["fail"]),
        ((CLIENT, ROUTE), False, ["inconclusive"]),
    ],
)
def test_client_certificates_that_nothing_uses(texts: tuple[str, ...], whole: bool, expected: list[str]) -> None:
    assert verdicts(backend_tls.UNUSED, *texts, whole=whole) == expected


@pytest.mark.parametrize(
    ("option", "count"),
    [
        ("example.com/min-tls-version: '1.2'", 0),
        ("example.com/min-tls-version: TLSv1_1", 1),
        ("example.com/protocols: 'TLSv1 TLSv1.2'", 1),
        ("example.com/ssl-protocols: 'SSLv3,TLSv1.3'", 1),
        ("example.com/tls-max: VersionTLS10", 1),
        ("example.com/certificate: '1.0'", 0),
        ("min-version: '1.2'", 1),
        ("min-version: '1.0'", 2),
        ("example.com/version: 3", 0),
    ],
)
def test_options(option: str, count: int) -> None:
    tls = f"{{certificateRefs: [{{name: a}}], options: {{{option}}}}}"
    assert len(said(listener_tls.OPTIONS, listening(f"name: a, port: 443, protocol: HTTPS, tls: {tls}"))) == count
    assert len(said(listener_tls.OPTIONS, of("BackendTLSPolicy", "web", f"options: {{{option}}}"))) == count


def gateway(allowed: str, hostname: str = "*.shop.example") -> str:
    return listening(
        f'name: a, port: 443, protocol: HTTPS, hostname: "{hostname}"',
        more=f"  allowedListeners: {{namespaces: {{{allowed}}}}}\n",
    )


def listener_set(hostname: str = "pay.shop.example", namespace: str = "team", kind: str = "ListenerSet") -> str:
    listener = f'{{name: b, port: 443, protocol: HTTPS, hostname: "{hostname}"}}'
    return of(kind, "more", f"parentRef: {{name: edge, namespace: shop}}, listeners: [{listener}]", namespace=namespace)


TEAM = core("Namespace", "team", "", namespace="")
SELECTED = "from: Selector, selector: {matchLabels: {kubernetes.io/metadata.name: team}}"


@pytest.mark.parametrize(
    ("texts", "admitted"),
    [
        ((gateway("from: All"), listener_set()), []),
        ((gateway("from: All"), listener_set(kind="XListenerSet")), []),
        ((gateway("from: Same"), listener_set()), ["fail"]),
        ((gateway("from: Same"), listener_set(namespace="shop")), []),
        ((gateway("from: None"), listener_set()), ["fail"]),
        ((gateway(""), listener_set()), ["fail"]),
        ((gateway(SELECTED), listener_set(), TEAM), []),
        ((gateway(SELECTED.replace("team", "other")), listener_set(), TEAM), ["fail"]),
        ((gateway(SELECTED), listener_set()), ["inconclusive"]),
        ((listener_set(),), ["inconclusive"]),
    ],
)
def test_listener_sets(texts: tuple[str, ...], admitted: list[str]) -> None:
    assert verdicts(listener_sets.ADMITTED, *texts) == admitted


def test_a_listener_set_of_no_gateway() -> None:
    assert verdicts(listener_sets.ADMITTED, listener_set(), whole=True) == ["fail"]


@pytest.mark.parametrize(
    ("hostname", "namespace", "count"),
    [
        ("pay.shop.example", "team", 1),
        ("", "team", 1),
        ("*.example", "team", 1),
        ("team.example", "team", 0),
        ("pay.shop.example", "shop", 0),
    ],
)
def test_names_taken_from_another_namespace(hostname: str, namespace: str, count: int) -> None:
    texts = gateway("from: All"), listener_set(hostname, namespace)
    assert verdicts(listener_sets.CAPTURE, *texts) == ["fail"] * count
    assert verdicts(listener_sets.CAPTURE, listener_set(hostname, namespace)) == ["inconclusive"]


STATUS = "status: {conditions: [{CONDITION}], listeners: [{name: a, conditions: [{OTHER}]}]}"


@pytest.mark.parametrize(
    ("condition", "of_listener", "messages"),
    [
        ("type: Programmed, status: 'True', observedGeneration: 2", "type: Conflicted, status: 'False'", []),
        ("type: Accepted, status: 'True', observedGeneration: 1", "", ["'Accepted' is from generation 1"]),
        ("type: Programmed, status: 'False', reason: Invalid", "", ["Programmed is 'False': 'Invalid'"]),
        ("type: Other, status: 'False'", "", []),
        ("", "type: ResolvedRefs, status: 'False'", ["listener 'a': ResolvedRefs is 'False'"]),
        ("", "type: Conflicted, status: 'True'", ["listener 'a': Conflicted is 'True'"]),
    ],
)
def test_statuses(condition: str, of_listener: str, messages: list[str]) -> None:
    text = f"{GATEWAY}  listeners: []\n".replace("{name:", "{generation: 2, name:")
    found = said(gateway_status.STATUS, text + STATUS.replace("CONDITION", condition).replace("OTHER", of_listener))
    assert len(found) == len(messages)
    assert all(message.startswith(start) for start, (_, _, message) in zip(messages, found, strict=True))


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("type: ExternalHostname", ["fail"]),
        ("type: ExternalHostname, tls: {mode: None}", ["fail"]),
        ("type: ExternalHostname, tls: {mode: ServerOnly, validation: {hostname: pay.example}}", []),
        ("type: ExternalHostname, tls: {mode: ClientAndServer, validation: {hostname: pay.example}}", []),
        ("type: ExternalHostname, tls: {mode: ServerOnly}", ["inconclusive"]),
        ("type: ExternalHostname, tls: {mode: Other}", ["inconclusive"]),
        ("type: KubernetesService", []),
    ],
)
def test_backends_outside(spec: str, expected: list[str]) -> None:
    assert verdicts(backend_protocol.EXTERNAL, of("XBackend", "pay", spec)) == expected
