"""KubeletConfigs: what they say of TLS, and for whom it counts; one line a case."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lint.openshift.saying import said, severities

OK = "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"
TO_WORKERS = "machineConfigPoolSelector: {matchLabels: {pool: worker}}"
MODERN = "tlsSecurityProfile: {type: Modern, modern: {}}"


def config(*parts: str, name: str = "k", more: str = "") -> str:
    return (
        "apiVersion: machineconfiguration.openshift.io/v1\nkind: KubeletConfig\n"
        f"metadata: {{name: {name}{more}}}\nspec: {{{', '.join(parts)}}}\n---\n"
    )


def pool(name: str = "worker", labels: str = "pool: worker") -> str:
    return (
        "apiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfigPool\n"
        f"metadata: {{name: {name}, labels: {{{labels}}}}}\n---\n"
    )


OTHERS = "".join(pool(f"p{each}", "pool: infra") for each in range(100))
"""As many as are looked at."""


def server(kind: str) -> str:
    return (
        "apiVersion: config.openshift.io/v1\nkind: APIServer\nmetadata: {name: cluster}\n"
        f"spec: {{tlsSecurityProfile: {{type: {kind}, {kind.lower()}: {{}}}}}}\n---\n"
    )


def alone(fields: str, *parts: str) -> str:
    return config(TO_WORKERS, f"kubeletConfig: {{{fields}}}", *parts)


def raw(fields: str, *parts: str) -> str:
    return alone(fields, *parts) + server("Intermediate")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (raw("maxPods: 500"), []),
        (raw("tlsMinVersion: VersionTLS12"), []),
        (alone("tlsMinVersion: VersionTLS12"), [("inconclusive", "tlsMinVersion", "APIServer/cluster was not read")]),
        (alone("maxPods: 500"), []),
        (
            alone("tlsMinVersion: VersionTLS12") + server("Modern"),
            [("medium", "tlsMinVersion", "overrides VersionTLS13 of APIServer/cluster (Modern)")],
        ),
        (alone("tlsMinVersion: VersionTLS12", MODERN.replace("Modern, modern", "Odd, odd")), []),
        (
            raw("tlsMinVersion: VersionTLS11"),
            [("medium", "tlsMinVersion", "deprecated"), ("medium", "tlsMinVersion", "overrides")],
        ),
        (raw("tlsMinVersion: TLSv1.2"), [("high", "tlsMinVersion", "no kubelet starts with 'TLSv1.2'")]),
        (raw("tlsMinVersion: 1.2"), [("high", "tlsMinVersion", "no kubelet starts with 1.2")]),
        (raw(f"tlsCipherSuites: [{OK}]"), []),
        (raw("tlsCipherSuites: []"), []),
        (raw(f"tlsCipherSuites: {OK}"), [("high", "tlsCipherSuites", "it must be a list")]),
        (
            raw("tlsCipherSuites: [TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384]"),
            [("high", "tlsCipherSuites", "HTTP/2 requires one that is not listed")],
        ),
        (
            raw(f"tlsCipherSuites: [{OK}, ECDHE-RSA-AES256-GCM-SHA384]"),
            [("high", "tlsCipherSuites[1]", "Go has no suite with that name")],
        ),
        (
            raw(f"tlsCipherSuites: [{OK}, TLS_DHE_RSA_WITH_AES_128_GCM_SHA256]"),
            [("high", "tlsCipherSuites[1]", "Go has no suite with that name")],
        ),
        (raw(f"tlsCipherSuites: [{OK}, 3]"), [("high", "tlsCipherSuites[1]", "no kubelet starts with 3")]),
        (raw(f"tlsCipherSuites: [{OK}, TLS_RSA_WITH_RC4_128_SHA]"), [("high", "tlsCipherSuites[1]", "has RC4")]),
        (
            raw(f"tlsCipherSuites: [{OK}, TLS_RSA_WITH_AES_128_GCM_SHA256]"),
            [("low", "tlsCipherSuites[1]", "no forward secrecy")],
        ),
        (raw(f"tlsCipherSuites: [{OK}, TLS_AES_128_GCM_SHA256]"), [("low", "tlsCipherSuites[1]", "always enabled")]),
        (
            raw(f"tlsMinVersion: VersionTLS13, tlsCipherSuites: [{OK}]"),
            [("low", "tlsCipherSuites", "has no effect"), ("low", "tlsMinVersion", "overrides")],
        ),
        (
            raw("tlsMinVersion: VersionTLS12", MODERN),
            [("medium", "tlsMinVersion", "overrides VersionTLS13 of tlsSecurityProfile (Modern)")],
        ),
        (raw("tlsMinVersion: VersionTLS13", MODERN), []),
        (
            raw("tlsMinVersion: VersionTLS13", "tlsSecurityProfile: {type: Old, old: {}}"),
            [("low", "tlsMinVersion", "overrides")],
        ),
        (
            raw("tlsMinVersion: VersionTLS13", "tlsSecurityProfile: {type: Custom, custom: {}}"),
            [("low", "tlsMinVersion", "VersionTLS12")],
        ),
        (raw(f"tlsCipherSuites: [{OK}]", MODERN), [("medium", "tlsCipherSuites", "overrides")]),
        (raw("tlsCertFile: /a"), [("high", "tlsCertFile", "without tlsPrivateKeyFile")]),
        (raw("tlsCertFile: /a, tlsPrivateKeyFile: /b"), [("medium", "tlsCertFile", "it is not renewed")]),
        (raw("rotateCertificates: false"), [("low", "rotateCertificates", "true remains")]),
        (raw("rotateCertificates: true, serverTLSBootstrap: true, readOnlyPort: 0"), []),
        (raw("serverTLSBootstrap: false"), [("low", "serverTLSBootstrap", "true remains")]),
        (raw("readOnlyPort: 10255"), [("medium", "readOnlyPort", "plain HTTP")]),
    ],
)
def test_what_a_kubelet_is_told(tmp_path: Path, text: str, expected: list[tuple[str, str, str]]) -> None:
    found = said(tmp_path, "kubelet-config-tls", text)
    assert [each[:2] for each in found] == [(severity, f"spec.kubeletConfig.{at}") for severity, at, _ in expected]
    assert all(part in message for (_, _, message), (_, _, part) in zip(found, expected, strict=True))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (config(MODERN) + pool(), ["medium"]),
        (config("machineConfigPoolSelector: {}", MODERN) + pool(), ["medium"]),
        (config(TO_WORKERS, MODERN) + pool(), []),
        (config("machineConfigPoolSelector: {matchLabels: {pool: infra}}", MODERN) + pool(), ["inconclusive"]),
        (config("machineConfigPoolSelector: {matchExpressions: [{key: pool, operator: Exists}]}", MODERN) + pool(), []),
        (config(TO_WORKERS, MODERN), ["inconclusive"]),
        (config("kubeletConfig: {maxPods: 500}") + pool(), []),
        (config("kubeletConfig: {tlsMinVersion: VersionTLS12}") + pool(), ["medium"]),
        ("# All that there is in a cluster:\n" + config(TO_WORKERS, MODERN), ["medium"]),
        ("# All that there is in a cluster:\n" + config(TO_WORKERS, MODERN) + OTHERS + pool(), ["inconclusive"]),
    ],
)
def test_pools(tmp_path: Path, text: str, expected: list[str]) -> None:
    assert severities(tmp_path, "kubelet-config-pool", text) == expected


PODS = "kubeletConfig: {maxPods: 500}"
BY_EXPRESSION = "machineConfigPoolSelector: {matchExpressions: [{key: pool, operator: In, values: [worker]}]}"
SUFFIX = ', annotations: {machineconfiguration.openshift.io/mc-name-suffix: "1"}'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (config(TO_WORKERS, MODERN), []),
        (config(TO_WORKERS, MODERN) + config(TO_WORKERS, PODS, name="l"), ["medium: the one that is created last"]),
        (config(TO_WORKERS, PODS) + config(TO_WORKERS, PODS, name="l"), []),
        (
            config(TO_WORKERS, MODERN) + config(TO_WORKERS, MODERN, name="l"),
            ["medium: the one that is created last", "medium: the one that is created last"],
        ),
        (config(TO_WORKERS, MODERN) + config(BY_EXPRESSION, PODS, name="l") + pool(), ["medium: MachineConfigPool/"]),
        (config(TO_WORKERS, MODERN) + config(BY_EXPRESSION, PODS, name="l"), ["inconclusive: whether KubeletConfig/l"]),
        (
            config(TO_WORKERS, MODERN) + config(TO_WORKERS, PODS, name="l", more=SUFFIX),
            ["medium: KubeletConfig/l, the later one, takes effect"],
        ),
        (
            config(TO_WORKERS, MODERN, more=SUFFIX) + config(TO_WORKERS, PODS, name="l"),
            ["medium: KubeletConfig/k, the later one, takes effect"],
        ),
        (
            "# All that there is in a cluster:\n"
            + config(TO_WORKERS, MODERN)
            + config("machineConfigPoolSelector: {matchLabels: {pool: infra}}", PODS, name="l")
            + pool(),
            [],
        ),
        (config(TO_WORKERS, MODERN) + config("machineConfigPoolSelector: {}", PODS, name="l"), []),
        (
            "# All that there is in a cluster:\n"
            + config(TO_WORKERS, MODERN)
            + config(BY_EXPRESSION, PODS, name="l")
            + OTHERS
            + pool(),
            ["inconclusive: whether KubeletConfig/l"],
        ),
    ],
)
def test_several_for_one_pool(tmp_path: Path, text: str, expected: list[str]) -> None:
    found = said(tmp_path, "kubelet-config-conflict", text)
    assert len(found) == len(expected)
    for (severity, _, message), wanted in zip(found, expected, strict=True):
        assert severity == wanted.partition(": ")[0]
        assert wanted.partition(": ")[2] in message
