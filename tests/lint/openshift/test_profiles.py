"""Objects with a ``tlsSecurityProfile``, as admission and their readers take them: one line a case."""

from __future__ import annotations

from pathlib import Path

import pytest

from scanner.cluster.replaying import load
from scanner.linting import LINT_READS
from tests.lint.openshift.saying import holder, said

H2 = "ECDHE-RSA-AES128-GCM-SHA256"


def custom(ciphers: str, minimum: str = "VersionTLS12", more: str = "") -> str:
    return f"{{type: Custom, custom: {{ciphers: [{ciphers}], minTLSVersion: {minimum}{more}}}}}"


@pytest.mark.parametrize(
    ("kind", "profile", "expected"),
    [
        ("APIServer", "{}", []),
        ("APIServer", "{type: ''}", []),
        ("APIServer", "{type: Modern, modern: {}}", []),
        ("APIServer", "{type: Modern}", [("high", "type", "type set to Modern, but the corresponding field is unset")]),
        ("APIServer", "{old: {}}", [("high", "", "one of the profiles is set but 'type' field is empty")]),
        ("APIServer", "{type: Moden}", [("high", "type", "Unsupported value: 'Moden'")]),
        ("APIServer", "{type: modern}", [("high", "type", "Unsupported value: 'modern'")]),
        ("APIServer", "{type: 3}", [("high", "type", "Unsupported value: 3")]),
        ("APIServer", "{type: Old, old: {}, custom: {}}", [("low", "custom", "type is Old, so custom means nothing")]),
        ("APIServer", "{type: Custom}", [("high", "type", "type set to Custom, but the corresponding field is unset")]),
        ("IngressController", "{type: Modern}", []),
        ("IngressController", "{type: Custom}", [("high", "type", "the router keeps what it had")]),
        ("KubeletConfig", "{type: Modern}", []),
        ("KubeletConfig", "{type: Odd}", [("high", "type", "Unsupported value")]),
        ("HostedCluster", "{type: Odd}", [("high", "type", "Unsupported value")]),
        ("Forwarder", "{type: Odd}", [("high", "type", "Unsupported value")]),
    ],
)
def test_type(tmp_path: Path, kind: str, profile: str, expected: list[tuple[str, str, str]]) -> None:
    found = said(tmp_path, "tls-profile-type", holder(kind, profile))
    steps = "spec.configuration.apiServer" if kind == "HostedCluster" else "spec"
    wanted = [(severity, f"{steps}.tlsSecurityProfile.{field}".rstrip(".")) for severity, field, _ in expected]
    assert [each[:2] for each in found] == wanted
    assert all(part in message for (_, _, message), (_, _, part) in zip(found, expected, strict=True))


def test_the_name_of_the_apiserver(tmp_path: Path) -> None:
    text = holder("APIServer", "{type: Old, old: {}}", name="other")
    assert said(tmp_path, "tls-profile-type", text) == [
        ("high", "metadata.name", "the API server refuses it: must be cluster")
    ]


@pytest.mark.parametrize(
    ("kind", "profile", "parts"),
    [
        ("APIServer", custom(H2), []),
        ("APIServer", custom("", "VersionTLS13"), []),
        ("APIServer", custom(H2, "VersionTLS13"), ["Cipher suites cannot be configured when minTLSVersion"]),
        ("APIServer", custom("TLS_AES_128_GCM_SHA256", "VersionTLS13"), ["Cipher suites cannot be configured"]),
        ("APIServer", custom("ECDHE-RSA-AES256-GCM-SHA384"), ["no cipher suite that HTTP/2 requires"]),
        ("APIServer", custom(""), ["no supported cipher suite found", "no cipher suite that HTTP/2 requires"]),
        (
            "APIServer",
            custom("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"),
            ["no supported cipher suite found", "no cipher suite that HTTP/2 requires"],
        ),
        (
            "APIServer",
            custom("DHE-RSA-AES128-GCM-SHA256"),
            ["no supported cipher suite found", "no cipher suite that HTTP/2 requires"],
        ),
        ("APIServer", custom(H2, "TLSv1.2"), ["Unsupported value: 'TLSv1.2'"]),
        ("APIServer", "{type: Modern, modern: {}, custom: {ciphers: [x], minTLSVersion: VersionTLS13}}", []),
        ("KubeletConfig", custom(H2, "VersionTLS13"), ["Cipher suites cannot be configured"]),
        ("HostedCluster", custom(H2, "VersionTLS13"), ["Cipher suites cannot be configured"]),
        ("Forwarder", custom(H2, "VersionTLS13"), ["Cipher suites cannot be configured"]),
        ("IngressController", custom(H2), []),
        ("IngressController", custom("TLS_AES_128_GCM_SHA256", "VersionTLS13"), []),
        ("IngressController", custom(H2, "VersionTLS13"), ["no TLS 1.3 cipher suite is listed with VersionTLS13"]),
        ("IngressController", custom("TLS_AES_128_GCM_SHA256"), ["only TLS 1.3 cipher suites are listed"]),
        ("IngressController", custom(""), ["the list of ciphers is empty"]),
        ("IngressController", custom("DHE-RSA-AES128-GCM-SHA256"), []),
        ("APIServer", custom(H2, more=", groups: [X25519, secp256r1]"), []),
        ("APIServer", custom(H2, more=", groups: []"), ["it has 0 groups, and must have 1 to 7"]),
        ("APIServer", custom(H2, more=", groups: [P-256, 3]"), ["unknown group 'P-256'", "unknown group 3"]),
        ("APIServer", custom(H2, more=", groups: [X25519, X25519]"), ["Duplicate value: 'X25519'"]),
    ],
)
def test_custom(tmp_path: Path, kind: str, profile: str, parts: list[str]) -> None:
    found = said(tmp_path, "tls-profile-custom", holder(kind, profile))
    assert len(found) == len(parts)
    assert all(severity == "high" for severity, _, _ in found)
    assert all(part in message for (_, _, message), part in zip(found, parts, strict=True))


