"""The Secrets that listeners serve (Gateway API apis/v1 ``SecretObjectReference``)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

from scanner.files.source_positions import Steps, shown
from scanner.kube.gateway import HOLDERS, ROUTES, HolderKey, Listener, key_of
from scanner.kube.gateway_routes import Attached
from scanner.kube.kinds import NAMESPACE, SECRET
from scanner.kube.meta import of_type
from scanner.kube.objects import KubeObject
from scanner.kube.references import Link, links, of_listener
from scanner.lint.certificates import chain_of, leaf_flaws, unreadable_flaws
from scanner.lint.gateway.listeners import listeners
from scanner.lint.gateway.route_attachment import of_route, on_listener
from scanner.lint.references import READS as SECRETS
from scanner.lint.references import editable, look_up, name_flaws, secret_flaws
from scanner.model.declared import Declared, Missing
from scanner.model.object_rule import Flaw, ObjectRule, Subject, undecided

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
            yield from unreadable_flaws(found, chain_of(found), steps)
    else:
        named = "/".join(filter(None, (link.group, link.kind)))
        yield Flaw(
            message=f"refers to {shown(named)}, not to a Secret: InvalidCertificateRef",
            at=steps,
            fix=f"{subject.object.reference}: the name of a Secret",
        )


def client_reference(gateway: KubeObject) -> Link | None:
    """The certificate with which a Gateway identifies itself to backends, if it has one."""
    return next((each for each in links(gateway) if each.role == "client-certificate"), None)


CERTIFICATE_REF = ObjectRule(
    id="gateway-certificate-ref",
    subjects=HOLDERS,
    check=check_certificate_refs,
    reads=SECRETS,
)


def check_names(subject: Subject) -> Iterator[Flaw]:
    """A listener's certificates are valid for every name that leads to it."""
    if subject.object.kind in ROUTES:
        yield from _route_names(subject)
        return
    for listener in listeners(subject.declared, subject.object):
        names = _names(subject, listener)
        if names:
            yield from _listener_names(subject, listener, names)


def _names(subject: Subject, listener: Listener) -> tuple[str, ...]:
    """What clients ask for; a listener without hostname and routes says nothing."""
    attached = (name for each in on_listener(subject.declared, listener) for name in each.names)
    return tuple(filter(None, dict.fromkeys(attached))) or tuple(filter(None, (listener.hostname,)))


def _listener_names(
    subject: Subject, listener: Listener, names: tuple[str, ...], at: Steps | None = None
) -> Iterator[Flaw]:
    """Names that no certificate of the listener covers. ``at``: the field, if it is not the reference itself."""
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
            fix=f"{editable(subject.declared, last.name, last.namespace)}: a certificate with these names",
            beside=[each for _, each in seen[:-1]],
        )


def _route_names(subject: Subject) -> Iterator[Flaw]:
    """Of a route, what its listeners' certificates do not cover, where nobody judges the Gateways or ListenerSets
    themselves: they would say it once more."""
    judged = subject.declared.once(_judged)
    for each in of_route(subject.declared, subject.object):
        if each.missing is not None and each.missing.gap:
            what = "whether a certificate there is valid for its hostnames"
            yield undecided(each.missing, each.parent.steps, what)
        for one in each.attached:
            if key_of(one.listener.holder) not in judged and _asked(one):
                yield from _listener_names(subject, one.listener, _asked(one), each.parent.steps)


def _asked(attached: Attached) -> tuple[str, ...]:
    """What clients ask for because of the route; without hostnames it is the listener that says it."""
    return tuple(filter(None, attached.names))


def _judged(declared: Declared) -> frozenset[HolderKey]:
    return frozenset(key_of(each.object) for each in declared.given)


def check_faults(subject: Subject) -> Iterator[Flaw]:
    """The certificates that listeners refer to are good enough to be served."""
    looked_at: set[str] = set()
    now = subject.declared.known.taken_at
    for listener in listeners(subject.declared, subject.object):
        for steps, found in secrets_of(subject.declared, listener):
            if isinstance(found, Missing):
                if found.gap:
                    yield undecided(found, steps, "whether its certificate meets the requirements")
            elif str(found.reference) not in looked_at:
                looked_at.add(str(found.reference))
                fix = f"{editable(subject.declared, found.name, found.namespace)}: replace the certificate"
                yield from leaf_flaws(found, steps, now, fix=fix)


NAME = ObjectRule(
    id="gateway-certificate-name",
    subjects=(*HOLDERS, *ROUTES),
    check=check_names,
    reads=(*HOLDERS, *ROUTES, NAMESPACE, *SECRETS),
)
FAULT = ObjectRule(id="gateway-certificate-fault", subjects=HOLDERS, check=check_faults, reads=SECRETS)
