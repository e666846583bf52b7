"""Values that an API server refuses, or that mean nothing; what the table says is held by the end-to-end lane."""

from __future__ import annotations

from pathlib import Path

import pytest

from scanner.kube.kinds import BACKEND_TLS_POLICY, GATEWAY
from scanner.kube.objects import KubeObject
from scanner.kube.schema import Array, TextShape
from scanner.lint.fields import field_values
from scanner.lint.fields.field_values import VALUES
from scanner.lint.fields.schemas import KINDS, shape_of
from scanner.model.declared import Declared
from scanner.model.object_rule import Subject
from tests.growth import interrupted
from tests.lint.examples import empty, linted
from tests.lint.fields.heads import HEADS

LISTENER = "spec: {gatewayClassName: a, listeners: [%s]}"
TLS = LISTENER % "{name: a, port: 443, protocol: HTTPS, tls: {%s}}"
NAMED = LISTENER % "{name: a, port: 443, protocol: HTTPS, hostname: %s}"
FRONTEND = (
    "spec: {gatewayClassName: a, listeners: [{name: a, port: 443, protocol: HTTPS}],"
    " tls: {frontend: {default: {validation: {caCertificateRefs: [{group: '', kind: ConfigMap, name: a}], %s}}}}}"
)
POLICY = "spec: {targetRefs: [{group: '', kind: Service, name: a}], validation: {hostname: a.example, %s}}"
POD = "spec: {template: {spec: {containers: [{name: a, %s}]}}}"
CONVERSION = "spec: {group: a, names: {}, scope: Cluster, versions: [], conversion: %s}"
FIRST = "spec.template.spec.containers[0]"
PROXY = "spec: {virtualhost: {fqdn: %s}, routes: [{services: [{name: a, %s}]}]}"

