"""The CAs by which the API server verifies webhooks and aggregated APIs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from scanner.files.source_positions import Steps
from scanner.kube.kinds import API_SERVICE
from scanner.kube.objects import KubeObject
from scanner.kube.service_callers import CALLS, Call, calls
from scanner.lint.certificates import called, limited, of_text
from scanner.model.certificate_faults import date
from scanner.model.finding import Severity
from scanner.model.object_rule import Flaw, ObjectRule, Subject
from scanner.model.pem import REMOVED, broken, decoded, form_of
from scanner.tls.certificate import CertificateFacts

_INJECTED: Final[Mapping[str, str]] = {
    "service.beta.openshift.io/inject-cabundle": "the service CA operator",
    "service.alpha.openshift.io/inject-cabundle": "the service CA operator",
    "cert-manager.io/inject-ca-from": "cert-manager",
    "cert-manager.io/inject-ca-from-secret": "cert-manager",
    "cert-manager.io/inject-apiserver-ca": "cert-manager",
}
"""By annotation, who fills the caBundle."""


def check_bundle(subject: Subject) -> Iterator[Flaw]:
    """The API server can verify webhooks and aggregated APIs."""
    for call in calls(subject.object):
        if not _unverified(subject, call):
            yield from _looked_at(subject, call)


def _unverified(subject: Subject, call: Call) -> bool:
    """Whether the API server takes any certificate, as ``api-service-unverified`` says."""
    return subject.object.kind == API_SERVICE and call.client.insecure_skip_tls_verify


def _looked_at(subject: Subject, call: Call) -> Iterator[Flaw]:
    value = call.client.ca_bundle
    content = b"" if value is None else _decoded(value)
    if isinstance(value, str) and REMOVED in value:
        yield _undecided(call, "what is in the caBundle beside a private key: nothing else of it was kept")
    elif content is None:
        yield _bad(subject, call, "is not base64, and the API server refuses it")
    elif _filler(subject.object) and not subject.object.uid:
        yield _undecided(call, f"what {_filler(subject.object)} puts into the caBundle of what is applied", "info")
    elif not content.strip():
        yield from _empty(subject, call)
    else:
        yield from _read(subject, call, content)


def _decoded(value: object) -> bytes | None:
    try:
        return decoded(value) if isinstance(value, str) else None
    except ValueError:
        return None


def _bad(subject: Subject, call: Call, what: str, severity: Severity | None = None) -> Flaw:
    unnoticed = "; with failurePolicy Ignore this stays unnoticed" if call.is_ignored and not severity else ""
    return Flaw(
        message=f"the caBundle {what}{unnoticed}",
        at=_at(call),
        severity=severity,
        fix=f"{subject.object.reference}: {_source(subject.object)}",
        correction="caBundle: <base64 of the CA's certificate in PEM>",
    )


def _at(call: Call) -> Steps:
    return (*call.client.steps, "caBundle")


def _undecided(call: Call, what: str, severity: Severity | None = None) -> Flaw:
    return Flaw(message=f"not decided: {what}", at=_at(call), verdict="inconclusive", severity=severity)


def _source(holder: KubeObject) -> str:
    filler = _filler(holder)
    return f"see why {filler} does not fill it" if filler else "put the CA of its serving certificate into caBundle"


def _filler(holder: KubeObject) -> str:
    return next((who for name, who in _INJECTED.items() if holder.annotations.get(name, "false") != "false"), "")


def _empty(subject: Subject, call: Call) -> Iterator[Flaw]:
    filler = _filler(subject.object)
    if filler:
        yield _bad(subject, call, f"is empty, and {filler}, which an annotation asks to fill it, has not")
    elif call.in_cluster and not subject.object.uid:
        yield _undecided(call, "who fills the empty caBundle; as it is, no call is verified, and every one fails")
    elif call.in_cluster:
        yield _bad(subject, call, "is empty: the API server trusts public CAs alone, and none signs a Service's name")


def _read(subject: Subject, call: Call, content: bytes) -> Iterator[Flaw]:
    found = of_text(content.decode("utf-8", "replace"))
    reasons = [None if limited(each) else broken(each) for each in found]
    good = [each for each, why in zip(found, reasons, strict=True) if why is None]
    if not found:
        what = form_of(content)
        yield _bad(
            subject, call, f"has no certificate in PEM{f': it is {what}' if what else ''}; nothing verifies by it"
        )
        return
    for place, why in enumerate(reasons, 1):
        if why:
            severity: Severity | None = "medium" if good else None
            yield _bad(subject, call, f"has a certificate that cannot be read, number {place}: {why}", severity)
    yield from _valid(subject, call, good)


def _valid(subject: Subject, call: Call, found: list[CertificateFacts]) -> Iterator[Flaw]:
    now, states = subject.declared.known.taken_at, [_state(subject, each) for each in found]
    if found and not any(state is not False for state in states):
        last = max(found, key=lambda each: each.not_after or now)
        over = last.not_after is not None and last.not_after < now
        how = f"ended {date(last.not_after or now)}" if over else f"begins only {date(last.not_before or now)}"
        yield _bad(subject, call, f"{'has expired' if over else 'is not valid yet'}: {called(last)} {how}")
    elif found and True not in states:
        yield _undecided(call, "whether the caBundle has expired: a certificate in it cannot be read")
    for each, state in zip(found, states, strict=True):
        if state is not False and each.is_ca is False and not each.self_issued:
            what = f"has {called(each)}, which is no CA: it is trusted only where it is served itself"
            yield _bad(subject, call, what, "medium")


def _state(subject: Subject, certificate: CertificateFacts) -> bool | None:
    """Whether it is valid now; None where that cannot be read."""
    now, start, end = subject.declared.known.taken_at, certificate.not_before, certificate.not_after
    if (end is not None and end < now) or (start is not None and start > now):
        return False
    return None if start is None or end is None else True


BUNDLE = ObjectRule(id="ca-bundle", subjects=CALLS, check=check_bundle)
