"""cert-manager Certificates, in place of the Secrets that they create, which are not among manifests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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
from scanner.values import replace

_USERS: Final[tuple[Kind, ...]] = (
    kinds.ROUTE,
    kinds.INGRESS,
    kinds.GATEWAY,
    kinds.LISTENER_SET,
    kinds.X_LISTENER_SET,
    kinds.HTTP_PROXY,
    kinds.INGRESS_ROUTE,
)
"""Kinds that serve a Secret under their own host names."""
_USAGES: Final[Mapping[ReferenceRole, str]] = {"certificate": "server auth", "client-certificate": "client auth"}
"""Key usages by the role of a reference."""
_NAMES: Final = ("spec", "dnsNames")
_MOST: Final = 200
"""Objects that refer to one Secret."""


def check_certificate(subject: Subject) -> Iterator[Flaw]:
    """A cert-manager Certificate creates a Secret that can be served."""
    made = Certificate.of(subject.object)
    name, usages = made.secret_name, made.usages
    if not name or not isinstance(subject.find(SECRET, name), Missing):
        return  # the Secret itself is judged, where objects refer to it
    yield from _issuer(subject, made)
    users = subject.declared.once(_users).get((subject.object.namespace, name), [])
    for usage in sorted({_USAGES[user.role] for user in users} - set(usages)) if usages and "any" not in usages else ():
        who = next(user.source.reference for user in users if _USAGES[user.role] == usage)
        message = f"spec.usages has no {usage!r}, but {who} uses the Secret"
        fix = f"{subject.object.reference}: add {usage} to spec.usages"
        yield Flaw(message=message, at=("spec", "usages"), severity="medium", observed=usages[:5], fix=fix)
    for user in users[:_MOST]:
        if user.role == "certificate":
            yield from _served(made, user)


def stands_for_secret(user: KubeObject, at: Steps) -> bool:
    """True if a Certificate is judged here in place of the Secret in that field of the object."""
    used = (each.steps for each in links(user) if each.role in _USAGES) if user.kind in _USERS else ()
    return any(steps[: len(at)] == at for steps in used)


def makes_its_own(user: KubeObject, at: Steps) -> bool:
    """True if cert-manager creates the Secret in that field for the hosts beside it, because an annotation of the
    object names an issuer."""
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
        # Issuers are mostly installed with cert-manager, not among the manifests.
        yield replace(flaw, severity="info", unseen=None) if found.gap == NOT_GIVEN and not others else flaw
    elif isinstance(found, Missing):
        message = f"{found.name} does not exist: the Secret is never created"
        yield Flaw(message=message, at=at, severity="medium", fix=f"create {found.name}, or name another issuer")


def _served(made: Certificate, user: Link) -> Iterator[Flaw]:
    names = frozenset(map(str.lower, made.dns_names))
    certificate, who = made.reference, user.source.reference
    missing = [each for each in map(str.lower, user.hosts) if not covers_name(names, each)]
    if missing:
        yield Flaw(
            message=f"spec.dnsNames lacks {shown(missing[0])}, which {who} serves with the Secret",
            at=_NAMES,
            expected=tuple(missing[:5]),
            observed=tuple(sorted(names)[:5]),
            fix=f"{certificate}: add {missing[0]} to spec.dnsNames",
            correction=f"dnsNames: [{', '.join(missing[:5])}]",
        )
    algorithm = made.algorithm
    if user.source.kind == kinds.ROUTE and algorithm and algorithm not in KEYS:
        message = f"{who} serves the Secret, but the router accepts no {shown(algorithm)} key"
        at, fix = ("spec", "privateKey", "algorithm"), f"{certificate}: set spec.privateKey.algorithm to RSA or ECDSA"
        yield Flaw(message=message, at=at, expected=KEYS, observed=(algorithm,), fix=fix)


def _users(declared: Declared) -> Mapping[tuple[str | None, str], list[Link]]:
    """The references to each Secret, by its namespace and name."""
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
