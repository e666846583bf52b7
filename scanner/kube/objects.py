"""Objects of a cluster, read leniently: any client may have written anything into them.

An object keeps the plain JSON values that the API server sent. ``Fields`` reads it and never fails: a value that is
missing or of another type is empty. A scanner that an odd object can crash is useless on the cluster that has one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import Self, TypeAlias

from msgspec import Struct

from scanner.kube.kinds import Kind

Steps: TypeAlias = tuple[str | int, ...]
"""Path of a value: keys and indexes from the top of the object."""

_NOTHING: Mapping[str, object] = {}
_MAPPING = (dict, Mapping)
"""Types of a JSON object. The builtin first: asking the abstract class alone takes most of the time of a large
cluster."""


@dataclass(frozen=True, slots=True)
class Fields:
    """A JSON object; steps are the names of nested fields."""

    raw: Mapping[str, object]

    @property
    def steps(self) -> Steps:
        """Path from the top of the object."""
        return ()

    def at(self, *steps: str) -> object:
        """The value of any type, or None."""
        value: object = self.raw
        for step in steps:
            if type(value) is dict:  # nearly always, and a fast check
                value = value.get(step)
            elif value is None or not isinstance(value, Mapping):
                return None
            else:
                value = value.get(step)
        return value

    def has(self, *steps: str) -> bool:
        """True if the value is not null."""
        return self.at(*steps) is not None

    def text(self, *steps: str) -> str:
        """The text, or "" if there is none."""
        value = self.at(*steps)
        return value if isinstance(value, str) else ""

    def number(self, *steps: str) -> int | None:
        """The whole number, or None; a boolean is no number."""
        value = self.at(*steps)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def flag(self, *steps: str) -> bool:
        """True if the value is true."""
        return self.at(*steps) is True

    def fields(self, *steps: str) -> Fields:
        """The mapping, or an empty one."""
        value = self.at(*steps)
        return Fields(value if isinstance(value, _MAPPING) else _NOTHING)

    def each(self, *steps: str) -> Iterator[Fields]:
        """The mappings of a list; other items are skipped."""
        value = self.at(*steps)
        for item in value if isinstance(value, list) else ():
            if isinstance(item, _MAPPING):
                yield Fields(item)

    def texts(self, *steps: str) -> tuple[str, ...]:
        """The texts of a list; other items are skipped."""
        value = self.at(*steps)
        return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()

    def words(self, *steps: str) -> dict[str, str]:
        """The mapping of text to text, as labels are; other values are skipped."""
        value = self.at(*steps)
        found = value.items() if isinstance(value, _MAPPING) else ()
        return {key: word for key, word in found if isinstance(key, str) and isinstance(word, str)}


class Reference(Struct, frozen=True, kw_only=True):
    """The name of an object in findings and reasons."""

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
        """The group of ``apiVersion``; empty for the core group."""
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
        """True if this owner manages the object; at most one does."""
        return self.flag("controller")


@dataclass(frozen=True, slots=True)
class ManagedFields(Fields):
    """An entry of ``metadata.managedFields`` (meta/v1): the fields that one manager wrote, and the time."""

    @property
    def time(self) -> datetime | None:
        """Time of the manager's last change of any field that it owns."""
        return moment(self.text("time"))

    @property
    def subresource(self) -> str:
        """``status`` or another; empty for the object itself."""
        return self.text("subresource")

    def owns(self, *steps: str) -> bool:
        """True if the manager owns the field or a part of it."""
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
        """Read an object as the class of its kind: ``Gateway.of(item)``."""
        return item if isinstance(item, cls) else cls(item.raw, item.kind)

    @property
    def name(self) -> str:
        """``metadata.name``."""
        return self.text("metadata", "name")

    @property
    def namespace(self) -> str | None:
        """``metadata.namespace``; None for a cluster-scoped object."""
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
        """The value of one label, or "" if there is none."""
        return self.text("metadata", "labels", name)

    def annotation(self, name: str) -> str:
        """The value of one annotation, or "" if there is none."""
        return self.text("metadata", "annotations", name)

    @property
    def uid(self) -> str:
        """``metadata.uid``; empty for an object from a file."""
        return self.text("metadata", "uid")

    @property
    def generation(self) -> int | None:
        """``metadata.generation``: counts the changes of the spec from 1."""
        return self.number("metadata", "generation")

    @property
    def creation_timestamp(self) -> str:
        """``metadata.creationTimestamp`` as written; the texts sort like the times."""
        return self.text("metadata", "creationTimestamp")

    @property
    def created(self) -> datetime | None:
        """``metadata.creationTimestamp``."""
        return moment(self.creation_timestamp)

    @property
    def is_deleted(self) -> bool:
        """True if it was deleted; it exists until its finalizers and processes have finished."""
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
        """The first 1,000 of ``metadata.managedFields``; a real object has a few."""
        return (ManagedFields(each.raw) for each in islice(self.each("metadata", "managedFields"), 1000))

    @property
    def reference(self) -> Reference:
        """The name of the object: ``Route/shop/checkout``."""
        return Reference(kind=self.kind.name, name=self.name, namespace=self.namespace)


def moment(text: str) -> datetime | None:
    """Parse an API object's time (RFC 3339); None if it is invalid."""
    try:
        found = datetime.fromisoformat(text[:40])
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
