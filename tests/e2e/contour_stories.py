"""HTTPProxies as they may be, what Contour's own status says of each, and which of lint's rules fail it.

All stories are of HTTPProxy/shop/shop, and have what ``SURROUNDINGS`` has.
"""

from __future__ import annotations

from typing import Final, NamedTuple

SURROUNDINGS: Final = """
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec: {ports: [{name: http, port: 80}, {name: https, port: 443}]}
---
apiVersion: v1
kind: Secret
metadata: {name: own, namespace: shop}
type: kubernetes.io/tls
data: {tls.crt: "CERTIFICATE(shop.example.com)", tls.key: "KEY(shop.example.com)"}
---
apiVersion: v1
kind: Secret
metadata: {name: public, namespace: shop}
type: Opaque
stringData: {ca.crt: CA(clients), crl.pem: CRL(clients)}
---
apiVersion: v1
kind: Secret
metadata: {name: wild, namespace: certs}
type: kubernetes.io/tls
data: {tls.crt: "CERTIFICATE(*.example.com)", tls.key: "KEY(*.example.com)"}
---
apiVersion: v1
kind: Secret
metadata: {name: public, namespace: certs}
type: Opaque
stringData: {ca.crt: CA(clients), crl.pem: CRL(clients)}
"""
"""Nothing here is delegated."""


class Story(NamedTuple):
    """One HTTPProxy."""

    tls: str
    """``spec.virtualhost.tls``; empty: none."""
    reasons: str = ""
    """Of the errors in its condition ``Valid``, between blanks; none: Contour calls it valid."""
    rules: str = ""
    """That fail it, between blanks."""
    more: str = ""
    """Of ``spec.virtualhost``."""
    spec: str = "routes: [{services: [{name: web, port: 80}]}]"
    beside: str = ""
    """Other objects."""
    told: str = ""
    """Contour's file, which is also in the ConfigMap."""
    arguments: tuple[str, ...] = ()

    @property
    def objects(self) -> str:
        """YAML, the HTTPProxy last."""
        file = "".join(f"\n    {line}" for line in self.told.splitlines())
        told = _FILE.replace("TOLD", file) if self.told else ""
        tls = f"tls: {self.tls}" if self.tls else ""
        virtual = ", ".join(filter(None, ("fqdn: shop.example.com", tls, self.more)))
        proxy = f"{_PROXY}spec: {{virtualhost: {{{virtual}}}, {self.spec}}}\n"
        return "---\n".join(filter(None, (self.beside, told, proxy)))


_PROXY: Final = "apiVersion: projectcontour.io/v1\nkind: HTTPProxy\nmetadata: {name: shop, namespace: shop}\n"
_FILE: Final = """
apiVersion: v1
kind: ConfigMap
metadata: {name: contour, namespace: projectcontour}
data:
  contour.yaml: |TOLD
"""


def delegated(targets: str, secret: str = "wild") -> str:
    """Of a Secret in ``certs``."""
    return f"""
apiVersion: projectcontour.io/v1
kind: TLSCertificateDelegation
metadata: {{name: {secret}, namespace: certs}}
spec: {{delegations: [{{secretName: {secret}, targetNamespaces: {targets}}}]}}
"""


def holding(data: str, type_: str = "Opaque", name: str = "other") -> str:
    """A Secret in ``shop``."""
    metadata = f"metadata: {{name: {name}, namespace: shop}}"
    return f"apiVersion: v1\nkind: Secret\n{metadata}\ntype: {type_}\ndata: {{{data}}}\n"


def another(spec: str, name: str = "blog", namespace: str = "blog") -> str:
    """A second HTTPProxy."""
    metadata = f"metadata: {{name: {name}, namespace: {namespace}}}"
    return f"apiVersion: projectcontour.io/v1\nkind: HTTPProxy\n{metadata}\nspec: {{{spec}}}\n"


def upstream(text: str) -> str:
    return f"routes: [{{services: [{{name: web, port: 443, protocol: tls, {text}}}]}}]"


OWN, WILD = "{secretName: own}", "{secretName: certs/wild}"
VALIDATED = "validation: {caSecret: %s, subjectName: web.shop.svc}"
ROUTES = "routes: [{services: [{name: web, port: 80}]}]"
TCP = "tcpproxy: {services: [{name: web, port: 443}]}"
FALLBACK = "tls: {fallback-certificate: {name: wild, namespace: certs}}"
JWT = "jwtProviders: [{name: a, remoteJWKS: {uri: https://127.0.0.1/keys}}]"
AUTHORIZED = "authorization: {extensionRef: {name: a, namespace: shop}}"

_ROOTS: Final = """
apiVersion: projectcontour.io/v1alpha1
kind: ContourConfiguration
metadata: {name: contour, namespace: projectcontour}
spec: {httpproxy: {rootNamespaces: [ROOTS]}}
"""

