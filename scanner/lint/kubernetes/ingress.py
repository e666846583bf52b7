"""Ingresses: the certificates of their hosts, and hosts without one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from scanner.kube import ingress
from scanner.kube.cert_manager import issued_by
from scanner.kube.ingress import TLS_CERT_NAMESPACE, Ingress, ingress_class
from scanner.kube.kinds import INGRESS, INGRESS_CLASS
from scanner.kube.objects import KubeObject
from scanner.kube.references import links
from scanner.lint.certificates import leaf_flaws
from scanner.lint.contour.secret_uses import is_contours
from scanner.lint.references import READS, mend, name_flaws, readable, secret_flaws, secret_of
from scanner.model.declared import Missing
from scanner.model.object_rule import Flaw, ObjectRule, Subject, undecided


def check_certificate(subject: Subject) -> Iterator[Flaw]:
    """The certificates of an Ingress can be served, and are for its hosts."""
    yield from _elsewhere(subject)
    for link in links(subject.object, contours=is_contours(subject.declared, subject.object)):
        if link.grant or "/" in link.name:
            continue  # in another namespace: ``contour-certificate``; no name of a Secret: ``contour-ingress-slash``
        at, found = link.steps, _made(subject, secret_of(subject, link.name))
        yield from secret_flaws(subject.declared, found, at)
        if not isinstance(found, Missing):
            keeper = mend(subject.declared, found.name, found.namespace)
            if readable(found):
                fix, hosts = f"{keeper}: a certificate with these names", link.hosts
                yield from name_flaws(found, hosts, at, fix=fix)
            now, fix = subject.declared.known.taken_at, f"{keeper}: replace the certificate"
            yield from leaf_flaws(found, at, now, fix=fix)


def _elsewhere(subject: Subject) -> Iterator[Flaw]:
    """That its class may be Contour's, which looks for its Secrets in the namespace that an annotation names."""
    at = ("metadata", "annotations", TLS_CERT_NAMESPACE)
    moved = TLS_CERT_NAMESPACE in subject.object.annotations
    found = subject.find(INGRESS_CLASS, ingress_class(subject.object)) if moved else None
    if isinstance(found, Missing) and found.gap and ingress.is_contours(subject.object, subject.declared.known) is None:
        yield undecided(found, at, "whether its Secrets are in the namespace that this annotation names")


def _made(subject: Subject, found: KubeObject | Missing) -> KubeObject | Missing:
    """A Secret that an annotation has made is not missing before the Ingress is there."""
    issuer = issued_by(subject.object)
    if isinstance(found, Missing) and found.gap is None and issuer:
        return replace(found, gap=f"cert-manager makes it ({issuer})")
    return found


CERTIFICATE = ObjectRule(
    id="ingress-certificate",
    subjects=(INGRESS,),
    reads=(*READS, INGRESS_CLASS),
    check=check_certificate,
)


def check_hosts(subject: Subject) -> Iterator[Flaw]:
    """Every host of an Ingress has TLS."""
    found = Ingress.of(subject.object)
    if any(not each.hosts for each in found.tls):
        return
    if not found.tls:
        if found.has_default_backend or found.rules:
            yield Flaw(
                message="is served without TLS: it has no spec.tls",
                at=("spec", "tls"),
                severity="low",
                fix=f"{subject.object.reference}: add spec.tls",
                correction="tls:\n- hosts: [<host>]\n  secretName: <name>",
            )
        return
    named = {host.lower() for each in found.tls for host in each.hosts}
    exact = is_contours(subject.declared, subject.object)
    for rule in found.rules:
        host = rule.host.lower()
        wildcard = f"*.{host.partition('.')[2]}"
        if host not in named and (exact or wildcard not in named):
            called = host or "every host that no rule names"
            yield Flaw(
                message=f"{called} is served without TLS: it is in no entry of spec.tls",
                at=(*rule.steps, "host"),
                fix=f"{subject.object.reference}: add it to spec.tls",
                correction=f"tls:\n- hosts: [{host or '<host>'}]\n  secretName: <name>",
            )


HOSTS = ObjectRule(
    id="ingress-plaintext-host",
    subjects=(INGRESS,),
    reads=(INGRESS_CLASS,),
    check=check_hosts,
)
