"""Objects that name a Secret with a certificate."""

from __future__ import annotations

GIVERS = """
{kind: Ingress, apiVersion: config.openshift.io/v1, metadata: {name: cluster},
 spec: {componentRoutes: [{servingCertKeyPairSecret: {name: console}}, {name: oauth}]}}
---
{kind: APIServer, metadata: {name: cluster}, spec: {clientCA: {name: ours},
 servingCerts: {namedCertificates: [{servingCertificate: {name: api}}, {servingCertificate: {}}]}}}
---
{kind: IngressController, metadata: {name: default, namespace: openshift-ingress-operator},
 spec: {defaultCertificate: {name: wildcard}}}
---
{kind: Ingress, metadata: {name: web, namespace: shop}, spec: {tls: [{secretName: web}]}}
---
{kind: Gateway, metadata: {name: g, namespace: edge}, spec: {listeners: [{tls: {certificateRefs: [
 {name: edge}, {name: other, namespace: certs}, {name: no, kind: ConfigMap}]}}]}}
---
{kind: HTTPProxy, metadata: {name: p, namespace: shop}, spec: {virtualhost: {tls: {secretName: certs/proxy}},
 routes: [{services: [{validation: {caSecret: backend-ca}}, {}]}]}}
---
{kind: ListenerSet, metadata: {name: s, namespace: shop}, spec: {listeners: [{tls: {certificateRefs: [{name: set}]}}]}}
---
{kind: Route, metadata: {name: r, namespace: shop}, spec: {tls: {externalCertificate: {name: route}}}}
"""