@pytest.mark.parametrize(
    ("kind", "name", "part"),
    [
        ("APIServer", H2, None),
        ("APIServer", "TLS_AES_128_GCM_SHA256", None),
        ("APIServer", "AES256-SHA256", "none that Go has"),
        ("APIServer", "ECDHE-RSA-AES256-SHA384", "none that Go has"),
        ("APIServer", "DHE-RSA-AES128-GCM-SHA256", "none that Go has"),
        ("APIServer", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "IANA's name"),
        ("APIServer", "ECDHE-RSA-AES128-GCM-SHA265", "is no cipher suite"),
        ("APIServer", "0xC02F", "is no cipher suite"),
        ("APIServer", "3", "is no name"),
        ("KubeletConfig", "DHE-RSA-AES128-GCM-SHA256", "none that Go has"),
        ("HostedCluster", "AES128-GCM-SHA256", "none that HyperShift has"),
        ("HostedCluster", "ECDHE-RSA-AES128-SHA", None),
        ("IngressController", "DHE-RSA-AES128-GCM-SHA256", None),
        ("IngressController", "'!RC4'", None),
        ("IngressController", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "IANA's name"),
    ],
)
def test_names_that_are_lost(tmp_path: Path, kind: str, name: str, part: str | None) -> None:
    found = said(tmp_path, "tls-profile-ciphers", holder(kind, custom(name)))
    assert [severity for severity, _, _ in found] == (["medium"] if part else [])
    if part:
        assert part in found[0][2]
        assert found[0][1].endswith("custom.ciphers[0]")


@pytest.mark.parametrize(
    ("profile", "field"),
    [
        ("{type: Old, old: {}}", "type"),
        (custom(H2, "VersionTLS10"), "custom.minTLSVersion"),
        (custom(H2, "VersionTLS11"), "custom.minTLSVersion"),
        (custom(H2, "VersionTLS12"), None),
        ("{type: Intermediate, intermediate: {}, custom: {minTLSVersion: VersionTLS10}}", None),
    ],
)
def test_old_versions(tmp_path: Path, profile: str, field: str | None) -> None:
    found = said(tmp_path, "tls-profile-version", holder("APIServer", profile))
    assert [each[:2] for each in found] == ([("medium", f"spec.tlsSecurityProfile.{field}")] if field else [])


TLS13 = holder("APIServer", "{type: Custom, custom: {minTLSVersion: VersionTLS13}}")
HEIR = (
    "apiVersion: operator.openshift.io/v1\nkind: IngressController\nmetadata: {name: d, namespace: o}\nspec: {}\n---\n"
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (TLS13 + HEIR, ["high", "high"]),
        (TLS13 + holder("IngressController", "{}"), ["high", "high"]),
        (TLS13 + holder("IngressController", "{type: Modern, modern: {}}"), []),
        (holder("APIServer", "{type: Modern, modern: {}}") + HEIR, []),
        (TLS13, ["inconclusive"]),
        (HEIR, ["inconclusive"]),
        (holder("IngressController", "{type: Modern, modern: {}}"), []),
    ],
)
def test_what_an_ingress_controller_inherits(tmp_path: Path, text: str, expected: list[str]) -> None:
    found = said(tmp_path, "ingress-profile-inherited", text)
    assert [severity for severity, _, _ in found] == expected


