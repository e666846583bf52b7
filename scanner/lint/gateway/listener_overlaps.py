"""Listeners that share a port, and names: what a connection of one can reach of the other (GEP-3567)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from scanner.kube.gateway import HOLDERS, Listener
from scanner.kube.hostnames import overlap, within
from scanner.kube.meta import of_type
from scanner.kube.objects import KubeObject
from scanner.lint.certificates import chain_of
from scanner.lint.gateway.certificate_refs import secrets_of
from scanner.lint.gateway.listeners import listeners
from scanner.lint.gateway.sharing import READS as SHARING
from scanner.lint.gateway.sharing import pairs_of, uncompared
from scanner.lint.references import READS as SECRETS
from scanner.model.declared import Missing
from scanner.model.finding import Severity
from scanner.model.object_rule import Flaw, ObjectRule, Subject, undecided
from scanner.tls.certificate import CertificateFacts

_CONDITION: Final = "OverlappingTLSConfig"


def check_overlap(subject: Subject) -> Iterator[Flaw]:
    """Listeners with TLS on one port share no names."""
    shown: set[str] = set()
    for first, later in pairs_of(subject):
        if _overlap(first, later):
            shown |= {first.name, later.name}
            if later.holder.raw is subject.object.raw:
                yield _shared_name(subject, first, later)
            continue
        for listener, beside in ((first, later), (later, first)):
            if listener.holder.raw is subject.object.raw and listener.terminates and beside.terminates:
                flaws = list(_certificates(subject, listener, beside))
                shown |= {first.name, later.name} if flaws else set()
                yield from flaws
    yield from _only_reported(subject, shown)
    yield from uncompared(subject)


def _shared_name(subject: Subject, first: Listener, later: Listener) -> Flaw:
    return Flaw(
        message=f"its hostname overlaps with that of {first}: {_CONDITION}",
        at=(*later.steps, "hostname"),
        severity=_severity(first, later),
        observed=(later.hostname or "every name", first.hostname or "every name"),
        evidence=_reported(later),
        fix=f"{subject.object.reference}: set a hostname for {later.name} that {first.name} does not include",
    )


def _reported(listener: Listener) -> tuple[str, ...]:
    """Whether the controller, which must set the condition on every listener that overlaps, has done so."""
    if not listener.conditions:
        return ()
    return (f"its status {'says' if _is_reported(listener) else 'does not say, as it must,'} {_CONDITION}",)


def _is_reported(listener: Listener) -> bool:
    found = of_type(listener.conditions, _CONDITION)
    return found is not None and found.holds


def _only_reported(subject: Subject, shown: set[str]) -> Iterator[Flaw]:
    """What the controller found where the objects show nothing: in another Gateway, or in a certificate. ``shown``:
    names of listeners of which they do."""
    for listener in listeners(subject.declared, subject.object):
        if listener.name not in shown and _is_reported(listener):
            yield Flaw(
                message=f"its status says {_CONDITION}: the controller found another listener with the same names",
                at=listener.steps,
                fix=f"{subject.object.reference}: read the condition's message, which names the other listener",
            )


def _overlap(first: Listener, later: Listener) -> bool:
    if not (first.terminates and later.terminates) or first.hostname == later.hostname:  # the same: a conflict
        return False
    return overlap(first.hostname, later.hostname)


def _severity(first: Listener, later: Listener) -> Severity | None:
    """Everything else than these two fields is declared for the port."""
    one, other = ((each.tls.options, each.tls.former_validation or None) for each in (first, later))
    return "medium" if one != other else None


def _certificates(subject: Subject, listener: Listener, beside: Listener) -> Iterator[Flaw]:
    others = [secret for _, secret in secrets_of(subject.declared, beside)]
    theirs = [_leaf(secret) for secret in others]
    for steps, secret in secrets_of(subject.declared, listener) if beside.hostname and theirs else ():
        leaf = _leaf(secret)
        if secret in others:
            continue
        if isinstance(secret, Missing) and secret.gap:
            yield undecided(secret, steps, f"whether its certificate is valid for {beside.hostname} too")
        elif isinstance(secret, Missing) or leaf is None:
            continue  # another rule says so
        elif leaf not in theirs and _says(leaf, beside.hostname):
            yield Flaw(
                message=(
                    f"the certificate in {secret.reference} is valid for {beside.hostname} too, the hostname of "
                    f"{beside}: {_CONDITION}"
                ),
                at=steps,
                severity=_severity(listener, beside),
                fix=f"{subject.object.reference}: a certificate for {listener.hostname or 'its own names'} only",
            )


def _leaf(secret: KubeObject | Missing) -> CertificateFacts | None:
    return None if isinstance(secret, Missing) else next(iter(chain_of(secret)), None)


def _says(leaf: CertificateFacts, hostname: str) -> bool:
    """Whether a name of the certificate is one that the hostname stands for. A wildcard of a certificate is one label,
    one of a hostname any number."""
    names = set(map(str.lower, leaf.dns_names or ()))
    if hostname.startswith("*."):
        return any(within(name, hostname) for name in names)
    return hostname in names or f"*.{hostname.partition('.')[2]}" in names


OVERLAP = ObjectRule(
    id="gateway-overlapping-tls-config",
    subjects=HOLDERS,
    check=check_overlap,
    reads=(*SHARING, *SECRETS),
)
