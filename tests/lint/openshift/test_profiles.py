"""Objects with a ``tlsSecurityProfile``, as admission and their readers take them: one line a case."""

from __future__ import annotations

from pathlib import Path

import pytest

from scanner.cluster.snapshot_directory import load
from scanner.linting import LINT_READS
from tests.lint.openshift.saying import holder, said, severities

H2 = "ECDHE-RSA-AES128-GCM-SHA256"


def custom(ciphers: str, minimum: str = "VersionTLS12", more: str = "") -> str:
    return f"{{type: Custom, custom: {{ciphers: [{ciphers}], minTLSVersion: {minimum}{more}}}}}"


@pytest.mark.parametrize(
    ("kind", "profile", "expected"),
    [
        ("APIServer", "{}", []),
        ("APIServer", "{type: ''}", [("high", "type", "Unsupported value: ''")]),
        ("APIServer", "{type: Modern, modern: {}}", []),
        ("APIServer", "{type: Modern}", [("high", "type", "type set to Modern, but the corresponding field is unset")]),
        ("APIServer", "{old: {}}", [("high", "", "one of the profiles is set but 'type' field is empty")]),
        ("APIServer", "{type: Moden}", [("high", "type", "Unsupported value: 'Moden'")]),
        ("APIServer", "{type: modern}", [("high", "type", "Unsupported value: 'modern'")]),
        ("APIServer", "{type: 3}", [("high", "type", "Unsupported value: 3")]),
        ("APIServer", "{type: Old, old: {}, custom: {}}", [("low", "custom", "type is Old, so custom has no effect")]),
        ("APIServer", "{type: Custom}", [("high", "type", "type set to Custom, but the corresponding field is unset")]),
        ("IngressController", "{type: Modern}", []),
        ("IngressController", "{type: Custom}", [("high", "type", "the router keeps its previous configuration")]),
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
        ("high", "metadata.name", "the API server refuses the object: must be cluster")
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
        ("KubeletConfig", custom(H2, more=", groups: [X25519]"), ["the machine config operator does not use groups"]),
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
        ("IngressController", custom("ECDHE+AESGCM, '!aNULL'"), []),
        ("IngressController", custom(f"{H2}, '@STRENGTH'"), ["the list of ciphers has '@STRENGTH'"]),
        (
            "IngressController",
            "{type: Custom, custom: {}}",
            ["the list of ciphers is empty", "minTLSVersion is not set"],
        ),
        ("IngressController", f"{{type: Custom, custom: {{ciphers: [{H2}]}}}}", ["minTLSVersion is not set"]),
        ("APIServer", "{type: Custom, custom: {minTLSVersion: VersionTLS12}}", ["no supported cipher", "HTTP/2"]),
        ("APIServer", custom(H2, more=", groups: [X25519, secp256r1]"), []),
        ("APIServer", custom(H2, more=", groups: []"), ["it has 0 groups, but 1 to 7 are allowed"]),
        ("APIServer", custom(H2, more=", groups: [P-256, 3]"), ["unknown group 'P-256'", "unknown group 3"]),
        ("APIServer", custom(H2, more=", groups: [X25519, X25519]"), ["Duplicate value: 'X25519'"]),
    ],
)
def test_custom(tmp_path: Path, kind: str, profile: str, parts: list[str]) -> None:
    found = said(tmp_path, "tls-profile-custom", holder(kind, profile))
    assert len(found) == len(parts)
    assert all(severity == ("low" if "does not use groups" in message else "high") for severity, _, message in found)
    assert all(part in message for (_, _, message), part in zip(found, parts, strict=True))


@pytest.mark.parametrize(
    ("kind", "part"),
    [
        ("APIServer", "means VersionTLS12, and the operator rejects an IngressController that inherits it"),
        ("KubeletConfig", "means VersionTLS12"),
        ("Forwarder", "means VersionTLS12"),
    ],
)
def test_without_a_version(tmp_path: Path, kind: str, part: str) -> None:
    found = said(tmp_path, "tls-profile-custom", holder(kind, f"{{type: Custom, custom: {{ciphers: [{H2}]}}}}"))
    assert [each[:2] for each in found] == [("low", "spec.tlsSecurityProfile.custom.minTLSVersion")]
    assert found[0][2].endswith(part)


