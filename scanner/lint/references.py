"""Look up the objects that others refer to, and check that a Secret can be served.

A Secret is without its key here: ``adhere.keyMatches`` says whether the key belongs to the certificate
(``scanner/cluster/key_removal.py``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from scanner.files.source_positions import Steps, dotted, shown
from scanner.kube.kinds import CERTIFICATE, CONFIG_MAP, SECRET, Kind
from scanner.kube.maybe import Unknown
from scanner.kube.objects import KubeObject
from scanner.kube.secrets import Certificate, Secret
from scanner.lint.referenced_certificates import chain_of, entry, leaf_flaws, leaf_of, other_format
from scanner.model.certificate_faults import covers
from scanner.model.declared import Declared, Missing
from scanner.model.object_rule import Flaw, Subject, undecided
from scanner.model.pem import broken
from scanner.tls.certificate import CertificateFacts
from scanner.values import replace

READS: Final[tuple[Kind, ...]] = (SECRET, CERTIFICATE)
"""Kinds that a rule must read to look up Secrets."""

TLS: Final = "kubernetes.io/tls"
_SHOWN_NAMES: Final = 5
_NAME: Final = re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?")
"""A valid object name (k8s.io/apimachinery ``IsDNS1123Subdomain``)."""


def look_up(declared: Declared, kind: Kind, name: str, namespace: str | None) -> KubeObject | Missing:
    """Find an object by name, or explain its absence.

    It may exist although it was not found: a Secret that cert-manager will create, or an object of a kind that is read
    from a cluster only in part.
    """
    if not _NAME.fullmatch(name):
        return Missing(name=f"{kind.name} {shown(name)}", impossible=True)
    found = declared.find(kind, name, namespace)
    owner = declared.once(_owners).get((namespace, name)) if kind == SECRET else None
    if not isinstance(found, Missing):
        return found
    if owner is not None and not found.several and id(owner) in declared.once(_manifests):
        return replace(found, gap=f"{owner.reference} creates it", promised=True)
    if found.gap is None and kind not in declared.known.absent:
        asked = declared.known.requested.get(kind, kind.named)
        if owner is not None:
            return replace(found, gap=f"{owner.reference} creates it")
        if kind == CONFIG_MAP and kind.named and (namespace or "", name) not in asked:
            return replace(found, gap="from a cluster, adhere reads only the ConfigMaps that it knows by name")
    return found


def _owners(declared: Declared) -> Mapping[tuple[str | None, str], KubeObject]:
    """The cert-manager Certificate of each Secret, by the Secret's namespace and name."""
    every = ((Certificate.of(each).secret_name, each) for each in declared.every(CERTIFICATE))
    return {(each.namespace, name): each for name, each in every if name}


def _manifests(declared: Declared) -> frozenset[int]:
    """Objects of manifests, by ``id``. A Certificate that is in the cluster already may have failed."""
    return frozenset(id(each.object) for each in declared.subjects if each.located is not None)


def editable(declared: Declared, name: str, namespace: str | None) -> str:
    """Name the object to edit to change a Secret: the cert-manager Certificate that owns it, if there is one."""
    owner = declared.once(_owners).get((namespace, name))
    secret = "/".join(filter(None, ("Secret", namespace, name)))
    return f"{owner.reference} (cert-manager writes {secret})" if owner else secret


def secret_of(subject: Subject, name: str, namespace: str | None = None) -> KubeObject | Missing:
    """Find a Secret that the subject refers to; ``namespace`` None is the subject's own."""
    return look_up(subject.declared, SECRET, name, namespace if namespace is not None else subject.object.namespace)


def secret_flaws(
    declared: Declared, secret: KubeObject | Missing, at: Steps, *, types: tuple[str, ...] = (TLS,)
) -> Iterator[Flaw]:
    """Find why a Secret cannot be served: absent, wrong type, no certificate or key, unreadable, not a pair. All of it
    is one finding, because there is one Secret to replace.

    ``at``: the field of the subject that refers to it. ``types``: the accepted types.
    """
    if isinstance(secret, Missing):
        question = "whether it contains a certificate and its private key"
        yield absent(secret, at, question=question, fix=f", of type {TLS}")
        return
    owner = editable(declared, secret.name, secret.namespace)
    fix = f"{owner}: set tls.crt to a certificate and tls.key to its private key"
    faults = list(_faults(secret, types))
    if faults:
        yield Flaw(message=f"{secret.reference} {', and '.join(faults)}", at=at, fix=fix)
    matches = Secret.of(secret).key_matches
    if not isinstance(matches, bool | str):
        yield Flaw(
            message=f"unknown: whether the key of {secret.reference} belongs to its certificate",
            at=at,
            verdict="inconclusive",
        )


