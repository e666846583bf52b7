"""TLSCertificateDelegations: to which namespaces they delegate, and whether these use what is delegated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from scanner.files.source_positions import shown
from scanner.kube.kinds import HTTP_PROXY, INGRESS_CLASS, NAMESPACE, TLS_CERTIFICATE_DELEGATION, Kind
from scanner.lint.contour import configuration
from scanner.lint.contour.configuration import configurations
from scanner.lint.contour.uses import TLS, USERS, of_object
from scanner.lint.references import READS as SECRETS
from scanner.lint.references import secret_of
from scanner.model.declared import Declared, Missing
from scanner.model.delegations import EVERYWHERE, Delegation, delegations
from scanner.model.object_rule import Flaw, ObjectRule, Subject, undecided

_Users = Mapping[tuple[str | None, str], frozenset[str | None]]
_DELEGATIONS: Final = ("spec", "delegations")
_MOST: Final = 100
"""Namespaces of one delegation that are looked at."""


def check_target(subject: Subject) -> Iterator[Flaw]:
    """Delegations reach the namespaces that they name."""
    unseen: dict[str, Missing] = {}
    for each in delegations(subject.object):
        if not each.targets:
            yield Flaw(
                message="a delegation to no namespace permits nothing",
                at=(*each.steps, "targetNamespaces"),
                fix=f"{subject.object.reference}: name the namespaces",
                correction='targetNamespaces: ["<namespace>"]',
            )
        for index, name in enumerate(each.targets[:_MOST]):
            again = name == "*" and index > each.targets.index("*")
            flaw = None if again else _of_target(subject, each, name, unseen)
            if flaw is not None:
                yield replace(flaw, at=(*each.steps, "targetNamespaces", index))
    for question, missing in unseen.items():
        yield replace(undecided(missing, _DELEGATIONS, question), severity="info")


def _of_target(subject: Subject, each: Delegation, name: str, unseen: dict[str, Missing]) -> Flaw | None:
    """The first thing that is wrong with it. ``unseen``: to which it adds what cannot be decided."""
    reference = subject.object.reference
    if name == "*" and each.targets != EVERYWHERE:
        others = [other for other in each.targets if other != "*"]
        return Flaw(
            message=f"* beside other namespaces has no effect: {each.secret} is delegated to "
            f"{', '.join(others[:20]) or 'no namespace'} alone",
            expected=("* alone, or only names",),
            observed=each.targets[:20],
            fix=f"{reference}: remove the star, or everything else",
            correction=f"targetNamespaces: [{', '.join(others[:20]) or chr(34) + '*' + chr(34)}]",
        )
    if name == subject.object.namespace:
        message = f"a delegation to {name}, the Secret's own namespace, has no effect"
        return Flaw(message=message, severity="low", fix=f"{reference}: remove it")
    if not name or "/" in name or ("*" in name and name != "*"):
        message = f"{shown(name)} is no namespace: use a name in full, or * alone"
        return Flaw(message=message, observed=(name,), fix=f"{reference}: name each namespace in full")
    found = subject.declared.namespace(name) if name != "*" else None
    if isinstance(found, Missing) and not found.gap:
        message = f"namespace {name} does not exist"
        return Flaw(
            message=message, severity="low", observed=(name,), fix=f"{reference}: correct the name or remove it"
        )
    if isinstance(found, Missing):
        unseen.setdefault("whether all of these namespaces exist", found)
    return _idle(subject, each, name, unseen) if _is_there(subject, each) else None


def _is_there(subject: Subject, each: Delegation) -> bool:
    """Whether the Secret may be: what is wrong with it another rule says."""
    if not is_name(each.secret):
        return False
    found = secret_of(subject, each.secret)
    return not isinstance(found, Missing) or found.gap is not None


def is_name(secret: str) -> bool:
    """Whether a Secret can be called so."""
    return bool(secret) and "/" not in secret and "*" not in secret


def _idle(subject: Subject, each: Delegation, name: str, unseen: dict[str, Missing]) -> Flaw | None:
    users = subject.declared.once(_users).get((subject.object.namespace, each.secret), frozenset())
    if users if name == "*" else name in users:
        return None
    kind = subject.declared.once(_unseen_kind)
    if kind:
        missing = Missing(name=f"any other {kind.name}", gap=subject.declared.gap(kind))
        unseen.setdefault("whether all of these namespaces refer to these Secrets", missing)
        return None
    where = "any other namespace" if name == "*" else name
    return Flaw(
        message=f"nothing in {where} refers to {each.secret}",
        severity="low",
        fix=f"{subject.object.reference}: remove it",
    )


def _unseen_kind(declared: Declared) -> Kind | None:
    """A kind of which there may be objects that refer to Secrets and were not seen."""
    return next((kind for kind in (*USERS, *configuration.READS) if declared.gap(kind)), None)


def _users(declared: Declared) -> _Users:
    """By Secret, the other namespaces from which something refers to it."""
    found: dict[tuple[str | None, str], set[str | None]] = {}
    for kind in USERS:
        for user in declared.every(kind):
            for use in of_object(Subject(user, declared)):
                if use.secret.namespace != user.namespace:
                    found.setdefault((use.secret.namespace, use.secret.name), set()).add(user.namespace)
    falling = {each.namespace for each in declared.every(HTTP_PROXY) if each.flag(*TLS, "enableFallbackCertificate")}
    for each in configurations(declared):
        if each.fallback:
            found.setdefault((each.fallback.namespace, each.fallback.name), set()).update(falling)
    return {secret: frozenset(namespaces) for secret, namespaces in found.items()}


TARGET = ObjectRule(
    id="contour-delegation-target",
    subjects=(TLS_CERTIFICATE_DELEGATION,),
    reads=(NAMESPACE, *SECRETS, *USERS, *configuration.READS, INGRESS_CLASS),
    check=check_target,
)
