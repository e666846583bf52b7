"""Objects as they are kept: the fields that a later stage reads, without private keys, every text once in memory.

A cluster with 20,000 pods sends 200 MB of them; what is kept of a pod is a tenth.
"""

from __future__ import annotations

import marshal
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, TypeAlias

from scanner.cluster.scrub import REMOVED, scrubbed
from scanner.cluster.scrub import arguments as without_passwords

Shape: TypeAlias = "Only | But | Shared | Callable[[Pruner, object], object]"

MAX_DEPTH = 64
"""Deeper nesting is left out. An API object needs 15, and a stage that walks one must not run out of stack."""
_INTERNED = 256
"""Characters up to which a text is kept once for all objects: names, labels, addresses, images."""


@dataclass(frozen=True, slots=True)
class Only:
    """Of a mapping, or of each mapping of a list, these fields and no other."""

    fields: Mapping[str, Shape]


@dataclass(frozen=True, slots=True)
class But:
    """Everything, these fields in a form of their own."""

    fields: Mapping[str, Shape]


@dataclass(frozen=True, slots=True)
class Shared:
    """What many objects have alike, as replicas have their containers: made and kept once for all of them."""

    shape: Shape
    pruned: bool = False
    """Whether they are alike only when they are pruned: what differs are times and identifiers."""


@dataclass(slots=True)
class Pruner:
    """Keeps the texts of one snapshot, and what its objects share."""

    texts: dict[str, str] = field(default_factory=dict)
    shared: dict[bytes, object] = field(default_factory=dict)
    """By the digest of what they look like. Whoever writes the objects must not be able to have two that differ taken
    for one, so it is a cryptographic one."""
    depth: int = 0

    def keep(self, value: object, shape: Shape) -> object:
        """``value`` in its shape. A value of another type than the shape expects is kept as it is."""
        if isinstance(shape, Only):
            return self._only(value, shape.fields)
        if isinstance(shape, But):
            return self._but(value, shape.fields)
        if isinstance(shape, Shared):
            return self._shared(value, shape)
        return shape(self, value)

    def _shared(self, value: object, shape: Shared) -> object:
        if not value:
            return self.keep(value, shape.shape)
        kept = self.keep(value, shape.shape) if shape.pruned else value
        # marshal writes JSON values four times as fast as repr, and in version 2 the same for equal ones.
        looks: Any = (kept, id(shape))
        digest = blake2b(marshal.dumps(looks, 2), digest_size=16).digest()
        found = self.shared.get(digest)
        if found is None:
            found = self.shared[digest] = kept if shape.pruned else self.keep(value, shape.shape)
        return found

    def copy(self, value: object) -> object:
        """Everything, deep."""
        if isinstance(value, str):
            return self.text(value)
        if not isinstance(value, dict | list):
            return value
        if self.depth >= MAX_DEPTH:
            return None
        self.depth += 1
        try:
            if isinstance(value, list):
                return [self.copy(item) for item in value]
            return {self.text(str(key)): self.copy(item) for key, item in value.items()}
        finally:
            self.depth -= 1

    def text(self, text: str) -> str:
        """The same text, once; without private keys, and without what cannot be written as UTF-8."""
        if len(text) > _INTERNED:
            return scrubbed(_encodable(text))
        known = self.texts.get(text)
        if known is None:
            known = self.texts[text] = scrubbed(_encodable(text))
        return known

    def _only(self, value: object, fields: Mapping[str, Shape]) -> object:
        if isinstance(value, list):
            return [self._only(item, fields) for item in value if isinstance(item, dict)]
        if not isinstance(value, dict):
            return self.copy(value)
        kept: dict[str, object] = {}
        for name, shape in fields.items():
            if name in value:
                item = value[name]
                # Most fields are texts that stay as they are; this shortcut saves a third of all calls.
                kept[name] = self.text(item) if shape is whole and type(item) is str else self.keep(item, shape)
        return kept

    def _but(self, value: object, fields: Mapping[str, Shape]) -> object:
        if not isinstance(value, dict):
            return self.copy(value)
        kept = {}
        for name, item in value.items():
            shape = fields.get(name)
            if shape is not left_out:
                kept[self.text(str(name))] = self.copy(item) if shape is None else self.keep(item, shape)
        return kept


def _encodable(text: str) -> str:
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def whole(pruner: Pruner, value: object) -> object:
    """The shape of a field that is kept as it is."""
    return pruner.copy(value)


def left_out(_: Pruner, __: object) -> object:
    """The shape, in a ``But``, of a field that is not kept."""
    return None


def removed(_: Pruner, value: object) -> object:
    """The shape of a private key: that there is one."""
    return REMOVED if value else value


def arguments(pruner: Pruner, value: object) -> object:
    """The shape of a command line."""
    items = value if isinstance(value, list) else []
    return [pruner.text(item) for item in without_passwords([item for item in items if isinstance(item, str)])]
