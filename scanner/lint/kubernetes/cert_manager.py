"""cert-manager Certificates in place of the Secrets that they make, which no repository of manifests holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import chain
from typing import Final

from scanner.files.source_positions import shown
from scanner.kube import kinds
from scanner.kube.ingress import Route
from scanner.kube.kinds import CERTIFICATE, CLUSTER_ISSUER, ISSUER, SECRET, Kind
from scanner.kube.objects import KubeObject, Steps
from scanner.kube.references import Link, ReferenceRole, links
from scanner.kube.secrets import Certificate, issued_by
from scanner.lint.openshift.route_certificate import KEYS
from scanner.lint.references import covers_name
from scanner.model.declared import Declared, Missing
from scanner.model.lint_report import NOT_GIVEN
from scanner.model.object_rule import Flaw, ObjectRule, Subject, undecided

_USERS: Final[tuple[Kind, ...]] = (
    kinds.ROUTE,
    kinds.INGRESS,
    kinds.GATEWAY,
    kinds.LISTENER_SET,
    kinds.X_LISTENER_SET,
    kinds.HTTP_PROXY,
    kinds.INGRESS_ROUTE,
)
"""Kinds that serve the Secret under names of their own."""
_USAGES: Final[Mapping[ReferenceRole, str]] = {"certificate": "server auth", "client-certificate": "client auth"}
"""By what a Secret is used for."""
_NAMES: Final = ("spec", "dnsNames")
_MOST: Final = 200
"""Objects that refer to one Secret."""


def check_certificate(subject: Subject) -> Iterator[Flaw]:
    """A cert-manager Certificate makes a Secret that can be served."""
    made = Certificate.of(subject.object)
    name, usages = made.secret_name, made.usages
    if not name or not isinstance(subject.find(SECRET, name), Missing):
        return  # who refers to the Secret is judged by what is in it
    yield from _issuer(subject, made)
    users = subject.declared.once(_users).get((subject.object.namespace, name), [])
    for usage in sorted({_USAGES[user.role] for user in users} - set(usages)) if usages and "any" not in usages else ():
        who = next(user.source.reference for user in users if _USAGES[user.role] == usage)
        message = f"{who} uses it, and spec.usages has no {usage!r}"
        fix = f"{subject.object.reference}: add {usage} to spec.usages"
        yield Flaw(message=message, at=("spec", "usages"), severity="medium", observed=usages[:5], fix=fix)
    for user in users[:_MOST]:
        if user.role == "certificate":
            yield from _served(made, user)


def stands_for_secret(user: KubeObject, at: Steps) -> bool:
    """Whether a Certificate is judged here for what the object refers to in that field."""
    used = (each.steps for each in links(user) if each.role in _USAGES) if user.kind in _USERS else ()
    return any(steps[: len(at)] == at for steps in used)


def makes_its_own(user: KubeObject, at: Steps) -> bool:
    """Whether cert-manager makes the Secret that the object refers to in that field, for the hosts beside it, because
    an annotation of the object names an issuer."""
    if user.kind not in (kinds.INGRESS, kinds.GATEWAY) or not issued_by(user):
        return False
    own = (each for each in links(user) if each.role == "certificate" and each.namespace == user.namespace)
    return any(each.steps[: len(at)] == at and each.hosts for each in own)


def _issuer(subject: Subject, made: Certificate) -> Iterator[Flaw]:
    kind = made.issuer.known_kind
    found = subject.find(kind, made.issuer.name) if kind and made.issuer.name else None
    at = ("spec", "issuerRef")
    if isinstance(found, Missing) and found.gap:
        others = kind and any(
            each.namespace in (None, subject.object.namespace) for each in subject.declared.every(kind)
        )
        flaw = undecided(found, at, "whether the issuer exists")
        # Issuers mostly come with cert-manager, as an IngressClass does with its controller.
        yield replace(flaw, severity="info", unseen=None) if found.gap == NOT_GIVEN and not others else flaw
    elif isinstance(found, Missing):
        message = f"{found.name} does not exist: the Secret is never made"
        yield Flaw(message=message, at=at, severity="medium", fix=f"create {found.name}, or name another issuer")


def _served(made: Certificate, user: Link) -> Iterator[Flaw]:
    names = frozenset(map(str.lower, made.dns_names))
    by, who = made.reference, user.source.reference
    bare = [each for each in map(str.lower, user.hosts) if not covers_name(names, each)]
    if bare:
        yield Flaw(
            message=f"{who} serves {shown(bare[0])} with its Secret, and spec.dnsNames does not have that name",
            at=_NAMES,
            expected=tuple(bare[:5]),
            observed=tuple(sorted(names)[:5]),
            fix=f"{by}: add {bare[0]} to spec.dnsNames",
            correction=f"dnsNames: [{', '.join(bare[:5])}]",
        )
    algorithm = made.algorithm
    if user.source.kind == kinds.ROUTE and algorithm and algorithm not in KEYS:
        message = f"{who} serves its Secret, and the router takes no {shown(algorithm)} key"
        at, fix = ("spec", "privateKey", "algorithm"), f"{by}: RSA or ECDSA in spec.privateKey.algorithm"
        yield Flaw(message=message, at=at, expected=KEYS, observed=(algorithm,), fix=fix)


def _users(declared: Declared) -> Mapping[tuple[str | None, str], list[Link]]:
    """By namespace and name of the Secret."""
    found: dict[tuple[str | None, str], list[Link]] = {}
    for each in chain.from_iterable(map(declared.every, _USERS)):
        for link in links(each) if each.kind != kinds.ROUTE or Route.of(each).external_secret else ():
            if link.role in _USAGES and link.is_secret:
                found.setdefault((link.namespace, link.name), []).append(link)
    return found


CERTIFICATE_MADE = ObjectRule(
    id="cert-manager-certificate",
    subjects=(CERTIFICATE,),
    check=check_certificate,
    reads=(*_USERS, ISSUER, CLUSTER_ISSUER, SECRET),
)
