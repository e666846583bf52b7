"""Objects that declare TLS, and the findings about them."""

from __future__ import annotations

HIGH, MEDIUM, LOW = ("fail", "high"), ("fail", "medium"), ("fail", "low")
UNKNOWN, INFO = ("inconclusive", "high"), ("inconclusive", "info")
ENTRY = "{hosts: [web.example.com], secretName: web}"


def ingress(tls: str, rules: str = "", annotations: str = "") -> str:
    return (
        "apiVersion: networking.k8s.io/v1\nkind: Ingress\n"
        f"metadata: {{name: web, namespace: shop, annotations: {{{annotations}}}}}\n"
        f"spec: {{tls: [{tls}], rules: [{rules}]}}\n"
    )


def secret(certificate: str, key: str, namespace: str = "shop", type_: str = "kubernetes.io/tls") -> str:
    return (
        f"apiVersion: v1\nkind: Secret\nmetadata: {{name: web, namespace: {namespace}}}\ntype: {type_}\n"
        f"data: {{tls.crt: {certificate}, tls.key: {key}}}\n"
    )


def webhook(client: str, metadata: str = "") -> str:
    return (
        "apiVersion: admissionregistration.k8s.io/v1\nkind: MutatingWebhookConfiguration\n"
        f"metadata: {{name: web{metadata}}}\nwebhooks: [{{name: a, clientConfig: {{{client}}}}}]\n"
    )


def api_service(spec: str) -> str:
    return f"apiVersion: apiregistration.k8s.io/v1\nkind: APIService\nmetadata: {{name: v1.a}}\nspec: {{{spec}}}\n"


def conversion(spec: str) -> str:
    return (
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: a}\n"
        f"spec: {{conversion: {{{spec}}}}}\n"
    )


def workload(container: str, kind: str = "Deployment") -> str:
    inner = f"metadata: {{labels: {{app: web}}}}, spec: {{containers: [{{name: web, {container}}}]}}"
    metadata = "metadata: {name: web, namespace: shop}"
    return f"apiVersion: apps/v1\nkind: {kind}\n{metadata}\nspec: {{template: {{{inner}}}}}\n"


def pod(container: str, owner: str = "") -> str:
    owners = f", ownerReferences: [{{kind: {owner}, name: a}}]" if owner else ""
    return (
        f"apiVersion: v1\nkind: Pod\nmetadata: {{name: web, namespace: shop, labels: {{app: web}}{owners}}}\n"
        f"spec: {{containers: [{{name: web, {container}}}]}}\n"
    )


def service(port: str, selector: str = "app: web") -> str:
    return (
        "apiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: shop, labels: {team: web}}\n"
        f"spec: {{selector: {{{selector}}}, ports: [{{{port}}}]}}\n"
    )


def monitor(endpoint: str, kind: str = "ServiceMonitor", namespaces: str = "") -> str:
    field, label = ("endpoints", "team") if kind == "ServiceMonitor" else ("podMetricsEndpoints", "app")
    return (
        f"apiVersion: monitoring.coreos.com/v1\nkind: {kind}\nmetadata: {{name: web, namespace: shop}}\n"
        f"spec: {{selector: {{matchLabels: {{{label}: web}}}}, {namespaces} {field}: [{{{endpoint}}}]}}\n"
    )


def probe(spec: str) -> str:
    return f"apiVersion: monitoring.coreos.com/v1\nkind: Probe\nmetadata: {{name: a, namespace: b}}\nspec: {{{spec}}}\n"
