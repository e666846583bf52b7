"""TLS settings of a virtual host: conflicts, client certificates, the fallback, versions, and plaintext beside TLS."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, TypeVar

from scanner.files.source_positions import Steps, shown
from scanner.kube.contour import CONTOUR_TLS_VERSIONS, HTTPProxy
from scanner.kube.ingress import Ingress
from scanner.kube.kinds import HTTP_PROXY, INGRESS, INGRESS_CLASS
from scanner.kube.objects import KubeObject
from scanner.lint.contour.contour_configuration import READS as CONFIGURATIONS
from scanner.lint.contour.contour_configuration import configurations, unread_file, unseen
from scanner.lint.contour.contour_secrets import FALLBACK, TLS, VHOST, is_served_by_contour
from scanner.model.declared import Declared, Identity, Missing, identity
from scanner.model.object_rule import Flaw, ObjectRule, Subject, undecided

_VALIDATION: Final = (*TLS, "clientValidation")
_Test = Callable[[HTTPProxy], object]
_CONTRADICTIONS: Final[tuple[tuple[_Test, Steps, str, str], ...]] = (
    (
        lambda proxy: proxy.tls.passthrough and proxy.tls.secret_name,
        (*TLS, "secretName"),
        "passthrough and secretName exclude each other",
        "TLSConfigNotValid",
    ),
    (
        lambda proxy: proxy.has_tls and not proxy.tls.passthrough and not proxy.tls.secret_name,
        TLS,
        "tls has neither passthrough nor secretName",
        "TLSConfigNotValid",
    ),
    (
        lambda proxy: proxy.tls.passthrough and proxy.tls.has_client_validation,
        _VALIDATION,
        "passthrough and clientValidation exclude each other",
        "TLSIncompatibleFeatures",
    ),
    (
        lambda proxy: proxy.tls.enable_fallback_certificate and proxy.tls.passthrough,
        FALLBACK,
        "the fallback certificate and passthrough exclude each other",
        "TLSIncompatibleFeatures",
    ),
    (
        lambda proxy: proxy.tls.enable_fallback_certificate and proxy.tls.has_client_validation,
        FALLBACK,
        "the fallback certificate and clientValidation exclude each other",
        "TLSIncompatibleFeatures",
    ),
    (
        lambda proxy: proxy.tls.enable_fallback_certificate and proxy.has_authorization,
        FALLBACK,
        "the fallback certificate and authorization exclude each other",
        "TLSIncompatibleFeatures",
    ),
    (
        lambda proxy: proxy.tls.enable_fallback_certificate and proxy.jwt_providers,
        FALLBACK,
        "the fallback certificate and jwtProviders exclude each other, since Contour 1.33.5",
        "TLSIncompatibleFeatures",
    ),
    (
        lambda proxy: proxy.has_tcp_proxy and proxy.is_root and not proxy.has_tls,
        ("spec", "tcpproxy"),
        "a TCP proxy needs TLS: without a server name Envoy cannot select the virtual host",
        "TLSMustBeConfigured",
    ),
)
"""Condition, field, message, and the reason in the object's status (``httpproxy_processor.go``)."""


def check_settings(subject: Subject) -> Iterator[Flaw]:
    """The TLS settings of an HTTPProxy do not exclude each other."""
    proxy = HTTPProxy.of(subject.object)
    for applies, at, message, reason in _CONTRADICTIONS:
        if applies(proxy):
            yield Flaw(
                message=f"{message}: Contour marks the HTTPProxy invalid ({reason}) and does not serve it",
                at=at,
                fix=f"{subject.object.reference}: keep one of the two settings",
            )
    if proxy.tls.passthrough and not proxy.tls.secret_name and not proxy.has_tcp_proxy:
        yield Flaw(
            message="passthrough has no tcpproxy: TLS for this host is not served, although Contour reports it as "
            "valid",
            at=(*TLS, "passthrough"),
            fix=f"{subject.object.reference}: name the services in spec.tcpproxy",
            correction="tcpproxy:\n  services:\n  - name: <service>\n    port: 443",
        )


SETTINGS = ObjectRule(id="contour-tls-settings", subjects=(HTTP_PROXY,), check=check_settings)


