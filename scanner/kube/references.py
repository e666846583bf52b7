"""References to Secrets and ConfigMaps: a table of the fields, and the target of each reference."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import Final, Literal

from msgspec import Struct

from scanner.kube import kinds
from scanner.kube.contour import HTTPProxy, secret_name
from scanner.kube.ingress import TLS_CERT_NAMESPACE, IngressTLS, Route
from scanner.kube.kinds import CONFIG_MAP, SECRET, Kind
from scanner.kube.objects import Fields, KubeObject, Steps
from scanner.values import replace

ReferenceRole = Literal[
    "certificate",
    "client-certificate",
    "key",
    "ca",
    "client-ca",
    "client-crl",
    "backend-ca",
    "jwks-ca",
    "delegated",
    "manifests",
]
"""Purpose of the referenced object. ``ca``: verifies servers that the subject calls. ``manifests``: configures its
nodes."""
Form = Literal["name", "contour", "local", "reference"]
"""Notation of a reference. ``name``: a name in the subject's namespace or in a fixed one. ``contour``: also
``namespace/name``, or a mapping with both. ``local``: a mapping with group, kind and name. ``reference``: the same with
a namespace."""

MOST: Final = 20_000
"""Maximum number of referenced objects of one kind. Each needs a request to the API server."""


class _Field(Struct, frozen=True):
    """A field that refers to an object."""

    subject: Kind
    path: str
    """Path of the field; ``*`` is every item of a list, or every field."""
    role: ReferenceRole
    form: Form = "name"
    to: Kind = SECRET
    """Kind of the object if the reference has none."""
    within: str | None = None
    """Fixed namespace; None: that of the reference, else the subject's own."""


class Link(Struct, frozen=True, kw_only=True):
    """One reference of an object to a Secret or ConfigMap."""

    source: KubeObject
    steps: Steps
    """Path of the field in the source."""
    enclosing: Fields
    """The mapping that contains the field: a ``tls`` entry with its hosts."""
    role: ReferenceRole
    group: str
    kind: str
    """Kind in the reference, or its default."""
    namespace: str | None
    name: str
    grant: Kind | None
    """Kind of the object that must allow a reference to another namespace, if the field can name one."""

    @property
    def is_secret(self) -> bool:
        """True if it refers to a Secret."""
        return (self.group, self.kind) == ("", SECRET.name)

    @property
    def hosts(self) -> tuple[str, ...]:
        """Names under which the source serves a certificate; empty also for a Gateway's listener for all names."""
        if self.source.kind == kinds.ROUTE:
            return Route.of(self.source).hosts
        if self.source.kind == kinds.INGRESS:
            return IngressTLS(self.enclosing.raw).hosts
        if self.source.kind in (kinds.HTTP_PROXY, kinds.INGRESS_ROUTE):
            return tuple(filter(None, [HTTPProxy.of(self.source).fqdn]))
        listeners, index = self.source.at("spec", "listeners"), self.steps[2]
        listener = listeners[index] if isinstance(listeners, list) and isinstance(index, int) else None
        return tuple(filter(None, [Fields(listener).text("hostname")])) if isinstance(listener, dict) else ()