WRONG: list[tuple[str, ...]] = [
    (
        "ClusterRoleBinding",
        "roleRef: {kind: clusterRole, name: 'system:a'}",
        "roleRef.kind",
        "must be ClusterRole, not 'clusterRole': the API server refuses the object; did you mean ClusterRole?",
        "kind: ClusterRole",
    ),
    (
        "ClusterRoleBinding",
        "subjects: [{kind: ServiceAccount, name: a}]\nroleRef: {kind: ClusterRole, name: a}",
        "subjects[0].namespace",
        "a ServiceAccount must have its namespace here: the API server refuses the object",
    ),
    ("ClusterRoleBinding", "roleRef: {kind: ClusterRole, name: a/b}", "roleRef.name", "a name without / and %"),
    ("Role", "rules: [{verbs: [get], resources: [secrets]}]", "rules[0].apiGroups", "at least one api group"),
    (
        "Role",
        "rules: [{verbs: [get], nonResourceURLs: [/a]}]",
        "rules[0].nonResourceURLs",
        "namespaced rules cannot apply to non-resource URLs",
    ),
    ("Service", "spec: {ports: [{port: 1, targetPort: '443'}]}", "spec.ports[0].targetPort", "without quotes"),
    ("Service", "spec: {ports: [{port: 1, targetPort: 70000}]}", "spec.ports[0].targetPort", "at most 65535"),
    ("Service", "spec: {ports: [{port: 1, nodePort: 30000}]}", "spec.ports", "nodePort may not be used when"),
    ("Service", "spec: {ports: [{port: 1}, {port: 2, name: a}]}", "spec.ports", "must have a name"),
    ("Service", "spec: {selector: {a: b}}", "spec.ports", "there must be ports"),
    ("Service", "spec: {type: ExternalName, externalName: 'a b'}", "spec.externalName", "must have a DNS name"),
    ("Deployment", POD % "livenessProbe: {}", f"{FIRST}.livenessProbe", "must specify a handler type"),
    ("Deployment", POD % "ports: [{containerPort: 0}]", f"{FIRST}.ports[0].containerPort", "1 to 65535"),
    ("Deployment", POD % "startupProbe: {httpGet: {port: ''}}", f"{FIRST}.startupProbe.httpGet.port", "not ''"),
    (
        "Deployment",
        "spec: {selector: {matchLabels: {a: b}}, template: {spec: {containers: [{name: a}]}}}",
        "spec.selector",
        "does not match template `labels`",
    ),
    (
        "CustomResourceDefinition",
        CONVERSION % "{strategy: Webhook}",
        "spec.conversion.webhook",
        "webhook.clientConfig is required when strategy is set to Webhook",
    ),
    (
        "CustomResourceDefinition",
        CONVERSION % "{strategy: Webhook, webhook: {clientConfig: {}, conversionReviewVersions: [v2]}}",
        "spec.conversion.webhook.conversionReviewVersions",
        "must include at least one of v1, v1beta1",
    ),
    ("ConfigMap", "data: {a/b: c}", "data", "a valid config key must consist of"),
    (
        "XBackend",
        "spec: {type: ExternalHostname, externalHostname: {hostname: a}, port: {port: 1}, tls: {mode: none}}",
        "spec.tls.mode",
        "must be None, ServerOnly or ClientAndServer, not 'none'",
    ),
    (
        "Gateway",
        TLS % "mode: terminate",
        "spec.listeners[0].tls.mode",
        "must be Terminate or Passthrough, not 'terminate': the API server refuses the object; did you mean Terminate?",
        "mode: Terminate",
    ),
    ("Gateway", TLS % "mode: Mutual", "spec.listeners[0].tls.mode", "not 'Mutual': the API server refuses it"),
    (
        "Gateway",
        FRONTEND % "mode: allowinsecurefallback",
        "spec.tls.frontend.default.validation.mode",
        "did you mean AllowInsecureFallback?",
    ),
    ("Gateway", LISTENER % "{name: a, port: 0, protocol: HTTP}", "spec.listeners[0].port", "must be 1 to 65535, not 0"),
    ("Gateway", LISTENER % "{name: a, port: 99999, protocol: HTTP}", "spec.listeners[0].port", "not 99999"),
    ("Gateway", LISTENER % "{name: a, port: 80}", "spec.listeners[0].protocol", "protocol is required"),
    ("Gateway", LISTENER % "{name: a, protocol: HTTP}", "spec.listeners[0].port", "port is required and missing"),
    ("Gateway", LISTENER % "{port: 80, protocol: HTTP}", "spec.listeners[0].name", "name is required"),
    ("Gateway", "spec: {gatewayClassName: a, listeners: []}", "spec.listeners", "has 0 items, but may have 1 to"),
    ("Gateway", "spec: {gatewayClassName: a, listeners: null}", "spec.listeners", "listeners is required"),
    ("Gateway", "spec: null", "spec", "spec is required and missing"),
    (
        "Gateway",
        NAMED % "'*.Shop.example'",
        "spec.listeners[0].hostname",
        "must be a DNS name in lower case, with *. before it for a wildcard, not '*.Shop.example'",
        'hostname: "*.shop.example"',
    ),
    ("Gateway", NAMED % "'*.*.example'", "spec.listeners[0].hostname", "not '*.*.example'"),
    ("Gateway", NAMED % "''", "spec.listeners[0].hostname", "not '': the API server"),
    ("Gateway", NAMED % ("a" * 254), "spec.listeners[0].hostname", "must be 1 to 253 characters"),
    ("Gateway", NAMED % '"a.example\\n"', "spec.listeners[0].hostname", "not 10 characters", "hostname: a.example"),
    (
        "BackendTLSPolicy",
        POLICY % "wellKnownCACertificates: none",
        "spec.validation.wellKnownCACertificates",
        "must be System, or an implementation's own with its domain",
    ),
    (
        "BackendTLSPolicy",
        POLICY % "caCertificateRefs: [{name: a, group: ''}]",
        "spec.validation.caCertificateRefs[0].kind",
        "kind is required and missing",
    ),
    (
        "HTTPProxy",
        PROXY % ("a.example", "port: 443, protocol: TLS"),
        "spec.routes[0].services[0].protocol",
        "must be h2, h2c or tls, not 'TLS': the API server refuses the object; did you mean tls?",
        "protocol: tls",
    ),
    (
        "HTTPProxy",
        PROXY % ("a.example", "port: 443, validation: {caSecret: a, subjectName: a, subjectNames: [b, a]}"),
        "spec.routes[0].services[0].validation.subjectNames",
        "subjectNames[0] must equal subjectName if set",
    ),
    (
        "Ingress",
        "spec: {tls: [{hosts: [A.example]}], rules: [{}]}",
        "spec.tls[0].hosts[0]",
        "lower",
        "hosts: [a.example]",
    ),
    ("Ingress", "spec: {tls: [{hosts: [a.example]}]}", "spec", "`defaultBackend` or `rules` must be specified"),
    ("Route", f"spec: {{to: {{name: a}}, host: {'a' * 64}.example}}", "spec.host", "more than 63 characters"),
    ("Route", "spec: {host: a.example}", "spec.to", "to is required and missing"),
]
MEANT = [
    ("ExtensionService", "spec: {protocol: H2, services: [{name: a, port: 1}]}", "spec.protocol", "h2"),
    ("Service", "spec: {type: clusterIP, ports: [{port: 1}]}", "spec.type", "ClusterIP"),
    ("CustomResourceDefinition", CONVERSION % "{strategy: webhook}", "spec.conversion.strategy", "Webhook"),
    (
        "ValidatingWebhookConfiguration",
        "webhooks: [{name: a.b.c, failurePolicy: fail}]",
        "webhooks[0].failurePolicy",
        "Fail",
    ),
    ("Gateway", TLS % "mode: 'Passthrough '", "spec.listeners[0].tls.mode", "Passthrough"),
    ("Gateway", FRONTEND % "mode: allowValidOnly", "spec.tls.frontend.default.validation.mode", "AllowValidOnly"),
    ("Gateway", NAMED % "Web.Shop.Example.", "spec.listeners[0].hostname", "web.shop.example"),
    (
        "BackendTLSPolicy",
        POLICY % "wellKnownCACertificates: system",
        "spec.validation.wellKnownCACertificates",
        "System",
    ),
    ("Route", "spec: {to: {name: a}, host: a.example.}", "spec.host", "a.example"),
]