def check_client_validation(subject: Subject) -> Iterator[Flaw]:
    """A virtual host verifies the client certificates that it requests."""
    proxy = HTTPProxy.of(subject.object)
    if not proxy.tls.has_client_validation:
        return
    validation = proxy.tls.client_validation
    fix = f"{subject.object.reference}: name the clients' CA in caSecret, and remove settings that weaken it"
    if validation.skip_client_cert_validation:
        if not proxy.has_authorization:
            without = "" if validation.ca_secret else "; without caSecret, clients need no certificate"
            message = f"client certificates are not verified: any certificate is accepted{without}"
            yield Flaw(message=message, at=(*_VALIDATION, "skipClientCertValidation"), fix=fix)
    elif not validation.ca_secret:
        message = "clientValidation has no caSecret: Contour marks the HTTPProxy invalid (ClientValidationInvalid)"
        yield Flaw(message=message, at=_VALIDATION, fix=fix, correction="clientValidation:\n  caSecret: <name>")
    if validation.optional_client_certificate:
        message = "clients without a certificate are accepted"
        yield Flaw(message=message, at=(*_VALIDATION, "optionalClientCertificate"), severity="medium", fix=fix)


CLIENT_VALIDATION = ObjectRule(id="contour-client-validation", subjects=(HTTP_PROXY,), check=check_client_validation)


def check_fallback(subject: Subject) -> Iterator[Flaw]:
    """A virtual host does not serve clients with another server name."""
    proxy = HTTPProxy.of(subject.object)
    if not proxy.tls.enable_fallback_certificate:
        return
    tokens = bool(proxy.jwt_providers)
    unchecked = ", and Contour before 1.33.5 requires no JWT from them" if tokens else ""
    yield Flaw(
        message=f"clients with an unknown server name, or without one, get the fallback certificate{unchecked}",
        at=FALLBACK,
        severity="high" if tokens else None,
        fix=f"{subject.object.reference}: remove enableFallbackCertificate",
        correction="enableFallbackCertificate: false",
    )
    if not any(each.fallback for each in configurations(subject.declared)):
        missing = unseen(subject.declared)
        what = "whether Contour has a fallback certificate"
        invalid = "Contour has no fallback certificate: it marks the HTTPProxy invalid (FallbackNotPresent)"
        yield undecided(missing, FALLBACK, what) if missing else Flaw(message=invalid, at=FALLBACK, severity="high")


FALLS_BACK = ObjectRule(
    id="contour-fallback-certificate",
    subjects=(HTTP_PROXY,),
    reads=CONFIGURATIONS,
    check=check_fallback,
)


_ANNOTATIONS: Final = {
    "projectcontour.io/tls-minimum-protocol-version": "minimumProtocolVersion",
    "projectcontour.io/tls-maximum-protocol-version": "maximumProtocolVersion",
}


def check_versions(subject: Subject) -> Iterator[Flaw]:
    """A virtual host's protocol versions are valid in Contour."""
    if subject.object.kind == INGRESS and not is_served_by_contour(subject.declared, subject.object):
        return
    versions = dict(_versions(subject))
    for field, (at, value) in versions.items():
        if not isinstance(value, str) or value not in CONTOUR_TLS_VERSIONS:
            yield _unknown(subject, at, value)
        else:
            yield from _overridden(subject, field, at, value)
    (_, lowest), (at, highest) = (versions.get(field, ((), None)) for field in _ANNOTATIONS.values())
    if (lowest, highest) == ("1.3", "1.2"):
        invalid = ", and Contour marks the HTTPProxy invalid (TLSConfigNotValid)"
        yield Flaw(
            message="the minimum version is above the maximum: no client can connect"
            + (invalid if subject.object.kind == HTTP_PROXY else ""),
            at=at,
            severity="high",
            fix=f"{subject.object.reference}: raise the maximum or lower the minimum",
        )


def _versions(subject: Subject) -> Iterator[tuple[str, tuple[Steps, object]]]:
    tls, annotations = HTTPProxy.of(subject.object).tls, subject.object.annotations
    values = (tls.minimum_protocol_version, tls.maximum_protocol_version)
    for (annotation, field), value in zip(_ANNOTATIONS.items(), values, strict=True):
        if subject.object.kind == HTTP_PROXY:
            steps, found = (*tls.steps, field), value
        else:
            steps, found = ("metadata", "annotations", annotation), annotations.get(annotation)
        if found not in (None, ""):
            yield field, (steps, found)


