"""TLS settings of one virtual host: those that exclude each other, client certificates, the fallback and versions."""

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
from scanner.lint.contour.contour_secrets import FALLBACK, TLS, VHOST, is_contours
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
        "what is passed through shows Contour no client certificate",
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
"""When, where, what, and the reason in the object's status (``httpproxy_processor.go``)."""


def check_settings(subject: Subject) -> Iterator[Flaw]:
    """The TLS settings of an HTTPProxy do not exclude each other."""
    proxy = HTTPProxy.of(subject.object)
    for applies, at, message, reason in _CONTRADICTIONS:
        if applies(proxy):
            yield Flaw(
                message=f"{message}: Contour calls the HTTPProxy invalid ({reason}) and serves none of it",
                at=at,
                fix=f"{subject.object.reference}: decide for one of the two",
            )
    if proxy.tls.passthrough and not proxy.tls.secret_name and not proxy.has_tcp_proxy:
        yield Flaw(
            message="passthrough has no tcpproxy to pass connections to: TLS for this host is not served, and Contour "
            "reports it as valid",
            at=(*TLS, "passthrough"),
            fix=f"{subject.object.reference}: name the services in spec.tcpproxy",
            correction="tcpproxy:\n  services:\n  - name: <service>\n    port: 443",
        )


SETTINGS = ObjectRule(id="contour-tls-settings", subjects=(HTTP_PROXY,), check=check_settings)


def check_client_validation(subject: Subject) -> Iterator[Flaw]:
    """Client certificates that a virtual host asks for are verified."""
    proxy = HTTPProxy.of(subject.object)
    if not proxy.tls.has_client_validation:
        return
    validation = proxy.tls.client_validation
    fix = f"{subject.object.reference}: name the clients' CA in caSecret, and let it be enforced"
    if validation.skip_client_cert_validation:
        if not proxy.has_authorization:
            without = "" if validation.ca_secret else ", and without caSecret none at all as well"
            message = (
                f"client certificates are not verified: any certificate is accepted, also a self-signed one{without}"
            )
            yield Flaw(message=message, at=(*_VALIDATION, "skipClientCertValidation"), fix=fix)
    elif not validation.ca_secret:
        message = "clientValidation has no caSecret: Contour calls the HTTPProxy invalid (ClientValidationInvalid)"
        yield Flaw(message=message, at=_VALIDATION, fix=fix, correction="clientValidation:\n  caSecret: <name>")
    if validation.optional_client_certificate:
        message = "clients without a certificate are let in"
        yield Flaw(message=message, at=(*_VALIDATION, "optionalClientCertificate"), severity="medium", fix=fix)


CLIENT_VALIDATION = ObjectRule(id="contour-client-validation", subjects=(HTTP_PROXY,), check=check_client_validation)


def check_fallback(subject: Subject) -> Iterator[Flaw]:
    """A virtual host does not answer clients that do not name it."""
    proxy = HTTPProxy.of(subject.object)
    if not proxy.tls.enable_fallback_certificate:
        return
    tokens = bool(proxy.jwt_providers)
    spoilt = ", and Contour before 1.33.5 asks those for no JWT" if tokens else ""
    yield Flaw(
        message=f"clients with an unknown server name, or without one, are served{spoilt}",
        at=FALLBACK,
        severity="high" if tokens else None,
        fix=f"{subject.object.reference}: leave it out",
        correction="enableFallbackCertificate: false",
    )
    if not any(each.fallback for each in configurations(subject.declared)):
        missing = unseen(subject.declared)
        what = "whether Contour has a fallback certificate"
        refused = "Contour has no fallback certificate, and calls the HTTPProxy invalid (FallbackNotPresent)"
        yield undecided(missing, FALLBACK, what) if missing else Flaw(message=refused, at=FALLBACK, severity="high")


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
    """A virtual host's protocol versions are ones that Contour knows."""
    if subject.object.kind == INGRESS and not is_contours(subject.declared, subject.object):
        return
    said = dict(_said(subject))
    for field, (at, value) in said.items():
        if not isinstance(value, str) or value not in CONTOUR_TLS_VERSIONS:
            yield _unknown(subject, at, value)
        else:
            yield from _overridden(subject, field, at, value)
    (_, lowest), (at, highest) = (said.get(field, ((), None)) for field in _ANNOTATIONS.values())
    if (lowest, highest) == ("1.3", "1.2"):
        refused = ", and Contour calls the HTTPProxy invalid (TLSConfigNotValid)"
        yield Flaw(
            message="the minimum version is above the maximum: no client can connect"
            + (refused if subject.object.kind == HTTP_PROXY else ""),
            at=at,
            severity="high",
            fix=f"{subject.object.reference}: raise the maximum or lower the minimum",
        )


def _said(subject: Subject) -> Iterator[tuple[str, tuple[Steps, object]]]:
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
        fix=f"{subject.object.reference}: write one of {' and '.join(CONTOUR_TLS_VERSIONS)} in quotes",
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
            message=f"{value} has no effect: {found[0].holder.reference} says {stricter}, and the stricter holds",
            at=at,
            severity="low",
            fix=f"{subject.object.reference}: leave it out",
        )


VERSION = ObjectRule(
    id="contour-protocol-version",
    subjects=(HTTP_PROXY, INGRESS),
    reads=(*CONFIGURATIONS, INGRESS_CLASS),
    check=check_versions,
)


T = TypeVar("T")

