"""ReferenceGrants: which references into another namespace are allowed (Gateway API apis/v1 ``ReferenceGrantSpec``)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Final, TypeAlias

from scanner.model.declared import Declared, Missing
from scanner.model.kinds import REFERENCE_GRANT, Kind
from scanner.model.located import Steps
from scanner.model.object_rule import Flaw, undecided
from scanner.model.objects import Fields, KubeObject

MOST: Final = 16
"""Entries of ``from`` and of ``to`` (MaxItems)."""

READS: Final[tuple[Kind, ...]] = (REFERENCE_GRANT,)

From: TypeAlias = tuple[str, str, str]
"""Group, kind and namespace of what refers."""
To: TypeAlias = tuple[str, str]
"""Group and kind of what is referred to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Crossing:
    """A reference from one namespace into another."""

    source: KubeObject
    at: Steps
    group: str
    kind: str
    name: str
    namespace: str

    def __str__(self) -> str:
        return f"{self.kind}/{self.namespace}/{self.name}"


def crossing(source: KubeObject, at: Steps, reference: Fields, kind: str = "") -> Crossing | None:
    """The reference, if it leaves the namespace of ``source``. ``kind``: where the reference names none."""
    namespace = reference.text("namespace")
    if not namespace or namespace == source.namespace:
        return None
    named = reference.text("kind") or kind
    return Crossing(
        source=source,
        at=at,
        group=reference.text("group"),
        kind=named,
        name=reference.text("name"),
        namespace=namespace,
    )


def _in_namespace(declared: Declared) -> Mapping[str, list[KubeObject]]:
    found: dict[str, list[KubeObject]] = {}
    for each in declared.every(REFERENCE_GRANT):
        found.setdefault(each.namespace or "", []).append(each)
    return found


def granting(declared: Declared, crossed: Crossing) -> Iterator[KubeObject]:
    """The grants that allow it: in the target's namespace, one ``from`` equal to group, kind and namespace of what
    refers, and one ``to`` equal to group and kind with the name or none. There are no wildcards and no selectors."""
    source = crossed.source
    wanted = (source.kind.group, source.kind.name, source.namespace or "")
    for grant in declared.once(_in_namespace).get(crossed.namespace, ()):
        if wanted in froms(grant) and _has(grant, crossed):
            yield grant


def froms(grant: KubeObject) -> set[From]:
    """Who may refer."""
    every = islice(grant.each("spec", "from"), MOST)
    return {(each.text("group"), each.text("kind"), each.text("namespace")) for each in every}


def tos(grant: KubeObject) -> Iterable[tuple[To, str]]:
    """To what, and its name: empty for all of the kind."""
    for each in islice(grant.each("spec", "to"), MOST):
        yield (each.text("group"), each.text("kind")), each.text("name")


def _has(grant: KubeObject, crossed: Crossing) -> bool:
    wanted = (crossed.group, crossed.kind)
    return any(kind == wanted and name in ("", crossed.name) for kind, name in tos(grant))


def grant_flaws(declared: Declared, crossed: Crossing | None) -> Iterator[Flaw]:
    """That nobody allows a reference into another namespace."""
    if crossed is None or any(granting(declared, crossed)):
        return
    gap = declared.gap(REFERENCE_GRANT)
    source = crossed.source
    if gap:
        # A manifest without a namespace is applied into one that nobody knows here.
        missing = Missing(name=f"a ReferenceGrant in {crossed.namespace}", gap=gap)
        yield undecided(missing, crossed.at, f"whether {crossed} may be referred to")
        return
    yield Flaw(
        message=f"no ReferenceGrant in {crossed.namespace} lets {source.reference} refer to {crossed}: RefNotPermitted",
        at=crossed.at,
        fix=f"a ReferenceGrant in {crossed.namespace}, by who owns {crossed}",
        correction=_grant(crossed),
    )


def _grant(crossed: Crossing) -> str:
    source = crossed.source
    return (
        "apiVersion: gateway.networking.k8s.io/v1beta1\nkind: ReferenceGrant\n"
        f"metadata:\n  name: {source.name}\n  namespace: {crossed.namespace}\n"
        f"spec:\n  from:\n  - group: {source.kind.group}\n    kind: {source.kind.name}\n"
        f"    namespace: {source.namespace}\n"
        f'  to:\n  - group: "{crossed.group}"\n    kind: {crossed.kind}\n    name: {crossed.name}'
    )