_CONFIG: Final = "openshift-config"
"""Namespace of the objects that ``config.openshift.io`` objects name."""
_ROUTER: Final = "openshift-ingress"
_LISTENER: Final = "tls.certificateRefs.*"
_CA: Final = "validation.caCertificateRefs.*"
_HOSTED: Final = "spec.configuration.apiServer"
_MONITORED: Final = (
    (kinds.SERVICE_MONITOR, "spec.endpoints.*"),
    (kinds.POD_MONITOR, "spec.podMetricsEndpoints.*"),
    (kinds.PROBE, "spec"),
    (kinds.SCRAPE_CONFIG, "spec"),
)
_HOLDERS: Final = (kinds.GATEWAY, kinds.LISTENER_SET, kinds.X_LISTENER_SET)
_GRANTS: Final[Mapping[Form, Kind]] = {
    "reference": kinds.REFERENCE_GRANT,
    "contour": kinds.TLS_CERTIFICATE_DELEGATION,
}
_FIELDS: Final = (
    _Field(
        kinds.API_SERVER,
        "spec.servingCerts.namedCertificates.*.servingCertificate.name",
        "certificate",
        within=_CONFIG,
    ),
    _Field(kinds.API_SERVER, "spec.clientCA.name", "client-ca", to=CONFIG_MAP, within=_CONFIG),
    _Field(kinds.INGRESS_CONFIG, "spec.componentRoutes.*.servingCertKeyPairSecret.name", "certificate", within=_CONFIG),
    _Field(kinds.INGRESS_CONTROLLER, "spec.defaultCertificate.name", "certificate", within=_ROUTER),
    _Field(kinds.INGRESS_CONTROLLER, "spec.clientTLS.clientCA.name", "client-ca", to=CONFIG_MAP, within=_CONFIG),
    _Field(kinds.HOSTED_CLUSTER, f"{_HOSTED}.servingCerts.namedCertificates.*.servingCertificate.name", "certificate"),
    _Field(kinds.HOSTED_CLUSTER, f"{_HOSTED}.clientCA.name", "client-ca", to=CONFIG_MAP),
    _Field(kinds.NODE_POOL, "spec.config.*.name", "manifests", to=CONFIG_MAP),
    _Field(kinds.CONSOLE, "spec.route.secret.name", "certificate", within=_CONFIG),
    _Field(kinds.OAUTH, "spec.identityProviders.*.*.ca.name", "ca", to=CONFIG_MAP, within=_CONFIG),
    _Field(kinds.OAUTH, "spec.identityProviders.*.*.tlsClientCert.name", "client-certificate", within=_CONFIG),
    _Field(kinds.OAUTH, "spec.identityProviders.*.*.tlsClientKey.name", "key", within=_CONFIG),
    _Field(kinds.INGRESS, "spec.tls.*.secretName", "certificate"),
    *(_Field(kind, f"spec.listeners.*.{_LISTENER}", "certificate", "reference") for kind in _HOLDERS),
    _Field(kinds.GATEWAY, f"spec.tls.frontend.default.{_CA}", "client-ca", "reference", CONFIG_MAP),
    _Field(kinds.GATEWAY, f"spec.tls.frontend.perPort.*.tls.{_CA}", "client-ca", "reference", CONFIG_MAP),
    _Field(kinds.GATEWAY, "spec.tls.backend.clientCertificateRef", "client-certificate", "reference"),
    _Field(kinds.BACKEND_TLS_POLICY, f"spec.{_CA}", "backend-ca", "local", CONFIG_MAP),
    _Field(kinds.BACKEND_TLS_POLICY, "spec.tls.caCertRefs.*", "backend-ca", "local", CONFIG_MAP),
    _Field(kinds.HTTP_PROXY, "spec.virtualhost.tls.secretName", "certificate", "contour"),
    _Field(kinds.HTTP_PROXY, "spec.virtualhost.tls.clientValidation.caSecret", "client-ca", "contour"),
    _Field(kinds.HTTP_PROXY, "spec.virtualhost.tls.clientValidation.crlSecret", "client-crl", "contour"),
    _Field(kinds.HTTP_PROXY, "spec.virtualhost.jwtProviders.*.remoteJWKS.validation.caSecret", "jwks-ca", "contour"),
    _Field(kinds.HTTP_PROXY, "spec.routes.*.services.*.validation.caSecret", "backend-ca", "contour"),
    _Field(kinds.HTTP_PROXY, "spec.tcpproxy.services.*.validation.caSecret", "backend-ca", "contour"),
    _Field(kinds.INGRESS_ROUTE, "spec.virtualhost.tls.secretName", "certificate", "contour"),
    _Field(kinds.INGRESS_ROUTE, "spec.routes.*.services.*.validation.caSecret", "backend-ca"),
    _Field(kinds.INGRESS_ROUTE, "spec.tcpproxy.services.*.validation.caSecret", "backend-ca"),
    _Field(kinds.EXTENSION_SERVICE, "spec.validation.caSecret", "backend-ca", "contour"),
    _Field(kinds.CONTOUR_CONFIGURATION, "spec.httpproxy.fallbackCertificate", "certificate", "contour"),
    _Field(kinds.CONTOUR_CONFIGURATION, "spec.envoy.clientCertificate", "client-certificate", "contour"),
    _Field(kinds.CONTOUR_DEPLOYMENT, "spec.runtimeSettings.httpproxy.fallbackCertificate", "certificate", "contour"),
    _Field(kinds.CONTOUR_DEPLOYMENT, "spec.runtimeSettings.envoy.clientCertificate", "client-certificate", "contour"),
    *(
        _Field(kind, "spec.delegations.*.secretName", "delegated")
        for kind in (kinds.TLS_CERTIFICATE_DELEGATION, kinds.HEPTIO_DELEGATION, kinds.VMWARE_DELEGATION)
    ),
    _Field(kinds.ROUTE, "spec.tls.externalCertificate.name", "certificate"),
    *(_Field(kind, f"{path}.tlsConfig.ca.configMap", "ca", to=CONFIG_MAP) for kind, path in _MONITORED),
    *(_Field(kind, f"{path}.tlsConfig.ca.secret", "ca") for kind, path in _MONITORED),
)
"""The paths are those of each API's ``types.go``. Only Contour has references ``namespace/name``
(``internal/k8s/namespacedname.go``)."""
_BY_SUBJECT: Final[Mapping[Kind, tuple[_Field, ...]]] = {
    kind: tuple(each for each in _FIELDS if each.subject == kind)
    for kind in dict.fromkeys(each.subject for each in _FIELDS)
}
SUBJECTS: Final[tuple[Kind, ...]] = tuple(_BY_SUBJECT)
"""Kinds that refer to Secrets or ConfigMaps; the platform's own configuration first."""


