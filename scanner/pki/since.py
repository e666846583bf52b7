"""When an object's spec was last changed, by what the API server keeps of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from scanner.kube.objects import KubeObject, ManagedFields

_APPLIED: Final = frozenset({".", "kubectl.kubernetes.io/last-applied-configuration"})
"""What ``kubectl apply`` writes beside the spec, whenever it writes the spec."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """The last change of a spec, as far as it is known."""

    since: datetime | None = None
    """The change; where it is vague, the earliest time at which it can have been."""
    vague: bool = False
    """Whether it was later than ``since``, and nothing says when."""
    until: datetime | None = None
    """Of a vague one, the latest time at which it can have been; None: the time at which the object was read."""


def changed(found: KubeObject) -> Change:
    """The last change of ``spec``.

    The API server counts changes of the spec in ``metadata.generation``: 1 means that it is as it was created, whatever
    was written into its metadata since. Of a later generation the managers that own a part of the spec tell the time
    (``metadata.managedFields``). An entry has one time for all that its manager owns, so one that owns labels too was
    written at that time at the latest.
    """
    created = found.created
    generation = found.generation
    if generation == 1 and created is not None:
        return Change(since=created)
    entries = [(each, time) for each in _of_spec(found) if (time := each.time) is not None]
    certain = max((time for each, time in entries if _spec_alone(each)), default=None)
    latest = max((time for _, time in entries), default=None)
    since = max((time for time in (created, certain) if time is not None), default=None)
    if latest is not None and (since is None or latest > since):
        # Without a time of creation nothing is earlier than the entry itself.
        return Change(since=since, vague=True, until=latest) if since is not None else Change(since=latest)
    unseen = generation is not None and generation > 1 and certain is None
    return Change(since=since, vague=unseen)


def _of_spec(found: KubeObject) -> Iterator[ManagedFields]:
    return (each for each in found.managed_fields if not each.subresource and each.owns("spec"))


def _spec_alone(entry: ManagedFields) -> bool:
    """Whether the entry's manager owns nothing else whose change would move its time."""
    return entry.owned("metadata") <= {"annotations"} and entry.owned("metadata", "annotations") <= _APPLIED
