"""The fields of HyperShift's API (openshift/hypershift ``api/hypershift/v1beta1``): a HostedCluster holds the
specification of its APIServer configuration."""

from __future__ import annotations

from typing import Final

from scanner.lint.fields.shape import Clash, Record, anything
from scanner.model.objects import Fields


def hosted_cluster(api_server: Record) -> Record:
    """``spec.configuration.apiServer`` is that of an APIServer. That other fields are there is not looked at: most have
    defaults, and none says anything of TLS."""
    spec = {"configuration": _configuration(api_server), **_OTHERS}
    return Record({"spec": Record(spec, clashes=(_PUBLISHED,))})


def _configuration(api_server: Record) -> Record:
    return Record({"apiServer": api_server, **_CONFIGURATIONS})


def _published_name(spec: Fields) -> bool:
    """Whether clients outside and the cluster's own reach the API server under one name, with two certificates."""
    services = (each for each in spec.each("services") if each.text("service") == "APIServer")
    published = {each.text("servicePublishingStrategy", "loadBalancer", "hostname") for each in services} - {""}
    serving = spec.fields("configuration", "apiServer", "servingCerts")
    return any(published.intersection(each.texts("names")) for each in serving.each("namedCertificates"))


_PUBLISHED: Final = Clash(
    _published_name,
    "APIServer loadBalancer hostname cannot be in ClusterConfiguration.apiserver.servingCerts.namedCertificates[]",
    at=("configuration", "apiServer", "servingCerts", "namedCertificates"),
    fix="give the certificate of users another name (kubeAPIServerDNSName)",
)
_CONFIGURATIONS: Final = anything(
    "authentication", "featureGate", "image", "ingress", "network", "oauth", "operatorhub", "proxy", "scheduler"
)
_OTHERS: Final = {
    **anything(
        "additionalTrustBundle", "auditWebhook", "autoNode", "autoscaling", "capabilities", "channel", "clusterID"
    ),
    **anything("controlPlaneRelease", "controllerAvailabilityPolicy", "dns", "etcd", "fips", "imageContentSources"),
    **anything("infraID", "infrastructureAvailabilityPolicy", "issuerURL", "kubeAPIServerDNSName", "labels"),
    **anything("monitoring", "networking", "nodeSelector", "olmCatalogPlacement", "operatorConfiguration"),
    **anything("pausedUntil", "platform", "pullSecret", "release", "secretEncryption", "serviceAccountSigningKey"),
    **anything("services", "sshKey", "tolerations", "updateService"),
}
