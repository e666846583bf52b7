"""Steps about the events of a component and about the keys of its certificates.

Any client that may create events can write them, so they never stop a diagnosis; they often explain why it stopped.

Keys: the enhancement "Configurable PKI for OpenShift Internal Certificates", "Support Procedures": the object and its
gate, the operator's Degraded condition, its events of failed generation, and the keys against the configuration.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from shlex import quote

from scanner.doctor.diagnosed_component import Component
from scanner.kube.kinds import CLUSTER_OPERATOR
from scanner.kube.maybe import Unknown
from scanner.kube.meta import conditions
from scanner.kube.objects import KubeObject
from scanner.kube.openshift import ClusterOperator
from scanner.kube.view import Number, Part, Text, View
from scanner.model.diagnosis import Answer
from scanner.model.finding import Status
from scanner.pki.inventory import Entry


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
        """Last time, RFC 3339 in UTC, which sorts as text."""
        return self._last or self._last_of_series or self._time


_MOST = 5
"""Most namespaces, and most events."""
_LONGEST = 300
"""Characters of one message."""
_RELATED = re.compile(r"(?i)\b(?:tls|ssl|x509)|certificate|cipher|handshake|config|secret")
"""Words about TLS, certificates or configuration in a reason or message."""


def events(component: Component) -> Answer:
    """Return the warnings about TLS, the newest first."""
    if isinstance(component.events, Unknown):
        return Answer(outcome="not-read", lines=(component.events.reason,))
    names = places(component)
    if not names:
        return Answer(outcome="not-applicable", lines=("it runs outside of namespaces: read its journal on the node",))
    read = component.events
    gaps = [f"events of {each}: {read.missed[each]}" for each in names if each in read.missed]
    related = [each for each in warnings(component) if _RELATED.search(f"{each.reason} {each.message}")]
    if related:
        first = f"warnings about TLS, certificates or configuration in {', '.join(names)}: {len(related)}"
        more = [f"and {len(related) - _MOST} more"] if len(related) > _MOST else []
        return Answer(outcome="unknown", lines=(first, *map(line, related[:_MOST]), *more, *gaps))
    if gaps:
        return Answer(outcome="not-read", lines=tuple(gaps))
    none = (
        f"no warning about TLS, certificates or configuration in {', '.join(names)}; events expire after about an hour"
    )
    return Answer(outcome="not-applicable", lines=(none,))


def places(component: Component) -> list[str]:
    """Return the component's namespaces, and its operator's from the ClusterOperator."""
    return list(dict.fromkeys((*component.namespaces, *_related(component))))[:_MOST]


def warnings(component: Component) -> list[Event]:
    """Return the warnings of ``places``, the newest first."""
    if isinstance(component.events, Unknown):
        return []
    names = places(component)
    found = [Event.of(each) for each in component.events.found if each.namespace in names]
    return sorted((each for each in found if each.type == "Warning"), key=lambda each: each.when, reverse=True)


def line(each: Event) -> str:
    """Return an event in one line: time, object, reason."""
    about = each.involved_object
    name = "/".join(filter(None, (each.namespace, about.kind, about.name)))[:_LONGEST]
    count = each.count or 1
    times = f" ({count} times)" if count > 1 else ""
    what = f"{each.reason[:60]}{times}: {each.message[:_LONGEST]}"
    return f"{each.when[:20]} {name} {what}".strip()


def events_commands(component: Component) -> tuple[str, ...]:
    """Return the commands for events and logs."""
    shown = [f"{component.oc} get events -n {quote(name)} --sort-by=.lastTimestamp" for name in places(component)]
    logs = [
        f"{component.oc} logs -n {quote(each.namespace or '')} {each.kind.lower()}/{quote(each.name)} | grep -i tls"
        for each in list(component.workloads)[:1]
        if each.kind in ("Deployment", "DaemonSet", "StatefulSet")
    ]
    return (*shown, *logs)


def _related(component: Component) -> Iterator[str]:
    """``status.relatedObjects`` of the ClusterOperator: its namespaces, the operator's among them."""
    found = (
        component.facts.snapshot.get(CLUSTER_OPERATOR, component.operator)
        if component.platform == "openshift"
        else None
    )
    for each in ClusterOperator.of(found).related_objects if found else ():
        if each.resource == "namespaces" and each.name.endswith("-operator"):
            yield each.name