STORIES: Final[dict[str, Story]] = {
    # The certificate
    "its own": Story(OWN),
    "a Secret that is not there": Story("{secretName: none}", "SecretNotValid", "contour-certificate"),
    "any type but two": Story(
        "{secretName: other}",
        "SecretNotValid",
        "contour-certificate",
        beside=holding(
            'tls.crt: "CERTIFICATE(shop.example.com)", tls.key: "KEY(shop.example.com)"', "example.com/pair"
        ),
    ),
    "no key": Story(
        "{secretName: other}",
        "SecretNotValid",
        "contour-certificate",
        beside=holding('tls.crt: "CERTIFICATE(shop.example.com)"'),
    ),
    "no PEM": Story(
        "{secretName: other}",
        "SecretNotValid",
        "contour-certificate",
        beside=holding('tls.crt: bm9uZQ==, tls.key: "KEY(shop.example.com)"'),
    ),
    "a key that is none": Story(
        "{secretName: other}",
        "SecretNotValid",
        "contour-certificate",
        beside=holding('tls.crt: "CERTIFICATE(shop.example.com)", tls.key: bm9uZQ=='),
    ),
    "the key of another": Story(
        "{secretName: other}",
        "",
        "contour-certificate",
        beside=holding('tls.crt: "CERTIFICATE(shop.example.com)", tls.key: "KEY(blog.example.com)"'),
    ),
    "another host's": Story(
        "{secretName: other}",
        "",
        "contour-certificate",
        beside=holding('tls.crt: "CERTIFICATE(blog.example.com)", tls.key: "KEY(blog.example.com)"'),
    ),
    # Delegation
    "not delegated": Story(WILD, "DelegationNotPermitted", "contour-delegation"),
    "not delegated, and not there": Story("{secretName: certs/none}", "DelegationNotPermitted", "contour-delegation"),
    "delegated": Story(WILD, beside=delegated("[shop]")),
    "delegated to all": Story(WILD, beside=delegated('["*"]')),
    "delegated to one and all": Story(
        WILD, "DelegationNotPermitted", "contour-delegation", beside=delegated('["*", blog]')
    ),
    "delegated to another": Story(WILD, "DelegationNotPermitted", "contour-delegation", beside=delegated("[blog]")),
    "delegated by a pattern": Story(WILD, "DelegationNotPermitted", "contour-delegation", beside=delegated('["sh*"]')),
    "every Secret delegated": Story(
        WILD,
        "DelegationNotPermitted",
        "contour-delegation",
        beside=delegated("[shop]").replace("secretName: wild", 'secretName: "*"'),
    ),
    "its own, with its namespace": Story("{secretName: shop/own}"),
    "delegated, and not there": Story(
        "{secretName: certs/none}", "SecretNotValid", "contour-certificate", beside=delegated("[shop]", "none")
    ),
    "a namespace that is empty": Story("{secretName: /own}"),
    # What excludes each other
    "neither": Story("{}", "TLSConfigNotValid", "contour-tls-settings"),
    "both": Story("{secretName: own, passthrough: true}", "TLSConfigNotValid", "contour-tls-settings", spec=TCP),
    "passed through": Story("{passthrough: true}", spec=TCP),
    "passed through to nothing": Story("{passthrough: true}", "", "contour-tls-settings"),
    "passed through with clients": Story(
        "{passthrough: true, clientValidation: {caSecret: public}}",
        "TLSIncompatibleFeatures",
        "contour-tls-settings",
        spec=TCP,
    ),
    "passed through with the fallback": Story(
        "{passthrough: true, enableFallbackCertificate: true}",
        "TLSIncompatibleFeatures",
        "contour-tls-settings contour-fallback-certificate",
        spec=TCP,
        beside=delegated("[shop]"),
        told=FALLBACK,
    ),
    "fallback with clients": Story(
        "{secretName: own, enableFallbackCertificate: true, clientValidation: {caSecret: public}}",
        "TLSIncompatibleFeatures",
        "contour-tls-settings contour-fallback-certificate",
        beside=delegated("[shop]"),
        told=FALLBACK,
    ),
    "fallback with an authorizer": Story(
        "{secretName: own, enableFallbackCertificate: true}",
        "TLSIncompatibleFeatures",
        "contour-tls-settings contour-fallback-certificate",
        more=AUTHORIZED,
        beside=delegated("[shop]"),
        told=FALLBACK,
    ),
    "fallback with tokens": Story(
        "{secretName: own, enableFallbackCertificate: true}",
        "TLSIncompatibleFeatures",
        "contour-tls-settings contour-fallback-certificate",
        more=JWT,
        beside=delegated("[shop]"),
        told=FALLBACK,
    ),
    "TCP without TLS": Story("", "TLSMustBeConfigured", "contour-tls-settings", spec=TCP),
    "TCP with TLS": Story(OWN, spec=TCP),
    # Versions
    "upside down": Story(
        '{secretName: own, minimumProtocolVersion: "1.3", maximumProtocolVersion: "1.2"}',
        "TLSConfigNotValid",
        "contour-protocol-version",
    ),
    "a version that is none": Story(
        "{secretName: own, minimumProtocolVersion: TLSv1.3}", "", "contour-protocol-version"
    ),
    "1.3": Story('{secretName: own, minimumProtocolVersion: "1.3"}'),
    # Clients
    "clients": Story("{secretName: own, clientValidation: {caSecret: public, crlSecret: public}}"),
    "clients without a CA": Story(
        "{secretName: own, clientValidation: {}}", "ClientValidationInvalid", "contour-client-validation"
    ),
    "clients that nobody verifies": Story(
        "{secretName: own, clientValidation: {skipClientCertValidation: true}}", "", "contour-client-validation"
    ),
    "a CA that is not there": Story(
        "{secretName: own, clientValidation: {caSecret: none}}", "ClientValidationInvalid", "contour-ca"
    ),
    "a CA in another field": Story(
        "{secretName: own, clientValidation: {caSecret: own}}", "ClientValidationInvalid", "contour-ca"
    ),
    "a CA that is not delegated": Story(
        "{secretName: own, clientValidation: {caSecret: certs/public}}",
        "DelegationNotPermitted",
        "contour-delegation",
    ),
    "a CA that is delegated": Story(
        "{secretName: own, clientValidation: {caSecret: certs/public}}", beside=delegated("[shop]", "public")
    ),
    "a list that is not there": Story(
        "{secretName: own, clientValidation: {caSecret: public, crlSecret: own}}",
        "ClientValidationInvalid",
        "contour-ca",
    ),
    "a list that is not delegated": Story(
        "{secretName: own, clientValidation: {caSecret: public, crlSecret: certs/public}}",
        "DelegationNotPermitted",
        "contour-delegation",
    ),
    # Services
    "a service that is verified": Story(OWN, spec=upstream(VALIDATED % "public")),
    "a service that is not verified": Story(OWN, "", "contour-upstream-unverified", spec=upstream("weight: 1")),
    "a service's CA that is not there": Story(
        OWN, "TLSUpstreamValidation", "contour-ca", spec=upstream(VALIDATED % "none")
    ),
    "a service's CA that is not delegated": Story(
        OWN, "CACertificateNotDelegated", "contour-delegation", spec=upstream(VALIDATED % "certs/public")
    ),
    "a service verified in vain": Story(
        OWN, "", "contour-upstream-validation", spec=upstream(VALIDATED % "public").replace("protocol: tls, ", "")
    ),
    # The fallback
    "no fallback": Story(
        "{secretName: own, enableFallbackCertificate: true}",
        "FallbackNotPresent",
        "contour-fallback-certificate",
        told="tls: {}",
    ),
    "a fallback": Story(
        "{secretName: own, enableFallbackCertificate: true}",
        "",
        "contour-fallback-certificate",
        beside=delegated("[shop]"),
        told=FALLBACK,
    ),
    "a fallback that is not delegated": Story(
        "{secretName: own, enableFallbackCertificate: true}",
        "FallbackNotDelegated",
        "contour-delegation contour-fallback-certificate",
        told=FALLBACK,
    ),
    "a fallback that is not there": Story(
        "{secretName: own, enableFallbackCertificate: true}",
        "FallbackNotValid",
        "contour-fallback-certificate",
        beside=delegated("[shop]", "none"),
        told=FALLBACK.replace("wild", "none"),
    ),
    # Roots
    "a host of two": Story(
        OWN,
        "DuplicateVhost",
        "contour-fqdn",
        beside=another(f"virtualhost: {{fqdn: shop.example.com}}, {ROUTES}"),
    ),
    "a host of two, one of the usual class": Story(
        OWN,
        "DuplicateVhost",
        "contour-fqdn",
        beside=another(f"virtualhost: {{fqdn: shop.example.com}}, ingressClassName: contour, {ROUTES}"),
    ),
    "a host of two, one of another class": Story(
        OWN, beside=another(f"virtualhost: {{fqdn: shop.example.com}}, ingressClassName: inner, {ROUTES}")
    ),
    "a root with another": Story(
        OWN,
        "RootIncludesRoot",
        "contour-root",
        spec="includes: [{name: blog, namespace: shop, conditions: [{prefix: /blog}]}]",
        beside=another(f"virtualhost: {{fqdn: blog.example.com}}, {ROUTES}", namespace="shop"),
    ),
    "a root that another includes": Story(
        OWN,
        beside=another("virtualhost: {fqdn: b.example.com}, includes: [{name: shop}]", namespace="shop"),
    ),
    "a root where none may be": Story(
        OWN,
        "RootProxyNotAllowedInNamespace",
        "contour-root",
        beside=_ROOTS.replace("ROOTS", "blog"),
        arguments=("--root-namespaces=blog,projectcontour,projectcontour-marks",),
    ),
    "a Secret outside of the roots' namespaces": Story(
        WILD,
        "SecretNotValid",
        "contour-certificate",
        beside=delegated("[shop]") + "---\n" + _ROOTS.replace("ROOTS", "shop"),
        arguments=("--root-namespaces=shop,projectcontour,projectcontour-marks",),
    ),
}
