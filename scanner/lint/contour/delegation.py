"""Whether an object may refer to the Secret of another namespace, among the delegations that lint knows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from scanner.kube.kinds import HEPTIO_DELEGATION, TLS_CERTIFICATE_DELEGATION, Kind
from scanner.kube.objects import KubeObject
from scanner.model.declared import Declared, Missing
from scanner.model.delegations import BySecret, Delegation, SecretName, by_secret

READS: Final[tuple[Kind, ...]] = (TLS_CERTIFICATE_DELEGATION, HEPTIO_DELEGATION)
"""What a rule that asks this must read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Permission:
    """Whether a reference is allowed."""

    allowed: bool | None
    """None: that cannot be told."""
    near: tuple[Delegation, ...] = ()
    """Delegations of that Secret, to others: some of them."""
    missing: Missing | None = None
    """Why it cannot be told."""


def _current(declared: Declared) -> BySecret:
    return by_secret(declared.every(TLS_CERTIFICATE_DELEGATION))


def _former(declared: Declared) -> BySecret:
    return by_secret(declared.every(HEPTIO_DELEGATION))


def permission(declared: Declared, user: KubeObject, secret: SecretName) -> Permission:
    """Whether ``user`` may refer to ``secret``. Where a delegation of that very Secret is known and names others, the
    answer is no: who keeps it would have to change it, or to add a second one that nobody showed."""
    if secret.namespace == user.namespace:
        return Permission(allowed=True)
    indexes = (_current, _former) if user.kind.group == HEPTIO_DELEGATION.group else (_current,)
    key = (secret.namespace, secret.name)
    found = [index[key] for index in map(declared.once, indexes) if key in index]
    if any(each.permits(user.namespace) for each in found):
        return Permission(allowed=True)
    gap = declared.gap(TLS_CERTIFICATE_DELEGATION)
    if found:
        gap = None
    name = f"{TLS_CERTIFICATE_DELEGATION.name}/{secret.namespace or '?'}/..."
    return Permission(
        allowed=None if gap else False,
        near=tuple(each for one in found for each in one.some),
        missing=Missing(name=name, gap=gap) if gap else None,
    )
