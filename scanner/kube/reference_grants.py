"""ReferenceGrants: who may refer to what of another namespace (Gateway API apis/v1 ``ReferenceGrantSpec``)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeAlias

from scanner.kube.objects import KubeObject
from scanner.kube.view import Parts, Text, View

MOST: Final = 16
"""Entries of ``from`` and of ``to`` (MaxItems)."""

From: TypeAlias = tuple[str, str, str]
"""Group, kind and namespace of the object that refers."""
To: TypeAlias = tuple[str, str]
"""Group and kind of the object that is referred to."""


class Entry(View):
    """An entry of ``from``, which has a namespace, or of ``to``, which may have a name."""

    group = Text()
    kind = Text()
    namespace = Text()
    name = Text()


class ReferenceGrant(KubeObject):
    """A ReferenceGrant."""

    sources = Parts(Entry, "spec", "from")
    targets = Parts(Entry, "spec", "to")

    @property
    def froms(self) -> set[From]:
        """Who may refer."""
        return {(each.group, each.kind, each.namespace) for each in self.sources[:MOST]}

    @property
    def tos(self) -> Iterator[tuple[To, str]]:
        """To what, and its name: empty for all of the kind."""
        return (((each.group, each.kind), each.name) for each in self.targets[:MOST])

    def allows(self, source: KubeObject, target: To, name: str) -> bool:
        """Whether a grant in the target's namespace lets ``source`` refer to ``name``: one ``from`` equals group, kind
        and namespace of the source, and one ``to`` equals group and kind with the name or none. There are no wildcards
        and no selectors."""
        if (source.kind.group, source.kind.name, source.namespace or "") not in self.froms:
            return False
        return any(kind == target and each in ("", name) for kind, each in self.tos)
