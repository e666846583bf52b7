"""When an object's spec was last changed, by what the API server keeps of it."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from scanner.kube.objects import Fields, KubeObject, moment

_MOST: Final = 1000
"""Entries that are looked at; a real object has a handful."""


def changed(found: KubeObject) -> datetime | None:
    """The latest time at which a manager that owns a part of ``spec`` wrote (``metadata.managedFields``), else when the
    object was made, which may be too early: ``vague``. Too late where the same manager has since written something
    else."""
    return max(_written(found), default=None) or moment(found.text("metadata", "creationTimestamp"))


def vague(found: KubeObject) -> bool:
    """Whether it was changed since it was made (``metadata.generation``), and nothing says when: ``oc get -o yaml``
    leaves out who manages what."""
    generation = found.number("metadata", "generation")
    return generation is not None and generation > 1 and not _written(found)


def _written(found: KubeObject) -> list[datetime]:
    entries = list(found.each("metadata", "managedFields"))[:_MOST]
    times = [moment(each.text("time")) for each in entries if _owns_spec(each)]
    return [each for each in times if each is not None]


def _owns_spec(entry: Fields) -> bool:
    return not entry.text("subresource") and entry.has("fieldsV1", "f:spec")
