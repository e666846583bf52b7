"""How an API server is configured: APIServer (config.openshift.io/v1), or the same inside a HostedCluster."""

from __future__ import annotations

from scanner.kube.kinds import HOSTED_CLUSTER, HOSTED_CONTROL_PLANE
from scanner.kube.objects import KubeObject
from scanner.kube.view import Parts, Text, Texts, Value, View


class NamedCertificate(View):
    """A certificate that is served for some names."""

    names = Texts()
    any_names = Value("names")
    secret = Text("servingCertificate", "name")


class ApiServerConfig(View):
    """``spec`` of an APIServer."""

    named_certificates = Parts(NamedCertificate, "servingCerts", "namedCertificates")
    client_ca = Text("clientCA", "name")
    adherence = Value("tlsAdherence")


class APIServer(KubeObject):
    """APIServer/cluster."""

    any_profile = Value("spec", "tlsSecurityProfile")


def api_server_config(item: KubeObject) -> ApiServerConfig:
    """What an APIServer, or HyperShift's object, says of its API server."""
    hosted = item.kind in (HOSTED_CLUSTER, HOSTED_CONTROL_PLANE)
    steps = ("spec", "configuration", "apiServer") if hosted else ("spec",)
    return ApiServerConfig(item.fields(*steps).raw, steps)
