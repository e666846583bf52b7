"""The objects by which an API server is found."""

from __future__ import annotations

from tests.discover.samples import static

SERVICE = """
---
{kind: Service, metadata: {name: kubernetes, namespace: default},
 spec: {clusterIP: 172.30.0.1, ports: [{name: https, port: 443, targetPort: 6443}]}}
"""
SLICE = """
---
{kind: EndpointSlice, metadata: {name: kubernetes, namespace: default,
 labels: {kubernetes.io/service-name: kubernetes}},
 ports: [{name: https, port: 6443}], endpoints: [{addresses: [192.0.2.10]}]}
"""
OPENSHIFT = """
---
{kind: Infrastructure, metadata: {name: cluster},
 status: {apiServerURL: "https://api.c.ex.com:6443", apiServerInternalURI: "https://api-int.c.ex.com:6443"}}
---
{kind: APIServer, metadata: {name: cluster},
 spec: {servingCerts: {namedCertificates: [{names: [k8s.corp.ex.com, "*.corp.ex.com", 10.0.0.1]}]}}}
"""
MASTER = static("kube-apiserver", "kube-apiserver, --secure-port=6443")
