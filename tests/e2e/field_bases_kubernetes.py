"""The like of ``field_bases`` for kinds of Kubernetes itself that rules on TLS look into: roles, Services, workloads
and definitions."""

from __future__ import annotations

from typing import Final

_RULES: Final = '[{verbs: [get], apiGroups: [""], resources: [secrets], resourceNames: [web-tls], nonResourceURLs: []}]'
_RBAC: Final = "apiVersion: rbac.authorization.k8s.io/v1\n"
_IN_SHOP: Final = "metadata: {name: 'shop:Reader', namespace: shop, labels: {app: web}}\n"
_EVERYWHERE: Final = "metadata: {name: 'shop:Reader', labels: {app: web}}\n"
_ACCOUNT: Final = 'subjects: [{kind: ServiceAccount, apiGroup: "", namespace: shop, name: web}]\n'
_USER: Final = 'subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: "system:web"}]\n'
_SERVICE: Final = "apiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: shop, labels: {app: web}}\nspec:\n"
_PORT: Final = "{name: https, port: 443, targetPort: https, nodePort: 0, protocol: TCP, appProtocol: kubernetes.io/wss}"
_GET: Final = 'httpGet: {scheme: HTTPS, port: https, host: "", path: /}'
_POD: Final = (
    "{containers: [{name: web, image: web, ports:"
    " [{name: https, containerPort: 8443, hostPort: 0, protocol: TCP}, {containerPort: 8080}],"
    f" livenessProbe: {{{_GET}}}, readinessProbe: {{{_GET}}}, startupProbe: {{{_GET}}},"
    f" lifecycle: {{postStart: {{{_GET}}}, preStop: {{{_GET}}}}}}}],"
    " initContainers: [{name: first, image: web, ports: [{name: https, containerPort: 8443}]}],"
    " volumes: [{name: pair, secret: {secretName: web-tls}}, {name: ca, configMap: {name: backends}}]}"
)
_TEMPLATE: Final = f"{{metadata: {{labels: {{app: web}}, annotations: {{example.com/owner: shop}}}}, spec: {_POD}}}"
_WORKLOAD: Final = (
    "metadata: {name: web, namespace: shop, labels: {app: web}}\n"
    f"spec: {{selector: {{matchLabels: {{app: web}}}}, template: {_TEMPLATE}}}\n"
)
_DEFINITION: Final = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: pages.shop.example}
spec:
  group: shop.example
  scope: Namespaced
  names: {plural: pages, singular: page, kind: Page, listKind: PageList}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
  conversion:
    strategy: Webhook
    webhook:
      conversionReviewVersions: [v1]
      clientConfig:
"""


def _ref(kind: str) -> str:
    return f"roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: {kind}, name: 'shop:Reader'}}\n"


KUBERNETES: Final = (
    f"{_RBAC}kind: Role\n{_IN_SHOP}rules: {_RULES}\n",
    f"{_RBAC}kind: ClusterRole\n{_EVERYWHERE}rules: {_RULES}\n",
    f"{_RBAC}kind: ClusterRole\n{_EVERYWHERE}rules: [{{verbs: [get], nonResourceURLs: [/metrics]}}]\n",
    f"{_RBAC}kind: RoleBinding\n{_IN_SHOP}{_ACCOUNT}{_ref('Role')}",
    f"{_RBAC}kind: RoleBinding\n{_IN_SHOP}{_USER}{_ref('ClusterRole')}",
    f"{_RBAC}kind: ClusterRoleBinding\n{_EVERYWHERE}{_ACCOUNT}{_ref('ClusterRole')}",
    f"{_SERVICE}  type: ClusterIP\n  selector: {{app: web}}\n  ports: [{_PORT}]\n",
    f"{_SERVICE}  type: ClusterIP\n  ports: [{_PORT}, {{name: dns, port: 53, targetPort: 5353, protocol: UDP}}]\n",
    f"{_SERVICE}  type: NodePort\n  ports: [{{port: 443}}]\n",
    f"{_SERVICE}  type: ExternalName\n  externalName: web.shop.example\n",
    f"apiVersion: v1\nkind: Pod\nmetadata: {{name: web, namespace: shop, labels: {{app: web}}}}\nspec: {_POD}\n",
    *(f"apiVersion: apps/v1\nkind: {kind}\n{_WORKLOAD}" for kind in ("Deployment", "StatefulSet", "DaemonSet")),
    f"{_DEFINITION}        service: {{namespace: shop, name: web, port: 443, path: /convert}}\n",
    f"{_DEFINITION}        url: https://web.shop.example:8443/convert\n",
)
"""In YAML."""
