"""How an API server is configured: APIServer (config.openshift.io/v1), or the same inside a HostedCluster."""

from __future__ import annotations

from scanner.kube.kinds import HOSTED_CLUSTER
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


def api_server_config(item: KubeObject) -> ApiServerConfig:
    """What an APIServer or a HostedCluster says of its API server."""
    steps = ("spec", "configuration", "apiServer") if item.kind == HOSTED_CLUSTER else ("spec",)
    return ApiServerConfig(item.fields(*steps).raw, steps)
