"""Who may replace the Secret of a Route's external certificate."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeAlias

from scanner.kube.kinds import ROUTE
from scanner.lint import authorization
from scanner.lint.authorization import Identity, Wish, access, nameable, subjects
from scanner.lint.openshift.routes import EXTERNAL, external
from scanner.model.declared import Declared
from scanner.model.object_rule import Flaw, ObjectRule, Subject

_WRITES: Final = ("update", "patch", "delete")
_HOST: Final = "routes/custom-host"
_ROUTES: Final = "route.openshift.io"
_EVERYBODY: Final = 500
"""Subjects of one namespace that are looked at."""
_NAMED: Final = 5
_PLATFORM: Final = (
    "system:kube-",
    "system:node",
    "system:masters",
    "system:serviceaccount:kube-",
    "system:serviceaccount:openshift-",
    "system:serviceaccounts:kube-",
    "system:serviceaccounts:openshift-",
)
"""What the names of the platform's own users, service accounts and groups begin with: they need no Route for harm."""

_Candidate: TypeAlias = tuple[Identity, frozenset[str] | None]


def check_writers(subject: Subject) -> Iterator[Flaw]:
    """Who may replace a Route's external certificate may also set one in the Route."""
    name, declared = external(subject.object), subject.declared
    if not name:
        return
    found = list(_writers(declared, subject.object.namespace, name))
    if found:
        yield Flaw(
            message=f"{_counted(len(found))} may change Secret {name}, and so the Route's certificate, without the "
            f"permission {_HOST} that a certificate in the Route needs",
            at=EXTERNAL,
            observed=tuple(found[:_NAMED]),
            fix=f"leave Secret {name} out of what they may write, or allow them {_HOST}",
        )
    elif any(declared.gap(kind) for kind in authorization.READS):
        yield Flaw(
            message="cannot be decided here: who may replace the certificate; not all roles and bindings were seen",
            at=EXTERNAL,
            verdict="inconclusive",
            severity="info",
        )


def _counted(count: int) -> str:
    return f"{count} user or group" if count == 1 else f"{count} users or groups"


def _writers(declared: Declared, namespace: str | None, name: str) -> Iterator[str]:
    for who, names in _candidates(declared, namespace):
        if names is None or name in names:
            yield who.name or f"group {_called(who)}"


def _candidates(declared: Declared, namespace: str | None) -> tuple[_Candidate, ...]:
    """Who lacks the right on Routes in a namespace, and which Secrets they may write there (None: all); worked out once
    for each namespace."""
    known = declared.once(_by_namespace)
    if namespace not in known:
        hosts = [Wish(verb=verb, resource=_HOST, group=_ROUTES, namespace=namespace) for verb in ("create", "update")]
        lacking = (
            who
            for who in subjects(declared, namespace)[:_EVERYBODY]
            if not _called(who).startswith(_PLATFORM)
            and all(access(declared, who, wish).known is False for wish in hosts)
        )
        known[namespace] = tuple((who, _written(declared, who, namespace)) for who in lacking)
    return known[namespace]


def _called(who: Identity) -> str:
    return who.name or who.groups[0]


def _by_namespace(_: Declared) -> dict[str | None, tuple[_Candidate, ...]]:
    return {}


def _written(declared: Declared, who: Identity, namespace: str | None) -> frozenset[str] | None:
    found: frozenset[str] = frozenset()
    for verb in _WRITES:
        names = nameable(declared, who, Wish(verb=verb, resource="secrets", namespace=namespace))
        if names is None:
            return None
        found |= names
    return found


WRITERS = ObjectRule(
    id="route-secret-writers",
    subjects=(ROUTE,),
    check=check_writers,
    reads=authorization.READS,
)
