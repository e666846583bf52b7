"""HTTPProxies and the objects that they need, linted."""

from __future__ import annotations

from pathlib import Path

from scanner.model.object_rule import ObjectRule
from tests.lint.examples import findings_of

PROXY = """
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {name: web, namespace: shop}
spec: {virtualhost: {fqdn: web.example.com, tls: %s}}
"""
INGRESS = """
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web, namespace: shop, annotations: {%s}}
spec: {ingressClassName: %s, tls: [{secretName: %s, hosts: [web.example.com]}]}
"""
ROUTE = """
apiVersion: contour.heptio.com/v1beta1
kind: IngressRoute
metadata: {name: web, namespace: shop}
spec: {virtualhost: {fqdn: web.example.com, tls: {secretName: certs/wild}}}
"""
REFERENCE = PROXY % "{secretName: certs/wild}"
CONFIGURED = """
apiVersion: projectcontour.io/v1alpha1
kind: ContourConfiguration
metadata: {name: contour, namespace: projectcontour}
spec: {httpproxy: {fallbackCertificate: {namespace: certs, name: wild}}}
"""
FILE = """
apiVersion: v1
kind: ConfigMap
metadata: {name: contour, namespace: projectcontour}
data:
  contour.yaml: |
    tls:
      fallback-certificate: {namespace: certs, name: wild}
"""
FALLBACK = PROXY % "{secretName: own, enableFallbackCertificate: true}"
ANNOTATED = INGRESS % ("projectcontour.io/tls-cert-namespace: certs", "contour", "wild")


def delegation(secret: str = "wild", targets: str = "[shop]", *, namespace: str = "certs", group: str = "") -> str:
    version = group or "projectcontour.io/v1"
    return (
        f"apiVersion: {version}\nkind: TLSCertificateDelegation\nmetadata: {{name: d, namespace: {namespace}}}\n"
        f"spec: {{delegations: [{{secretName: {secret}, targetNamespaces: {targets}}}]}}\n"
    )


CRL = "-----BEGIN X509 CRL-----\\nMIIB\\n-----END X509 CRL-----\\n"


def secret(
    certificate: str = "", key: str = "", *, ca: str = "", crl: str = "", type_: str = "kubernetes.io/tls"
) -> str:
    data = {"tls.crt": certificate, "tls.key": key}
    public = {"ca.crt": ca, "crl.pem": crl}
    return (
        f"apiVersion: v1\nkind: Secret\nmetadata: {{name: wild, namespace: certs}}\ntype: {type_}\n"
        f"data: {{{', '.join(f'{name}: {text}' for name, text in data.items() if text)}}}\n"
        f"stringData: {{{', '.join(f'{name}: {text}' for name, text in public.items() if text)}}}\n"
    )


PAIR = secret("CERTIFICATE(*.example.com)", "KEY(*.example.com)")


def found(directory: Path, rule: ObjectRule, *texts: str) -> list[tuple[str, str]]:
    return [(each.verdict, each.severity) for each in findings_of(rule, directory, *texts)]
