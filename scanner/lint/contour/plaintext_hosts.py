"""Hosts with TLS that answer without, by routes of their own or of what they include, through includes of includes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, TypeVar

from scanner.files.source_positions import Steps
from scanner.kube.contour import HTTPProxy
from scanner.kube.ingress import Ingress
from scanner.kube.kinds import HTTP_PROXY, INGRESS, INGRESS_CLASS
from scanner.kube.objects import KubeObject
from scanner.lint.contour.contour_configuration import READS as CONFIGURATIONS
from scanner.lint.contour.contour_configuration import configurations, unread_file
from scanner.lint.contour.secret_uses import VHOST, is_contours
from scanner.model.declared import Declared, Identity, Missing, identity
from scanner.model.object_rule import Flaw, ObjectRule, Subject, undecided

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
    for start, shown in starts:
        waiting = [start]
        while waiting:
            each = waiting.pop()
            known = found[each]
            if len(known) < _MOST and not (known and known[-1] is shown):  # the last: one start after the other
                known.append(shown)
                waiting += following(each)
    return found


PLAINTEXT = ObjectRule(
    id="contour-plaintext",
    subjects=(HTTP_PROXY, INGRESS),
    reads=(HTTP_PROXY, *CONFIGURATIONS, INGRESS_CLASS),
    check=check_plaintext,
)
