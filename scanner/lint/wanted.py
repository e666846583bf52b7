"""Which Secrets and ConfigMaps objects refer to, so that lint has them read by name: a table of the fields."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final

from scanner.kube import kinds
from scanner.kube.kinds import CONFIG_MAP, SECRET, Kind
from scanner.kube.objects import Fields, KubeObject
from scanner.lint.contour.uses import NAMESPACE as CERTIFICATES_NAMESPACE

MOST: Final = 20_000
"""Objects of one kind. Each is a request of its own to the API server."""
_CONFIG: Final = "openshift-config"
_ROUTER: Final = "openshift-ingress"


@dataclass(frozen=True, slots=True)
class _Field:
    """A field that names another object: by its name, or by a reference with name, kind and namespace."""

    subject: Kind
    path: str
    """``*`` stands for the items of a list, or for every field."""
    to: Kind = SECRET
    """Where the reference does not say."""
    within: str | None = None
    """The namespace; None: that of the reference, else the subject's own."""
    annotation: str = ""
    """One of the subject that says the namespace where the reference does not."""


_LISTENER = "spec.listeners.*.tls.certificateRefs.*"
_HOSTED = "spec.configuration.apiServer"
_CA = "validation.caCertificateRefs.*"
_MONITORED: Final = (
    (kinds.SERVICE_MONITOR, "spec.endpoints.*"),
    (kinds.POD_MONITOR, "spec.podMetricsEndpoints.*"),
    (kinds.PROBE, "spec"),
    (kinds.SCRAPE_CONFIG, "spec"),
)
_FIELDS: Final = (
    *(_Field(kind, f"{path}.tlsConfig.ca.configMap", CONFIG_MAP) for kind, path in _MONITORED),
    *(_Field(kind, f"{path}.tlsConfig.ca.secret") for kind, path in _MONITORED),
    *(_Field(kind, _LISTENER) for kind in (kinds.GATEWAY, kinds.LISTENER_SET, kinds.X_LISTENER_SET)),
    _Field(kinds.GATEWAY, f"spec.tls.frontend.default.{_CA}", CONFIG_MAP),
    _Field(kinds.GATEWAY, f"spec.tls.frontend.perPort.*.tls.{_CA}", CONFIG_MAP),
    _Field(kinds.GATEWAY, "spec.tls.backend.clientCertificateRef"),
    _Field(kinds.BACKEND_TLS_POLICY, f"spec.{_CA}", CONFIG_MAP),
    _Field(kinds.BACKEND_TLS_POLICY, "spec.tls.caCertRefs.*", CONFIG_MAP),
    _Field(kinds.ROUTE, "spec.tls.externalCertificate.name"),
    _Field(kinds.INGRESS, "spec.tls.*.secretName", annotation=CERTIFICATES_NAMESPACE),
    *(
        _Field(kind, f"spec.{path}")
        for kind in (kinds.HTTP_PROXY, kinds.INGRESS_ROUTE)
        for path in (
            "virtualhost.tls.secretName",
            "virtualhost.tls.clientValidation.caSecret",
            "virtualhost.tls.clientValidation.crlSecret",
            "routes.*.services.*.validation.caSecret",
            "tcpproxy.services.*.validation.caSecret",
        )
    ),
    _Field(kinds.HTTP_PROXY, "spec.virtualhost.jwtProviders.*.remoteJWKS.validation.caSecret"),
    _Field(kinds.EXTENSION_SERVICE, "spec.validation.caSecret"),
    _Field(kinds.CONTOUR_CONFIGURATION, "spec.httpproxy.fallbackCertificate"),
    _Field(kinds.CONTOUR_DEPLOYMENT, "spec.runtimeSettings.httpproxy.fallbackCertificate"),
    _Field(kinds.CONTOUR_CONFIGURATION, "spec.envoy.clientCertificate"),
    *(
        _Field(kind, "spec.delegations.*.secretName")
        for kind in (kinds.TLS_CERTIFICATE_DELEGATION, kinds.HEPTIO_DELEGATION, kinds.VMWARE_DELEGATION)
    ),
    _Field(kinds.API_SERVER, "spec.servingCerts.namedCertificates.*.servingCertificate.name", SECRET, _CONFIG),
    _Field(kinds.API_SERVER, "spec.clientCA.name", CONFIG_MAP, _CONFIG),
    _Field(kinds.HOSTED_CLUSTER, f"{_HOSTED}.servingCerts.namedCertificates.*.servingCertificate.name"),
    _Field(kinds.HOSTED_CLUSTER, f"{_HOSTED}.clientCA.name", CONFIG_MAP),
    _Field(kinds.INGRESS_CONFIG, "spec.componentRoutes.*.servingCertKeyPairSecret.name", SECRET, _CONFIG),
    _Field(kinds.CONSOLE, "spec.route.secret.name", SECRET, _CONFIG),
    _Field(kinds.OAUTH, "spec.identityProviders.*.*.ca.name", CONFIG_MAP, _CONFIG),
    _Field(kinds.OAUTH, "spec.identityProviders.*.*.tlsClientCert.name", SECRET, _CONFIG),
    _Field(kinds.OAUTH, "spec.identityProviders.*.*.tlsClientKey.name", SECRET, _CONFIG),
    _Field(kinds.INGRESS_CONTROLLER, "spec.defaultCertificate.name", SECRET, _ROUTER),
    _Field(kinds.INGRESS_CONTROLLER, "spec.clientTLS.clientCA.name", CONFIG_MAP, _CONFIG),
)


def wanted(objects: Iterable[KubeObject], kind: Kind) -> Iterator[tuple[str, str]]:
    """(namespace, name) of every object of ``kind``, a Secret or ConfigMap, that is referred to; each once."""
    found = (each for item in objects for field in _FIELDS if field.subject == item.kind for each in _of(item, field))
    complete = ((namespace, name) for to, namespace, name in found if to == kind.name and namespace and name)
    return islice(dict.fromkeys(complete), MOST)


def _of(item: KubeObject, field: _Field) -> Iterator[tuple[str, str, str]]:
    """Kind, namespace and name."""
    for value in _values(item.raw, field.path.split(".")):
        if isinstance(value, str):  # ``namespace/name``, as Contour has it
            namespace, _, name = value.rpartition("/")
            said = item.annotations.get(field.annotation, "") if field.annotation else ""
            yield field.to.name, field.within or namespace or said or item.namespace or "", name
        elif isinstance(value, dict):
            reference = Fields(value)
            where = field.within or reference.text("namespace") or item.namespace or ""
            if reference.text("group") == "":
                yield reference.text("kind") or field.to.name, where, reference.text("name")


def _values(value: object, path: list[str]) -> Iterator[object]:
    """What stands there, in each item of each list."""
    if not path:
        yield value
    elif path[0] == "*":
        items = value if isinstance(value, list) else value.values() if isinstance(value, dict) else ()
        for each in items:
            yield from _values(each, path[1:])
    elif isinstance(value, dict):
        yield from _values(value.get(path[0]), path[1:])
