"""Listeners: what they say of TLS, and which exclude each other."""

from __future__ import annotations

from pathlib import Path

import pytest

from scanner.lint import RULES
from scanner.lint.gateway import listener_certificates, listener_conflicts, listener_tls, reference_grants
from scanner.model.object_rule import ObjectRule
from tests.lint.examples import WHOLE, linted
from tests.lint.gateway.cases import core, listening, of, said, secret, verdicts

REFS = "certificateRefs: [{name: edge-tls}]"


@pytest.mark.parametrize(
    ("listener", "tls", "refused"),
    [
        ("protocol: HTTP", 0, 0),
        ("protocol: HTTP, tls: {" + REFS + "}", 0, 1),
        ("protocol: HTTPS", 1, 0),
        ("protocol: HTTPS, tls: {}", 1, 0),
        ("protocol: HTTPS, tls: {certificateRefs: []}", 1, 0),
        ("protocol: HTTPS, tls: {" + REFS + "}", 0, 0),
        ("protocol: HTTPS, tls: {options: {example.com/certificate: a}}", 0, 0),
        ("protocol: HTTPS, tls: {mode: Passthrough}", 0, 1),
        ("protocol: TLS", 1, 0),
        ("protocol: TLS, tls: {" + REFS + "}", 1, 0),
        ("protocol: TLS, tls: {mode: Terminate, " + REFS + "}", 0, 0),
        ("protocol: TLS, tls: {mode: Terminate}", 1, 0),
        ("protocol: TLS, tls: {mode: Passthrough}", 0, 0),
        ("protocol: TLS, tls: {mode: Passthrough, " + REFS + "}", 0, 1),
        ("protocol: TCP", 0, 0),
        ("protocol: TCP, tls: {mode: Terminate, " + REFS + "}", 0, 1),
        ("protocol: TCP, hostname: a.example", 0, 1),
        ("protocol: UDP, tls: {}", 0, 1),
        ("protocol: example.com/own", 0, 0),
    ],
)
def test_protocol_and_tls(listener: str, tls: int, refused: int) -> None:
    text = listening(f"name: a, port: 443, {listener}")
    assert len(said(listener_tls.TLS, text)) == tls
    assert len(said(listener_tls.REFUSED, text)) == refused


def test_names_and_number_of_listeners() -> None:
    twice = said(listener_tls.REFUSED, listening(*["name: a, port: 1, protocol: HTTP"] * 3))
    assert [field for _, field, _ in twice] == ["spec.listeners[1].name"]
    many = said(listener_tls.REFUSED, listening(*(f"name: a{n}, port: {n}, protocol: HTTP" for n in range(65))))
    assert [message for _, _, message in many] == ["65 listeners; the API allows 64"]


TERMINATE, PASSTHROUGH = "tls: {mode: Terminate, " + REFS + "}", "tls: {mode: Passthrough}"


