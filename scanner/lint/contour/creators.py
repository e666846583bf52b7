"""Who may delegate Secrets that they may not read."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

from scanner.kube.kinds import CLUSTER_ROLE_BINDING, ROLE_BINDING, TLS_CERTIFICATE_DELEGATION
from scanner.kube.objects import Fields
from scanner.lint import authorization
from scanner.lint.authorization import Identity, Wish, access, account, allows
from scanner.model.object_rule import Flaw, ObjectRule, Subject, undecided

_WRITING: Final = ("create", "update", "patch")
_MOST: Final = 50
"""Subjects of one binding that are looked at."""


def check_creators(subject: Subject) -> Iterator[Flaw]:
    """Whoever may delegate a namespace's Secrets may read them."""
    if not any(allows(subject.declared, subject.object, _delegating(subject, verb)) for verb in _WRITING):
        return
    for index, item in enumerate(islice(subject.object.each("subjects"), _MOST)):
        if who := _identity(item, subject.object.namespace):
            yield from _without_secrets(subject, who, ("subjects", index))


def _identity(item: Fields, namespace: str | None) -> Identity | None:
    kind, name = item.text("kind"), item.text("name")
    if not name:
        return None
    if kind == "ServiceAccount":
        home = item.text("namespace") or namespace
        return account(home, name) if home else None
    return {"User": Identity(name=name), "Group": Identity(name="", groups=(name,))}.get(kind)


def _delegating(subject: Subject, verb: str) -> Wish:
    kind = TLS_CERTIFICATE_DELEGATION
    return Wish(verb=verb, resource=kind.plural, group=kind.group, namespace=subject.object.namespace)


def _without_secrets(subject: Subject, who: Identity, at: tuple[str | int, ...]) -> Iterator[Flaw]:
    reads = access(subject.declared, who, Wish(verb="get", resource="secrets", namespace=subject.object.namespace))
    where = f"in {subject.object.namespace}" if subject.object.kind == ROLE_BINDING else "in all namespaces"
    name = who.name or f"the group {', '.join(who.groups)}"
    if reads.allowed is None and reads.unseen:
        yield undecided(reads.unseen, at, f"whether {name}, who may delegate Secrets {where}, may read them")
    elif not reads.allowed:
        groups = " (unless by a group)" if who.name and not who.name.startswith("system:serviceaccount:") else ""
        yield Flaw(
            message=f"{name} may delegate Secrets {where} and may not read them{groups}",
            at=at,
            fix=f"{subject.object.reference}: give the right to those who keep the Secrets",
        )


CREATORS = ObjectRule(
    id="contour-delegation-creators",
    subjects=(ROLE_BINDING, CLUSTER_ROLE_BINDING),
    reads=authorization.READS,
    check=check_creators,
)
