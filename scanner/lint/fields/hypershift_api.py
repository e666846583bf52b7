"""The fields of HyperShift's API (openshift/hypershift ``api/hypershift/v1beta1``): a HostedCluster holds the
specification of its APIServer configuration."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from scanner.kube.objects import Fields
from scanner.lint.fields.shape import Clash, Record, Shape, anything


def hosted_cluster(api_server: Record, former: Mapping[str, Shape] = MappingProxyType({})) -> Record:
    """``spec.configuration.apiServer`` is that of an APIServer; ``former``: what else an earlier version has beside it.
    That other fields are there is not looked at: most have defaults, and none says anything of TLS."""
    configuration = Record({"apiServer": api_server, **_CONFIGURATIONS, **former})
    return Record({"spec": Record({"configuration": configuration, **_OTHERS}, clashes=(_PUBLISHED,))})


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
FORMER: Final = anything("configMapRefs", "items", "secretRefs")
"""Of v1alpha1, which HyperShift has no more: whole objects of configuration, and what they refer to."""
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