@pytest.mark.parametrize(
    ("first", "later", "conflicts", "overlaps"),
    [
        ("protocol: HTTPS, hostname: a.example", "protocol: HTTPS, hostname: b.example", 0, 0),
        ("protocol: HTTPS, hostname: a.example", "protocol: HTTPS, hostname: A.example", 1, 0),
        ("protocol: HTTPS", "protocol: HTTPS", 1, 0),
        ("protocol: HTTPS", "protocol: HTTPS, hostname: b.example", 0, 1),
        ('protocol: HTTPS, hostname: "*.example"', "protocol: HTTPS, hostname: a.b.example", 0, 1),
        ('protocol: HTTPS, hostname: "*.a.example"', "protocol: HTTPS, hostname: a.example", 0, 0),
        ('protocol: HTTP, hostname: "*.example"', "protocol: HTTP, hostname: b.example", 0, 0),
        ("protocol: HTTP", "protocol: HTTPS", 1, 0),
        ("protocol: HTTPS, hostname: a.example", f"protocol: TLS, hostname: b.example, {PASSTHROUGH}", 1, 0),
        ("protocol: HTTPS, hostname: a.example", f"protocol: TLS, hostname: a.example, {PASSTHROUGH}", 1, 0),
        ("protocol: HTTPS", "protocol: TCP", 1, 0),
        ("protocol: example.com/own", "protocol: example.com/own", 0, 0),
        ("protocol: example.com/own", "protocol: HTTPS", 0, 0),
        (f"protocol: TLS, hostname: a.example, {TERMINATE}", f"protocol: TLS, {PASSTHROUGH}", 1, 0),
        (f"protocol: TLS, {TERMINATE}", f"protocol: TLS, hostname: b.example, {TERMINATE}", 0, 1),
        (f"protocol: TLS, {PASSTHROUGH}", f"protocol: TLS, hostname: b.example, {PASSTHROUGH}", 0, 0),
        (f"protocol: TLS, {PASSTHROUGH}", "protocol: TCP", 1, 0),
        ("protocol: TCP", "protocol: TCP", 1, 0),
        ("protocol: TCP", "protocol: UDP", 0, 0),
        ("protocol: UDP", "protocol: UDP", 1, 0),
        ("protocol: HTTPS", "protocol: UDP", 0, 0),
    ],
)
def test_two_on_one_port(first: str, later: str, conflicts: int, overlaps: int) -> None:
    text = listening(f"name: a, port: 443, {first}", f"name: b, port: 443, {later}")
    assert len(said(listener_conflicts.CONFLICT, text)) == conflicts
    assert len(said(listener_conflicts.OVERLAP, text)) == overlaps
    apart = listening(f"name: a, port: 443, {first}", f"name: b, port: 444, {later}")
    assert said(listener_conflicts.CONFLICT, apart) == said(listener_conflicts.OVERLAP, apart) == []


@pytest.mark.parametrize(
    ("status", "told"),
    [
        ("", None),
        ("status: {listeners: [{name: b, conditions: [{type: OverlappingTLSConfig, status: 'True'}]}]}", "says "),
        ("status: {listeners: [{name: b, conditions: [{type: Accepted, status: 'True'}]}]}", "lacks the required"),
    ],
)
def test_an_overlap_is_compared_with_the_status(status: str, told: str | None, tmp_path: Path) -> None:
    text = listening("name: a, port: 443, protocol: HTTPS", "name: b, port: 443, protocol: HTTPS, hostname: b.example")
    ((finding,),) = (each.findings for each in linted(tmp_path, text + status, [listener_conflicts.OVERLAP])[0])
    assert [told in each for each in finding.finding.evidence] == [True] if told else not finding.finding.evidence


HTTPS = "protocol: HTTPS, port: 443"
OPEN = "  allowedListeners: {namespaces: {from: FROM}}\n"


@pytest.mark.parametrize(
    ("allowed", "count"), [("None", 0), ("Same", 0), ("All", 1), ("Selector, selector: {matchLabels: {team: a}}", 1)]
)
def test_listener_sets_that_are_taken_share_its_ports(allowed: str, count: int) -> None:
    gateway = listening(f"name: a, hostname: a.example, {HTTPS}", more=OPEN.replace("FROM", allowed))
    listeners = of(
        "ListenerSet",
        "more",
        "parentRef: {name: edge, namespace: shop}, listeners: [{name: b, hostname: a.example, " + HTTPS + "}]",
        namespace="team",
    )
    team = core("Namespace", "team", "", namespace="").replace("{name: team}", "{name: team, labels: {team: a}}")
    found = said(listener_conflicts.CONFLICT, gateway, listeners, team)
    combination = "Combination of port, protocol and hostname must be unique for each listener"
    assert [message for _, _, message in found] == [
        f"conflict with listener 'a' of Gateway/shop/edge: {combination}"
    ] * count


@pytest.mark.parametrize(("hostname", "severity"), [("a.example", "medium"), ("b.example", "info")])
def test_https_and_tls_on_one_port(hostname: str, severity: str, tmp_path: Path) -> None:
    tls = f"name: b, port: 443, protocol: TLS, hostname: {hostname}, {PASSTHROUGH}"
    text = listening("name: a, port: 443, protocol: HTTPS, hostname: a.example", tls)
    ((finding,),) = (each.findings for each in linted(tmp_path, text, [listener_conflicts.CONFLICT])[0])
    assert finding.finding.severity == severity


