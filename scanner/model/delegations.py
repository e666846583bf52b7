"""TLSCertificateDelegations: which namespace may refer to which Secret, exactly as Contour decides it
(``internal/dag/cache.go``, ``delegationPermitted``; unchanged since 1.2).

``*`` means every namespace only where it is the list's only item; among others, and as a Secret's name, it means
itself. Whether the Secret exists is looked at afterwards.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Final, TypeAlias

from scanner.files.source_positions import Steps
from scanner.kube.objects import Fields, KubeObject
from scanner.kube.references import split_name

EVERYWHERE: Final = ("*",)
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
    """What ``name`` or ``namespace/name`` means in an object of ``namespace``."""
    return SecretName(*split_name(text, namespace))


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


@dataclass(slots=True)
class Delegated:
    """All that is known of one Secret's delegations: 10,000 of them must not be walked through for each reference."""

    namespaces: set[str] = field(default_factory=set)
    everywhere: bool = False
    some: list[Delegation] = field(default_factory=list)
    """The first few."""

    def add(self, each: Delegation) -> None:
        """One more."""
        self.namespaces.update(each.targets)
        self.everywhere |= each.targets == EVERYWHERE
        if len(self.some) < _SHOWN:
            self.some.append(each)

    def permits(self, namespace: str | None) -> bool:
        """Whether an object of ``namespace`` may refer to the Secret."""
        return self.everywhere or namespace in self.namespaces


BySecret: TypeAlias = Mapping[tuple[str | None, str], Delegated]
"""By namespace and name of the Secret."""


def by_secret(holders: Iterable[KubeObject]) -> BySecret:
    """What these objects delegate; each delegates Secrets of its own namespace."""
    found: dict[tuple[str | None, str], Delegated] = {}
    for holder in holders:
        namespace = holder.namespace
        for each in delegations(holder):
            found.setdefault((namespace, each.secret), Delegated()).add(each)
    return found
