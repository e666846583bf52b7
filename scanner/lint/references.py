"""What objects refer to: whether it is there, and whether a Secret that is to be served can be.

A Secret is without its key here: ``adhere.keyMatches`` says whether that belonged to the certificate
(``scanner/cluster/secrets.py``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final

from scanner.files.source_positions import Steps, dotted, shown
from scanner.kube.kinds import CERTIFICATE, CONFIG_MAP, SECRET, Kind
from scanner.kube.maybe import Unknown
from scanner.kube.objects import KubeObject
from scanner.kube.secrets import Certificate, Secret
from scanner.lint.certificates import chain_of, entry, instead, leaf_flaws
from scanner.model.certificate_faults import covers
from scanner.model.declared import Declared, Missing
from scanner.model.object_rule import Flaw, Subject, undecided
from scanner.model.pem import broken
from scanner.tls.certificate import CertificateFacts

READS: Final[tuple[Kind, ...]] = (SECRET, CERTIFICATE)
"""What a rule must read that asks for Secrets."""

TLS: Final = "kubernetes.io/tls"
_SHOWN_NAMES: Final = 5
_NAME: Final = re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?")
"""What an object can be called (k8s.io/apimachinery ``IsDNS1123Subdomain``)."""


def look_up(declared: Declared, kind: Kind, name: str, namespace: str | None) -> KubeObject | Missing:
    """The object of that name, or what its absence means; wary where only some of a kind are read of a cluster, and
    of a Secret that cert-manager will make."""
    if not _NAME.fullmatch(name):
        return Missing(name=f"{kind.name} {shown(name)}", impossible=True)
    found = declared.find(kind, name, namespace)
    maker = declared.once(_given_makers).get((namespace, name)) if kind == SECRET else None
    if isinstance(found, Missing) and maker is not None and not found.several:
        return replace(found, gap=f"{maker.reference} makes it", promised=True)
    if isinstance(found, Missing) and found.gap is None and kind not in declared.known.absent:
        return replace(found, gap=_why_it_may_exist(declared, kind, name, namespace))
    return found


def _why_it_may_exist(declared: Declared, kind: Kind, name: str, namespace: str | None) -> str | None:
    maker = declared.once(_makers).get((namespace, name)) if kind == SECRET else None
    if maker is not None:
        return f"{maker.reference} makes it"
    asked = declared.known.sought.get(kind, kind.named)
    if kind == CONFIG_MAP and kind.named and (namespace or "", name) not in asked:
        return "of a cluster only the ConfigMaps are read that adhere knows by name"
    return None


def _makers(declared: Declared) -> Mapping[tuple[str | None, str], KubeObject]:
    """By namespace and name of the Secret, the cert-manager Certificate that keeps it."""
    every = ((Certificate.of(each).secret_name, each) for each in declared.every(CERTIFICATE))
    return {(each.namespace, name): each for name, each in every if name}


def _given_makers(declared: Declared) -> Mapping[tuple[str | None, str], KubeObject]:
    """Those of manifests alone: of a cluster's Certificate that has made no Secret nobody knows whether it will."""
    here = {id(each.object) for each in declared.given if each.located is not None}
    return {name: each for name, each in declared.once(_makers).items() if id(each) in here}


def mend(declared: Declared, name: str, namespace: str | None) -> str:
    """The object to edit where a Secret is not as it must be: the cert-manager Certificate that owns it, if one
    does."""
    maker = declared.once(_makers).get((namespace, name))
    secret = "/".join(filter(None, ("Secret", namespace, name)))
    return f"{maker.reference} (cert-manager keeps {secret} by it)" if maker else secret


def secret_of(subject: Subject, name: str, namespace: str | None = None) -> KubeObject | Missing:
    """The Secret that the subject refers to; ``namespace`` None is the subject's own."""
    return look_up(subject.declared, SECRET, name, namespace if namespace is not None else subject.object.namespace)


def secret_flaws(
    declared: Declared, secret: KubeObject | Missing, at: Steps, *, types: tuple[str, ...] = (TLS,)
) -> Iterator[Flaw]:
    """Why a Secret cannot be served: absent, of another type, without certificate or key, unreadable, not a pair. That
    is one finding: there is one Secret to replace.

    ``at``: the field of the subject that refers to it. ``types``: those that whoever serves it takes.
    """
    if isinstance(secret, Missing):
        yield _absent(secret, at)
        return
    fix = f"{mend(declared, secret.name, secret.namespace)}: give it a certificate in tls.crt and its key in tls.key"
    faults = list(_faults(secret, types))
    if faults:
        yield Flaw(message=f"{secret.reference} {', and '.join(faults)}", at=at, fix=fix)
    matches = Secret.of(secret).key_matches
    if not isinstance(matches, bool | str):
        yield Flaw(
            message=f"not decided: whether the key of {secret.reference} belongs to its certificate",
            at=at,
            verdict="inconclusive",
        )