_RULE = "pki-key"
_FAILED = re.compile(r"(?i)generation\w{0,20}fail")
_OF_CERTIFICATES = re.compile(
    r"(?i)\bpki\b|cert(?:ificate)?[ _-]?(?:rotation|generation)|rotation ?error|\bkey[ _-]?(?:size|pair|algorithm)"
    r"|\bcurve\b|(?:generat|creat|issu|renew|rotat)\w{0,5} [^.;:]{0,60}certificate"
)
"""A condition about making certificates. One about an untrusted certificate of a peer does not match."""
_WORDS: Mapping[Status, str] = {
    "violation": "violating",
    "needs-forced-rotation": "violating until a forced rotation",
    "not-tested": "inconclusive",
    "pending-rotation": "violating until the next rotation",
    "not-implemented": "of an operator that does not follow the PKI object in this release",
    "ok": "complying",
    "informational": "stronger than required, or replaced",
}
_STOPPED: tuple[Status, ...] = ("violation", "needs-forced-rotation")
_NAMED: tuple[Status, ...] = (*_STOPPED, "not-tested", "pending-rotation")
"""Statuses whose certificates are listed, in this order."""


def keys(component: Component) -> Answer:
    """Check that the keys of the operator's certificates comply with the PKI configuration.

    A condition is set by the operator and can stop a diagnosis; events cannot, because any client may create them.
    """
    certificates = component.certificates
    if certificates is None or component.platform not in ("openshift", "hypershift") or not component.operator:
        return Answer(outcome="not-applicable", lines=("no PKI object governs the certificates of this component",))
    if certificates.names_seen() is None:
        return Answer(outcome="not-applicable", lines=(certificates.configuration(),))
    mine = [each for each in certificates.inventory.entries() if _is_of(each, component.operator)]
    found = [(one.status, one.message) for each in mine for one in each.findings if one.rule == _RULE]
    counts = Counter(status for status, _ in found)
    degraded, failed = list(_degraded(component)), list(_failures(component))
    sums = ", ".join(_sums(counts)) or "no requirement applies to the keys that were read"
    named = [message[:_LONGEST] for status in _NAMED for each, message in found if each == status]
    more = [f"and {len(named) - _MOST} more"] if len(named) > _MOST else []
    lines = (f"{certificates.configuration()}: {sums}", *degraded, *named[:_MOST], *more, *failed)
    if degraded or any(counts[status] for status in _STOPPED):
        return Answer(outcome="stopped", lines=lines)
    if failed or counts["not-tested"] or counts["pending-rotation"]:  # in progress, or overdue
        return Answer(outcome="unknown", lines=lines)
    return Answer(outcome="ok" if found else "not-applicable", lines=lines)


def _is_of(entry: Entry, operator: str) -> bool:
    return any(each.operator == operator for each in entry.classified.makers)


def _sums(counts: Mapping[Status, int]) -> Iterator[str]:
    yield from (f"{counts[status]} {words}" for status, words in _WORDS.items() if counts.get(status))


def _failures(component: Component) -> list[str]:
    """Return the warnings that an operator could not issue a certificate."""
    found = [line(each) for each in warnings(component) if _FAILED.search(each.reason)]
    return [*found[:_MOST], *([f"and {len(found) - _MOST} more such events"] if len(found) > _MOST else [])]


def _degraded(component: Component) -> Iterator[str]:
    """Yield the message of the ClusterOperator about certificates if it is Degraded."""
    found = component.facts.snapshot.get(CLUSTER_OPERATOR, component.operator)
    for each in conditions(found) if found else ():
        message = f"{each.reason}: {each.message}"
        if each.type == "Degraded" and each.holds and _OF_CERTIFICATES.search(message):
            yield f"ClusterOperator/{component.operator} Degraded=True {message[:_LONGEST]}"


def keys_commands(component: Component) -> tuple[str, ...]:
    """Return the commands for the PKI object, the operator and its certificates."""
    if component.platform not in ("openshift", "hypershift") or not component.operator:
        return ()
    return (
        "oc get pki cluster -o yaml",
        f"oc get clusteroperator {quote(component.operator)} -o yaml",
        "oc get events -A --field-selector reason=CertificateGenerationFailed",
        "adhere certs --cluster --secrets",
    )
