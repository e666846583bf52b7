"""Certificates of a component: what the PKI configuration asks of their keys, and what became of it.

The enhancement "Configurable PKI for OpenShift Internal Certificates", "Support Procedures": the object and its gate,
the operator's Degraded condition, its events of failed generation, and the keys against the configuration.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from shlex import quote

from scanner.doctor.events import line, warnings
from scanner.doctor.patient import Patient
from scanner.kube.kinds import CLUSTER_OPERATOR
from scanner.kube.meta import conditions
from scanner.model.diagnosis import Answer
from scanner.model.finding import Status
from scanner.pki.inventory import Entry

_RULE = "pki-key"
_MOST = 5
"""Certificates and events that are named."""
_LONGEST = 300
"""Characters of one message."""
_FAILED = re.compile(r"(?i)generation\w{0,20}fail")
_SPEAKS = re.compile(
    r"(?i)\bpki\b|cert(?:ificate)?[ _-]?(?:rotation|generation)|rotation ?error|\bkey[ _-]?(?:size|pair|algorithm)"
    r"|\bcurve\b|(?:generat|creat|issu|renew|rotat)\w{0,5} [^.;:]{0,60}certificate"
)
"""A condition that speaks of making certificates. One that a peer's certificate is not trusted does not."""
_WORDS: Mapping[Status, str] = {
    "violation": "not as required",
    "needs-forced-rotation": "not as required, and nothing renews it",
    "not-tested": "not determined",
    "pending-rotation": "not as required until its rotation",
    "not-implemented": "its operator does not follow the PKI object in this release",
    "ok": "as required",
    "informational": "stronger than required, or replaced",
}
_STOPPED: tuple[Status, ...] = ("violation", "needs-forced-rotation")
_NAMED: tuple[Status, ...] = (*_STOPPED, "not-tested", "pending-rotation")
"""Those whose certificates are named, in this order."""


def keys(patient: Patient) -> Answer:
    """Whether the keys of the operator's certificates are as the PKI configuration asks.

    A condition is the operator's own word. Anybody who may create events writes them, so they stop nothing.
    """
    certificates = patient.certificates
    if certificates is None or patient.world not in ("openshift", "hypershift") or not patient.operator:
        return Answer(outcome="not-applicable", said=("no PKI object governs certificates of it",))
    if certificates.names_seen() is None:
        return Answer(outcome="not-applicable", said=(certificates.configuration(),))
    mine = [each for each in certificates.inventory.entries() if _is_of(each, patient.operator)]
    found = [(one.status, one.message) for each in mine for one in each.findings if one.rule == _RULE]
    counts = Counter(status for status, _ in found)
    degraded, failed = list(_degraded(patient)), list(_failures(patient))
    sums = ", ".join(_sums(counts)) or "nothing is required of a key of it that was seen"
    named = [message[:_LONGEST] for status in _NAMED for each, message in found if each == status]
    more = [f"and {len(named) - _MOST} more"] if len(named) > _MOST else []
    said = (f"{certificates.configuration()}: {sums}", *degraded, *named[:_MOST], *more, *failed)
    if degraded or any(counts[status] for status in _STOPPED):
        return Answer(outcome="stopped", said=said)
    if failed or counts["not-tested"] or counts["pending-rotation"]:  # on its way, or overdue: not there yet
        return Answer(outcome="unknown", said=said)
    return Answer(outcome="ok" if found else "not-applicable", said=said)


def _is_of(entry: Entry, operator: str) -> bool:
    return any(each.operator == operator for each in entry.classified.makers)


def _sums(counts: Mapping[Status, int]) -> Iterator[str]:
    yield from (f"{counts[status]} {words}" for status, words in _WORDS.items() if counts.get(status))


def _failures(patient: Patient) -> list[str]:
    """Warnings by which an operator says that it could not make a certificate."""
    found = [line(each) for each in warnings(patient) if _FAILED.search(each.reason)]
    return [*found[:_MOST], *([f"and {len(found) - _MOST} more such events"] if len(found) > _MOST else [])]


def _degraded(patient: Patient) -> Iterator[str]:
    """What the ClusterOperator says of certificates, where it is Degraded."""
    found = patient.facts.snapshot.get(CLUSTER_OPERATOR, patient.operator)
    for each in conditions(found) if found else ():
        message = f"{each.reason}: {each.message}"
        if each.type == "Degraded" and each.holds and _SPEAKS.search(message):
            yield f"ClusterOperator/{patient.operator} Degraded=True {message[:_LONGEST]}"


def keys_commands(patient: Patient) -> tuple[str, ...]:
    """Where to look."""
    if patient.world not in ("openshift", "hypershift") or not patient.operator:
        return ()
    return (
        "oc get pki cluster -o yaml",
        f"oc get clusteroperator {quote(patient.operator)} -o yaml",
        "oc get events -A --field-selector reason=CertificateGenerationFailed",
        "adhere certs --cluster --secrets",
    )
