"""By what an IngressController verifies its clients."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from scanner.files.source_positions import shown
from scanner.kube.kinds import CONFIG_MAP, INGRESS_CONTROLLER
from scanner.lint.openshift.controllers import CONFIG
from scanner.lint.openshift.serving import bundle_flaws
from scanner.lint.openshift.subject_patterns import lets_everything, refused
from scanner.model.object_rule import Flaw, ObjectRule, Subject

_CLIENT_TLS: Final = ("spec", "clientTLS")
_POLICY: Final = (*_CLIENT_TLS, "clientCertificatePolicy")
_AUTHORITY: Final = (*_CLIENT_TLS, "clientCA")
_PATTERNS: Final = (*_CLIENT_TLS, "allowedSubjectPatterns")
_POLICIES: Final = ("Required", "Optional")
_KEY: Final = "ca-bundle.pem"
_MOST: Final = 1000


def check_clients(subject: Subject) -> Iterator[Flaw]:
    """An IngressController that verifies its clients has what it takes."""
    controller = subject.object
    if not controller.fields(*_CLIENT_TLS).raw:
        return
    policy, name = controller.text(*_POLICY), controller.text(*_AUTHORITY, "name")
    if policy in _POLICIES and not name:
        message = "clients are to be verified, and by no CA"
        yield Flaw(message=message, at=_CLIENT_TLS, fix="name a ConfigMap in openshift-config in clientCA")
    elif not policy:  # another word is refused, and ``field-value`` says so
        yield _nobody(policy)
    if policy == "Optional":
        message = "Optional lets in who shows no certificate: it is up to the application to look"
        yield Flaw(message=message, at=_POLICY, severity="info", status="informational", observed=(policy,))
    if name:
        yield from bundle_flaws(subject, _AUTHORITY, name, CONFIG, _KEY)
    yield from _patterns(controller.at(*_PATTERNS))


def _nobody(policy: str) -> Flaw:
    said = shown(policy) if policy else "not set"
    return Flaw(
        message=f"nobody is asked for a certificate: clientCertificatePolicy is {said}",
        at=_POLICY,
        severity="medium",
        expected=_POLICIES,
        fix="write 'clientCertificatePolicy: Required'",
        correction="clientTLS:\n  clientCertificatePolicy: Required",
    )


def _patterns(value: object) -> Iterator[Flaw]:
    if value == []:
        message = "an empty list of allowedSubjectPatterns filters nothing"
        yield Flaw(message=message, at=_PATTERNS, severity="medium", fix="leave it out, or list patterns")
    for index, pattern in enumerate(value[:_MOST] if isinstance(value, list) else ()):
        if not isinstance(pattern, str):
            continue  # which the schema refuses
        at, why = (*_PATTERNS, index), refused(pattern)
        if why is True:
            message = f"cannot be decided here: whether the ingress operator takes {shown(pattern)}"
            yield Flaw(message=message, at=at, verdict="inconclusive")
        elif why:
            message = (
                f"the ingress operator does not admit it, and the router keeps what it had: {shown(pattern)}: {why}"
            )
            yield Flaw(message=message, at=at, fix="write a regular expression that RE2 and PCRE take")
        elif lets_everything(pattern):
            message = f"{shown(pattern)} matches every subject, so that nothing is filtered"
            yield Flaw(message=message, at=at, severity="medium", fix="remove it, or write which subjects are let in")


CLIENT_TLS = ObjectRule(
    id="ingress-client-tls",
    subjects=(INGRESS_CONTROLLER,),
    check=check_clients,
    reads=(CONFIG_MAP,),
)