@pytest.mark.parametrize(
    ("kind", "name", "expected"),
    [
        ("IngressController", "NULL-SHA", ("high", "does not encrypt")),
        ("IngressController", "ADH-AES128-SHA", ("high", "does not authenticate the server")),
        ("IngressController", "EXP-RC4-MD5", ("high", "export")),
        ("IngressController", "DES-CBC-SHA", ("high", "DES with 56 bits")),
        ("IngressController", "IDEA-CBC-SHA", ("medium", "Sweet32")),
        ("IngressController", "ALL", ("high", "broken")),
        ("IngressController", "ECDHE+aNULL", ("high", "broken")),
        ("IngressController", "HIGH", None),
        ("IngressController", "'!NULL'", None),
        ("IngressController", "AES128-GCM-SHA256", ("low", "forward secrecy")),
        ("IngressController", "ECDHE-RSA-AES128-SHA", ("low", "CBC")),
        ("IngressController", "DHE-RSA-AES128-GCM-SHA256", None),
        ("IngressController", "TLS_AES_128_GCM_SHA256", None),
        ("APIServer", "ECDHE-RSA-RC4-SHA", ("high", "RC4")),
        ("APIServer", "TLS_RSA_WITH_3DES_EDE_CBC_SHA", ("medium", "Sweet32")),
        ("KubeletConfig", "ECDHE-RSA-RC4-SHA", ("low", "RC4, which RFC 7465 prohibits, and the component ignores it")),
        ("KubeletConfig", "DES-CBC3-SHA", ("medium", "Sweet32")),
        ("Forwarder", "DES-CBC3-SHA", ("medium", "Sweet32")),
        ("APIServer", H2, None),
        ("APIServer", "3", None),
    ],
)
def test_weak_suites(tmp_path: Path, kind: str, name: str, expected: tuple[str, str] | None) -> None:
    found = said(tmp_path, "tls-profile-weak-suites", holder(kind, custom(f"{H2}, {name}")))
    wanted = [("spec.tlsSecurityProfile.custom.ciphers[1]", expected[0])] if expected else []
    assert [(field, severity) for severity, field, _ in found] == wanted
    assert expected is None or expected[1] in found[0][2]


EC = "ECDHE-ECDSA-AES128-GCM-SHA256"


@pytest.mark.parametrize(
    ("kind", "profile", "expected"),
    [
        ("APIServer", custom(f"{H2}, {EC}"), None),
        ("APIServer", custom(H2), "low"),
        ("APIServer", custom(EC), "medium"),
        ("APIServer", custom("", "VersionTLS13"), None),
        ("APIServer", custom("TLS_AES_128_GCM_SHA256"), None),
        ("KubeletConfig", custom(H2), "medium"),
        ("KubeletConfig", custom(EC), "low"),
        ("IngressController", custom(EC), "medium"),
        ("IngressController", custom(f"{EC}, HIGH"), "inconclusive"),
        ("IngressController", custom("PSK-AES128-GCM-SHA256, TLS_AES_128_GCM_SHA256"), "high"),
        ("IngressController", custom("FANCY"), "high"),
        ("IngressController", custom(""), None),
        ("Forwarder", custom(EC), "low"),
        ("APIServer", "{type: Modern, modern: {}}", None),
    ],
)
def test_suites_for_one_kind_of_key(tmp_path: Path, kind: str, profile: str, expected: str | None) -> None:
    assert severities(tmp_path, "tls-profile-key-types", holder(kind, profile)) == ([expected] if expected else [])


@pytest.mark.parametrize(("state", "expected"), [("enabled", []), ("disabled", ["low"])])
def test_groups_behind_their_gate(tmp_path: Path, state: str, expected: list[str]) -> None:
    gates = (
        "apiVersion: config.openshift.io/v1\nkind: FeatureGate\nmetadata: {name: cluster}\n"
        f"status: {{featureGates: [{{version: 4.23.0, {state}: [{{name: TLSGroupPreferences}}]}}]}}\n"
    )
    text = holder("APIServer", custom(H2, more=", groups: [X25519]")) + gates
    assert severities(tmp_path, "tls-profile-custom", text) == expected


@pytest.mark.parametrize(
    ("kind", "profile", "part"),
    [
        ("APIServer", custom(f"{H2}, {H2}"), f"{H2} is listed already"),
        ("APIServer", custom("TLS_AES_128_GCM_SHA256, TLS_AES_128_GCM_SHA256"), "is listed already"),
        ("IngressController", custom(f"TLS_AES_128_GCM_SHA256, {H2}", "VersionTLS13"), "which VersionTLS13 disables"),
    ],
)
def test_names_that_change_nothing(tmp_path: Path, kind: str, profile: str, part: str) -> None:
    found = said(tmp_path, "tls-profile-ciphers", holder(kind, profile))
    assert [each[:2] for each in found] == [("low", "spec.tlsSecurityProfile.custom.ciphers[1]")]
    assert part in found[0][2]


