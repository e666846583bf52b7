"""The like of ``field_bases`` for kinds that rules on TLS look into beside those that are about TLS."""

from __future__ import annotations

from typing import Final

_PARENT: Final = (
    "{group: gateway.networking.k8s.io, kind: Gateway, name: edge, namespace: shop, sectionName: web, port: 443}"
)
_BACKEND: Final = '{group: "", kind: Service, name: web, namespace: shop, port: 443, weight: 1}'
_ROUTE: Final = f"""\
metadata:
  name: web
  namespace: shop
  labels: {{app: web}}
  annotations: {{example.com/owner: shop}}
spec:
  parentRefs: [{_PARENT}]
  hostnames: [web.shop.example]
  rules: [{{name: web, backendRefs: [{_BACKEND}]}}]
"""
_TCP_ROUTE: Final = f"""\
kind: TCPRoute
metadata: {{name: web, namespace: shop}}
spec:
  parentRefs: [{_PARENT}]
  rules: [{{name: web, backendRefs: [{_BACKEND}]}}]
"""
_X_BACKEND: Final = """\
apiVersion: gateway.networking.x-k8s.io/v1alpha1
kind: XBackend
metadata: {name: web, namespace: shop}
spec:
  type: ExternalHostname
  externalHostname: {hostname: web.example.com}
  port: {port: 443}
  protocol: HTTP
  tls:
    mode: ClientAndServer
    clientCertificateRef: {group: "", kind: Secret, name: web-tls, namespace: shop}
    validation:
      hostname: web.example.com
      caCertificateRefs: [{group: "", kind: ConfigMap, name: backends}]
"""
_OAUTH: Final = """\
apiVersion: config.openshift.io/v1
kind: OAuth
metadata: {name: cluster}
spec:
  identityProviders:
  - name: people
    type: LDAP
    mappingMethod: claim
    ldap: {url: "ldaps://ldap.example/o=example?uid", insecure: false, ca: {name: ldap}, attributes: {id: [dn]}}
"""
_INGRESS_CONFIG: Final = """\
apiVersion: config.openshift.io/v1
kind: Ingress
metadata: {name: cluster}
spec:
  domain: apps.shop.example
  appsDomain: web.shop.example
  componentRoutes:
  - {namespace: openshift-console, name: console, hostname: console.example, servingCertKeyPairSecret: {name: console}}
"""
_CONSOLE: Final = """\
apiVersion: operator.openshift.io/v1
kind: Console
metadata: {name: cluster}
spec: {managementState: Managed, route: {hostname: console.example, secret: {name: console}}}
"""
_PUBLISHED: Final = ", ".join(
    f"{{service: {name}, servicePublishingStrategy: {{type: Route, route: {{}}}}}}"
    for name in ("APIServer", "OAuthServer", "Konnectivity", "Ignition")
)
_HOSTED_CLUSTER: Final = f"""\
apiVersion: hypershift.openshift.io/v1beta1
kind: HostedCluster
metadata: {{name: shop, namespace: shop}}
spec:
  platform: {{type: None}}
  pullSecret: {{name: pull}}
  release: {{image: "registry.example/release:4.21"}}
  services: [{_PUBLISHED}]
  configuration:
    apiServer:
      servingCerts: {{namedCertificates: [{{names: [api.shop.example], servingCertificate: {{name: api}}}}]}}
      clientCA: {{name: clients}}
      tlsAdherence: StrictAllComponents
      tlsSecurityProfile:
        type: Custom
        custom:
          ciphers: [ECDHE-ECDSA-AES128-GCM-SHA256, ECDHE-RSA-AES128-GCM-SHA256]
          groups: [X25519, secp256r1]
          minTLSVersion: VersionTLS12
"""
_EXTENSION_SERVICE: Final = """\
apiVersion: projectcontour.io/v1alpha1
kind: ExtensionService
metadata: {name: people, namespace: shop}
spec:
  services: [{name: people, port: 443}]
  protocol: h2
  protocolVersion: v3
  validation: {caSecret: backends, subjectName: web.shop.example, subjectNames: [web.shop.example, b.shop.example]}
"""
_CONTOUR: Final = (
    "{envoy: {clientCertificate: {name: envoy, namespace: shop},"
    ' listener: {tls: {minimumProtocolVersion: "1.2", maximumProtocolVersion: "1.3",'
    " cipherSuites: [ECDHE-RSA-AES128-GCM-SHA256]}},"
    ' cluster: {upstreamTLS: {minimumProtocolVersion: "1.2", maximumProtocolVersion: "1.3"}}},'
    " httpproxy: {disablePermitInsecure: true, fallbackCertificate: {name: web, namespace: shop},"
    " rootNamespaces: [shop]}}"
)
_SAFE_TLS: Final = (
    "insecureSkipVerify: false, serverName: web.shop.example, minVersion: TLS12, maxVersion: TLS13,"
    " ca: {configMap: {name: web, key: ca.crt}}"
)
_SELECTING: Final = "selector: {matchLabels: {app: web}}\n  namespaceSelector: {any: false, matchNames: [shop]}"
_MONITORS: Final = (
    f"""\
kind: ServiceMonitor
metadata: {{name: web, namespace: shop}}
spec:
  {_SELECTING}
  endpoints: [{{port: https, scheme: https, tlsConfig: {{{_SAFE_TLS}}}}}]
""",
    f"""\
kind: PodMonitor
metadata: {{name: web, namespace: shop}}
spec:
  {_SELECTING}
  podMetricsEndpoints: [{{port: https, scheme: https, tlsConfig: {{{_SAFE_TLS}}}}}]
""",
    f"""\
kind: Probe
metadata: {{name: web, namespace: shop}}
spec:
  prober: {{url: "prober:9115", scheme: https}}
  tlsConfig: {{{_SAFE_TLS}}}
""",
)
_SCRAPE_CONFIG: Final = f"""\
apiVersion: monitoring.coreos.com/v1alpha1
kind: ScrapeConfig
metadata: {{name: web, namespace: shop}}
spec: {{scheme: HTTPS, tlsConfig: {{{_SAFE_TLS}}}}}
"""
_DELEGATION: Final = """\
kind: TLSCertificateDelegation
metadata: {name: web, namespace: shop}
spec: {delegations: [{secretName: web-tls, targetNamespaces: [blog]}]}
"""

