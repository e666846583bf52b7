"""Which namespace may refer to which Secret, exactly as Contour decides it (``internal/dag/cache.go``,
``delegationPermitted``; unchanged since 1.2).

``*`` means every namespace only where it is the list's only item; among others, and as a Secret's name, it means
itself. Whether the Secret exists is looked at afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from scanner.model.declared import Declared, Missing
from scanner.model.kinds import HEPTIO_DELEGATION, TLS_CERTIFICATE_DELEGATION, Kind
from scanner.model.located import Steps
from scanner.model.objects import Fields, KubeObject

EVERYWHERE: Final = ("*",)
READS: Final[tuple[Kind, ...]] = (TLS_CERTIFICATE_DELEGATION, HEPTIO_DELEGATION)
"""What a rule that asks this must read."""
_SHOWN: Final = 10
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
    """Delegations of that Secret, to others: some of them."""
    missing: Missing | None = None
    """Why it cannot be told."""


@dataclass(slots=True)
class _Delegated:
    """All that is known of one Secret's delegations: 10,000 of them must not be walked through for each reference."""

    namespaces: set[str] = field(default_factory=set)
    everywhere: bool = False
    some: list[Delegation] = field(default_factory=list)

    def add(self, each: Delegation) -> None:
        self.namespaces.update(each.targets)
        self.everywhere |= each.targets == EVERYWHERE
        if len(self.some) < _SHOWN:
            self.some.append(each)

    def permits(self, namespace: str | None) -> bool:
        return self.everywhere or namespace in self.namespaces


_Index = Mapping[tuple[str | None, str], _Delegated]


def _by_secret(declared: Declared, kind: Kind) -> _Index:
    found: dict[tuple[str | None, str], _Delegated] = {}
    for holder in declared.every(kind):
        namespace = holder.namespace
        for each in delegations(holder):
            found.setdefault((namespace, each.secret), _Delegated()).add(each)
    return found


def _current(declared: Declared) -> _Index:
    return _by_secret(declared, TLS_CERTIFICATE_DELEGATION)


def _former(declared: Declared) -> _Index:
    return _by_secret(declared, HEPTIO_DELEGATION)


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
    if user.namespace is None:
        gap = "the manifest says no namespace"
    elif found:
        gap = None
    name = f"{TLS_CERTIFICATE_DELEGATION.name}/{secret.namespace or '?'}/..."
    return Permission(
        allowed=None if gap else False,
        near=tuple(each for one in found for each in one.some),
        missing=Missing(name=name, gap=gap) if gap else None,
    )
