"""ReferenceGrants: who may refer to what of another namespace (Gateway API apis/v1 ``ReferenceGrantSpec``)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final, TypeAlias

from scanner.kube.objects import KubeObject

MOST: Final = 16
"""Entries of ``from`` and of ``to`` (MaxItems)."""

From: TypeAlias = tuple[str, str, str]
"""Group, kind and namespace of what refers."""
To: TypeAlias = tuple[str, str]
"""Group and kind of what is referred to."""


def froms(grant: KubeObject) -> set[From]:
    """Who may refer."""
    every = islice(grant.each("spec", "from"), MOST)
    return {(each.text("group"), each.text("kind"), each.text("namespace")) for each in every}


def tos(grant: KubeObject) -> Iterator[tuple[To, str]]:
    """To what, and its name: empty for all of the kind."""
    for each in islice(grant.each("spec", "to"), MOST):
        yield (each.text("group"), each.text("kind")), each.text("name")


def grants(grant: KubeObject, source: KubeObject, target: To, name: str) -> bool:
    """Whether one that stands in the target's namespace lets ``source`` refer to ``name``: one ``from`` equals group,
    kind and namespace of what refers, and one ``to`` equals group and kind with the name or none. There are no
    wildcards and no selectors."""
    if (source.kind.group, source.kind.name, source.namespace or "") not in froms(grant):
        return False
    return any(kind == target and each in ("", name) for kind, each in tos(grant))