def _absent(secret: Missing, at: Steps) -> Flaw:
    return absent(secret, at, question="whether it has a certificate and its private key", fix=f", of type {TLS}")


def absent(secret: Missing, at: Steps, *, question: str, fix: str = "", message: str = "") -> Flaw:
    """That a Secret is not there. ``fix``: what is to be created, behind its name; ``message``: what it is for."""
    if secret.gap:
        return undecided(secret, at, question)
    if secret.impossible:
        said = f"{secret.name} cannot exist: the name must be that of a Secret, without a namespace"
        return Flaw(message=said, at=at, fix=f"{dotted(at)}: the name of a Secret in the namespace of this object")
    return Flaw(message=f"{secret.name}{message} does not exist", at=at, fix=f"create {secret.name}{fix}")


def _faults(secret: KubeObject, types: tuple[str, ...]) -> Iterator[str]:
    kind, matches = Secret.of(secret).type or "Opaque", Secret.of(secret).key_matches
    text = entry(secret, "tls.crt")
    if kind not in types:
        yield f"is of type {shown(kind)}, not {' or '.join(types)}"
    if text is None and not instead(secret, "tls.crt"):
        yield "has no tls.crt"
    elif not chain_of(secret):
        yield f"has no certificate in PEM in tls.crt{instead(secret, 'tls.crt')}"
    if matches is False:
        yield "has a key that does not belong to the certificate"
    elif isinstance(matches, str) and "tls.key" in matches:
        yield f"cannot be used: {matches[:200]}"


def name_flaws(
    secret: KubeObject, names: Iterable[str], at: Steps, *, fix: str | None = None, beside: Iterable[KubeObject] = ()
) -> Iterator[Flaw]:
    """Names that clients will ask for and the leaf of a Secret does not cover (RFC 9525 section 6): a wildcard of a
    certificate stands for one label, and nobody looks at the common name any more.

    ``beside``: other Secrets, whose certificates the server may choose instead.
    """
    left = tuple(dict.fromkeys(names))
    for each in beside:
        covered = _exact(_leaf(each))
        left = tuple(name for name in left if not is_named(covered, name))
    leaf = _leaf(secret)
    if leaf is None:
        return
    if left and broken(leaf):
        what = f"whether the certificate in {secret.reference} is valid for {left[0]}; it cannot be read"
        yield Flaw(message=f"not decided: {what}", at=at, verdict="inconclusive")
        return
    bare, unclear = _uncovered(leaf, left)
    if bare:
        listed = ", ".join(bare[:_SHOWN_NAMES]) + (" and others" if bare[_SHOWN_NAMES:] else "")
        yield Flaw(
            message=f"the certificate in {secret.reference} is not valid for {listed}",
            at=at,
            expected=tuple(bare[:_SHOWN_NAMES]),
            observed=(leaf.sans or ())[:_SHOWN_NAMES] or ("no subject alternative name",),
            fix=fix or f"{secret.reference}: a certificate with these names",
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
    """Everything that is wrong with a Secret that the subject serves under these hosts."""
    yield from secret_flaws(subject.declared, secret, at, types=types)
    if isinstance(secret, Missing):
        return
    keeper, leaf = mend(subject.declared, secret.name, secret.namespace), _leaf(secret)
    if leaf is None or broken(leaf) is None:
        yield from name_flaws(secret, hosts, at, fix=f"{keeper}: a certificate with these names")
    now = subject.declared.known.taken_at
    yield from leaf_flaws(secret, at, now, usage=usage, fix=f"{keeper}: replace the certificate")


def _leaf(secret: KubeObject) -> CertificateFacts | None:
    return next(iter(chain_of(secret)), None)


def _exact(leaf: CertificateFacts | None) -> frozenset[str]:
    return frozenset(map(str.lower, (leaf.dns_names if leaf else None) or ()))


def is_named(exact: frozenset[str], name: str) -> bool:
    """Whether a name, or a wildcard for it, is among these in lower case. Of 1,000 names for a certificate with 1,000
    names, nearly all are decided by this."""
    label, _, parent = name.lower().partition(".")
    return name.lower() in exact or bool(label and f"*.{parent}" in exact)


def _uncovered(leaf: CertificateFacts, names: Iterable[str]) -> tuple[list[str], set[str]]:
    """The first names that the leaf does not cover, and why of others nobody can tell."""
    exact = _exact(leaf)
    bare: list[str] = []
    unclear: set[str] = set()
    for name in names:
        answer = is_named(exact, name) or covers(leaf, name)
        if isinstance(answer, Unknown):
            unclear.add(answer.reason)
        elif not answer:
            bare.append(name)
        if len(bare) > _SHOWN_NAMES or len(unclear) > _SHOWN_NAMES:
            break
    return bare, unclear
