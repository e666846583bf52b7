"""Secrets and ConfigMaps: what they hold, and who fills a Secret: OpenShift's service CA, or cert-manager for a
Certificate.

A Secret is read without its private key. The reader leaves what it saw of it under ``adhere``
(``scanner/cluster/secrets.py``).
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
KEEPER: Final = "cert-manager.io/certificate-name"
"""Annotation of a Secret that cert-manager writes: the Certificate that asked for it."""


class KeyHolder(KubeObject):
    """A Secret or Route: what was seen of its private key."""

    key_matches = Value("adhere", "keyMatches")
    """Whether the private key belongs to the certificate; a text: why that is not known."""
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
    """What a revocation list in a Secret says of itself."""

    issuer = Text()
    this_update = Moment()
    next_update = Moment()
    der = Text()
    """In base64."""
    unreadable = Text()
    """Why it cannot be read, or ""."""


class Secret(KeyHolder):
    """A Secret. Its entries are in base64."""

    type = Text()
    data = Words()
    tls_crt = Text("data", "tls.crt")
    ca_crt = Text("data", "ca.crt")
    kubeconfigs = Named(Kubeconfig, "adhere", "kubeconfigs")
    """By entry, the certificates of a kubeconfig there."""
    exposed = Texts("adhere", "exposed")
    """Private keys outside of ``tls.key``, by the names of ``lint.kubernetes.exposed``."""
    forms = Words("adhere", "forms")
    """By entry, what stands there in place of PEM."""
    revocation_entries = Texts("adhere", "revocationLists")
    """The entries that have a revocation list in PEM."""
    crls = Parts(RevocationList, "adhere", "revocation", "crl.pem")
    """Those in the entry that Contour reads."""


class CertificateSigningRequest(KubeObject):
    """A CertificateSigningRequest."""

    certificate = Text("status", "certificate")
    """PEM in base64: what it was answered with."""


class ConfigMap(KubeObject):
    """A ConfigMap."""

    data = Words()
    binary_data = Words()


def service_ca_secret(service: Fields) -> str:
    """The Secret that a Service asks the service CA to fill, or ""."""
    return next(filter(None, (service.text("metadata", "annotations", each) for each in SERVICE_CA)), "")


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