CONFIG = (
    "apiVersion: machineconfiguration.openshift.io/v1\nkind: KubeletConfig\nmetadata: {name: k}\n"
    "spec: {%s tlsSecurityProfile: {type: Modern}}\n---\n"
)
POOL = (
    "apiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfigPool\n"
    "metadata: {name: worker, labels: {pool: worker}}\n---\n"
)


@pytest.mark.parametrize(
    ("selector", "others", "expected"),
    [
        ("", POOL, ["medium"]),
        ("machineConfigPoolSelector: {},", POOL, ["medium"]),
        ("machineConfigPoolSelector: {matchLabels: {pool: worker}},", POOL, []),
        ("machineConfigPoolSelector: {matchLabels: {pool: infra}},", POOL, ["inconclusive"]),
        ("machineConfigPoolSelector: {matchExpressions: [{key: pool, operator: Exists}]},", POOL, []),
        ("machineConfigPoolSelector: {matchLabels: {pool: worker}},", "", ["inconclusive"]),
    ],
)
def test_pools(tmp_path: Path, selector: str, others: str, expected: list[str]) -> None:
    found = said(tmp_path, "kubelet-config-pool", CONFIG % selector + others)
    assert [severity for severity, _, _ in found] == expected


SERVER = "apiVersion: config.openshift.io/v1\nkind: APIServer\nmetadata: {name: cluster}\nspec: {%s}\n"


@pytest.mark.parametrize(
    ("value", "part"),
    [
        ("StrictAllComponents", None),
        ("LegacyAdheringComponentsOnly", None),
        ("LegacyExternalAPIServerComponentsOnly", "an earlier spelling of LegacyAdheringComponentsOnly"),
        ("Strict", "an earlier spelling of StrictAllComponents"),
        ("Loose", "it counts as strict"),
        ("''", "none that any release knows"),
        ("{a: b}", "it counts as strict"),
    ],
)
def test_adherence(tmp_path: Path, value: str, part: str | None) -> None:
    found = said(tmp_path, "adherence-value", SERVER % f"tlsAdherence: {value}")
    assert [each[:2] for each in found] == ([("medium", "spec.tlsAdherence")] if part else [])
    assert part is None or part in found[0][2]


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [
        ("tlsAdherence: StrictAllComponents", "", "high"),
        ("tlsAdherence: LegacyAdheringComponentsOnly", "", "high"),
        ("tlsAdherence: StrictAllComponents", "tlsAdherence: null", "high"),
        ("tlsAdherence: StrictAllComponents", "tlsAdherence: LegacyAdheringComponentsOnly", "info"),
        ("tlsAdherence: LegacyAdheringComponentsOnly", "tlsAdherence: StrictAllComponents", None),
        ("", "", None),
        ("", "tlsAdherence: StrictAllComponents", None),
    ],
)
def test_adherence_against_what_a_cluster_has(tmp_path: Path, before: str, now: str, expected: str | None) -> None:
    saved = tmp_path / "cluster"
    saved.mkdir()
    (saved / "apiserver.yaml").write_text(SERVER % before)
    found = said(tmp_path, "adherence-removed", SERVER % now, load(saved, LINT_READS))
    assert [severity for severity, _, _ in found] == ([expected] if expected else [])


def test_a_namespace_that_does_not_belong_there_changes_nothing(tmp_path: Path) -> None:
    saved = tmp_path / "cluster"
    saved.mkdir()
    (saved / "apiserver.yaml").write_text(SERVER % "tlsAdherence: StrictAllComponents")
    text = (SERVER % "").replace("name: cluster", "name: cluster, namespace: default")
    found = said(tmp_path, "adherence-removed", text, load(saved, LINT_READS))
    assert [severity for severity, _, _ in found] == ["high"]


@pytest.mark.parametrize(("state", "expected"), [("enabled", []), ("disabled", ["low"])])
def test_adherence_behind_its_gate(tmp_path: Path, state: str, expected: list[str]) -> None:
    gates = (
        "---\napiVersion: config.openshift.io/v1\nkind: FeatureGate\nmetadata: {name: cluster}\n"
        f"status: {{featureGates: [{{version: 4.22.0, {state}: [{{name: TLSAdherence}}]}}]}}\n"
    )
    found = said(tmp_path, "adherence-value", SERVER % "tlsAdherence: StrictAllComponents" + gates)
    assert [severity for severity, _, _ in found] == expected
