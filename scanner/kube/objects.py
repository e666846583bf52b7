"""Objects of a cluster, read leniently: whoever may write an object may write anything into it.

An object stays what the API server sent, plain JSON values. ``Fields`` reads it without ever failing: what is missing
or of another type is empty, because a scanner that a strange object can crash is no use on the cluster that has one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import Self, TypeAlias

from scanner.kube.kinds import Kind

Steps: TypeAlias = tuple[str | int, ...]
"""The way to a value: keys and indexes from the object's top."""

_NOTHING: Mapping[str, object] = {}
_MAPPING = (dict, Mapping)
"""What a JSON object is. The builtin first: asking the abstract class alone takes most of the time of a big cluster."""


@dataclass(frozen=True, slots=True)
class Fields:
    """A JSON object and what it says; steps are the names of nested fields."""

    raw: Mapping[str, object]

    @property
    def steps(self) -> Steps:
        """The way to it from the object's top."""
        return ()

    def at(self, *steps: str) -> object:
        """The value there, whatever it is, or None."""
        value: object = self.raw
        for step in steps:
            if type(value) is dict:  # nearly always, and asked in no time
                value = value.get(step)
            elif value is None or not isinstance(value, Mapping):
                return None
            else:
                value = value.get(step)
        return value

    def has(self, *steps: str) -> bool:
        """Whether something other than null is there."""
        return self.at(*steps) is not None

    def text(self, *steps: str) -> str:
        """The text there, or ""."""
        value: object = self.raw
        for step in steps:  # as ``at`` does it, which half of the time goes to calling
            if type(value) is not dict:
                value = None if value is None else self.at(*steps)
                break
            value = value.get(step)
        return value if isinstance(value, str) else ""

    def number(self, *steps: str) -> int | None:
        """The whole number there, or None; true is no number."""
        value = self.at(*steps)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def flag(self, *steps: str) -> bool:
        """Whether true is there."""
        return self.at(*steps) is True

    def fields(self, *steps: str) -> Fields:
        """The mapping there, or an empty one."""
        value = self.at(*steps)
        return Fields(value if isinstance(value, _MAPPING) else _NOTHING)

    def each(self, *steps: str) -> Iterator[Fields]:
        """The mappings of the list there; other items are left out."""
        value = self.at(*steps)
        for item in value if isinstance(value, list) else ():
            if isinstance(item, _MAPPING):
                yield Fields(item)

    def texts(self, *steps: str) -> tuple[str, ...]:
        """The texts of the list there; other items are left out."""
        value = self.at(*steps)
        return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()

    def words(self, *steps: str) -> dict[str, str]:
        """The mapping of text to text there, as labels are; other values are left out."""
        value = self.at(*steps)
        found = value.items() if isinstance(value, _MAPPING) else ()
        return {key: word for key, word in found if isinstance(key, str) and isinstance(word, str)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """An object by its name, as findings and reasons call it."""

    kind: str
    name: str
    namespace: str | None = None

    def __str__(self) -> str:
        return "/".join(filter(None, (self.kind, self.namespace, self.name)))


@dataclass(frozen=True, slots=True)
class OwnerReference(Fields):
    """An entry of ``metadata.ownerReferences`` (meta/v1)."""

    @property
    def group(self) -> str:
        """The group of ``apiVersion``; "" for that of the core."""
        return self.text("apiVersion").rpartition("/")[0]

    @property
    def kind(self) -> str:
        """The owner's kind."""
        return self.text("kind")

    @property
    def name(self) -> str:
        """The owner's name. Its namespace is that of the owned object, or none."""
        return self.text("name")

    @property
    def is_controller(self) -> bool:
        """Whether this owner manages the object; at most one does."""
        return self.flag("controller")


@dataclass(frozen=True, slots=True)
class ManagedFields(Fields):
    """An entry of ``metadata.managedFields`` (meta/v1): what one manager wrote last, and when."""

    @property
    def time(self) -> datetime | None:
        """The manager's last change of any field that it owns."""
        return moment(self.text("time"))

    @property
    def subresource(self) -> str:
        """``status`` or another; "" for the object itself."""
        return self.text("subresource")

    def owns(self, *steps: str) -> bool:
        """Whether the manager owns the field or a part of it."""
        return self.has("fieldsV1", *(f"f:{step}" for step in steps))

    def owned(self, *steps: str) -> frozenset[str]:
        """Names of the fields below ``steps`` that the manager owns, or owns a part of."""
        return frozenset(each.removeprefix("f:") for each in self.fields("fieldsV1", *(f"f:{s}" for s in steps)).raw)


@dataclass(frozen=True, slots=True)
class KubeObject(Fields):
    """One object of the cluster."""

    kind: Kind

    @property
    def api_version(self) -> str:
        """``apiVersion``: group and version."""
        return self.text("apiVersion")

    @classmethod
    def of(cls, item: KubeObject) -> Self:
        """Read an object by the type of its kind: ``Gateway.of(item)``."""
        return item if isinstance(item, cls) else cls(item.raw, item.kind)

    @property
    def name(self) -> str:
        """``metadata.name``."""
        return self.text("metadata", "name")

    @property
    def namespace(self) -> str | None:
        """``metadata.namespace``, or None for an object of the cluster."""
        return self.text("metadata", "namespace") or None

    @property
    def labels(self) -> dict[str, str]:
        """``metadata.labels``."""
        return self.words("metadata", "labels")

    @property
    def annotations(self) -> dict[str, str]:
        """``metadata.annotations``."""
        return self.words("metadata", "annotations")

    def label(self, name: str) -> str:
        """The value of one label; "" where there is none."""
        return self.text("metadata", "labels", name)

    def annotation(self, name: str) -> str:
        """The value of one annotation; "" where there is none."""
        return self.text("metadata", "annotations", name)

    @property
    def uid(self) -> str:
        """``metadata.uid``; "" in a file, which no API server has taken."""
        return self.text("metadata", "uid")

    @property
    def generation(self) -> int | None:
        """``metadata.generation``: counts the changes of the spec from 1."""
        return self.number("metadata", "generation")

    @property
    def creation_timestamp(self) -> str:
        """``metadata.creationTimestamp`` as it is written, which sorts like the time."""
        return self.text("metadata", "creationTimestamp")

    @property
    def created(self) -> datetime | None:
        """``metadata.creationTimestamp``."""
        return moment(self.creation_timestamp)

    @property
    def is_deleted(self) -> bool:
        """Whether it was deleted, and exists until its finalizers and processes have ended."""
        return self.has("metadata", "deletionTimestamp")

    @property
    def owner_references(self) -> tuple[OwnerReference, ...]:
        """``metadata.ownerReferences``."""
        every = self.at("metadata", "ownerReferences")
        return (
            tuple(OwnerReference(each) for each in every if isinstance(each, _MAPPING))
            if isinstance(every, list)
            else ()
        )

    @property
    def managed_fields(self) -> Iterator[ManagedFields]:
        """``metadata.managedFields``, the first 1,000; a real object has a handful."""
        return (ManagedFields(each.raw) for each in islice(self.each("metadata", "managedFields"), 1000))

    @property
    def reference(self) -> Reference:
        """Its name: ``Route/shop/checkout``."""
        return Reference(kind=self.kind.name, name=self.name, namespace=self.namespace)


def moment(text: str) -> datetime | None:
    """An API object's time (RFC 3339), or None where it is none."""
    try:
        found = datetime.fromisoformat(text[:40])
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