@pytest.mark.parametrize("row", WRONG)
def test_what_the_api_server_refuses(tmp_path: Path, row: tuple[str, ...]) -> None:
    kind, text, field, message, *corrections = row
    assert message.replace("refuses it", "refuses the object") in refused(tmp_path, kind, text, field, *corrections)


@pytest.mark.parametrize(("kind", "text", "field", "meant"), MEANT)
def test_what_the_api_server_refuses_and_is_nearly_right(
    tmp_path: Path, kind: str, text: str, field: str, meant: str
) -> None:
    name = field.rpartition(".")[2]
    assert f"did you mean {meant}?" in refused(tmp_path, kind, text, field, f"{name}: {meant}")


def refused(tmp_path: Path, kind: str, text: str, field: str, correction: str | None = None) -> str:
    """The message about the one value that the API server refuses."""
    (one,) = linted(tmp_path, HEADS[kind] + text, [VALUES])[0]
    (each,) = one.findings
    assert (each.field, each.finding.severity, each.finding.verdict) == (field, "high", "fail")
    assert each.correction == correction
    return each.finding.message


@pytest.mark.parametrize(
    ("protocol", "meant"), [("https", "HTTPS"), ("Tls", "TLS"), ("HTTP2", "HTTP"), ("QUIC", None), ("SCTP", None)]
)
def test_a_protocol_that_nobody_knows_is_admitted(tmp_path: Path, protocol: str, meant: str | None) -> None:
    text = HEADS["Gateway"] + LISTENER % f"{{name: a, port: 443, protocol: {protocol}}}"
    (one,) = linted(tmp_path, text, [VALUES])[0]
    (each,) = one.findings
    assert (each.field, each.finding.severity) == ("spec.listeners[0].protocol", "medium")
    assert "unknown value" in each.finding.message
    assert each.correction == (meant and f"protocol: {meant}")


ADDRESSES = [
    ("Gateway", NAMED % "10.0.0.1", "spec.listeners[0].hostname"),
    ("HTTPProxy", "spec: {virtualhost: {fqdn: 10.0.0.1, tls: {}}}", "spec.virtualhost.fqdn"),
    ("Ingress", "spec: {tls: [{hosts: [a.example, 10.0.0.1]}], rules: [{}]}", "spec.tls[0].hosts"),
    ("Route", "spec: {to: {name: a}, host: 10.0.0.1, tls: {}}", "spec.host"),
]


@pytest.mark.parametrize(("kind", "text", "field"), ADDRESSES)
def test_an_address_is_admitted_and_asked_for_by_nobody(tmp_path: Path, kind: str, text: str, field: str) -> None:
    (one,) = linted(tmp_path, HEADS[kind] + text, [VALUES])[0]
    assert [(each.field, each.finding.severity) for each in one.findings] == [(field, "medium")]
    assert "RFC 6066" in one.findings[0].finding.message


FINE = [
    ("HTTPProxy", "spec: {virtualhost: {fqdn: 10.0.0.1}}"),  # by HTTP it is asked for
    ("Route", "spec: {to: {name: a}, host: 10.0.0.1}"),
    ("Gateway", LISTENER % "{name: a, port: 443, protocol: example.com/QUIC}"),
    ("Gateway", TLS % "mode: null, certificateRefs: null"),
    ("Gateway", LISTENER % "{name: mesh, port: 15008, protocol: HBONE}"),
    ("Gateway", NAMED % "'*.a.example'"),
    ("BackendTLSPolicy", POLICY % "wellKnownCACertificates: example.com/Own"),
    ("BackendTLSPolicy", "spec: {validation: {}, targetRefs: []}"),  # rules of their own
    ("Route", "spec: {to: {name: a}, host: '', tls: {termination: Sweet}}"),  # openshift-apiserver; route-fields
    (
        "APIServer",
        "spec: {tlsAdherence: Sweet, tlsSecurityProfile: {type: sweet}}",
    ),  # adherence-value, tls-profile-type
    ("APIService", "spec: {group: a, version: v1, groupPriorityMinimum: 1, versionPriority: 1}"),
    ("Ingress", "spec: {tls: [null, {secretName: a/b}], backend: {}}"),  # contour-ingress-slash
]


