"""Who may do what, from Roles and their bindings, as the API server's authorizer decides it. Pure.

kubernetes ``plugin/pkg/auth/authorizer/rbac/rbac.go`` (``RuleAllows``) and ``pkg/registry/rbac/validation/rule.go``
(``appliesToUser``). Other authorizers (Node, webhooks) may allow more, and no object says what.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Final

from scanner.kube.kinds import CLUSTER_ROLE_BINDING
from scanner.kube.objects import KubeObject
from scanner.lint.bindings import ACCOUNT, READS, Identity, Index, Wish, index_of
from scanner.model.declared import Declared, Missing

__all__ = [
    "ACCOUNT",
    "READS",
    "Access",
    "Grant",
    "Identity",
    "Wish",
    "access",
    "account",
    "allows",
    "nameable",
    "subjects",
]

_RECENT: Final = 64
"""Answers that are kept."""


def account(namespace: str, name: str) -> Identity:
    """A service account as a review without groups names it."""
    return Identity(name=f"{ACCOUNT}{namespace}:{name}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """What allows it."""

    binding: KubeObject
    role: KubeObject
    by_name: bool
    """Whether the rule names the object (``resourceNames``)."""

    @property
    def cluster_wide(self) -> bool:
        """Whether it holds in every namespace."""
        return self.binding.kind == CLUSTER_ROLE_BINDING

    def __str__(self) -> str:
        return f"{self.role.reference} by {self.binding.reference}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """Whether somebody may do something."""

    grants: tuple[Grant, ...]
    role: Missing | None = None
    """A role that is bound to whoever asks, and that nobody saw."""
    bindings: Missing | None = None
    """The kind of which there may be bindings that nobody saw."""
    named: bool = False
    """Whether any binding that was seen names whoever asks."""

    @property
    def unseen(self) -> Missing | None:
        """What nobody saw and might allow it."""
        return self.role or self.bindings

    @property
    def known(self) -> bool | None:
        """The same by the bindings that were seen, as if there were no others."""
        return True if self.grants else None if self.role else False

    @property
    def allowed(self) -> bool | None:
        """None where that cannot be told."""
        return True if self.grants else None if self.unseen else False


def access(declared: Declared, who: Identity, wish: Wish) -> Access:
    """Whether ``who`` may do what ``wish`` says."""
    return declared.once(_answers)(who, wish)


def _answers(declared: Declared) -> Callable[[Identity, Wish], Access]:
    """The rules on one object ask the same one after the other; those on bindings ask it for each binding."""
    return lru_cache(_RECENT)(partial(_access, declared.once(index_of)))


def _access(index: Index, who: Identity, wish: Wish) -> Access:
    grants: list[Grant] = []
    role: Missing | None = None
    for bound in index.about(who, wish):
        if bound.role is None:
            role = role or bound.missing
        elif allowing := [each for each in bound.rules if each.allows(wish)]:
            by_name = all(each.named for each in allowing)
            grants.append(Grant(binding=bound.binding, role=bound.role, by_name=by_name))
    named = any(index.held(who, wish.namespace))
    return Access(grants=tuple(grants), role=role, bindings=index.unseen, named=named)


def allows(declared: Declared, binding: KubeObject, wish: Wish) -> bool:
    """Whether a binding that is known allows it to those that it names."""
    return declared.once(index_of).allows(binding, wish)


def nameable(declared: Declared, who: Identity, wish: Wish) -> frozenset[str] | None:
    """The objects for which ``who`` may do it, by the bindings that were seen; None: for all."""
    names: set[str] = set()
    for bound in declared.once(index_of).of(who, wish.namespace):
        for each in bound.rules:
            if each.asks(wish) and not each.named:
                return None
            if each.asks(wish):
                names.update(each.names)
    return frozenset(names)


def subjects(declared: Declared, namespace: str | None) -> tuple[Identity, ...]:
    """Everybody to whom anything is bound that holds in ``namespace``: users, service accounts, and groups, each of
    them as somebody who is in that group alone."""
    return declared.once(index_of).everybody(namespace)