@pytest.mark.parametrize(
    ("kind", "name", "part"),
    [
        ("APIServer", H2, None),
        ("APIServer", "TLS_AES_128_GCM_SHA256", None),
        ("APIServer", "AES256-SHA256", "not implemented by Go"),
        ("APIServer", "ECDHE-RSA-AES256-SHA384", "not implemented by Go"),
        ("APIServer", "DHE-RSA-AES128-GCM-SHA256", "not implemented by Go"),
        ("APIServer", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "IANA name"),
        ("APIServer", "TLS_AES_128_CCM_SHA256", "not implemented by Go"),
        ("APIServer", "TLS_KRB5_WITH_RC4_128_SHA", "not implemented by Go"),
        ("IngressController", "TLS_DHE_PSK_WITH_ARIA_128_CBC_SHA256", "not implemented by HAProxy"),
        ("APIServer", "ECDHE-RSA-AES128-GCM-SHA265", "is no cipher suite"),
        ("APIServer", "0xC02F", "is no cipher suite"),
        ("APIServer", "3", "is not the name"),
        ("KubeletConfig", "DHE-RSA-AES128-GCM-SHA256", "not implemented by Go"),
        ("HostedCluster", "AES128-GCM-SHA256", "not implemented by HyperShift"),
        ("HostedCluster", "ECDHE-RSA-AES128-SHA", None),
        ("IngressController", "DHE-RSA-AES128-GCM-SHA256", None),
        ("IngressController", "'!RC4'", None),
        ("IngressController", "HIGH", "name for a group of suites"),
        ("APIServer", "HIGH", "is no cipher suite"),
        ("IngressController", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "IANA name"),
    ],
)
def test_names_that_are_lost(tmp_path: Path, kind: str, name: str, part: str | None) -> None:
    listed = custom(f"{name}, TLS_AES_256_GCM_SHA384")
    found = said(tmp_path, "tls-profile-ciphers", holder(kind, listed))
    assert [severity for severity, _, _ in found] == (["medium"] if part else [])
    if part:
        assert part in found[0][2]
        assert found[0][1].endswith("custom.ciphers[0]")


@pytest.mark.parametrize(
    ("kind", "profile", "expected"),
    [
        ("IngressController", custom(H2), ["info"]),
        ("IngressController", custom(f"{H2}, TLS_AES_128_GCM_SHA256"), []),
        ("IngressController", custom(""), []),
        ("APIServer", custom(H2), []),
    ],
)
def test_suites_of_tls13_that_stay_on(tmp_path: Path, kind: str, profile: str, expected: list[str]) -> None:
    assert [each[0] for each in said(tmp_path, "tls-profile-ciphers", holder(kind, profile))] == expected


@pytest.mark.parametrize("profile", ["{type: Old, old: {}}", custom(H2, "VersionTLS10")])
def test_a_router_does_not_go_below_1_1(tmp_path: Path, profile: str) -> None:
    for kind, part in (("IngressController", "; a router with it accepts TLS 1.1, but not TLS 1.0"), ("APIServer", "")):
        ((_, _, message),) = said(tmp_path, "tls-profile-version", holder(kind, profile))
        assert message.endswith(part or message)
        assert ("router" in message) == bool(part)


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
        (holder("APIServer", f"{{type: Custom, custom: {{ciphers: [{H2}]}}}}") + HEIR, ["high", "high"]),
        (holder("APIServer", custom(H2)) + HEIR, []),
        (holder("APIServer", custom(f"{H2}, '@STRENGTH'")) + HEIR, ["high", "high"]),
        (holder("APIServer", custom(H2, "VersionTLS13")) + HEIR, []),
        (TLS13, ["inconclusive"]),
        (HEIR, ["inconclusive"]),
        (holder("IngressController", "{type: Modern, modern: {}}"), []),
    ],
)
def test_what_an_ingress_controller_inherits(tmp_path: Path, text: str, expected: list[str]) -> None:
    assert severities(tmp_path, "ingress-profile-inherited", text) == expected


CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: cluster-config-v1, namespace: kube-system}\ndata: {%s}\n"
IN_FIPS, NOT_IN_FIPS = (CONFIG % f"install-config: 'fips: {said}'" for said in ("true", "false"))
CHACHA = custom("TLS_CHACHA20_POLY1305_SHA256", "VersionTLS13")
OLDER = custom("ECDHE-RSA-CHACHA20-POLY1305, TLS_AES_128_GCM_SHA256")


