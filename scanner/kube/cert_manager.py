"""cert-manager's Certificates, and the annotations by which it issues certificates for other objects."""

from __future__ import annotations

from typing import Final

from scanner.kube.kinds import CERTIFICATE, CLUSTER_ISSUER, ISSUER, Kind
from scanner.kube.objects import KubeObject
from scanner.kube.view import Part, Text, Texts, View

_ISSUERS: Final = {"": ISSUER, ISSUER.name: ISSUER, CLUSTER_ISSUER.name: CLUSTER_ISSUER}
_ACME: Final = "kubernetes.io/tls-acme"
_ISSUED_BY: Final = ("cert-manager.io/cluster-issuer", "cert-manager.io/issuer", _ACME)
"""Annotations by which cert-manager makes the Secrets of an Ingress or Gateway (cert-manager.io, "Annotated Ingress
resource", "Annotated Gateway resource")."""
_TRUE: Final = frozenset({"1", "t", "T", "true", "TRUE", "True"})


class IssuerReference(View):
    """The issuer of a Certificate."""

    group = Text()
    kind = Text()
    name = Text()

    @property
    def known_kind(self) -> Kind | None:
        """Issuer or ClusterIssuer; None for a kind of another group."""
        return _ISSUERS.get(self.kind) if self.group in ("", CERTIFICATE.group) else None


class Certificate(KubeObject):
    """A Certificate: the Secret that cert-manager makes, and what its certificate has."""

    secret_name = Text("spec", "secretName")
    dns_names = Texts("spec", "dnsNames")
    usages = Texts("spec", "usages")
    issuer = Part(IssuerReference, "spec", "issuerRef")
    algorithm = Text("spec", "privateKey", "algorithm")


def issued_by(item: KubeObject) -> str | None:
    """The annotation by which cert-manager makes the object's Secrets."""
    found = ((each, item.annotations.get(each)) for each in _ISSUED_BY)
    # tls-acme is read by Go's strconv.ParseBool (cert-manager pkg/controller/certificate-shim).
    return next((each for each, value in found if value and (each != _ACME or value in _TRUE)), None)
