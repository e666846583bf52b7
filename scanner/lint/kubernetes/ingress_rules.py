"""Ingresses: the controller that serves them, and the certificates of their hosts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Final

from msgspec import Struct

from scanner.files.source_positions import Steps, shown
from scanner.kube.ingress import CLASS_ANNOTATION, TLS_CERT_NAMESPACE, Ingress, ingress_class
from scanner.kube.ingress import is_served_by_contour as known_contours
from scanner.kube.kinds import INGRESS, INGRESS_CLASS, SECRET
from scanner.kube.objects import KubeObject
from scanner.kube.references import links
from scanner.kube.secrets import issued_by
from scanner.lint.contour.contour_secrets import is_served_by_contour
from scanner.lint.referenced_certificates import leaf_of
from scanner.lint.references import READS, look_up, secret_of, served_flaws
from scanner.model.declared import Declared, Missing
from scanner.model.object_rule import Flaw, ObjectRule, Subject, undecided
from scanner.values import replace

_FIELD: Final = ("spec", "ingressClassName")
_SHOWN: Final = 3
_MOST: Final = 200
"""Ingresses with one host that are compared."""


def check_certificate(subject: Subject) -> Iterator[Flaw]:
    """The certificates of an Ingress can be served, and are valid for its hosts."""
    yield from _secret_namespace(subject)
    issuer = issued_by(subject.object)
    for link in links(subject.object, of_contour=is_served_by_contour(subject.declared, subject.object)):
        if link.grant or "/" in link.name:
            continue  # contour-certificate judges other namespaces, contour-ingress-slash invalid names
        found = secret_of(subject, link.name)
        if isinstance(found, Missing) and found.gap is None and issuer:
            found = replace(found, gap=f"cert-manager creates it ({issuer})")
        yield from served_flaws(subject, found, link.hosts, link.steps)


def _secret_namespace(subject: Subject) -> Iterator[Flaw]:
    """If its class may be Contour's: Contour reads Secrets in the namespace that an annotation names."""
    at = ("metadata", "annotations", TLS_CERT_NAMESPACE)
    moved = TLS_CERT_NAMESPACE in subject.object.annotations
    found = subject.find(INGRESS_CLASS, ingress_class(subject.object)) if moved else None
    if isinstance(found, Missing) and found.gap and known_contours(subject.object, subject.declared.known) is None:
        yield undecided(found, at, "whether its Secrets are in the namespace that this annotation names")


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
    exact = is_served_by_contour(subject.declared, subject.object)
    for rule in found.rules:
        host = rule.host.lower()
        wildcard = f"*.{host.partition('.')[2]}"
        if host not in named and (exact or wildcard not in named):
            yield Flaw(
                message=f"{host or 'every other host'} is served without TLS: it is in no entry of spec.tls",
                at=(*rule.steps, "host"),
                fix=f"{subject.object.reference}: add it to spec.tls",
                correction=f"tls:\n- hosts: [{host or '<host>'}]\n  secretName: <name>",
            )


HOSTS = ObjectRule(id="ingress-plaintext-host", subjects=(INGRESS,), reads=(INGRESS_CLASS,), check=check_hosts)


def check_class(subject: Subject) -> Iterator[Flaw]:
    """An Ingress has one class, which exists."""
    named, annotated = Ingress.of(subject.object).class_name, subject.object.annotations.get(CLASS_ANNOTATION, "")
    fix = f"{subject.object.reference}: name one class that exists"
    if named and annotated and named != annotated:
        yield Flaw(
            message=f"two classes: ingressClassName is {shown(named)}, {CLASS_ANNOTATION} is {shown(annotated)}; "
            "the API server refuses it: must match `ingressClassName` when both are specified",
            at=("metadata", "annotations", CLASS_ANNOTATION),
            observed=(named, annotated),
            fix=fix,
        )
    found = subject.find(INGRESS_CLASS, named) if named else None
    if isinstance(found, Missing) and found.gap is None:
        message = f"{found.name} does not exist: no controller serves this Ingress, or one that ignores classes"
        yield Flaw(message=message, at=_FIELD, severity="medium", fix=fix)
    elif isinstance(found, Missing):
        message = f"unknown: which controller serves it; {found.name} was not read ({found.gap})"
        yield Flaw(message=message, at=_FIELD, verdict="inconclusive", severity="info")


CLASS = ObjectRule(id="ingress-class", subjects=(INGRESS,), reads=(INGRESS_CLASS,), check=check_class)


class _Entry(Struct, frozen=True):
    """One host of one entry of ``spec.tls``."""

    ingress: KubeObject
    steps: Steps
    secret: tuple[str, str]
    """Namespace and name; empty for the controller's own certificate."""

    def __str__(self) -> str:
        return "/".join(("Secret", *filter(None, self.secret))) if self.secret[1] else "the default certificate"


def check_certificate_of_host(subject: Subject) -> Iterator[Flaw]:
    """A host of Ingresses has one certificate."""
    every = subject.declared.once(_entries)
    for own, hosts in _entries_of(subject.declared, subject.object):
        for host in hosts:
            others = [other for other in islice(every.get(host, ()), _MOST) if _conflict(subject, own, other)]
            if others:
                listed = ", ".join(f"{other.ingress.reference} has {other}" for other in others[:_SHOWN])
                yield Flaw(
                    message=f"{shown(host)} has several certificates, and the controller chooses: here it is {own}, "
                    f"{listed}{' and others' if len(others) > _SHOWN else ''}",
                    at=(*own.steps, "secretName") if own.secret[1] else own.steps,
                    observed=tuple(map(str, (own, *others[:_SHOWN]))),
                    fix=f"{subject.object.reference}: use one Secret for the host",
                )


def _entries_of(declared: Declared, ingress: KubeObject) -> Iterator[tuple[_Entry, Iterable[str]]]:
    """The entries of an Ingress, each with its hosts."""
    found = links(ingress, of_contour=is_served_by_contour(declared, ingress))
    secrets = {each.steps[2]: (each.namespace or "", each.name) for each in found}
    for each in Ingress.of(ingress).tls:
        secret = secrets.get(each.steps[-1], (ingress.namespace or "", ""))
        yield _Entry(ingress, each.steps, secret), dict.fromkeys(map(str.lower, each.hosts))


def _entries(declared: Declared) -> Mapping[str, list[_Entry]]:
    """The entries of all Ingresses, by host."""
    found: dict[str, list[_Entry]] = {}
    for ingress in declared.every(INGRESS):
        for entry, hosts in _entries_of(declared, ingress):
            for host in hosts:
                found.setdefault(host, []).append(entry)
    return found


def _conflict(subject: Subject, one: _Entry, other: _Entry) -> bool:
    if one.secret == other.secret or (not one.secret[1] and not other.secret[1]):
        return False
    classes = {ingress_class(one.ingress), ingress_class(other.ingress)} - {""}
    return len(classes) < 2 and not _same(subject, one, other)


def _same(subject: Subject, one: _Entry, other: _Entry) -> bool:
    """True if both Secrets are known and have the same leaf."""
    found = [look_up(subject.declared, SECRET, name, within or None) for within, name in (one.secret, other.secret)]
    leaves = [None if isinstance(each, Missing) else leaf_of(each) for each in found]
    return leaves[0] is not None and leaves[1] is not None and leaves[0].sha256 == leaves[1].sha256


ONE_CERTIFICATE = ObjectRule(
    id="ingress-host-certificate",
    subjects=(INGRESS,),
    reads=(*READS, INGRESS_CLASS),
    check=check_certificate_of_host,
)