def test_beyond_many_listeners_nothing_is_decided() -> None:
    gateway = listening("name: a, port: 443, protocol: HTTP", more=OPEN.replace("FROM", "All"))
    listeners = (
        of("ListenerSet", f"s{n}", f"parentRef: {{name: edge}}, listeners: [{{name: b, port: {n}, protocol: HTTP}}]")
        for n in range(1000, 1256)
    )
    found = said(listener_conflicts.CONFLICT, gateway, *listeners)
    assert [verdict for verdict, _, _ in found] == ["inconclusive"]


A_AND_B = listening(
    "name: a, hostname: a.example, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: a}]}",
    'name: b, hostname: "*.b.example", port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: b}]}',
)


@pytest.mark.parametrize(
    ("of_a", "of_b", "expected"),
    [
        ("a.example", "b.example", []),
        ("a.example, *.b.example", "*.b.example", ["fail"]),
        ("a.example", "*.b.example, a.example", ["fail"]),
        ("a.example", "*.example", ["fail"]),
        ("a.example, x.b.example", "*.b.example", ["fail"]),
        ("a.example, *.x.b.example", "*.b.example", ["fail"]),
        ("a.example, *.example", "*.b.example", []),
        ("a.example, b.example", "*.b.example", []),
        ("a.example, *.b.example", "a.example, *.b.example", []),
    ],
)
def test_certificates_for_names_of_another(of_a: str, of_b: str, expected: list[str]) -> None:
    rule = listener_conflicts.OVERLAP
    assert verdicts(rule, A_AND_B, secret("a", of_a), secret("b", of_b)) == expected


def test_certificates_that_were_not_seen_are_not_compared() -> None:
    assert verdicts(listener_conflicts.OVERLAP, A_AND_B) == ["inconclusive"] * 2


DEMANDS = [
    ("tls: {certificateRefs: [{name: a}]}", "tls: {certificateRefs: [{name: a}]}", "info"),
    ("tls: {certificateRefs: [{name: a}]}", "tls: {certificateRefs: [{name: a}], options: {}}", "info"),
    (
        "tls: {certificateRefs: [{name: a}]}",
        "tls: {certificateRefs: [{name: a}], options: {a.example/min: '1.3'}}",
        "medium",
    ),
    ("tls: {certificateRefs: [{name: a}], frontendValidation: {caCertificateRefs: []}}", "tls: {}", "medium"),
]


@pytest.mark.parametrize(("first", "later", "severity"), DEMANDS)
def test_an_overlap_matters_where_one_listener_demands_more(
    tmp_path: Path, first: str, later: str, severity: str
) -> None:
    text = listening(f"name: a, {HTTPS}, {first}", f"name: b, {HTTPS}, hostname: b.example, {later}")
    ((finding,),) = (each.findings for each in linted(tmp_path, text, [listener_conflicts.OVERLAP])[0])
    assert finding.finding.severity == severity


def test_an_overlap_that_only_the_controller_found_counts() -> None:
    status = "status: {listeners: [{name: b, conditions: [{type: OverlappingTLSConfig, status: 'STATUS'}]}]}"
    one = listening(f"name: a, {HTTPS}, hostname: a.example", f"name: b, {HTTPS}, hostname: b.example") + status
    found = said(listener_conflicts.OVERLAP, one.replace("STATUS", "True"))
    assert [(verdict, field) for verdict, field, _ in found] == [("fail", "spec.listeners[1]")]
    assert said(listener_conflicts.OVERLAP, one.replace("STATUS", "False")) == []


def test_a_listener_that_was_rejected_rejects_no_other() -> None:
    gateway = listening(
        f"name: a, port: 443, protocol: TLS, hostname: a.example, {PASSTHROUGH}", more=OPEN.replace("FROM", "Same")
    )
    loser = of(
        "ListenerSet",
        "s1",
        "parentRef: {name: edge}, listeners: [{name: b, port: 443, protocol: HTTP, hostname: b.example}]",
    )
    listener = f"name: c, port: 443, protocol: TLS, hostname: b.example, {PASSTHROUGH}"
    next_one = of("ListenerSet", "s2", f"parentRef: {{name: edge}}, listeners: [{{{listener}}}]")
    found = said(listener_conflicts.CONFLICT, gateway, loser, next_one)
    assert [message for _, _, message in found] == [
        "conflict with listener 'a' of Gateway/shop/edge: plaintext and TLS on one port: ProtocolConflict"
    ]
    twice = said(listener_conflicts.CONFLICT, gateway, next_one, next_one.replace("s2", "s3"))
    assert len(twice) == 1


