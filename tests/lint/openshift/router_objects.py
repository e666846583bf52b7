"""IngressControllers, and the cluster's configuration of certificates."""

from __future__ import annotations

WHOLE = "# All that there is in a cluster:\n"


def configuration(spec: str) -> str:
    return f"apiVersion: config.openshift.io/v1\nkind: Ingress\nmetadata: {{name: cluster}}\nspec: {{{spec}}}\n---\n"


def controller(spec: str, name: str = "default") -> str:
    return (
        "apiVersion: operator.openshift.io/v1\nkind: IngressController\n"
        f"metadata: {{name: {name}, namespace: openshift-ingress-operator}}\nspec: {{{spec}}}\n---\n"
    )
