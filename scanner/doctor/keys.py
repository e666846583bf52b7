"""Certificates of a component: what the PKI configuration asks of their keys, and what became of it.

The enhancement "Configurable PKI for OpenShift Internal Certificates", "Support Procedures": the object and its gate,
the operator's Degraded condition, its events of failed generation, and the keys against the configuration.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping

from scanner.doctor.patient import Patient
from scanner.kube.kinds import CLUSTER_OPERATOR
from scanner.model.diagnosis import Answer
from scanner.model.finding import Status
from scanner.model.known import Unknown
from scanner.pki.inventory import Entry

_RULE = "pki-key"
_MOST = 5
"""Certificates and events that are named."""
_LONGEST = 300
"""Characters of one message."""
_FAILED = re.compile(r"(?i)certificate\w*generation\w*failed|generationfailed")
_SPEAKS = re.compile(r"(?i)\bpki\b|certificate|key (?:size|pair)|\bcurve\b")
_WORDS: Mapping[Status, str] = {
    "violation": "not as required",
    "needs-forced-rotation": "not as required, and nothing renews it",
    "not-tested": "not determined",
    "pending-rotation": "waits for its rotation",
    "not-implemented": "its operator does not follow the PKI object in this release",
    "ok": "as required",
}


def keys(patient: Patient) -> Answer:
    """Whether the keys of the operator's certificates are as the PKI configuration asks."""
    certificates = patient.certificates
    if certificates is None or patient.world not in ("openshift", "hypershift") or not patient.operator:
        return Answer(outcome="not-applicable", said=("no PKI object governs certificates of it",))
    configured = certificates.configuration()
    mine = [each for each in certificates.inventory.entries() if _is_of(each, patient.operator)]
    told = [
        (finding.status, each, finding.message) for each in mine for finding in each.findings if finding.rule == _RULE
    ]
    counts = Counter(status for status, _, _ in told)
    said = [configured, *_sums(counts), *(message[:_LONGEST] for status, _, message in told if status == "violation")]
    failed = [*_failures(patient), *_degraded(patient)]
    said = [*said[: _MOST + len(_WORDS)], *failed]
    if failed or counts["violation"]:
        return Answer(outcome="stopped", said=tuple(said))
    waiting = [
        message[:_LONGEST] for status, _, message in told if status in ("pending-rotation", "needs-forced-rotation")
    ]
    said += waiting[:_MOST]
    if counts["not-tested"]:
        return Answer(outcome="unknown", said=tuple(said))
    if not told:
        return Answer(outcome="not-applicable", said=(configured, "nothing is required of a key of it that was seen"))
    return Answer(outcome="ok", said=tuple(said))


def _is_of(entry: Entry, operator: str) -> bool:
    return any(each.operator == operator for each in entry.classified.makers)


def _sums(counts: Mapping[Status, int]) -> Iterator[str]:
    yield from (f"{counts[status]} {words}" for status, words in _WORDS.items() if counts.get(status))


def _failures(patient: Patient) -> Iterator[str]:
    """Events by which an operator says that it could not make a certificate."""
    if isinstance(patient.events, Unknown):
        return
    found = [each for each in patient.events.found if _FAILED.search(each.text("reason"))]
    names = {*patient.namespaces, f"openshift-{patient.operator}-operator"}
    for each in [one for one in found if one.namespace in names][:_MOST]:
        yield f"event {each.namespace} {each.text('reason')[:60]}: {each.text('message')[:_LONGEST]}"


def _degraded(patient: Patient) -> Iterator[str]:
    """What the ClusterOperator says of certificates, where it is Degraded."""
    found = patient.facts.snapshot.get(CLUSTER_OPERATOR, patient.operator)
    for each in found.each("status", "conditions") if found else ():
        message = f"{each.text('reason')}: {each.text('message')}"
        if each.text("type") == "Degraded" and each.text("status") == "True" and _SPEAKS.search(message):
            yield f"ClusterOperator/{patient.operator} Degraded=True {message[:_LONGEST]}"


def keys_commands(patient: Patient) -> tuple[str, ...]:
    """Where to look."""
    if patient.world not in ("openshift", "hypershift") or not patient.operator:
        return ()
    namespace = f"openshift-{patient.operator}-operator"
    return (
        "oc get pki cluster -o yaml",
        f"oc get events -n {namespace} --field-selector reason=CertificateGenerationFailed",
        "adhere certs --cluster --secrets",
    )