def test_what_an_implementation_may_accept_is_said_once_for_a_port(tmp_path: Path) -> None:
    """One finding for a port: Istio's own example had eight."""
    others = (f"name: l{n}, {HTTPS}, hostname: h{n}.example" for n in range(8))
    text = listening(f"name: tls, port: 443, protocol: TLS, hostname: t.example, {PASSTHROUGH}", *others)
    ((finding,),) = (each.findings for each in linted(tmp_path, text, [listener_conflicts.CONFLICT])[0])
    assert finding.finding.severity == "info"


REF, GRANT = listener_certificates.CERTIFICATE_REF, reference_grants.NOT_GRANTED
ONE = listening(f"name: a, port: 443, protocol: HTTPS, tls: {{{REFS}}}")


@pytest.mark.parametrize(
    ("texts", "whole", "expected"),
    [
        ((ONE,), False, ["inconclusive"]),
        ((ONE,), True, ["fail"]),
        ((ONE, secret("edge-tls", "a.example")), False, []),
        ((ONE, secret("edge-tls", "a.example", namespace="other")), True, ["fail"]),
        ((ONE.replace("name: edge-tls", "name: a, kind: ConfigMap"),), True, ["fail"]),
        ((ONE.replace("name: edge-tls", "name: a, group: example.com"),), True, ["fail"]),
        ((listening("name: a, port: 443, protocol: TLS, tls: {mode: Passthrough, " + REFS + "}"),), True, []),
    ],
)
def test_references(texts: tuple[str, ...], whole: bool, expected: list[str]) -> None:
    assert verdicts(REF, *texts, whole=whole) == expected


def test_a_status_that_contradicts() -> None:
    status = "status: {listeners: [{name: a, conditions: [{type: ResolvedRefs, status: 'True'}]}]}"
    found = said(REF, ONE + status, whole=True)
    assert [verdict for verdict, _, _ in found] == ["fail", "fail"]
    assert "ResolvedRefs" in found[1][2]


CROSS = ONE.replace("name: edge-tls", "name: w, namespace: certs")
FROM = "group: gateway.networking.k8s.io, kind: Gateway, namespace: shop"


def granted(from_: str, to: str, namespace: str = "certs") -> str:
    """A ReferenceGrant."""
    spec = f"from: [{{{from_}}}], to: [{{{to}}}]"
    return of("ReferenceGrant", "grant", spec, version="v1beta1", namespace=namespace)


@pytest.mark.parametrize(
    ("grant", "allowed"),
    [
        (granted(FROM, 'group: "", kind: Secret'), True),
        (granted(FROM, 'group: "", kind: Secret, name: w'), True),
        (granted(FROM, 'group: "", kind: Secret, name: other'), False),
        (granted(FROM, 'group: "", kind: ConfigMap'), False),
        (granted(FROM.replace("shop", "'*'"), 'group: "", kind: Secret'), False),
        (granted(FROM.replace("Gateway", "ListenerSet"), 'group: "", kind: Secret'), False),
        (granted(FROM.replace("gateway.networking.k8s.io", '""'), 'group: "", kind: Secret'), False),
        (granted(FROM, 'group: "", kind: Secret', namespace="shop"), False),
    ],
)
def test_grants(grant: str, allowed: bool) -> None:
    assert verdicts(GRANT, CROSS, grant, whole=True) == ([] if allowed else ["fail"])


def test_a_listener_set_needs_grants_of_its_own() -> None:
    spec = "parentRef: {name: edge}, listeners: [{name: a, protocol: HTTPS, tls: {certificateRefs: [{NAME}]}}]"
    one = of("ListenerSet", "more", spec.replace("NAME", "name: w, namespace: certs"))
    to = 'group: "", kind: Secret'
    assert verdicts(GRANT, one, granted(FROM, to), whole=True) == ["fail"]
    assert verdicts(GRANT, one, granted(FROM.replace("Gateway", "ListenerSet"), to), whole=True) == []


