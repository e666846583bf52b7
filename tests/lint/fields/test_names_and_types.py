"""Fields that the API server removes, and values that it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from scanner.kube.kinds import GATEWAY
from scanner.lint.fields.field_values import TYPES
from scanner.lint.fields.schemas import KINDS
from scanner.lint.fields.unknown_fields import UNKNOWN as UNKNOWN_FIELDS
from tests.lint.examples import linted
from tests.lint.fields.heads import HEADS, holding

RULES = (UNKNOWN_FIELDS, TYPES)

UNKNOWN: list[tuple[str, str, str, str | None]] = [
    ("APIServer", "spec.tlsSecurityProfil", "{type: Modern}", "tlsSecurityProfile"),
    ("APIServer", "spec.TLSSecurityProfile", "{}", "tlsSecurityProfile"),
    ("APIServer", "spec.tlsSecurityProfile.custom.cipher", "[]", "ciphers"),
    ("APIServer", "spec.flavour", "sweet", None),
    ("APIServer", "Spec", "{}", "spec"),
    ("HostedCluster", "spec.configuration.apiServer.tlsSecurityProfil", "{type: Modern}", "tlsSecurityProfile"),
    ("HostedCluster", "spec.configuration.apiserver", "{}", "apiServer"),
    ("HostedCluster", "spec.configurations", "{}", "configuration"),
    ("Console", "spec.route.secrets", "{name: a}", "secret"),
    ("KubeletConfig", "spec.tlsSecurityprofile", "{}", "tlsSecurityProfile"),
    ("Gateway", "spec.listeners[1].tls.certificateRef", "{}", "certificateRefs"),
    ("Gateway", "spec.tls.frontEnd", "{}", "frontend"),
    ("Gateway", "spec.tls.frontend.defaults", "{}", "default"),
    ("BackendTLSPolicy", "spec.validation.hostName", "a", "hostname"),
    ("Route", "spec.tls.externalCertificates", "{name: a}", "externalCertificate"),
    ("HTTPProxy", "spec.virtualhost.tls.clientValidaton", "{}", "clientValidation"),
    ("Ingress", "spec.tls[0].secret", "a", "secretName"),
    ("ValidatingWebhookConfiguration", "webhooks[0].clientConfig.cabundle", "a", "caBundle"),
    ("APIService", "spec.insecureSkipTlsVerify", "true", "insecureSkipTLSVerify"),
    ("HTTPRoute", "spec.Hostnames", "[a.example]", "hostnames"),
    ("HTTPRoute", "spec.rules[0].backendRef", "[]", "backendRefs"),
    ("OAuth", "spec.identityProvider", "[]", "identityProviders"),
    ("ContourConfiguration", "spec.envoy.listeners", "{}", "listener"),
    ("ServiceMonitor", "spec.endpoints[0].tlsConfg", "{}", "tlsConfig"),
    ("ClusterRoleBinding", "subject", "[]", "subjects"),
    ("Service", "spec.ports[0].appProtcol", "https", "appProtocol"),
    ("Deployment", "spec.template.spec.containers[0].readinesProbe", "{}, name: a", "readinessProbe"),
    ("CustomResourceDefinition", "spec.conversion.webhooks", "{}", "webhook"),
    ("Role", "rules[0].verb", "[get]", "verbs"),
    ("Gateway", "spec.listeners[0].allowedRoutes.namespace", "{}", "namespaces"),
]


@pytest.mark.parametrize(("kind", "field", "value", "meant"), UNKNOWN)
def test_a_field_that_nobody_reads(tmp_path: Path, kind: str, field: str, value: str, meant: str | None) -> None:
    (one,) = linted(tmp_path, HEADS[kind] + holding(field, value), RULES)[0]
    (each,) = one.findings
    assert (each.finding.rule, each.field) == ("field-unknown", field)
    assert each.finding.severity == ("medium" if meant else "low")
    assert each.finding.expected == (meant,) if meant else meant not in each.finding.expected
    assert (f"did you mean {meant}?" in each.finding.message) == (meant is not None)


MISPLACED = [
    ("Gateway", "spec: {tls: {frontend: {perPort: [{validation: {}}]}}}", "spec.tls.frontend.perPort[].tls.validation"),
    ("Gateway", "spec: {tls: {default: , frontendValidation: {}}}", "spec.tls.frontend.default.validation"),
    ("Gateway", "spec: {tls: {frontend: {default: {frontendValidation: {}}}}}", "spec.tls.frontend.default.validation"),
    ("Gateway", "spec: {frontend: {}}", "spec.tls.frontend"),
    ("Gateway", "spec: {listeners: [{certificateRefs: []}]}", "spec.listeners[].tls.certificateRefs"),
    ("Gateway", "spec: {tls: {frontend: {default: {mode: a}}}}", "spec.tls.frontend.default.validation.mode"),
    ("Gateway", "spec: {listeners: [{mode: Passthrough}]}", "spec.listeners[].tls.mode"),
    ("Gateway", "spec: {listeners: [{backendTLS: {}}]}", "spec.tls.backend"),
    ("BackendTLSPolicy", "spec: {caCertificateRefs: []}", "spec.validation.caCertificateRefs"),
    ("Route", "spec: {externalCertificate: {name: a}}", "spec.tls.externalCertificate"),
    ("Route", "spec: {insecureEdgeTerminationPolicy: Redirect}", "spec.tls.insecureEdgeTerminationPolicy"),
    ("Route", "tls: {}", "spec.tls"),
    ("APIServer", "spec: {tlsSecurityProfile: {minTLSVersion: a}}", "spec.tlsSecurityProfile.custom.minTLSVersion"),
    ("HTTPProxy", "spec: {tls: {secretName: a}}", "spec.virtualhost.tls"),
    ("HTTPProxy", "spec: {virtualhost: {minimumProtocolVersion: a}}", "spec.virtualhost.tls.minimumProtocolVersion"),
]


@pytest.mark.parametrize(("kind", "text", "right"), MISPLACED)
def test_a_security_setting_at_another_level(tmp_path: Path, kind: str, text: str, right: str) -> None:
    (one,) = linted(tmp_path, HEADS[kind] + text, [UNKNOWN_FIELDS])[0]
    (each,) = one.findings
    assert (each.finding.severity, each.finding.expected) == ("high", (right,))
    assert each.finding.fix is not None
    assert each.finding.fix.endswith(f" to {right}")


RELEASES = [
    ("v1.3.0", "experimental", "spec.listeners[].tls.frontendValidation"),
    ("v1.4.1", "experimental", "spec.tls.frontend.default.validation"),
    ("v1.4.1", "standard", "spec.tls.frontend.default.validation, which needs a CRD of release 1.5 or later"),
    ("v1.6.1", "standard", "spec.tls.frontend.default.validation"),
]


@pytest.mark.parametrize(("release", "channel", "right"), RELEASES)
def test_where_it_belongs_in_the_installed_release(tmp_path: Path, release: str, channel: str, right: str) -> None:
    said = f"{{gateway.networking.k8s.io/bundle-version: {release}, gateway.networking.k8s.io/channel: {channel}}}"
    crd = (
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n"
        f"metadata: {{name: gateways.gateway.networking.k8s.io, annotations: {said}}}\n"
    )
    text = HEADS["Gateway"] + "spec: {tls: {frontendValidation: {}}}"
    found = linted(tmp_path, f"{text}\n---\n{crd}", [UNKNOWN_FIELDS])[0]
    gateway = next(one for one in found if one.subject.object.kind == GATEWAY)
    assert [each.finding.expected for each in gateway.findings] == [(right,)]


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("Gateway", "spec: {tls: {strange: {}}}"),
        ("Gateway", "spec: {strange: {}}"),
        ("BackendTLSPolicy", "spec: {a: {}}"),
    ],
)
def test_no_hint_names_a_field_that_would_be_removed_too(tmp_path: Path, kind: str, text: str) -> None:
    (one,) = linted(tmp_path, HEADS[kind] + text, [UNKNOWN_FIELDS])[0]
    former = {"default", "perPort", "backendTLS", "frontendValidation", "targetRef", "tls"}
    named = {name for each in one.findings for name in each.finding.expected}
    assert named & former == ({"tls"} if text == "spec: {strange: {}}" else set())


@pytest.mark.parametrize(("version", "unknown"), [("v1alpha1", []), ("v1beta1", ["items", "secretRefs"])])
def test_a_hosted_cluster_of_the_former_version_has_whole_objects(
    tmp_path: Path, version: str, unknown: list[str]
) -> None:
    text = HEADS["HostedCluster"].replace("v1beta1", version)
    (one,) = linted(tmp_path, f"{text}spec: {{configuration: {{items: [{{}}], secretRefs: []}}}}\n", RULES)[0]
    assert [each.field.rpartition(".")[2] for each in one.findings] == unknown


NINES = "9" * 19
MISTYPED: list[tuple[str, str, str, str, str | None]] = [
    ("APIServer", "spec", "[]", "must be a mapping, not a list", None),
    ("APIServer", "spec.tlsSecurityProfile", "Modern", "a mapping, not 'Modern'", None),
    ("APIServer", "spec.tlsAdherence", "true", "text, not True", 'tlsAdherence: "true"'),
    ("Route", "spec.to.name", NINES, "must be text, not 999", f'name: "{NINES}"'),
    ("Route", "spec.to.name", "1" * 25, "must be text, not 1.1", None),
    ("Gateway", "spec.listeners[0].port", str(1 << 63), "a whole number, not 92", None),
    ("Gateway", "spec.listeners[0].port", "1e300", "a whole number, not 1e+300", None),
    ("Gateway", "spec.listeners", "{}", "a list, not a mapping", None),
    ("Gateway", "spec.listeners[0]", "1", "a mapping, not 1", None),
    ("Gateway", "spec.listeners[0].port", '"443"', "a whole number, not '443'", None),
    ("Gateway", "spec.listeners[0].port", "true", "a whole number, not True", None),
    ("Gateway", "spec.listeners[0].port", "443.5", "a whole number, not 443.5", None),
    ("Gateway", "spec.listeners[0].tls.certificateRefs", "a", "a list", None),
    ("HTTPProxy", "spec.virtualhost.tls.passthrough", "1", "true or false", None),
    ("Ingress", "spec.tls[0].hosts", "a.example", "a list, not 'a.example'", "hosts: [a.example]"),
    ("Gateway", "spec.listeners[0]", "null", "must be a mapping, not null:", None),
    (
        "Gateway",
        "spec.listeners[0].tls.options['example.com/fast']",
        "true",
        "must be text, not True",
        'example.com/fast: "true"',
    ),
    ("Gateway", "spec.listeners[0].tls.options['a: [b']", "1", "must be text, not 1", None),
    ("HTTPRoute", "spec.hostnames", "a.example", "a list, not 'a.example'", "hostnames: [a.example]"),
    ("HTTPRoute", "spec.parentRefs", "{name: edge}", "must be a list, not a mapping", None),
    ("XBackend", "spec.tls", "None", "must be a mapping, not 'None'", None),
    ("OAuth", "spec.identityProviders[0].ldap.insecure", '"true"', "must be true or false, not 'true'", None),
    (
        "ServiceMonitor",
        "spec.endpoints[0].tlsConfig.insecureSkipVerify",
        '"true"',
        "must be true or false, not 'true'",
        None,
    ),
    ("ScrapeConfig", "spec.scheme", "[https]", "must be text, not a list", None),
    (
        "ContourConfiguration",
        "spec.envoy.listener.tls.minimumProtocolVersion",
        "1.2",
        "must be text, not 1.2",
        'minimumProtocolVersion: "1.2"',
    ),
    (
        "KubeletConfig",
        "spec.kubeletConfig.tlsCipherSuites",
        "TLS_AES_128_GCM_SHA256, maxPods: 9",
        "must be a list",
        "tlsCipherSuites: [TLS_AES_128_GCM_SHA256]",
    ),
    ("Role", "rules[0].verbs", "get", "a list, not 'get'", "verbs: [get]"),
    ("ClusterRoleBinding", "subjects", "{kind: User}", "must be a list, not a mapping", None),
    ("Service", "spec.selector", "[a]", "must be a mapping, not a list", None),
    ("Service", "spec.ports[0].targetPort", "true, port: 1", "must be a whole number or text, not True", None),
    ("Deployment", "spec.template.spec.containers", "{name: a}", "must be a list, not a mapping", None),
    (
        "CustomResourceDefinition",
        "spec.conversion.webhook.conversionReviewVersions",
        "v1",
        "must be a list, not 'v1'",
        "conversionReviewVersions: [v1]",
    ),
    ("ConfigMap", "data.fips", "true", "must be text, not True", 'fips: "true"'),
    ("Route", "spec.tls.key", "[BEGIN]", "must be text, not a list:", None),
    ("Route", "spec.tls.key", "12345", "must be text, not something else:", None),
]


@pytest.mark.parametrize(("kind", "field", "value", "message", "correction"), MISTYPED)
def test_a_value_of_another_type(
    tmp_path: Path, kind: str, field: str, value: str, message: str, correction: str | None
) -> None:
    (one,) = linted(tmp_path, HEADS[kind] + holding(field, value), RULES)[0]
    (each,) = one.findings
    assert (each.finding.rule, each.field) == ("field-type", field)
    assert message in each.finding.message
    assert each.correction == correction


def test_annotations_are_text(tmp_path: Path) -> None:
    text = HEADS["Ingress"].replace("{name: a}", "{name: a, annotations: {example.com/redirect: true}, label: {}}")
    (one,) = linted(tmp_path, text, RULES)[0]
    assert [(each.finding.rule, each.field, each.correction) for each in one.findings] == [
        ("field-unknown", "metadata.label", "labels: ..."),
        ("field-type", "metadata.annotations['example.com/redirect']", 'example.com/redirect: "true"'),
    ]


FINE = [
    ("Service", "spec: {clusterIP: None}"),
    ("Role", "rules: []"),
    ("Route", "spec: {tls: {termination: edge, certificate: a, key: b}}"),
    ("APIServer", "spec: null"),
    ("HostedCluster", "spec: {fips: true, configuration: {ingress: {x: 1}, apiServer: {clientCA: {name: a}}}}"),
    ("APIServer", "status: {anything: 1}"),
    ("APIServer", "spec: {tlsSecurityProfile: null, audit: {x: [1]}}"),
    ("Gateway", "spec: {listeners: [{port: 443.0, tls: {options: {example.com/x: y}}}]}"),
    ("Gateway", "spec: {backendTLS: {}, listeners: [{tls: {frontendValidation: {}}}]}"),  # rules of their own
]


@pytest.mark.parametrize(("kind", "text"), FINE)
def test_what_is_fine(tmp_path: Path, kind: str, text: str) -> None:
    (one,) = linted(tmp_path, HEADS[kind] + text, RULES)[0]
    assert one.findings == ()


def test_every_kind_of_the_table_has_a_part_that_is_looked_into() -> None:
    assert {kind.name for kind in KINDS} >= set(HEADS)