def absent(secret: Missing, at: Steps, *, question: str, fix: str = "", message: str = "") -> Flaw:
    """Report a missing Secret. ``fix`` and ``message`` follow its name, there with the type to create, here with the
    purpose."""
    if secret.gap:
        return undecided(secret, at, question)
    if secret.impossible:
        invalid = f"{secret.name} cannot exist: the name must be that of a Secret, without a namespace"
        fix = f"{dotted(at)}: set the name of a Secret in the namespace of this object"
        return Flaw(message=invalid, at=at, fix=fix)
    return Flaw(message=f"{secret.name}{message} does not exist", at=at, fix=f"create {secret.name}{fix}")


def _faults(secret: KubeObject, types: tuple[str, ...]) -> Iterator[str]:
    kind, matches = Secret.of(secret).type or "Opaque", Secret.of(secret).key_matches
    text = entry(secret, "tls.crt")
    other = other_format(secret, "tls.crt")
    if kind not in types:
        yield f"is of type {shown(kind)}, not {' or '.join(types)}"
    if text is None and not other:
        yield "has no tls.crt"
    elif not chain_of(secret):
        yield f"has no certificate in PEM in tls.crt{other}"
    if matches is False:
        yield "has a key that does not belong to the certificate"
    elif isinstance(matches, str) and "tls.key" in matches:
        yield f"cannot be used: {matches[:200]}"


def name_flaws(
    secret: KubeObject, names: Iterable[str], at: Steps, *, fix: str | None = None, beside: Iterable[KubeObject] = ()
) -> Iterator[Flaw]:
    """Find names of a listener that the leaf in a Secret does not cover (RFC 9525 section 6). A wildcard covers one
    label, and clients ignore the common name.

    ``beside``: other Secrets, whose certificates the server may choose instead.
    """
    left = tuple(dict.fromkeys(names))
    for each in beside:
        covered = _dns_names(leaf_of(each))
        left = tuple(name for name in left if not covers_name(covered, name))
    leaf = leaf_of(secret)
    if leaf is None:
        return
    if left and broken(leaf):
        what = f"whether the certificate in {secret.reference} is valid for {left[0]}; it cannot be read"
        yield Flaw(message=f"unknown: {what}", at=at, verdict="inconclusive")
        return
    uncovered, unclear = _uncovered(leaf, left)
    if uncovered:
        listed = ", ".join(uncovered[:_SHOWN_NAMES]) + (" and others" if uncovered[_SHOWN_NAMES:] else "")
        yield Flaw(
            message=f"the certificate in {secret.reference} is not valid for {listed}",
            at=at,
            expected=tuple(uncovered[:_SHOWN_NAMES]),
            observed=(leaf.sans or ())[:_SHOWN_NAMES] or ("no subject alternative name",),
            fix=fix or f"{secret.reference}: use a certificate with these names",
        )
    for reason in sorted(unclear):
        yield Flaw(message=f"the certificate in {secret.reference}: {reason}", at=at, verdict="inconclusive")


def served_flaws(
    subject: Subject,
    secret: KubeObject | Missing,
    hosts: Iterable[str],
    at: Steps,
    *,
    usage: str = "serverAuth",
    types: tuple[str, ...] = (TLS,),
) -> Iterator[Flaw]:
    """Find all faults of a Secret that the subject serves under these hosts."""
    yield from secret_flaws(subject.declared, secret, at, types=types)
    if isinstance(secret, Missing):
        return
    owner, leaf = editable(subject.declared, secret.name, secret.namespace), leaf_of(secret)
    if leaf is None or broken(leaf) is None:
        yield from name_flaws(secret, hosts, at, fix=f"{owner}: use a certificate with these names")
    now = subject.declared.known.taken_at
    yield from leaf_flaws(secret, at, now, usage=usage, fix=f"{owner}: replace the certificate")


def _dns_names(leaf: CertificateFacts | None) -> frozenset[str]:
    return frozenset(map(str.lower, (leaf.dns_names if leaf else None) or ()))


def covers_name(dns_names: frozenset[str], name: str) -> bool:
    """True if a name, or a wildcard for it, is among these in lower case. A certificate may have 1,000 names, and this
    decides nearly all of them without a scan."""
    label, _, parent = name.lower().partition(".")
    return name.lower() in dns_names or bool(label and f"*.{parent}" in dns_names)


def _uncovered(leaf: CertificateFacts, names: Iterable[str]) -> tuple[list[str], set[str]]:
    """The first names that the leaf does not cover, and the reasons why others could not be compared."""
    dns_names = _dns_names(leaf)
    uncovered: list[str] = []
    unclear: set[str] = set()
    for name in names:
        answer = covers_name(dns_names, name) or covers(leaf, name)
        if isinstance(answer, Unknown):
            unclear.add(answer.reason)
        elif not answer:
            uncovered.append(name)
        if len(uncovered) > _SHOWN_NAMES or len(unclear) > _SHOWN_NAMES:
            break
    return uncovered, unclear