@pytest.mark.parametrize("rule", [REF, GRANT, listener_tls.TLS, listener_conflicts.CONFLICT])
def test_no_namespace_is_one_too(rule: ObjectRule) -> None:
    bare = (ONE + secret("edge-tls", "a.example")).replace(", namespace: shop", "")
    assert said(rule, bare) == []


@pytest.mark.parametrize(("port", "count"), [("", 0), ("port: 0, ", 0), ("port: 443, ", 1)])
def test_listeners_without_a_port_get_one_each(port: str, count: int) -> None:
    every = ", ".join(f"{{name: {name}, {port}protocol: HTTPS, hostname: a.example}}" for name in "ab")
    text = of("XListenerSet", "team", f"parentRef: {{name: edge}}, listeners: [{every}]")
    assert verdicts(listener_conflicts.CONFLICT, text) == ["fail"] * count


def test_a_mode_that_there_is_not_is_none_of_two() -> None:
    listeners = (
        "{name: a, port: 443, protocol: HTTPS, hostname: a.example, tls: {mode: terminate}}, "
        "{name: b, port: 443, protocol: HTTPS, hostname: b.example, tls: {certificateRefs: [{name: b}]}}"
    )
    gateway = of("Gateway", "edge", f"gatewayClassName: example, listeners: [{listeners}]")
    assert said(listener_conflicts.CONFLICT, gateway, whole=True) == []


def test_a_listener_with_a_certificate_lacks_the_mode_alone(tmp_path: Path) -> None:
    listener = "{name: a, port: 443, protocol: TLS, tls: {certificateRefs: [{name: a}]}}"
    gateway = of("Gateway", "edge", f"gatewayClassName: example, listeners: [{listener}]")
    ((one,), _) = linted(tmp_path, gateway, [listener_tls.TLS])
    (placed,) = one.findings
    assert placed.correction == "tls:\n  mode: Terminate"
    assert str(placed.finding.fix).endswith("in tls of listener 'a', set mode to Terminate")


def test_a_parent_that_is_misspelt_is_one_finding(tmp_path: Path) -> None:
    text = of("ListenerSet", "team", "parentRefs: [{name: edge}], listeners: [{name: a, port: 80, protocol: HTTP}]")
    found = linted(tmp_path, f"{WHOLE}\n{ONE}{text}", RULES)[0]
    told = [
        each.finding.rule for one in found for each in one.findings if one.subject.object.kind.name == "ListenerSet"
    ]
    assert told == ["field-unknown"]


@pytest.mark.parametrize(
    ("merges", "named", "expected"),
    [("true", "merged", ["'a' of Gateway/shop/edge"]), ("false", "merged", []), ("true", "other", [])],
)
def test_a_controller_may_merge_the_gateways_of_a_class(merges: str, named: str, expected: list[str]) -> None:
    """Envoy Gateway: the class refers to an EnvoyProxy. The older Gateway keeps its listener."""
    reference = "parametersRef: {group: gateway.envoyproxy.io, kind: EnvoyProxy, name: p, namespace: infra}"
    settings = (
        f"---\napiVersion: gateway.networking.k8s.io/v1\nkind: GatewayClass\nmetadata: {{name: merged}}\n"
        f"spec: {{{reference}}}\n---\napiVersion: gateway.envoyproxy.io/v1alpha1\nkind: EnvoyProxy\n"
        f"metadata: {{name: p, namespace: infra}}\nspec: {{mergeGateways: {merges}}}\n"
    )
    older = ONE.replace("metadata: {", "metadata: {creationTimestamp: '2026-01-01T00:00:00Z', ")
    gateways = "\n".join(
        f"{each}\n  gatewayClassName: {named}\n" for each in (ONE.replace("name: edge,", "name: a,"), older)
    )
    found = said(listener_conflicts.CONFLICT, settings, gateways)
    assert [message.partition("with listener ")[2].partition(":")[0] for _, _, message in found] == expected
