"""Secrets, ConfigMaps and Certificates: their contents, and who fills a Secret: OpenShift's service CA, or cert-manager
for a Certificate.

A Secret is read without its private key. The reader stores facts about it under ``adhere``
(``scanner/cluster/key_removal.py``).
"""

from __future__ import annotations

from typing import Final

from scanner.kube.kinds import CERTIFICATE, CLUSTER_ISSUER, ISSUER, Kind
from scanner.kube.objects import Fields, KubeObject
from scanner.kube.view import Moment, Named, Part, Parts, Present, Text, Texts, Value, View, Words

TLS: Final = "kubernetes.io/tls"
"""The type of a Secret that has a certificate and its key."""
SERVICE_CA: Final = (
    "service.beta.openshift.io/serving-cert-secret-name",
    "service.alpha.openshift.io/serving-cert-secret-name",
)
"""Annotations by which a Service asks OpenShift's service CA for a certificate (openshift/service-ca-operator)."""
OF_SERVICE: Final = (
    "service.beta.openshift.io/originating-service-name",
    "service.alpha.openshift.io/originating-service-name",
)
"""Annotations of the Secret that the service CA fills."""
CERTIFICATE_NAME: Final = "cert-manager.io/certificate-name"
"""Annotation of a Secret that cert-manager writes: the name of its Certificate."""


class KeyHolder(KubeObject):
    """A Secret or Route, with facts about its private key."""

    key_matches = Value("adhere", "keyMatches")
    """True if the private key belongs to the certificate; a text: the reason why this is unknown."""
    key_blocks = Texts("adhere", "keyBlocks")
    """PEM blocks beside the private key."""


class Kubeconfig(View):
    """The certificates of a kubeconfig in a Secret, in PEM, by their fields."""

    @property
    def certificates(self) -> dict[str, str]:
        """``client-certificate-data`` and ``certificate-authority-data``."""
        return self.words()


class KubeconfigCluster(View):
    """A cluster of a kubeconfig, and its CAs: PEM in base64, or the name of a file."""

    name = Text()
    data = Text("cluster", "certificate-authority-data")
    file = Text("cluster", "certificate-authority")


class KubeconfigUser(View):
    """A user of a kubeconfig, and its certificate: PEM in base64, or the name of a file."""

    name = Text()
    data = Text("user", "client-certificate-data")
    file = Text("user", "client-certificate")


class KubeconfigFile(View):
    """A kubeconfig (kubernetes.io, "Organizing Cluster Access Using kubeconfig Files")."""

    has_clusters = Present("clusters")
    has_users = Present("users")
    clusters = Parts(KubeconfigCluster)
    users = Parts(KubeconfigUser)


class RevocationList(View):
    """Fields of a revocation list in a Secret."""

    issuer = Text()
    this_update = Moment()
    next_update = Moment()
    der = Text()
    """In base64."""
    unreadable = Text()
    """Reason why it cannot be read; empty if it can."""


class Secret(KeyHolder):
    """A Secret. Its entries are in base64."""

    type = Text()
    data = Words()
    tls_crt = Text("data", "tls.crt")
    ca_crt = Text("data", "ca.crt")
    kubeconfigs = Named(Kubeconfig, "adhere", "kubeconfigs")
    """Certificates of kubeconfigs, by entry."""
    exposed = Texts("adhere", "exposed")
    """Public entries that contain a private key."""
    forms = Words("adhere", "forms")
    """Content that is not PEM, by entry."""
    revocation_entries = Texts("adhere", "revocationLists")
    """Entries with a revocation list in PEM."""
    crls = Parts(RevocationList, "adhere", "revocation", "crl.pem")
    """Revocation lists in the entry that Contour reads."""


class CertificateSigningRequest(KubeObject):
    certificate = Text("status", "certificate")
    """The issued certificate: PEM in base64."""


class ConfigMap(KubeObject):
    data = Words()
    binary_data = Words()


def service_ca_secret(service: Fields) -> str:
    """The Secret that a Service asks the service CA to fill; empty if none."""
    return next(filter(None, (service.text("metadata", "annotations", each) for each in SERVICE_CA)), "")


_ISSUERS: Final = {"": ISSUER, ISSUER.name: ISSUER, CLUSTER_ISSUER.name: CLUSTER_ISSUER}
_ACME: Final = "kubernetes.io/tls-acme"
_ISSUED_BY: Final = ("cert-manager.io/cluster-issuer", "cert-manager.io/issuer", _ACME)
"""Annotations that make cert-manager fill the Secrets of an Ingress or Gateway (cert-manager.io, "Annotated Ingress
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
    """A Certificate: the Secret that cert-manager fills, and the properties of the certificate."""

    secret_name = Text("spec", "secretName")
    dns_names = Texts("spec", "dnsNames")
    usages = Texts("spec", "usages")
    issuer = Part(IssuerReference, "spec", "issuerRef")
    algorithm = Text("spec", "privateKey", "algorithm")


def issued_by(item: KubeObject) -> str | None:
    """The annotation that makes cert-manager fill the object's Secrets, or None."""
    found = ((each, item.annotations.get(each)) for each in _ISSUED_BY)
    # tls-acme is read by Go's strconv.ParseBool (cert-manager pkg/controller/certificate-shim).
    return next((each for each, value in found if value and (each != _ACME or value in _TRUE)), None)