@pytest.mark.parametrize(("kind", "text"), FINE)
def test_what_is_fine_or_said_elsewhere(tmp_path: Path, kind: str, text: str) -> None:
    (one,) = linted(tmp_path, HEADS[kind] + text, [VALUES])[0]
    assert [each.finding.message for each in one.findings] == []


def test_a_long_label_of_a_lenient_route_is_fine(tmp_path: Path) -> None:
    text = (
        "apiVersion: route.openshift.io/v1\nkind: Route\n"
        "metadata: {name: a, annotations: {route.openshift.io/allow-non-dns-compliant-host: 'true'}}\n"
        f"spec: {{to: {{name: a}}, host: {'a' * 64}.example}}"
    )
    assert [one.findings for one in linted(tmp_path, text, [VALUES])[0]] == [()]


def test_a_misspelt_field_is_not_missing_too(tmp_path: Path) -> None:
    text = HEADS["Gateway"] + LISTENER % "{name: a, port: 443, protokol: HTTPS}"
    assert [one.findings for one in linted(tmp_path, text, [VALUES])[0]] == [()]


def test_a_former_version_has_its_own_fields() -> None:
    shapes = [
        shape_of(KubeObject({"apiVersion": f"gateway.networking.k8s.io/{version}"}, BACKEND_TLS_POLICY)).fields["spec"]
        for version in ("v1", "v1alpha3", "v1alpha2")
    ]
    assert [getattr(each, "required", None) for each in shapes] == [("validation",), ("validation",), ()]


@pytest.mark.parametrize(
    ("name", "fields"), [("v1.", []), ("v1.shop.example", []), ("Web", ["metadata.name"]), ("a_b", ["metadata.name"])]
)
def test_names_of_objects(tmp_path: Path, name: str, fields: list[str]) -> None:
    text = HEADS["APIService"].replace("v1.a", name) + (
        "spec: {group: a, version: v1, groupPriorityMinimum: 1, versionPriority: 1}\n"
    )
    (one,) = linted(tmp_path, text, [VALUES])[0]
    assert [each.field for each in one.findings] == fields


def test_no_value_takes_long() -> None:
    """The patterns of definitions run on hostile input."""
    shapes = {each for kind in KINDS for each in texts(shape_of(KubeObject({}, kind))) if each.pattern}
    with interrupted():
        for each in shapes:
            for length in (each.max_length or 1_000_000, 1_000_000):
                for part in ("a", "a.", "-", "a-", "a/", "https://"):
                    each.accepts((part * length)[: length - 1] + "!")
    assert len(shapes) > 8


def test_a_missing_field_is_compared_with_few_unknown_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[str] = []

    def never(name: str, _: object) -> None:
        compared.append(name)

    monkeypatch.setattr(field_values, "nearest", never)
    names = {f"listene{number}": number for number in range(200)}
    gateway = KubeObject({"spec": {**names, "gatewayClassName": "a"}}, GATEWAY)
    (missing,) = VALUES.check(Subject(gateway, Declared(subjects=(), known=empty())))
    assert missing.at == ("spec", "listeners")
    assert compared == [f"listene{number}" for number in range(20)]


def texts(shape: object) -> list[TextShape]:
    """All there are in a shape."""
    if isinstance(shape, TextShape):
        return [shape]
    inner = [*getattr(shape, "fields", {}).values(), *([shape.items] if isinstance(shape, Array) else [])]
    return [each for one in inner for each in texts(one)]


@pytest.mark.parametrize(
    ("service", "name", "fails"),
    [
        ("APIServer", "api.example", True),
        ("APIServer", "other.example", False),
        ("APIServer", "", False),
        ("Ignition", "api.example", False),
    ],
)
def test_the_name_of_a_hosted_api_server(tmp_path: Path, service: str, name: str, fails: bool) -> None:
    """Its load balancer's, beside those of the certificates for users."""
    balancer = f"{{type: LoadBalancer, loadBalancer: {{hostname: '{name}'}}}}"
    certificates = "[{names: [other.api.example]}, {names: [api.example, ''], servingCertificate: {name: a}}]"
    text = HEADS["HostedCluster"] + (
        f"spec: {{services: [{{service: {service}, servicePublishingStrategy: {balancer}}}],"
        f" configuration: {{apiServer: {{servingCerts: {{namedCertificates: {certificates}}}}}}}}}\n"
    )
    (one,) = linted(tmp_path, text, [VALUES])[0]
    at = "spec.configuration.apiServer.servingCerts.namedCertificates"
    assert [each.field for each in one.findings] == ([at] if fails else [])
