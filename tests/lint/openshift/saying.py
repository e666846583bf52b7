"""Findings of the rules on OpenShift's objects, for a few lines of YAML."""

from __future__ import annotations

from pathlib import Path

from scanner.kube.snapshot import Snapshot
from scanner.lint.openshift import OPENSHIFT_RULES
from tests.lint.examples import linted

_GROUPS = {
    "APIServer": "config.openshift.io/v1",
    "IngressController": "operator.openshift.io/v1",
    "KubeletConfig": "machineconfiguration.openshift.io/v1",
    "HostedCluster": "hypershift.openshift.io/v1beta1",
    "Forwarder": "logging.example/v1",
}
RULES = {rule.id: rule for rule in OPENSHIFT_RULES}


def said(directory: Path, rule: str, text: str, cluster: Snapshot | None = None) -> list[tuple[str, str, str]]:
    """Severity (of what fails, else the verdict), field and message of each finding of the rule."""
    found, given = linted(directory, text, [RULES[rule]], cluster)
    assert not given.bad, given.bad
    assert found, "no object that the rule looks at"
    return [
        (
            each.finding.severity if each.finding.verdict == "fail" else each.finding.verdict,
            each.field,
            each.finding.message,
        )
        for one in found
        for each in one.findings
    ]


def severities(directory: Path, rule: str, text: str, cluster: Snapshot | None = None) -> list[str]:
    """The first of what is ``said`` of each finding."""
    return [severity for severity, _, _ in said(directory, rule, text, cluster)]


def route(spec: str = "", tls: str = "", *, name: str = "web", namespace: str = "shop", more: str = "") -> str:
    """A Route for web.shop.example to the Service web; ``tls`` empty: without."""
    parts = ["host: web.shop.example", "to: {kind: Service, name: web}", *filter(None, (spec, tls and f"tls: {tls}"))]
    head = f"apiVersion: route.openshift.io/v1\nkind: Route\nmetadata: {{name: {name}, namespace: {namespace}{more}}}\n"
    if "host:" in spec:
        parts.remove("host: web.shop.example")
    return head + "spec: {" + ", ".join(parts) + "}\n---\n"


def secret(data: str, kind: str = "kubernetes.io/tls", *, namespace: str = "shop") -> str:
    """The Secret web."""
    return (
        f"apiVersion: v1\nkind: Secret\nmetadata: {{name: web, namespace: {namespace}}}\n"
        f"type: {kind}\ndata: {{{data}}}\n---\n"
    )


def holder(kind: str, profile: str, name: str = "cluster") -> str:
    """An object with a ``tlsSecurityProfile``."""
    inner = f"tlsSecurityProfile: {profile}"
    spec = f"configuration: {{apiServer: {{{inner}}}}}" if kind == "HostedCluster" else inner
    return (
        f"apiVersion: {_GROUPS[kind]}\nkind: {kind}\nmetadata: {{name: {name}, namespace: n}}\nspec: {{{spec}}}\n---\n"
    )
