"""Root HTTPProxies: those with a virtual host, TLS on others, and hosts that several objects claim."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Final

from scanner.files.source_positions import Steps
from scanner.kube.contour import HTTPProxy
from scanner.kube.ingress import Ingress, ingress_class
from scanner.kube.kinds import HTTP_PROXY, INGRESS, INGRESS_CLASS, INGRESS_ROUTE
from scanner.kube.objects import KubeObject
from scanner.lint.contour.contour_configuration import READS as CONFIGURATIONS
from scanner.lint.contour.contour_configuration import configurations
from scanner.lint.contour.contour_secrets import TLS, VHOST, is_served_by_contour
from scanner.model.declared import Declared, Missing
from scanner.model.object_rule import Flaw, ObjectRule, Subject

_SHOWN: Final = 3


def check_root(subject: Subject) -> Iterator[Flaw]:
    """TLS is configured on a root."""
    proxy = HTTPProxy.of(subject.object)
    if proxy.has_misplaced_tls:
        yield _no_effect(subject, ("spec", "tls"), "the API server removes tls outside of virtualhost")
    yield from _including(subject, proxy)
    if not proxy.tls:
        return
    if not proxy.fqdn:
        yield _no_effect(subject, TLS, "a virtual host without fqdn is not a root (FQDNNotSpecified)")
    found = configurations(subject.declared)
    namespaces = [each.settings.root_namespaces for each in found]
    elsewhere = all(each and subject.object.namespace not in each for each in namespaces)
    if subject.object.kind == HTTP_PROXY and found and elsewhere and subject.object.namespace:
        where = ", ".join(namespaces[0][:10])
        why = f"{found[0].holder.reference} allows roots in {where} only (RootProxyNotAllowedInNamespace)"
        yield _no_effect(subject, TLS, why)


def _no_effect(subject: Subject, at: Steps, why: str) -> Flaw:
    return Flaw(
        message=f"these TLS settings have no effect: {why}",
        at=at,
        fix=f"{subject.object.reference}: configure TLS below spec.virtualhost of the root",
    )


def _including(subject: Subject, proxy: HTTPProxy) -> Iterator[Flaw]:
    """Report roots that it includes. A missing object is skipped, because that does not concern TLS."""
    if not proxy.is_root:
        return
    for child in proxy.children:
        found = subject.find(proxy.kind, child.name, child.namespace or None)
        included = None if isinstance(found, Missing) else HTTPProxy.of(found)
        if included and included.is_root and (proxy.tls or included.tls):
            yield Flaw(
                message=f"{included.reference} has a virtual host: Contour rejects an HTTPProxy that includes it "
                "(RootIncludesRoot), and serves it under its own name, with its own TLS",
                at=child.steps,
                fix=f"{included.reference}: remove spec.virtualhost, or do not include it",
            )


ROOT = ObjectRule(id="contour-root", subjects=(HTTP_PROXY, INGRESS_ROUTE), reads=CONFIGURATIONS, check=check_root)


def _class(found: KubeObject) -> str:
    """Two Contours with different classes may serve the same host."""
    return ingress_class(found) or "contour"


def check_fqdn(subject: Subject) -> Iterator[Flaw]:
    """A host is claimed by one HTTPProxy."""
    key = (HTTPProxy.of(subject.object).fqdn.lower(), _class(subject.object))
    if not key[0]:
        return
    at = (*VHOST, "fqdn")
    proxies = subject.declared.once(_proxies).get(key, ())
    if len(proxies) > 1:
        others = (each for each in proxies if each is not subject.object)
        yield Flaw(
            message=f"{_listed(others, len(proxies) - 1)} also {'claims' if len(proxies) == 2 else 'claim'} {key[0]}: "
            "Contour marks all of them invalid (DuplicateVhost)",
            at=at,
            fix=f"{subject.object.reference}: keep one of them",
        )
    ingresses = subject.declared.once(_ingresses).get(key[0], ())
    if ingresses:
        yield Flaw(
            message=f"{_listed(ingresses, len(ingresses))} also {'has' if len(ingresses) == 1 else 'have'} rules for "
            f"{key[0]}: it is undefined which TLS settings apply",
            at=at,
            severity="medium",
            fix=f"{subject.object.reference}: keep one of them",
        )


def _listed(found: Iterable[KubeObject], count: int) -> str:
    more = f" and {count - _SHOWN} more" if count > _SHOWN else ""
    return ", ".join(str(each.reference) for each in islice(found, _SHOWN)) + more


def _proxies(declared: Declared) -> Mapping[tuple[str, str], tuple[KubeObject, ...]]:
    found: dict[tuple[str, str], list[KubeObject]] = {}
    for each in declared.every(HTTP_PROXY):
        found.setdefault((HTTPProxy.of(each).fqdn.lower(), _class(each)), []).append(each)
    return {key: tuple(each) for key, each in found.items()}


def _ingresses(declared: Declared) -> Mapping[str, tuple[KubeObject, ...]]:
    found: dict[str, list[KubeObject]] = {}
    for each in declared.every(INGRESS):
        if is_served_by_contour(declared, each):
            for host in {rule.host.lower() for rule in Ingress.of(each).rules}:
                found.setdefault(host, []).append(each)
    return {key: tuple(each) for key, each in found.items()}


FQDN = ObjectRule(id="contour-fqdn", subjects=(HTTP_PROXY,), reads=(INGRESS, INGRESS_CLASS), check=check_fqdn)
