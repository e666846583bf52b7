"""Which namespace may refer to which Secret, exactly as Contour decides it (``internal/dag/cache.go``,
``delegationPermitted``; unchanged since 1.2).

``*`` means every namespace only where it is the list's only item; among others, and as a Secret's name, it means
itself. Whether the Secret exists is looked at afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Final

from scanner.model.declared import Declared, Missing
from scanner.model.kinds import HEPTIO_DELEGATION, TLS_CERTIFICATE_DELEGATION, Kind
from scanner.model.located import Steps
from scanner.model.objects import Fields, KubeObject

EVERYWHERE: Final = ("*",)
READS: Final[tuple[Kind, ...]] = (TLS_CERTIFICATE_DELEGATION, HEPTIO_DELEGATION)
"""What a rule that asks this must read."""
_MOST: Final = 1000
"""Delegations of one object that are looked at."""


@dataclass(frozen=True, slots=True)
class SecretName:
    """A Secret as Contour's references name it."""

    namespace: str | None
    name: str

    def __str__(self) -> str:
        return "/".join(filter(None, ("Secret", self.namespace, self.name)))


def secret_name(text: str, namespace: str | None) -> SecretName:
    """What ``name`` or ``namespace/name`` means in an object of ``namespace`` (``internal/k8s/namespacedname.go``)."""
    before, slash, name = text.partition("/")
    return SecretName(before or namespace, name) if slash else SecretName(namespace, text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Delegation:
    """One item of a TLSCertificateDelegation."""

    holder: KubeObject
    steps: Steps
    secret: str
    targets: tuple[str, ...]

    def permits(self, namespace: str | None) -> bool:
        """Whether objects of ``namespace`` may refer to the Secret."""
        return self.targets == EVERYWHERE or namespace in self.targets


def delegations(holder: KubeObject) -> Iterator[Delegation]:
    """Every item of one object."""
    value = holder.at("spec", "delegations")
    for index, item in enumerate(islice(value, _MOST) if isinstance(value, list) else ()):
        if isinstance(item, dict):
            fields = Fields(item)
            yield Delegation(
                holder=holder,
                steps=("spec", "delegations", index),
                secret=fields.text("secretName"),
                targets=fields.texts("targetNamespaces"),
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Permission:
    """Whether a reference is allowed."""

    allowed: bool | None
    """None: that cannot be told."""
    near: tuple[Delegation, ...] = ()
    """Delegations of that Secret, to others."""
    missing: Missing | None = None
    """Why it cannot be told."""


_Index = Mapping[tuple[str | None, str], tuple[Delegation, ...]]


def _by_secret(declared: Declared, kind: Kind) -> _Index:
    found: dict[tuple[str | None, str], list[Delegation]] = {}
    for holder in declared.every(kind):
        for each in delegations(holder):
            found.setdefault((holder.namespace, each.secret), []).append(each)
    return {key: tuple(each) for key, each in found.items()}


def _current(declared: Declared) -> _Index:
    return _by_secret(declared, TLS_CERTIFICATE_DELEGATION)


def _former(declared: Declared) -> _Index:
    return _by_secret(declared, HEPTIO_DELEGATION)


def of_secret(declared: Declared, secret: SecretName, *, former: bool = False) -> tuple[Delegation, ...]:
    """Every delegation of a Secret; ``former``: with those that only Contour before 1.7 reads."""
    key = (secret.namespace, secret.name)
    current = declared.once(_current).get(key, ())
    return current + declared.once(_former).get(key, ()) if former else current


def permission(declared: Declared, user: KubeObject, secret: SecretName) -> Permission:
    """Whether ``user`` may refer to ``secret``. Where a delegation of that very Secret is known and names others, the
    answer is no: who keeps it would have to change it, or to add a second one that nobody showed."""
    if secret.namespace == user.namespace:
        return Permission(allowed=True)
    found = of_secret(declared, secret, former=user.kind.group == HEPTIO_DELEGATION.group)
    if any(each.permits(user.namespace) for each in found):
        return Permission(allowed=True)
    gap = declared.gap(TLS_CERTIFICATE_DELEGATION)
    if user.namespace is None:
        gap = "the manifest says no namespace"
    elif found:
        gap = None
    name = f"{TLS_CERTIFICATE_DELEGATION.name}/{secret.namespace or '?'}/..."
    return Permission(allowed=None if gap else False, near=found, missing=Missing(name=name, gap=gap) if gap else None)
