"""An object of every kind in the table of TLS fields, and of every version that says something else, with every field
that is looked into, such as a real API server takes it: what is then changed in one place is refused for that place."""

from __future__ import annotations

from typing import Any, Final

import yaml

from tests.e2e.field_bases_kubernetes import KUBERNETES
from tests.e2e.field_bases_others import OTHERS
from tests.e2e.writing import Object

_LISTENERS = """\
  listeners:
  - name: web
    port: 443
    protocol: HTTPS
    hostname: "*.shop.example"
    tls:
      mode: Terminate
      certificateRefs: [{group: "", kind: Secret, name: web-tls, namespace: shop}]
      options: {example.com/fast: "yes"}
"""
_PROFILE = """\
  tlsSecurityProfile:
    type: Custom
    custom:
      ciphers: [ECDHE-ECDSA-AES128-GCM-SHA256, ECDHE-RSA-AES128-GCM-SHA256]
      groups: [X25519, secp256r1]
      minTLSVersion: VersionTLS12
"""
_POLICY = """\
kind: BackendTLSPolicy
metadata: {name: web, namespace: shop}
spec:
  targetRefs: [{group: "", kind: Service, name: web, sectionName: https}]
  options: {example.com/fast: "yes"}
  validation:
    hostname: web.shop.example
    caCertificateRefs: [{group: "", kind: ConfigMap, name: backends}]
    subjectAltNames:
    - {type: Hostname, hostname: web.shop.example}
    - {type: URI, uri: "spiffe://shop/web"}
"""
_TLS_ROUTE = """\
kind: TLSRoute
metadata: {name: web, namespace: shop}
spec:
  parentRefs:
  - {group: gateway.networking.k8s.io, kind: Gateway, name: edge, namespace: shop, sectionName: web, port: 443}
  hostnames: [web.shop.example]
  rules:
  - name: web
    backendRefs: [{group: "", kind: Service, name: web, namespace: shop, port: 443, weight: 1}]
"""
_GRANT = """\
kind: ReferenceGrant
metadata: {name: edge, namespace: shop}
spec:
  from: [{group: gateway.networking.k8s.io, kind: Gateway, namespace: edge}]
  to: [{group: "", kind: Secret, name: web-tls}]
"""
_GATEWAY = f"""\
kind: Gateway
metadata: {{name: edge, namespace: shop}}
spec:
  gatewayClassName: example
{_LISTENERS}\
  tls:
    backend: {{clientCertificateRef: {{group: "", kind: Secret, name: web-tls, namespace: shop}}}}
    frontend:
      default:
        validation:
          mode: AllowValidOnly
          caCertificateRefs: [{{group: "", kind: ConfigMap, name: clients, namespace: shop}}]
      perPort:
      - port: 443
        tls:
          validation:
            mode: AllowValidOnly
            caCertificateRefs: [{{group: "", kind: ConfigMap, name: clients, namespace: shop}}]
"""
_UPSTREAM = "{caSecret: backends, subjectName: web.shop.example, subjectNames: [web.shop.example, b.shop.example]}"
_WEBHOOKS = """\
metadata: {name: web.shop.example}
webhooks:
- name: web.shop.example
  failurePolicy: Ignore
  sideEffects: None
  admissionReviewVersions: [v1]
  clientConfig:
    service: {namespace: shop, name: web, port: 443, path: /validate}
- name: url.shop.example
  sideEffects: None
  admissionReviewVersions: [v1]
  clientConfig: {url: "https://web.shop.example:8443/validate"}
"""
_TEXTS = (
    *(f"apiVersion: gateway.networking.k8s.io/{version}\n{_TLS_ROUTE}" for version in ("v1", "v1alpha2")),
    *(f"apiVersion: gateway.networking.k8s.io/v1\n{each}" for each in (_GATEWAY, _POLICY, _GRANT)),
    f"""\
apiVersion: gateway.networking.k8s.io/v1
kind: ListenerSet
metadata: {{name: edge, namespace: shop}}
spec:
  parentRef: {{name: edge}}
{_LISTENERS}""",
    f"""\
apiVersion: gateway.networking.x-k8s.io/v1alpha1
kind: XListenerSet
metadata: {{name: edge, namespace: shop}}
spec:
  parentRef: {{name: edge}}
{_LISTENERS}""",
    f"""\
apiVersion: config.openshift.io/v1
kind: APIServer
metadata: {{name: cluster}}
spec:
  servingCerts: {{namedCertificates: [{{names: [api.shop.example], servingCertificate: {{name: api}}}}]}}
  clientCA: {{name: clients}}
  tlsAdherence: StrictAllComponents
{_PROFILE}""",
    """\
apiVersion: operator.openshift.io/v1
kind: IngressController
metadata: {name: default, namespace: openshift-ingress-operator}
spec:
  clientTLS: {clientCertificatePolicy: Required, clientCA: {name: clients}, allowedSubjectPatterns: ["^/CN=web$"]}
  defaultCertificate: {name: wildcard}
  domain: apps.shop.example
"""
    + _PROFILE.replace("ciphers: [", "ciphers: [TLS_AES_128_GCM_SHA256, "),
    f"""\
apiVersion: machineconfiguration.openshift.io/v1
kind: KubeletConfig
metadata: {{name: workers}}
spec:
  machineConfigPoolSelector: {{matchLabels: {{pools.operator.machineconfiguration.openshift.io/worker: ""}}}}
{_PROFILE}""",
    """\
apiVersion: route.openshift.io/v1
kind: Route
metadata: {name: web, namespace: shop}
spec:
  host: web.shop.example
  subdomain: web
  path: /shop
  wildcardPolicy: None
  to: {kind: Service, name: web}
  tls:
    termination: reencrypt
    insecureEdgeTerminationPolicy: Redirect
    externalCertificate: {name: web-tls}
""",
    f"""\
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {{name: web, namespace: shop}}
spec:
  virtualhost:
    fqdn: web.shop.example
    tls:
      secretName: web-tls
      minimumProtocolVersion: "1.2"
      maximumProtocolVersion: "1.3"
      clientValidation:
        caSecret: clients
        crlSecret: clients-crl
        crlOnlyVerifyLeafCert: true
        optionalClientCertificate: false
        skipClientCertValidation: false
        forwardClientCertificate: {{cert: true, chain: false, dns: false, subject: true, uri: false}}
    jwtProviders:
    - name: people
      remoteJWKS: {{uri: "https://people.shop.example/keys", validation: {_UPSTREAM}}}
  routes:
  - services: [{{name: web, port: 443, protocol: tls, validation: {_UPSTREAM}}}]
  ingressClassName: contour
""",
    f"""\
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {{name: database, namespace: shop}}
spec:
  virtualhost:
    fqdn: database.shop.example
    tls: {{secretName: web-tls}}
  tcpproxy:
    services: [{{name: database, port: 5432, protocol: tls, validation: {_UPSTREAM}}}]
""",
    """\
apiVersion: projectcontour.io/v1
kind: TLSCertificateDelegation
metadata: {name: web, namespace: shop}
spec:
  delegations: [{secretName: web-tls, targetNamespaces: [blog]}]
""",
    """\
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web, namespace: shop}
spec:
  ingressClassName: contour
  tls: [{hosts: [web.shop.example], secretName: web-tls}]
  rules: [{host: web.shop.example}]
""",
    f"apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\n{_WEBHOOKS}",
    f"apiVersion: admissionregistration.k8s.io/v1\nkind: MutatingWebhookConfiguration\n{_WEBHOOKS}",
    """\
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1.shop.example}
spec:
  group: shop.example
  version: v1
  groupPriorityMinimum: 100
  versionPriority: 10
  insecureSkipTLSVerify: true
  service: {namespace: shop, name: web, port: 443}
""",
    *KUBERNETES,
    *OTHERS,
)


def _parsed(text: str) -> Object:
    found: Any = yaml.load(text, yaml.CSafeLoader)
    return dict(found)


BASES: Final[tuple[Object, ...]] = tuple(map(_parsed, _TEXTS))
