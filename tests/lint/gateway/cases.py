"""Objects of the Gateway API in short form, and the findings of a rule on them."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from scanner.model.object_rule import ObjectRule
from tests.lint.examples import WHOLE, linted

GATEWAY = """---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge, namespace: shop}
spec:
"""


def listening(*listeners: str, more: str = "") -> str:
    """A Gateway with these listeners, in YAML's flow style and without their braces; ``more``: other lines of spec."""
    every = "\n".join(f"  - {{{each}}}" for each in listeners)
    return f"{GATEWAY}  listeners:\n{every}\n{more}"


def secret(name: str, names: str, *, namespace: str = "shop", token: str = "CERTIFICATE") -> str:
    """A Secret with a certificate for these names, and its key."""
    return f"""---
apiVersion: v1
kind: Secret
metadata: {{name: {name}, namespace: {namespace}}}
type: kubernetes.io/tls
data:
  tls.crt: {token}({names})
  tls.key: KEY({names})
"""


def of(kind: str, name: str, spec: str, *, version: str = "v1", namespace: str = "shop", more: str = "") -> str:
    """Another object of the Gateway API; ``spec`` in flow style."""
    group = "gateway.networking.x-k8s.io/v1alpha1" if kind.startswith("X") else f"gateway.networking.k8s.io/{version}"
    return f"""---
apiVersion: {group}
kind: {kind}
metadata: {{name: {name}, namespace: {namespace}}}
spec: {{{spec}}}
{more}
"""


def core(kind: str, name: str, body: str, *, namespace: str = "shop") -> str:
    """A Service, ConfigMap or Namespace; ``body``: its other fields, in lines."""
    where = f", namespace: {namespace}" if namespace else ""
    return f"---\napiVersion: v1\nkind: {kind}\nmetadata: {{name: {name}{where}}}\n{body}\n"


def said(rule: ObjectRule, *texts: str, whole: bool = False) -> list[tuple[str, str, str]]:
    """Verdict, field and message of every finding. ``whole``: there is nothing else in the cluster."""
    with TemporaryDirectory() as directory:
        text = "\n".join(texts)
        found, given = linted(Path(directory), f"{WHOLE}\n{text}" if whole else text, [rule])
    assert not given.bad, given.bad
    return [(each.finding.verdict, each.field, each.finding.message) for one in found for each in one.findings]


def verdicts(rule: ObjectRule, *texts: str, whole: bool = False) -> list[str]:
    """Those alone."""
    return [verdict for verdict, _, _ in said(rule, *texts, whole=whole)]