OTHERS: Final = (
    *(f"apiVersion: gateway.networking.k8s.io/v1\nkind: {kind}\n{_ROUTE}" for kind in ("HTTPRoute", "GRPCRoute")),
    *(f"apiVersion: gateway.networking.k8s.io/{version}\n{_TCP_ROUTE}" for version in ("v1", "v1alpha2")),
    _X_BACKEND,
    _OAUTH,
    _INGRESS_CONFIG,
    _CONSOLE,
    _HOSTED_CLUSTER,
    _EXTENSION_SERVICE,
    (
        "apiVersion: projectcontour.io/v1alpha1\nkind: ContourConfiguration\n"
        f"metadata: {{name: contour, namespace: shop}}\nspec: {_CONTOUR}\n"
    ),
    (
        "apiVersion: projectcontour.io/v1alpha1\nkind: ContourDeployment\n"
        f"metadata: {{name: contour, namespace: shop}}\nspec: {{runtimeSettings: {_CONTOUR}}}\n"
    ),
    f"apiVersion: contour.heptio.com/v1beta1\n{_DELEGATION}",
    f"apiVersion: contour.vmware.com/v1\n{_DELEGATION}",
    *(f"apiVersion: monitoring.coreos.com/v1\n{each}" for each in _MONITORS),
    _SCRAPE_CONFIG,
    (
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web, namespace: shop, labels: {app: web}}\n"
        "data: {ca.crt: none}\nimmutable: false\n"
    ),
)
"""In YAML."""