def _unknown(subject: Subject, at: Steps, value: object) -> Flaw:
    near = next((each for each in reversed([*CONTOUR_TLS_VERSIONS]) if each in str(value)), "1.2")
    return Flaw(
        message=f"{shown(value)}: Contour ignores this version and uses its default",
        at=at,
        expected=tuple(f'"{each}"' for each in CONTOUR_TLS_VERSIONS),
        observed=(shown(value),),
        fix=f"{subject.object.reference}: set it to {' or '.join(CONTOUR_TLS_VERSIONS)}, in quotes",
        correction=f'{at[-1]}: "{near}"',
    )


def _overridden(subject: Subject, field: str, at: Steps, value: str) -> Iterator[Flaw]:
    lowest = field == "minimumProtocolVersion"
    stricter = "1.3" if lowest else "1.2"
    found = configurations(subject.declared)
    every = (each.settings.tls for each in found)
    limits = (tls.minimum_protocol_version if lowest else tls.maximum_protocol_version for tls in every)
    if value != stricter and found and all(limit == stricter for limit in limits):
        yield Flaw(
            message=f"{value} has no effect: {found[0].holder.reference} sets the stricter {stricter}",
            at=at,
            severity="low",
            fix=f"{subject.object.reference}: remove {at[-1]}",
        )


VERSION = ObjectRule(
    id="contour-protocol-version",
    subjects=(HTTP_PROXY, INGRESS),
    reads=(*CONFIGURATIONS, INGRESS_CLASS),
    check=check_versions,
)


# --- Plaintext beside TLS, by routes of a root or of the objects that it includes ------------------------------------

T = TypeVar("T")

_REDIRECT: Final = "ingress.kubernetes.io/force-ssl-redirect"
_ALLOW: Final = "kubernetes.io/ingress.allow-http"
_SHOWN: Final = 3
_MOST: Final = 20
"""Roots of one object, and objects below one, that are reported: the number of pairs grows with the square."""


def check_plaintext(subject: Subject) -> Iterator[Flaw]:
    """A host is served with TLS only."""
    yield from _ingress_flaws(subject) if subject.object.kind == INGRESS else _proxy_flaws(subject)


def _ingress_flaws(subject: Subject) -> Iterator[Flaw]:
    annotations = subject.object.annotations
    if not Ingress.of(subject.object).tls or not is_served_by_contour(subject.declared, subject.object):
        return
    if annotations.get(_REDIRECT) != "true" and annotations.get(_ALLOW) != "false":
        yield Flaw(
            message="the hosts of this Ingress are also served without TLS: it does not configure a redirect",
            at=("metadata", "annotations"),
            fix=f"{subject.object.reference}: add the annotation {_REDIRECT}",
            correction=f'annotations:\n  {_REDIRECT}: "true"',
        )


def _proxy_flaws(subject: Subject) -> Iterator[Flaw]:
    proxy = HTTPProxy.of(subject.object)
    if proxy.is_root and not (proxy.has_tls or proxy.has_tcp_proxy):
        yield Flaw(
            message="is served without TLS: it has no virtualhost.tls",
            at=(*VHOST, "tls"),
            severity="low",
            fix=f"{subject.object.reference}: add virtualhost.tls with secretName",
            correction="tls:\n  secretName: <name>",
        )
        return
    configured = configurations(subject.declared)
    closed, unread = all(each.settings.disable_permit_insecure for each in configured), unread_file(subject.declared)
    if closed and unread:
        what = "whether this route is also served without TLS"
        yield from (undecided(unread, each.at, what) for each in _insecure_routes(subject, proxy))
    elif not (configured and closed):
        yield from _insecure_routes(subject, proxy)


def _insecure_routes(subject: Subject, proxy: HTTPProxy) -> Iterator[Flaw]:
    """Routes that are served without TLS unless ``disablePermitInsecure`` is on."""
    routes: list[Steps] = [(*route.steps, "permitInsecure") for route in proxy.routes if route.permit_insecure]
    if proxy.tls:
        yield from (_insecure(subject, at, "") for at in routes)
        yield from _included_flaws(subject, proxy)
    elif routes and not proxy.is_root:
        yield from _included_routes(subject, routes)


def _insecure(subject: Subject, at: Steps, where: str) -> Flaw:
    return Flaw(
        message=f"this route is also served without TLS{where}",
        at=at,
        fix=f"{subject.object.reference}: remove permitInsecure",
        correction="permitInsecure: false",
    )


