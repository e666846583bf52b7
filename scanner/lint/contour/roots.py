"""Which HTTPProxies are roots of a virtual host, and what becomes of the TLS of those that are none."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from scanner.files.source_positions import Steps
from scanner.kube.kinds import HTTP_PROXY, INGRESS_ROUTE
from scanner.kube.objects import Fields
from scanner.lint.contour.configuration import READS as CONFIGURATIONS
from scanner.lint.contour.configuration import configurations
from scanner.lint.contour.uses import TLS, VHOST
from scanner.model.declared import Missing
from scanner.model.object_rule import Flaw, ObjectRule, Subject

_FQDN: Final = (*VHOST, "fqdn")


def check_root(subject: Subject) -> Iterator[Flaw]:
    """TLS is configured on a root."""
    tls = subject.object.fields(*TLS)
    if subject.object.has("spec", "tls"):
        yield _inert(subject, ("spec", "tls"), "tls stands beside virtualhost, not below it, and is pruned when stored")
    yield from _including(subject)
    if not tls.raw:
        return
    if not subject.object.text(*_FQDN):
        yield _inert(subject, TLS, "a virtual host without fqdn is no root (FQDNNotSpecified)")
    yield from _namespace(subject)


def _inert(subject: Subject, at: tuple[str | int, ...], why: str) -> Flaw:
    return Flaw(
        message=f"these TLS settings have no effect: {why}",
        at=at,
        fix=f"{subject.object.reference}: configure TLS below spec.virtualhost of the root",
    )


def _namespace(subject: Subject) -> Iterator[Flaw]:
    found = configurations(subject.declared)
    wrong = [each for each in found if each.root_namespaces and subject.object.namespace not in each.root_namespaces]
    if subject.object.kind == HTTP_PROXY and wrong and len(wrong) == len(found) and subject.object.namespace:
        where = ", ".join(wrong[0].root_namespaces[:10])
        why = f"{wrong[0].holder.reference} takes roots in {where} alone (RootProxyNotAllowedInNamespace)"
        yield _inert(subject, TLS, why)


def _including(subject: Subject) -> Iterator[Flaw]:
    """Of an object that is not known nothing is said: that it is missing is no matter of TLS."""
    if not subject.object.has(*VHOST):
        return
    for steps, child in _children(subject):
        found = subject.find(subject.object.kind, child.text("name"), child.text("namespace") or None)
        if isinstance(found, Missing) or not found.has(*VHOST):
            continue
        if subject.object.fields(*TLS).raw or found.fields(*TLS).raw:
            yield Flaw(
                message=f"{found.reference} has a virtual host: Contour calls whoever includes it invalid "
                "(RootIncludesRoot), and serves it under its own name, with its own TLS",
                at=steps,
                fix=f"{found.reference}: leave spec.virtualhost out, or stop including it",
            )


def _children(subject: Subject) -> Iterator[tuple[Steps, Fields]]:
    yield from subject.items("spec", "includes")
    for name in ("include", "includes"):
        each = subject.object.fields("spec", "tcpproxy", name)
        if each.raw:
            yield ("spec", "tcpproxy", name), each
    for steps, route in subject.items("spec", "routes"):
        delegate = route.fields("delegate")
        if delegate.raw:
            yield (*steps, "delegate"), delegate


ROOT = ObjectRule(
    id="contour-root",
    subjects=(HTTP_PROXY, INGRESS_ROUTE),
    reads=CONFIGURATIONS,
    check=check_root,
)