_REDIRECT: Final = "ingress.kubernetes.io/force-ssl-redirect"
_ALLOW: Final = "kubernetes.io/ingress.allow-http"
_SHOWN: Final = 3
_MOST: Final = 20
"""Roots of one object, and objects below one, that are reported: all of both would grow with the square of either."""


def check_plaintext(subject: Subject) -> Iterator[Flaw]:
    """A host has TLS, and does not answer without."""
    yield from _of_ingress(subject) if subject.object.kind == INGRESS else _of_proxy(subject)


def _of_ingress(subject: Subject) -> Iterator[Flaw]:
    annotations = subject.object.annotations
    if not Ingress.of(subject.object).tls or not is_contours(subject.declared, subject.object):
        return
    if annotations.get(_REDIRECT) != "true" and annotations.get(_ALLOW) != "false":
        yield Flaw(
            message="the hosts of this Ingress also answer without TLS: Contour redirects only where it is configured",
            at=("metadata", "annotations"),
            fix=f"{subject.object.reference}: add the annotation {_REDIRECT}",
            correction=f'annotations:\n  {_REDIRECT}: "true"',
        )


def _of_proxy(subject: Subject) -> Iterator[Flaw]:
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
        what = "whether this route answers without TLS too"
        yield from (undecided(unread, each.at, what) for each in _answering(subject, proxy))
    elif not (configured and closed):
        yield from _answering(subject, proxy)


def _answering(subject: Subject, proxy: HTTPProxy) -> Iterator[Flaw]:
    """What is wrong unless ``disablePermitInsecure`` is on."""
    routes: list[Steps] = [(*route.steps, "permitInsecure") for route in proxy.routes if route.permit_insecure]
    if proxy.tls:
        yield from (_open(subject, at, "") for at in routes)
        yield from _of_included(subject, proxy)
    elif routes and not proxy.is_root:
        yield from _below_a_root(subject, routes)


def _open(subject: Subject, at: Steps, whose: str) -> Flaw:
    return Flaw(
        message=f"this route answers without TLS too{whose}",
        at=at,
        fix=f"{subject.object.reference}: leave permitInsecure out",
        correction="permitInsecure: false",
    )


def _below_a_root(subject: Subject, routes: list[Steps]) -> Iterator[Flaw]:
    """Routes of an object that roots include: it is the root that has TLS, or has none."""
    roots = subject.declared.once(_roots).get(identity(subject.object), [])
    gap = subject.declared.gap(HTTP_PROXY)
    if roots:
        names = ", ".join(str(each.reference) for each in roots[:_SHOWN])
        yield from (_open(subject, at, f", on the host of {names}, which has TLS and includes it") for at in routes)
    elif gap:
        unseen = Missing(name=f"an HTTPProxy that includes {subject.object.reference}", gap=gap)
        yield from (undecided(unseen, at, "whether this route answers without TLS beside TLS") for at in routes)


def _of_included(subject: Subject, proxy: HTTPProxy) -> Iterator[Flaw]:
    """Routes that a root brings onto its host from objects that are not looked at themselves."""
    below = subject.declared.once(_unlooked)
    for first in proxy.includes:
        for each in below.get((HTTP_PROXY, first.namespace or proxy.namespace, first.name), []):
            if isinstance(each, Missing):
                yield undecided(each, first.steps, "whether the routes that are included answer without TLS")
            else:
                yield Flaw(
                    message=f"{each.reference}, which is included, has a route that answers without TLS too",
                    at=first.steps,
                    fix=f"{each.reference}: leave permitInsecure out",
                )


def _roots(declared: Declared) -> Mapping[Identity, list[KubeObject]]:
    """By object, the first roots with TLS that include it, or what includes it."""
    below: dict[Identity, list[Identity]] = {}
    for proxy in declared.every(HTTP_PROXY):
        below[identity(proxy)] = [
            found for found, each in _included(declared, proxy) if not isinstance(each, Missing) and not _is_root(each)
        ]
    roots = ((identity(each), each) for each in declared.every(HTTP_PROXY) if HTTPProxy.of(each).tls)
    return _reached(roots, lambda each: below.get(each, []))


def _unlooked(declared: Declared) -> Mapping[Identity, list[KubeObject | Missing]]:
    """By included object, the first of it and below it that no rule looks at for its own sake: objects of the cluster
    that have a route without TLS, and those that may exist."""
    above: dict[Identity, list[Identity]] = {}
    found: dict[Identity, KubeObject | Missing] = {}
    given = frozenset(identity(each.object) for each in declared.given)
    for proxy in declared.every(HTTP_PROXY):
        for place, each in _included(declared, proxy):
            above.setdefault(place, []).extend([] if _is_root(proxy) else [identity(proxy)])
            if each.gap if isinstance(each, Missing) else place not in given and _is_open(each):
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
    """A root is served under its own name, and not where it is included."""
    return HTTPProxy.of(proxy).is_root


def _reached(
    starts: Iterable[tuple[Identity, T]], following: Callable[[Identity], Iterable[Identity]]
) -> Mapping[Identity, list[T]]:
    """By object, the first from which it is reached."""
    found: dict[Identity, list[T]] = defaultdict(list)
    for start, origin in starts:
        waiting = [start]
        while waiting:
            each = waiting.pop()
            known = found[each]
            if len(known) < _MOST and not (known and known[-1] is origin):  # the last: one start after the other
                known.append(origin)
                waiting += following(each)
    return found


PLAINTEXT = ObjectRule(
    id="contour-plaintext",
    subjects=(HTTP_PROXY, INGRESS),
    reads=(HTTP_PROXY, *CONFIGURATIONS, INGRESS_CLASS),
    check=check_plaintext,
)