def _included_routes(subject: Subject, routes: list[Steps]) -> Iterator[Flaw]:
    """Routes of an object that roots include: TLS is configured on the root."""
    roots = subject.declared.once(_roots).get(identity(subject.object), [])
    gap = subject.declared.gap(HTTP_PROXY)
    if roots:
        names = ", ".join(str(each.reference) for each in roots[:_SHOWN])
        yield from (_insecure(subject, at, f", on the host of {names}, which has TLS and includes it") for at in routes)
    elif gap:
        unseen = Missing(name=f"an HTTPProxy that includes {subject.object.reference}", gap=gap)
        yield from (undecided(unseen, at, "whether this route is served on a host with TLS") for at in routes)


def _included_flaws(subject: Subject, proxy: HTTPProxy) -> Iterator[Flaw]:
    """Routes that a root includes from objects that are not judged themselves."""
    below = subject.declared.once(_not_judged)
    for first in proxy.includes:
        for each in below.get((HTTP_PROXY, first.namespace or proxy.namespace, first.name), []):
            if isinstance(each, Missing):
                yield undecided(each, first.steps, "whether the included routes are served without TLS")
            else:
                yield Flaw(
                    message=f"the included {each.reference} has a route that is also served without TLS",
                    at=first.steps,
                    fix=f"{each.reference}: remove permitInsecure",
                )


def _roots(declared: Declared) -> Mapping[Identity, list[KubeObject]]:
    """The first roots with TLS that include an object, directly or not, by object."""
    below: dict[Identity, list[Identity]] = {}
    for proxy in declared.every(HTTP_PROXY):
        below[identity(proxy)] = [
            found for found, each in _included(declared, proxy) if not isinstance(each, Missing) and not _is_root(each)
        ]
    roots = ((identity(each), each) for each in declared.every(HTTP_PROXY) if HTTPProxy.of(each).tls)
    return _reached(roots, lambda each: below.get(each, []))


def _not_judged(declared: Declared) -> Mapping[Identity, list[KubeObject | Missing]]:
    """The first objects, by each object that includes them or is one, that are not judged themselves: objects of the
    cluster with a route without TLS, and objects that may exist."""
    above: dict[Identity, list[Identity]] = {}
    found: dict[Identity, KubeObject | Missing] = {}
    judged = frozenset(identity(each.object) for each in declared.subjects)
    for proxy in declared.every(HTTP_PROXY):
        for place, each in _included(declared, proxy):
            above.setdefault(place, []).extend([] if _is_root(proxy) else [identity(proxy)])
            if each.gap if isinstance(each, Missing) else place not in judged and _is_open(each):
                found[place] = each
    return _reached(found.items(), lambda each: above.get(each, []))


def _included(declared: Declared, proxy: KubeObject) -> Iterator[tuple[Identity, KubeObject | Missing]]:
    for each in HTTPProxy.of(proxy).includes:
        if each.name:
            namespace = each.namespace or proxy.namespace
            yield (HTTP_PROXY, namespace, each.name), declared.find(HTTP_PROXY, each.name, namespace)


def _is_open(proxy: KubeObject) -> bool:
    return not _is_root(proxy) and any(route.permit_insecure for route in HTTPProxy.of(proxy).routes)


def _is_root(proxy: KubeObject) -> bool:
    """A root is served under its own name only, not on hosts that include it."""
    return HTTPProxy.of(proxy).is_root


def _reached(
    starts: Iterable[tuple[Identity, T]], following: Callable[[Identity], Iterable[Identity]]
) -> Mapping[Identity, list[T]]:
    """The first starts from which an object is reached, by object."""
    found: dict[Identity, list[T]] = defaultdict(list)
    for start, origin in starts:
        waiting = [start]
        while waiting:
            each = waiting.pop()
            known = found[each]
            if len(known) < _MOST and not (known and known[-1] is origin):  # starts are followed one by one
                known.append(origin)
                waiting += following(each)
    return found


PLAINTEXT = ObjectRule(
    id="contour-plaintext",
    subjects=(HTTP_PROXY, INGRESS),
    reads=(HTTP_PROXY, *CONFIGURATIONS, INGRESS_CLASS),
    check=check_plaintext,
)
