"""Events (v1), in which controllers say what happened to an object."""

from __future__ import annotations

from scanner.kube.objects import KubeObject
from scanner.kube.view import Number, Part, Text, View


class InvolvedObject(View):
    """The object that an event is about."""

    kind = Text()
    name = Text()


class Event(KubeObject):
    """An event."""

    type = Text()
    """``Normal`` or ``Warning``."""
    reason = Text()
    message = Text()
    count = Number()
    involved_object = Part(InvolvedObject)
    _last = Text("lastTimestamp")
    _last_of_series = Text("series", "lastObservedTime")
    _time = Text("eventTime")

    @property
    def when(self) -> str:
        """The last time, RFC 3339 in UTC, which sorts as text."""
        return self._last or self._last_of_series or self._time
