"""How an object of each kind begins."""

from __future__ import annotations

import json
import re

HEADS = {
    "APIServer": "apiVersion: config.openshift.io/v1\nkind: APIServer\nmetadata: {name: cluster}\n",
    "Gateway": "apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {name: a}\n",
    "Route": "apiVersion: route.openshift.io/v1\nkind: Route\nmetadata: {name: a}\n",
    "HTTPProxy": "apiVersion: projectcontour.io/v1\nkind: HTTPProxy\nmetadata: {name: a}\n",
    "HostedCluster": "apiVersion: hypershift.openshift.io/v1beta1\nkind: HostedCluster\nmetadata: {name: a}\n",
    "Console": "apiVersion: operator.openshift.io/v1\nkind: Console\nmetadata: {name: cluster}\n",
    "KubeletConfig": "apiVersion: machineconfiguration.openshift.io/v1\nkind: KubeletConfig\nmetadata: {name: a}\n",
    "Ingress": "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: a}\n",
    "BackendTLSPolicy": "apiVersion: gateway.networking.k8s.io/v1\nkind: BackendTLSPolicy\nmetadata: {name: a}\n",
    "ValidatingWebhookConfiguration": (
        "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\nmetadata: {name: a}\n"
    ),
    "APIService": "apiVersion: apiregistration.k8s.io/v1\nkind: APIService\nmetadata: {name: v1.a}\n",
    "HTTPRoute": "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: a}\n",
    "XBackend": "apiVersion: gateway.networking.x-k8s.io/v1alpha1\nkind: XBackend\nmetadata: {name: a}\n",
    "OAuth": "apiVersion: config.openshift.io/v1\nkind: OAuth\nmetadata: {name: cluster}\n",
    "ExtensionService": "apiVersion: projectcontour.io/v1alpha1\nkind: ExtensionService\nmetadata: {name: a}\n",
    "ContourConfiguration": "apiVersion: projectcontour.io/v1alpha1\nkind: ContourConfiguration\nmetadata: {name: a}\n",
    "ServiceMonitor": "apiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\nmetadata: {name: a}\n",
    "ScrapeConfig": "apiVersion: monitoring.coreos.com/v1alpha1\nkind: ScrapeConfig\nmetadata: {name: a}\n",
    "Role": "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: 'a:B'}\n",
    "ClusterRoleBinding": (
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: 'a:B'}\n"
    ),
    "Service": "apiVersion: v1\nkind: Service\nmetadata: {name: a}\n",
    "Deployment": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\n",
    "CustomResourceDefinition": (
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: a.b}\n"
    ),
    "ReferenceGrant": "apiVersion: gateway.networking.k8s.io/v1\nkind: ReferenceGrant\nmetadata: {name: a}\n",
    "ConfigMap": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
}


def holding(field: str, value: str) -> str:
    """The YAML of an object, without its head, that has this text at a field; empty items stand before an indexed one.

    ``"1, name: a"`` for a value has a neighbour after it.
    """
    text = value
    for number, quoted, name in reversed(re.findall(r"\[(\d+)\]|\['([^']*)'\]|([^.\[]+)", field)):
        text = f"[{'{}, ' * int(number)}{text}]" if number else f"{{{name or json.dumps(quoted)}: {text}}}"
    return text.removeprefix("{").removesuffix("}")
