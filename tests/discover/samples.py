"""Objects that the tests of several sources need."""

from __future__ import annotations

ROUTER = """
---
{kind: IngressController, metadata: {name: default, namespace: openshift-ingress-operator},
 spec: {clientTLS: {clientCertificatePolicy: Optional}}, status: {domain: apps.ex.com}}
---
{kind: Pod, metadata: {name: router-default-5c-a, namespace: openshift-ingress, labels: {pod-template-hash: 5c,
       ingresscontroller.operator.openshift.io/deployment-ingresscontroller: default},
       ownerReferences: [{kind: ReplicaSet, name: router-default-5c}]},
 spec: {containers: [{name: router, ports: [{name: http, containerPort: 80}, {name: https, containerPort: 443},
                                            {name: metrics, containerPort: 1936}]}]},
 status: {podIPs: [{ip: 10.128.0.20}, {ip: "fd01::20"}]}}
"""
SHOP = """
---
{kind: Pod, metadata: {name: shop-0, namespace: shop, ownerReferences: [{kind: StatefulSet, name: shop}]},
 spec: {containers: [{name: c, ports: [{containerPort: 8443}]}]}, status: {podIP: 10.128.0.30}}
---
{kind: Service, metadata: {name: shop, namespace: shop}, spec: {clusterIP: 172.30.0.3,
 ports: [{name: https, port: 443, targetPort: 8443}]}}
---
{kind: EndpointSlice, metadata: {name: shop-1, namespace: shop, labels: {kubernetes.io/service-name: shop}},
 ports: [{name: https, port: 8443}], endpoints: [{addresses: [10.128.0.30]}]}
"""


def route(termination: str, rest: str = "", *, router: str = "default", admitted: str = "True") -> str:
    return f"""
---
{{kind: Route, metadata: {{name: shop, namespace: shop, labels: {{team: a}}}},
  spec: {{host: shop.apps.ex.com, to: {{kind: Service, name: shop}}, tls: {{termination: {termination}}} {rest}}},
  status: {{ingress: [{{host: shop.apps.ex.com, routerName: {router}, routerCanonicalHostname: r.ex.com,
                       conditions: [{{type: Admitted, status: "{admitted}"}}]}}]}}}}
"""


ENVOY = """
---
{kind: Service, metadata: {name: envoy, namespace: projectcontour}, spec: {clusterIP: 172.30.0.6,
 ports: [{name: https, port: 443, targetPort: 8443}]}, status: {loadBalancer: {ingress: [{ip: 198.51.100.8}]}}}
---
{kind: EndpointSlice, metadata: {name: e, namespace: projectcontour, labels: {kubernetes.io/service-name: envoy}},
 ports: [{name: https, port: 8443}], endpoints: [{addresses: [10.128.0.50]}]}
---
{kind: Pod, metadata: {name: envoy-a, namespace: projectcontour, ownerReferences: [{kind: DaemonSet, name: envoy}]},
 spec: {containers: [{name: envoy, ports: [{containerPort: 8443}]}]}, status: {podIP: 10.128.0.50}}
---
{kind: Service, metadata: {name: app, namespace: shop}, spec: {clusterIP: 172.30.0.7, ports: [{port: 8080}]}}
"""


def proxy(tls: str, rest: str = "", status: str = "currentStatus: valid") -> str:
    return f"""
---
{{kind: HTTPProxy, metadata: {{name: shop, namespace: shop}},
  spec: {{virtualhost: {{fqdn: Shop.ex.com, tls: {{{tls}}}}} {rest}}}, status: {{{status}}}}}
"""


def ingress(status: str, hosts: str = "[shop.ex.com, '*.ex.com']") -> str:
    return f"""
---
{{kind: Ingress, metadata: {{name: shop, namespace: shop}}, spec: {{tls: [{{hosts: {hosts}}}]}},
  status: {{loadBalancer: {{ingress: [{status}]}}}}}}
"""


BACKEND = """
---
{kind: Pod, metadata: {name: policy-66-a, namespace: guard, labels: {pod-template-hash: "66"},
                       ownerReferences: [{kind: ReplicaSet, name: policy-66}]},
 spec: {containers: [{name: c, ports: [{containerPort: 9443}]}]}, status: {podIP: 10.128.0.8}}
---
{kind: Service, metadata: {name: policy, namespace: guard},
 spec: {clusterIP: 172.30.0.8, ports: [{port: 443, targetPort: 9443}]}}
---
{kind: EndpointSlice, metadata: {name: policy-1, namespace: guard, labels: {kubernetes.io/service-name: policy}},
 ports: [{port: 9443}], endpoints: [{addresses: [10.128.0.8]}]}
"""


def webhook(client: str, kind: str = "ValidatingWebhookConfiguration") -> str:
    webhooks = f"[{{name: a.guard.io, clientConfig: {{{client}}}}}]"
    return f"\n---\n{{kind: {kind}, metadata: {{name: guard}}, webhooks: {webhooks}}}\n"


NODE = """
---
{kind: Node, metadata: {name: worker-0, labels: {node-role.kubernetes.io/worker: ""}},
 spec: {podCIDRs: [10.244.0.0/24]},
 status: {daemonEndpoints: {kubeletEndpoint: {Port: 10250}},
          addresses: [{type: Hostname, address: worker-0}, {type: InternalIP, address: 192.0.2.5},
                      {type: InternalIP, address: "2001:db8::5"}, {type: ExternalIP, address: 203.0.113.5}]}}
"""
TARGET = """
---
{kind: Pod, metadata: {name: db-0, namespace: shop, labels: {app: db}, ownerReferences: [{kind: StatefulSet,
 name: db}]},
 spec: {containers: [{name: c, ports: [{name: metrics, containerPort: 9187}]}]}, status: {podIP: 10.128.0.60}}
---
{kind: Service, metadata: {name: db, namespace: shop, labels: {app: db}},
 spec: {clusterIP: 172.30.0.6, ports: [{name: metrics, port: 9000, targetPort: 9187}]}}
---
{kind: EndpointSlice, metadata: {name: db-1, namespace: shop, labels: {kubernetes.io/service-name: db}},
 ports: [{name: metrics, port: 9187}], endpoints: [{addresses: [10.128.0.60]}]}
"""


def monitor(endpoint: str, selection: str = "selector: {matchLabels: {app: db}}", kind: str = "ServiceMonitor") -> str:
    field = "endpoints" if kind == "ServiceMonitor" else "podMetricsEndpoints"
    return f"""
---
{{kind: {kind}, metadata: {{name: db, namespace: shop}}, spec: {{{selection}, {field}: [{{{endpoint}}}]}}}}
"""


def static(name: str, args: str, rest: str = "") -> str:
    return f"""
---
{{kind: Pod, metadata: {{name: {name}-master-0, namespace: kube-system, labels: {{component: {name}}},
                        annotations: {{kubernetes.io/config.mirror: abc}}, ownerReferences: [{{kind: Node,
                          name: master-0}}]}},
  spec: {{nodeName: master-0, hostNetwork: true, containers: [{{name: {name}, command: [{args}] {rest}}}]}},
  status: {{podIPs: [{{ip: 192.0.2.10}}]}}}}
"""
