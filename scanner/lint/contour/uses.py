"""Where the objects that Contour reads refer to Secrets, and which Ingresses are Contour's."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from scanner.kube.kinds import HTTP_PROXY, INGRESS, INGRESS_CLASS, INGRESS_ROUTE, Kind
from scanner.kube.objects import Fields, KubeObject
from scanner.model.declared import Declared
from scanner.model.delegations import SecretName, secret_name
from scanner.model.located import Steps
from scanner.model.object_rule import Subject

NAMESPACE: Final = "projectcontour.io/tls-cert-namespace"
"""Annotation of an Ingress (since Contour 1.20): where the Secrets of all its ``tls`` entries are."""
VHOST: Final = ("spec", "virtualhost")
TLS: Final = (*VHOST, "tls")
_CONTROLLER: Final = "projectcontour.io/"
_CLASSES: Final = ("kubernetes.io/ingress.class", "projectcontour.io/ingress.class")
_PREFIXES: Final = ("projectcontour.io/", "contour.heptio.com/")


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """One reference to a Secret."""

    steps: Steps
    secret: SecretName
    what: str
    """``the certificate``, ``the CA of clients``."""
    hosts: tuple[str, ...] = ()
    """Of a certificate: the names under which it is served."""


def is_contours(declared: Declared, ingress: KubeObject) -> bool:
    """Whether an Ingress is one that Contour serves: by its class, or by an annotation that nobody else reads."""
    annotations = ingress.annotations
    if any(each.startswith(_PREFIXES) for each in annotations):
        return True
    name = ingress.text("spec", "ingressClassName") or next(filter(None, map(annotations.get, _CLASSES)), "")
    found = declared.known.get(INGRESS_CLASS, name) if name else None
    return found.text("spec", "controller").startswith(_CONTROLLER) if found else name == "contour"


def of_object(subject: Subject) -> Iterator[Use]:
    """Every Secret to which the object refers."""
    yield from _USES[subject.object.kind](subject)


def _of_proxy(subject: Subject) -> Iterator[Use]:
    """HTTPProxy: ``projectcontour.io/v1``, ``httpproxy_processor.go``."""
    proxy = subject.object
    tls = proxy.fields(*TLS)
    if tls.text("secretName") and not tls.flag("passthrough"):
        hosts = tuple(filter(None, [proxy.text(*VHOST, "fqdn")]))
        yield _use(subject, tls, (*TLS, "secretName"), "the certificate", hosts)
    for field, what in (("caSecret", "the CA of clients"), ("crlSecret", "the revocation list of clients")):
        yield from _given(subject, tls.fields("clientValidation"), (*TLS, "clientValidation", field), what)
    for steps, each in subject.items(*VHOST, "jwtProviders"):
        validation = each.fields("remoteJWKS", "validation")
        yield from _given(subject, validation, (*steps, "remoteJWKS", "validation", "caSecret"), "the CA of the JWKS")
    for steps, each in services(subject):
        yield from _given(subject, each.fields("validation"), (*steps, "validation", "caSecret"), "the CA of a service")


def _of_ingress_route(subject: Subject) -> Iterator[Use]:
    """IngressRoute: ``contour.heptio.com/v1beta1``."""
    tls = subject.object.fields(*TLS)
    if tls.text("secretName"):
        hosts = tuple(filter(None, [subject.object.text(*VHOST, "fqdn")]))
        yield _use(subject, tls, (*TLS, "secretName"), "the certificate", hosts)


def _of_ingress(subject: Subject) -> Iterator[Use]:
    """Ingress: ``ingress_processor.go``. The annotation counts where the name has no namespace of its own."""
    if not is_contours(subject.declared, subject.object):
        return
    namespace = subject.object.annotations.get(NAMESPACE) or subject.object.namespace
    for steps, each in subject.items("spec", "tls"):
        text = each.text("secretName")
        if text:
            yield Use(
                steps=(*steps, "secretName"),
                secret=secret_name(text, namespace),
                what="the certificate",
                hosts=each.texts("hosts"),
            )


_USES: Final[Mapping[Kind, Callable[[Subject], Iterator[Use]]]] = {
    HTTP_PROXY: _of_proxy,
    INGRESS: _of_ingress,
    INGRESS_ROUTE: _of_ingress_route,
}
USERS: Final[tuple[Kind, ...]] = tuple(_USES)
"""The kinds that refer to Secrets."""


def inner(steps: Steps, holder: Fields, field: str) -> Iterator[tuple[Steps, Fields]]:
    """The mappings of a list inside of another list's item, each with the way to it."""
    value = holder.at(field)
    for index, item in enumerate(value if isinstance(value, list) else ()):
        if isinstance(item, dict):
            yield (*steps, field, index), Fields(item)


def services(subject: Subject) -> Iterator[tuple[Steps, Fields]]:
    """Every service to which an HTTPProxy sends requests or connections."""
    for steps, route in subject.items("spec", "routes"):
        yield from inner(steps, route, "services")
    yield from subject.items("spec", "tcpproxy", "services")


def _given(subject: Subject, holder: Fields, steps: Steps, what: str) -> Iterator[Use]:
    if holder.text(str(steps[-1])):
        yield _use(subject, holder, steps, what)


def _use(subject: Subject, holder: Fields, steps: Steps, what: str, hosts: tuple[str, ...] = ()) -> Use:
    secret = secret_name(holder.text(str(steps[-1])), subject.object.namespace)
    return Use(steps=steps, secret=secret, what=what, hosts=hosts)
