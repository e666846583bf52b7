"""Hosts with TLS that answer without."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from scanner.files.source_positions import Steps
from scanner.kube.kinds import HTTP_PROXY, INGRESS, INGRESS_CLASS
from scanner.lint.contour.configuration import READS as CONFIGURATIONS
from scanner.lint.contour.configuration import configurations, unread_file
from scanner.lint.contour.included import has_tls, roots_of, unlooked_below
from scanner.lint.contour.uses import VHOST, is_contours
from scanner.model.contour_includes import includes
from scanner.model.declared import Missing
from scanner.model.object_rule import Flaw, ObjectRule, Subject, undecided

_REDIRECT: Final = "ingress.kubernetes.io/force-ssl-redirect"
_ALLOW: Final = "kubernetes.io/ingress.allow-http"
_SHOWN: Final = 3


def check_plaintext(subject: Subject) -> Iterator[Flaw]:
    """A host has TLS, and does not answer without."""
    yield from _of_ingress(subject) if subject.object.kind == INGRESS else _of_proxy(subject)


def _of_ingress(subject: Subject) -> Iterator[Flaw]:
    annotations = subject.object.annotations
    if not subject.object.at("spec", "tls") or not is_contours(subject.declared, subject.object):
        return
    if annotations.get(_REDIRECT) != "true" and annotations.get(_ALLOW) != "false":
        yield Flaw(
            message="the hosts of this Ingress answer without TLS too: Contour redirects nothing unless it is told to",
            at=("metadata", "annotations"),
            fix=f"{subject.object.reference}: add the annotation {_REDIRECT}",
            correction=f'annotations:\n  {_REDIRECT}: "true"',
        )


def _of_proxy(subject: Subject) -> Iterator[Flaw]:
    if subject.object.has(*VHOST) and not (subject.object.has(*VHOST, "tls") or subject.object.has("spec", "tcpproxy")):
        yield Flaw(
            message="is served without TLS: it has no virtualhost.tls",
            at=(*VHOST, "tls"),
            severity="low",
            fix=f"{subject.object.reference}: add virtualhost.tls with secretName",
            correction="tls:\n  secretName: <name>",
        )
        return
    configured = configurations(subject.declared)
    closed, unread = all(each.no_plaintext for each in configured), unread_file(subject.declared)
    if closed and unread:
        what = "whether this route answers without TLS too"
        yield from (undecided(unread, each.at, what) for each in _answering(subject))
    elif not (configured and closed):
        yield from _answering(subject)


def _answering(subject: Subject) -> Iterator[Flaw]:
    """What is wrong unless ``disablePermitInsecure`` is on."""
    routes = [
        (*steps, "permitInsecure") for steps, route in subject.items("spec", "routes") if route.flag("permitInsecure")
    ]
    if has_tls(subject.object):
        yield from (_open(subject, at, "") for at in routes)
        yield from _included(subject)
    elif routes and not subject.object.has(*VHOST):
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
    roots = roots_of(subject.declared, subject.object)
    gap = subject.declared.gap(HTTP_PROXY)
    if roots:
        names = ", ".join(str(each.reference) for each in roots[:_SHOWN])
        yield from (_open(subject, at, f", on the host of {names}, which has TLS and includes it") for at in routes)
    elif gap:
        unseen = Missing(name=f"an HTTPProxy that includes {subject.object.reference}", gap=gap)
        yield from (undecided(unseen, at, "whether this route answers without TLS beside TLS") for at in routes)


def _included(subject: Subject) -> Iterator[Flaw]:
    """What a root brings onto its host that is not looked at itself."""
    for first in includes(subject.object):
        at = ("spec", "includes", first.index)
        for each in unlooked_below(subject.declared, (HTTP_PROXY, first.namespace, first.name)):
            if isinstance(each, Missing):
                yield undecided(each, at, "whether the routes that are included answer without TLS")
            else:
                yield Flaw(
                    message=f"{each.reference}, which is included, has a route that answers without TLS too",
                    at=at,
                    fix=f"{each.reference}: leave permitInsecure out",
                )


PLAINTEXT = ObjectRule(
    id="contour-plaintext",
    subjects=(HTTP_PROXY, INGRESS),
    reads=(HTTP_PROXY, *CONFIGURATIONS, INGRESS_CLASS),
    check=check_plaintext,
)
