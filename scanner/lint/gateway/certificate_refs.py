"""The Secrets that listeners serve (Gateway API apis/v1 ``SecretObjectReference``)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice
from typing import Final

from scanner.files.source_positions import Steps, shown
from scanner.kube.gateway import HOLDERS, Listener
from scanner.kube.kinds import SECRET
from scanner.kube.meta import of_type
from scanner.kube.objects import KubeObject
from scanner.kube.references import Link, links, of_listener
from scanner.lint.certificates import broken_flaws, chain_of
from scanner.lint.gateway.grants import READS as GRANTS
from scanner.lint.gateway.grants import Crossing, crossing, grant_flaws
from scanner.lint.gateway.listeners import listeners
from scanner.lint.references import READS as SECRETS
from scanner.lint.references import look_up, secret_flaws
from scanner.model.declared import Declared, Missing
from scanner.model.object_rule import Flaw, ObjectRule, Subject

_MOST: Final = 64
"""References of one listener (MaxItems)."""


def references(listener: Listener) -> Iterator[Link]:
    """The certificateRefs that are served: those of a listener that terminates."""
    if listener.terminates:
        yield from islice(of_listener(listener.holder, listener, listener.steps), _MOST)


def secret_at(declared: Declared, link: Link) -> KubeObject | Missing:
    """The Secret that a SecretObjectReference names."""
    return look_up(declared, SECRET, link.name, link.namespace)


def secrets_of(declared: Declared, listener: Listener) -> Iterator[tuple[Steps, KubeObject | Missing]]:
    """The Secrets of a listener, and which field names each."""
    for each in references(listener):
        if each.is_secret:
            yield each.steps, secret_at(declared, each)


def check_certificate_refs(subject: Subject) -> Iterator[Flaw]:
    """What a listener refers to is a certificate with its key."""
    for listener in listeners(subject.declared, subject.object):
        for each in references(listener):
            steps, found = each.steps, list(_reference_flaws(subject, each))
            yield from found
            resolved = of_type(listener.conditions, "ResolvedRefs")
            if any(flaw.verdict == "fail" for flaw in found) and resolved is not None and resolved.holds:
                yield Flaw(
                    message="its status says ResolvedRefs all the same: what it serves is not this",
                    at=steps,
                    evidence=(f"{listener}: condition ResolvedRefs is True",),
                    fix=f"{subject.object.reference}: ask the controller's log what it serves",
                )


def _reference_flaws(subject: Subject, link: Link) -> Iterator[Flaw]:
    steps = link.steps
    if link.is_secret:
        found = secret_at(subject.declared, link)
        yield from secret_flaws(subject.declared, found, steps)
        if not isinstance(found, Missing):
            yield from broken_flaws(found, chain_of(found), steps)
    else:
        named = "/".join(filter(None, (link.group, link.kind)))
        yield Flaw(
            message=f"refers to {shown(named)}, not to a Secret: InvalidCertificateRef",
            at=steps,
            fix=f"{subject.object.reference}: the name of a Secret",
        )


def check_grants(subject: Subject) -> Iterator[Flaw]:
    """Certificates of other namespaces are granted by their owners."""
    for crossed in crossings(subject.declared, subject.object):
        yield from grant_flaws(subject.declared, crossed)


def crossings(declared: Declared, holder: KubeObject) -> Iterator[Crossing]:
    """The references of a Gateway or ListenerSet into other namespaces."""
    served = (each for listener in listeners(declared, holder) for each in references(listener))
    others = (each for each in links(holder) if each.role != "certificate")
    return filter(None, map(crossing, chain(served, others)))


def client_reference(gateway: KubeObject) -> Link | None:
    """The certificate with which a Gateway identifies itself to backends, if it has one."""
    return next((each for each in links(gateway) if each.role == "client-certificate"), None)


CERTIFICATE_REF = ObjectRule(
    id="gateway-certificate-ref",
    subjects=HOLDERS,
    check=check_certificate_refs,
    reads=SECRETS,
)
NOT_GRANTED = ObjectRule(id="gateway-certificate-grant", subjects=HOLDERS, check=check_grants, reads=GRANTS)
