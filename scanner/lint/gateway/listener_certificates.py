"""The certificates that listeners serve: the Secrets, their names and their faults (Gateway API apis/v1
``SecretObjectReference``)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

from scanner.files.source_positions import Steps, shown
from scanner.kube.gateway import HOLDERS, ROUTES, HolderKey, Listener, key_of
from scanner.kube.kinds import NAMESPACE, SECRET
from scanner.kube.meta import of_type
from scanner.kube.objects import KubeObject
from scanner.kube.references import Link, links, of_listener
from scanner.lint.gateway.listeners import listeners
from scanner.lint.gateway.route_attachment import of_route, on_listener
from scanner.lint.referenced_certificates import chain_of, leaf_flaws, unreadable_flaws
from scanner.lint.references import READS as SECRETS
from scanner.lint.references import editable, look_up, name_flaws, secret_flaws
from scanner.model.declared import Declared, Missing
from scanner.model.object_rule import Flaw, ObjectRule, Subject, undecided

_MOST: Final = 64
"""References of one listener (MaxItems)."""


def references(listener: Listener) -> Iterator[Link]:
    """The certificateRefs of a listener that terminates TLS; others are not served."""
    if listener.terminates:
        yield from islice(of_listener(listener.holder, listener, listener.steps), _MOST)


def secret_at(declared: Declared, link: Link) -> KubeObject | Missing:
    """The Secret that a SecretObjectReference names."""
    return look_up(declared, SECRET, link.name, link.namespace)


def secrets_of(declared: Declared, listener: Listener) -> Iterator[tuple[Steps, KubeObject | Missing]]:
    """The Secrets of a listener, each with the field that names it."""
    for each in references(listener):
        if each.is_secret:
            yield each.steps, secret_at(declared, each)


def check_certificate_refs(subject: Subject) -> Iterator[Flaw]:
    """A listener refers to certificates with their private keys."""
    for listener in listeners(subject.declared, subject.object):
        for each in references(listener):
            steps, found = each.steps, list(_reference_flaws(subject, each))
            yield from found
            resolved = of_type(listener.conditions, "ResolvedRefs")
            if any(flaw.verdict == "fail" for flaw in found) and resolved is not None and resolved.holds:
                yield Flaw(
                    message="but its status says ResolvedRefs: it serves another certificate",
                    at=steps,
                    evidence=(f"{listener}: condition ResolvedRefs is True",),
                    fix=f"{subject.object.reference}: find in the controller's log which certificate it serves",
                )


def _reference_flaws(subject: Subject, link: Link) -> Iterator[Flaw]:
    steps = link.steps
    if link.is_secret:
        found = secret_at(subject.declared, link)
        yield from secret_flaws(subject.declared, found, steps)
        if not isinstance(found, Missing):
            yield from unreadable_flaws(found, chain_of(found), steps)
    else:
        named = "/".join(filter(None, (link.group, link.kind)))
        yield Flaw(
            message=f"refers to {shown(named)}, not to a Secret: InvalidCertificateRef",
            at=steps,
            fix=f"{subject.object.reference}: name a Secret",
        )


def client_reference(gateway: KubeObject) -> Link | None:
    """The client certificate that a Gateway shows to backends, if it has one."""
    return next((each for each in links(gateway) if each.role == "client-certificate"), None)


CERTIFICATE_REF = ObjectRule(
    id="gateway-certificate-ref",
    subjects=HOLDERS,
    check=check_certificate_refs,
    reads=SECRETS,
)


def check_names(subject: Subject) -> Iterator[Flaw]:
    """A listener's certificates are valid for every name of the listener and its routes."""
    if subject.object.kind in ROUTES:
        yield from _route_names(subject)
        return
    for listener in listeners(subject.declared, subject.object):
        names = _names(subject, listener)
        if names:
            yield from _listener_names(subject, listener, names)


def _names(subject: Subject, listener: Listener) -> tuple[str, ...]:
    """The server names of clients; none for a listener without a hostname and without routes."""
    attached = (name for each in on_listener(subject.declared, listener) for name in each.names)
    return tuple(filter(None, dict.fromkeys(attached))) or tuple(filter(None, (listener.hostname,)))


def _listener_names(
    subject: Subject, listener: Listener, names: tuple[str, ...], at: Steps | None = None
) -> Iterator[Flaw]:
    """Report names that no certificate of the listener covers. ``at``: the field, if not the reference itself."""
    found = list(secrets_of(subject.declared, listener))
    unseen = [(steps, each) for steps, each in found if isinstance(each, Missing) and each.gap]
    seen = [(steps, each) for steps, each in found if not isinstance(each, Missing)]
    for steps, each in unseen:
        yield undecided(each, at or steps, f"whether its certificate is valid for {', '.join(names[:5])}")
    if seen and not unseen:
        steps, last = seen[-1]
        yield from name_flaws(
            last,
            names,
            at or steps,
            fix=f"{editable(subject.declared, last.name, last.namespace)}: use a certificate with these names",
            beside=[each for _, each in seen[:-1]],
        )


def _route_names(subject: Subject) -> Iterator[Flaw]:
    """Report a route's hostnames that no certificate of its listeners covers, unless their Gateway or ListenerSet is
    judged too: it has the same finding."""
    judged = subject.declared.once(_judged)
    for each in of_route(subject.declared, subject.object):
        if each.missing is not None and each.missing.gap:
            what = "whether a certificate there is valid for its hostnames"
            yield undecided(each.missing, each.parent.steps, what)
        for one in each.attached:
            names = tuple(filter(None, one.names))
            if key_of(one.listener.holder) not in judged and names:
                yield from _listener_names(subject, one.listener, names, each.parent.steps)


def _judged(declared: Declared) -> frozenset[HolderKey]:
    return frozenset(key_of(each.object) for each in declared.subjects)


def check_faults(subject: Subject) -> Iterator[Flaw]:
    """The certificates that listeners refer to have no faults."""
    checked: set[str] = set()
    now = subject.declared.known.taken_at
    for listener in listeners(subject.declared, subject.object):
        for steps, found in secrets_of(subject.declared, listener):
            if isinstance(found, Missing):
                if found.gap:
                    yield undecided(found, steps, "whether its certificate meets the requirements")
            elif str(found.reference) not in checked:
                checked.add(str(found.reference))
                fix = f"{editable(subject.declared, found.name, found.namespace)}: replace the certificate"
                yield from leaf_flaws(found, steps, now, fix=fix)


NAME = ObjectRule(
    id="gateway-certificate-name",
    subjects=(*HOLDERS, *ROUTES),
    check=check_names,
    reads=(*HOLDERS, *ROUTES, NAMESPACE, *SECRETS),
)
FAULT = ObjectRule(id="gateway-certificate-fault", subjects=HOLDERS, check=check_faults, reads=SECRETS)