@pytest.mark.parametrize(
    ("kind", "profile", "config", "expected"),
    [
        (
            "IngressController",
            CHACHA,
            IN_FIPS,
            [("high", "ciphers", "the ingress operator rejects the IngressController")],
        ),
        ("IngressController", CHACHA, NOT_IN_FIPS, []),
        ("IngressController", CHACHA, "", [("inconclusive", "ciphers", "is unknown: not among the manifests")]),
        ("IngressController", CHACHA, CONFIG % "install-config: '{'", [("inconclusive", "ciphers", "is unknown")]),
        ("IngressController", custom("TLS_AES_128_CCM_SHA256", "VersionTLS13"), IN_FIPS, [("high", "ciphers", "none")]),
        ("IngressController", custom(H2), IN_FIPS, []),
        ("IngressController", custom(H2), "", []),
        ("IngressController", OLDER, IN_FIPS, [("high", "ciphers", "none of the listed TLS 1.2 suites is allowed")]),
        ("APIServer", custom(f"{H2}, TLS_CHACHA20_POLY1305_SHA256"), IN_FIPS, [("high", "ciphers", "that inherits")]),
        ("KubeletConfig", custom(f"{H2}, TLS_CHACHA20_POLY1305_SHA256"), IN_FIPS, []),
        ("KubeletConfig", OLDER, IN_FIPS, [("high", "ciphers", "none of the listed TLS 1.2 suites is allowed")]),
        ("APIServer", custom(H2, more=", groups: [X25519]"), IN_FIPS, [("medium", "groups", "servers use others")]),
        ("APIServer", custom(H2, more=", groups: [X25519, secp256r1]"), IN_FIPS, []),
        ("APIServer", "{type: Modern, modern: {}}", IN_FIPS, []),
    ],
)
def test_fips(tmp_path: Path, kind: str, profile: str, config: str, expected: list[tuple[str, str, str]]) -> None:
    found = said(tmp_path, "tls-profile-fips", holder(kind, profile) + config)
    assert [(severity, field.rpartition(".")[2]) for severity, field, _ in found] == [each[:2] for each in expected]
    assert all(part in message for (_, _, message), (_, _, part) in zip(found, expected, strict=True))


def test_fips_of_a_hosted_cluster_is_its_own(tmp_path: Path) -> None:
    hosted = holder("HostedCluster", OLDER)
    assert said(tmp_path, "tls-profile-fips", hosted + IN_FIPS) == []
    assert severities(tmp_path, "tls-profile-fips", hosted.replace("spec: {", "spec: {fips: true, ")) == ["high"]


SERVER = "apiVersion: config.openshift.io/v1\nkind: APIServer\nmetadata: {name: cluster}\nspec: {%s}\n"


@pytest.mark.parametrize(
    ("value", "part"),
    [
        ("StrictAllComponents", None),
        ("LegacyAdheringComponentsOnly", None),
        ("LegacyExternalAPIServerComponentsOnly", "an earlier spelling of LegacyAdheringComponentsOnly"),
        ("Strict", "an earlier spelling of StrictAllComponents"),
        ("Loose", "components treat it as StrictAllComponents"),
        ("''", "unknown to every release"),
        ("{a: b}", "components treat it as StrictAllComponents"),
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
    wanted = [expected] if expected else []
    assert severities(tmp_path, "adherence-removed", SERVER % now, load(saved, LINT_READS)) == wanted


def test_a_namespace_that_does_not_belong_there_changes_nothing(tmp_path: Path) -> None:
    saved = tmp_path / "cluster"
    saved.mkdir()
    (saved / "apiserver.yaml").write_text(SERVER % "tlsAdherence: StrictAllComponents")
    text = (SERVER % "").replace("name: cluster", "name: cluster, namespace: default")
    assert severities(tmp_path, "adherence-removed", text, load(saved, LINT_READS)) == ["high"]


@pytest.mark.parametrize(("state", "expected"), [("enabled", []), ("disabled", ["low"])])
def test_adherence_behind_its_gate(tmp_path: Path, state: str, expected: list[str]) -> None:
    gates = (
        "---\napiVersion: config.openshift.io/v1\nkind: FeatureGate\nmetadata: {name: cluster}\n"
        f"status: {{featureGates: [{{version: 4.22.0, {state}: [{{name: TLSAdherence}}]}}]}}\n"
    )
    assert severities(tmp_path, "adherence-value", SERVER % "tlsAdherence: StrictAllComponents" + gates) == expected
