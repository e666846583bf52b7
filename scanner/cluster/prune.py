"""Objects as they are kept: the fields that a later stage reads, without private keys, every text once in memory.

A cluster with 20,000 pods sends 200 MB of them; what is kept of a pod is a tenth.
"""

from __future__ import annotations

import marshal
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from typing import Any, TypeAlias

from scanner.cluster.decoding import Raw
from scanner.cluster.decoding import value as decoded
from scanner.cluster.scrub import SHORTEST, scrubbed
from scanner.cluster.scrub import arguments as without_passwords
from scanner.model.removed import REMOVED

Shape: TypeAlias = "Only | But | Shared | Callable[[Pruner, object], object]"
Keep: TypeAlias = Callable[[object], object]
"""What makes of a value that which is kept."""

MAX_DEPTH = 64
"""Deeper nesting is left out. An API object needs 15, and a stage that walks one must not run out of stack."""
_MARSHAL = 2
"""marshal writes JSON values four times as fast as repr, and in this version the same for equal ones."""
_GENERATED = rb"[a-z0-9]{5}"
"""What the API server adds to a name (k8s.io/apiserver ``pkg/storage/names``)."""
_MASK = b"\xff" * 5
"""In its place. UTF-8 has no such byte, and nothing moves: masked alike, texts differ there alone."""
_APART = object()
"""Kept for a masked text: what may differ was kept of it, so that only what is equal altogether is one."""
_SHORT = 63
"""Bytes up to which a text stands for itself: no digest, which has one more, can be taken for one."""
_INTERNED = 256
"""Characters up to which a text is kept once for all objects: names, labels, addresses, images."""


@dataclass(frozen=True, slots=True, eq=False)
class Only:
    """Of a mapping, or of each mapping of a list, these fields and no other."""

    fields: Mapping[str, Shape]


@dataclass(frozen=True, slots=True, eq=False)
class But:
    """Everything, these fields in a form of their own."""

    fields: Mapping[str, Shape]


@dataclass(frozen=True, slots=True, eq=False)
class Shared:
    """What many objects have alike, as replicas have their containers: made and kept once for all of them."""

    shape: Shape
    pruned: bool = False
    """Whether they are alike only when they are pruned: what differs are times and identifiers."""
    but: str = ""
    """What generated names begin with that may differ all the same, where ``shape`` does not keep them."""


_SCALARS = frozenset({int, bool, float, type(None)})


class _Texts(dict[str, str]):
    """Every text once; without private keys, and without what cannot be written as UTF-8.

    A dictionary that fills itself: asking it for a text that it knows costs no call of a function.
    """

    def __missing__(self, text: str) -> str:
        # Names and addresses: too short for a key, and no URL.
        harmless = len(text) < SHORTEST and text.isascii() and "@" not in text
        kept = text if harmless else scrubbed(_encodable(text))
        if len(text) <= _INTERNED:
            self[text] = kept
        return kept


class Pruner:
    """Keeps the texts of one snapshot, and what its objects share."""

    def __init__(self) -> None:
        self.texts = _Texts()
        """Each text as it is kept."""
        self._keepers: dict[Shape, Keep] = {}

    def keep(self, value: object, shape: Shape) -> object:
        """``value`` in its shape. A value of another type than the shape expects is kept as it is."""
        return self.keeper(shape)(value)

    def keeper(self, shape: Shape) -> Keep:
        """The function that keeps values in ``shape``: what the shape says is looked at once, not for every value."""
        found = self._keepers.get(shape)
        if found is None:
            found = self._keepers[shape] = self._made(shape)
        return found

    def _made(self, shape: Shape) -> Keep:
        if isinstance(shape, Only):
            return self._only(shape.fields)
        if isinstance(shape, But):
            return self._but(shape.fields)
        if isinstance(shape, Shared):
            keep = self.keeper(shape.shape)
            return _pruned_once(keep) if shape.pruned else _once(keep, shape.but)
        return self.copy if shape is whole else partial(shape, self)

    def copy(self, value: object, depth: int = 0) -> object:
        """Everything, deep."""
        if isinstance(value, str):
            return self.texts[value]
        if not isinstance(value, dict | list):
            return value
        if depth >= MAX_DEPTH:
            return None
        depth += 1
        texts, copy = self.texts, self.copy
        if isinstance(value, list):
            return [texts[item] if type(item) is str else copy(item, depth) for item in value]
        return {texts[str(key)]: texts[item] if type(item) is str else copy(item, depth) for key, item in value.items()}

    def text(self, text: str) -> str:
        """The same text, once; without private keys, and without what cannot be written as UTF-8."""
        return self.texts[text]

    def _only(self, fields: Mapping[str, Shape]) -> Keep:
        texts, copy = self.texts, self.copy
        keepers = {name: copy if shape is whole else self.keeper(shape) for name, shape in fields.items()}
        plain = all(keeper is copy for keeper in keepers.values())

        def keep(value: object) -> object:
            if type(value) is list:
                return [keep(item) for item in value if isinstance(item, dict)]
            if type(value) is not dict:
                return copy(value)
            if plain:
                return {
                    name: texts[item] if type(item) is str else item if type(item) in _SCALARS else copy(item)
                    for name, item in value.items()
                    if name in keepers
                }
            kept: dict[str, object] = {}
            for name, item in value.items():
                keeper = keepers.get(name)
                # Most fields are texts that stay as they are; this shortcut saves a third of all calls.
                if keeper is copy and type(item) is str:
                    kept[name] = texts[item]
                elif keeper:
                    kept[name] = keeper(item)
            return kept

        return keep

    def _but(self, fields: Mapping[str, Shape]) -> Keep:
        texts, copy = self.texts, self.copy
        keepers = {name: self.keeper(shape) for name, shape in fields.items() if shape is not left_out}
        dropped = fields.keys() - keepers.keys()

        def keep(value: object) -> object:
            if not isinstance(value, dict):
                return copy(value)
            return {
                texts[str(name)]: keepers.get(name, copy)(item) for name, item in value.items() if name not in dropped
            }

        return keep


def _once(keep: Keep, but: str) -> Keep:
    """``keep``, asked once of all values that are equal."""
    known: dict[bytes, object] = {}
    prefix = but.encode("ascii")
    names, masked = re.compile(re.escape(prefix) + _GENERATED), prefix + _MASK

    def kept(value: Any) -> object:  # noqa: ANN401 - JSON, as marshal takes it
        text = bytes(value) if type(value) is Raw else marshal.dumps(value, _MARSHAL)
        looks = _looks(names.sub(masked, text) if but else text)
        found = known.get(looks)
        if found is _APART:
            looks = _looks(text)
            found = known.get(looks)
        if found is not None:
            return found
        made: Any = keep(decoded(text) if type(value) is Raw else value)
        if but and names.search(marshal.dumps(made, _MARSHAL)):
            known[looks], looks = _APART, _looks(text)
        known[looks] = made
        return made

    return kept


def _pruned_once(keep: Keep) -> Keep:
    """What ``keep`` makes, once of all that are equal."""
    known: dict[bytes, object] = {}

    def kept(value: object) -> object:
        made: Any = keep(value)
        return known.setdefault(_looks(marshal.dumps(made, _MARSHAL)), made)

    return kept


def _looks(text: bytes) -> bytes:
    """What stands for a text among others: itself, or a digest where that is shorter.

    Whoever writes the objects must not be able to have two that differ taken for one, so it is a cryptographic one.
    """
    return text if len(text) <= _SHORT else blake2b(text, digest_size=_SHORT + 1).digest()


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