def links(item: KubeObject, *, of_contour: bool | None = None) -> Iterator[Link]:
    """Yield every reference of the object to a Secret or ConfigMap.

    ``of_contour``: whether Contour serves an Ingress (``is_served_by_contour``). If unknown, both meanings of a
    reference are yielded, Contour's first.
    """
    for field in _BY_SUBJECT.get(item.kind, ()):
        for steps, enclosing, value in _values(item.raw, field.path.split("."), (), item.raw):
            if item.kind == kinds.INGRESS:
                yield from _of_ingress(item, field, steps, enclosing, value, of_contour=of_contour)
            elif (found := _link(item, field, steps, enclosing, value)) is not None:
                yield found


def referenced_names(objects: Iterable[KubeObject], kind: Kind) -> Iterator[tuple[str, str]]:
    """Namespace and name of every referenced object of ``kind``, a Secret or ConfigMap; each once."""
    found = (each for item in objects for each in links(item) if (each.group, each.kind) == ("", kind.name))
    return islice(dict.fromkeys((each.namespace, each.name) for each in found if each.namespace), MOST)


def of_listener(holder: KubeObject, listener: Fields, steps: Steps = ()) -> Iterator[Link]:
    """Yield the ``certificateRefs`` of one listener of a Gateway or ListenerSet. ``steps``: path of the listener."""
    (field,) = (each for each in _BY_SUBJECT[holder.kind] if each.path.endswith(_LISTENER))
    for at, enclosing, value in _values(listener.raw, _LISTENER.split("."), steps, listener.raw):
        if (found := _link(holder, field, at, enclosing, value)) is not None:
            yield found


def _of_ingress(
    item: KubeObject, field: _Field, steps: Steps, enclosing: Fields, value: object, *, of_contour: bool | None
) -> Iterator[Link]:
    own = _link(item, field, steps, enclosing, value)
    if own is None:
        return
    annotated = item.annotations.get(TLS_CERT_NAMESPACE)
    meant = secret_name(own.name, annotated or item.namespace)
    elsewhere = bool(annotated) or meant.namespace != item.namespace
    if of_contour is not False and elsewhere:
        # Contour's meaning.
        grant = kinds.TLS_CERTIFICATE_DELEGATION
        yield replace(own, group="", kind=SECRET.name, namespace=meant.namespace, name=meant.name, grant=grant)
    if of_contour is False or not elsewhere or (of_contour is None and "/" not in own.name):
        yield own


def _link(item: KubeObject, field: _Field, steps: Steps, enclosing: Fields, value: object) -> Link | None:
    reference = Fields(value if isinstance(value, dict) else {"name": value})
    own, group, kind = field.within or item.namespace, "", field.to.name
    name = reference.text("name")
    if field.form in ("reference", "local"):
        group, kind = reference.text("group"), reference.text("kind") or kind
    if field.form in ("reference", "contour"):
        own = reference.text("namespace") or own
    if field.form == "contour":
        meant = secret_name(name, own)
        own, name = meant.namespace, meant.name
    if not name:
        return None
    return Link(
        source=item,
        steps=steps,
        enclosing=enclosing,
        role=field.role,
        group=group,
        kind=kind,
        namespace=own,
        name=name,
        grant=_GRANTS.get(field.form),
    )


def _values(
    value: object, path: list[str], steps: Steps, enclosing: Mapping[str, object]
) -> Iterator[tuple[Steps, Fields, object]]:
    """Yield the values at ``path``, in each item of each list, with the mapping that contains the field."""
    if not path:
        yield steps, Fields(enclosing), value
    elif path[0] == "*":
        items = enumerate(value) if isinstance(value, list) else value.items() if isinstance(value, dict) else ()
        for key, each in chain(items):
            if isinstance(each, dict):
                yield from _values(each, path[1:], (*steps, key), enclosing)
    elif isinstance(value, dict):
        yield from _values(value.get(path[0]), path[1:], (*steps, path[0]), value)
