"""Events: the warnings of a component's namespaces, and of its operator's, that speak of what a profile is made of.

They stop nothing: whoever may create events writes them. But where a configuration stopped they often say why.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from shlex import quote

from scanner.doctor.patient import Patient
from scanner.kube.kinds import CLUSTER_OPERATOR
from scanner.kube.maybe import Unknown
from scanner.kube.objects import KubeObject
from scanner.kube.openshift import ClusterOperator
from scanner.kube.view import Number, Part, Text, View
from scanner.model.diagnosis import Answer


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


_MOST = 5
"""Namespaces, and events, that are named."""
_LONGEST = 300
"""Characters of one message."""
_SPEAKS = re.compile(r"(?i)\b(?:tls|ssl|x509)|certificate|cipher|handshake|config|secret")
"""Words of a reason or a message that have to do with TLS, certificates or a configuration."""


def events(patient: Patient) -> Answer:
    """What the warnings say; the newest first."""
    if isinstance(patient.events, Unknown):
        return Answer(outcome="not-read", said=(patient.events.reason,))
    names = places(patient)
    if not names:
        return Answer(outcome="not-applicable", said=("it runs in no namespace: its journal has what it says",))
    read = patient.events
    gaps = [f"events of {each}: {read.missed[each]}" for each in names if each in read.missed]
    told = [each for each in warnings(patient) if _SPEAKS.search(f"{each.reason} {each.message}")]
    if told:
        first = f"of {', '.join(names)}, warnings that speak of TLS, certificates or configuration: {len(told)}"
        more = [f"and {len(told) - _MOST} more"] if len(told) > _MOST else []
        return Answer(outcome="unknown", said=(first, *map(line, told[:_MOST]), *more, *gaps))
    if gaps:
        return Answer(outcome="not-read", said=tuple(gaps))
    said = f"no warning of {', '.join(names)} speaks of TLS, certificates or configuration; events last an hour or so"
    return Answer(outcome="not-applicable", said=(said,))


def places(patient: Patient) -> list[str]:
    """The component's namespaces, and its operator's as the ClusterOperator names them."""
    return list(dict.fromkeys((*patient.namespaces, *_related(patient))))[:_MOST]


def warnings(patient: Patient) -> list[Event]:
    """Every warning of ``places`` that was read; the newest first."""
    if isinstance(patient.events, Unknown):
        return []
    names = places(patient)
    found = [Event.of(each) for each in patient.events.found if each.namespace in names]
    return sorted((each for each in found if each.type == "Warning"), key=lambda each: each.when, reverse=True)


def line(each: Event) -> str:
    """One event: when, of which object, why."""
    about = each.involved_object
    name = "/".join(filter(None, (each.namespace, about.kind, about.name)))[:_LONGEST]
    count = each.count or 1
    times = f" ({count} times)" if count > 1 else ""
    what = f"{each.reason[:60]}{times}: {each.message[:_LONGEST]}"
    return f"{each.when[:20]} {name} {what}".strip()


def events_commands(patient: Patient) -> tuple[str, ...]:
    """Where to look; logs are not read."""
    shown = [f"{patient.oc} get events -n {quote(name)} --sort-by=.lastTimestamp" for name in places(patient)]
    logs = [
        f"{patient.oc} logs -n {quote(each.namespace or '')} {each.kind.lower()}/{quote(each.name)} | grep -i tls"
        for each in list(patient.workloads)[:1]
        if each.kind in ("Deployment", "DaemonSet", "StatefulSet")
    ]
    return (*shown, *logs)


def _related(patient: Patient) -> Iterator[str]:
    """``status.relatedObjects`` of the ClusterOperator: its namespaces, the operator's among them."""
    found = patient.facts.snapshot.get(CLUSTER_OPERATOR, patient.operator) if patient.world == "openshift" else None
    for each in ClusterOperator.of(found).related_objects if found else ():
        if each.resource == "namespaces" and each.name.endswith("-operator"):
            yield each.name
