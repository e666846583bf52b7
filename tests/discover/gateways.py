"""A Gateway with its Service and a route."""

from __future__ import annotations

SERVICE = """
---
{kind: Service, metadata: {name: edge-istio, namespace: infra, labels: {gateway.networking.k8s.io/gateway-name: edge}},
 spec: {clusterIP: 172.30.0.5, ports: [{name: https, port: 443, targetPort: 8443}]},
 status: {loadBalancer: {ingress: [{ip: 198.51.100.9}]}}}
---
{kind: EndpointSlice, metadata: {name: e, namespace: infra, labels: {kubernetes.io/service-name: edge-istio}},
 ports: [{name: https, port: 8443}], endpoints: [{addresses: [10.128.0.40]}]}
---
{kind: Pod, metadata: {name: edge-1-a, namespace: infra, labels: {pod-template-hash: "1"},
       ownerReferences: [{kind: ReplicaSet, name: edge-1}]},
 spec: {containers: [{name: istio-proxy, ports: [{containerPort: 8443}]}]}, status: {podIP: 10.128.0.40}}
"""


def gateway(*listeners: str, rest: str = "", status: str = "") -> str:
    return f"""
---
{{kind: Gateway, metadata: {{name: edge, namespace: infra}}, spec: {{listeners: [{", ".join(listeners)}] {rest}}},
  status: {{{status}}}}}
"""


HTTPS = "{name: a, port: 443, protocol: HTTPS, hostname: shop.ex.com}"
PASS = "{name: p, port: 443, protocol: TLS, hostname: '*.ex.com', tls: {mode: Passthrough}}"
ROUTE = """
---
{kind: TLSRoute, metadata: {name: db, namespace: infra}, spec: {hostnames: [db.ex.com, "*.sub.ex.com", x.other.com],
 parentRefs: [{name: edge, sectionName: p}], rules: [{backendRefs: [{name: db, port: 5433}]}]}}
---
{kind: Service, metadata: {name: db, namespace: infra}, spec: {clusterIP: None, ports: [{port: 5433}]}}
---
{kind: EndpointSlice, metadata: {name: db-1, namespace: infra, labels: {kubernetes.io/service-name: db}},
 ports: [{port: 5433}], endpoints: [{addresses: [10.128.0.41]}]}
"""
