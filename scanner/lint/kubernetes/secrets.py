"""Secrets that hold a certificate: what is wrong with those that no object names, and keys of several namespaces."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain, islice
from typing import Final

from scanner.kube import kinds
from scanner.kube.kinds import SECRET, Kind
from scanner.kube.objects import KubeObject
from scanner.kube.references import named
from scanner.kube.secrets import Secret
from scanner.lint import references
from scanner.lint.certificates import (
    Fault,
    broken_flaws,
    chain_of,
    ended,
    entry,
    flaws,
    is_a_ca,
    not_begun,
    strong,
)
from scanner.lint.references import TLS, mend, secret_flaws
from scanner.model.certificate_faults import weak_signature
from scanner.model.declared import Declared
from scanner.model.finding import Severity
from scanner.model.object_rule import Flaw, ObjectRule, Subject

_USERS: Final[tuple[Kind, ...]] = (
    kinds.GATEWAY,
    kinds.LISTENER_SET,
    kinds.X_LISTENER_SET,
    kinds.ROUTE,
    kinds.INGRESS,
    kinds.HTTP_PROXY,
    kinds.INGRESS_ROUTE,
)
"""Kinds whose own rules look at the Secrets that they refer to."""
_TYPES: Final = (TLS, "Opaque")
_AT: Final = ("data", "tls.crt")
_SHOWN: Final = 3


def check_secret(subject: Subject) -> Iterator[Flaw]:
    """A certificate in a Secret is one that can be served."""
    secret = subject.object
    if not _is_pair(secret) or (secret.namespace or "", secret.name) in subject.declared.once(_referred):
        return
    keeper, now = mend(subject.declared, secret.name, secret.namespace), subject.declared.known.taken_at
    fix = f"{keeper}: replace the certificate"
    yield from secret_flaws(subject.declared, secret, _AT, types=(Secret.of(secret).type or "Opaque",))
    found = chain_of(secret)
    yield from broken_flaws(secret, found, _AT, fix=fix)
    faults: tuple[tuple[Severity | None, Fault], ...] = (
        ("high", ended(now)),
        ("high", not_begun(now)),
        ("medium", strong),
        ("medium", weak_signature),
    )
    for place, each in enumerate(found):
        of_leaf: tuple[tuple[Severity | None, Fault], ...] = (("info", is_a_ca),) if place == 0 else ()
        yield from flaws(secret, each, _AT, (*faults, *of_leaf), fix=fix)


def _is_pair(secret: KubeObject) -> bool:
    found = Secret.of(secret)
    if found.type == TLS:
        return True
    keyed = found.key_matches not in ("there is no tls.key", "tls.key is empty")
    return found.type in ("", *_TYPES) and entry(secret, "tls.crt") is not None and keyed


def _referred(declared: Declared) -> frozenset[tuple[str, str]]:
    """Namespace and name."""
    return frozenset(named(chain.from_iterable(map(declared.every, _USERS)), SECRET))


def check_reuse(subject: Subject) -> Iterator[Flaw]:
    """A private key is in one namespace."""
    digest = _digest(subject.object)
    holders = subject.declared.once(_holders).get(digest, {}) if digest else {}
    more = len(holders) - 1
    if more > 0 and subject.object.namespace in holders:
        others = islice((each for name, each in holders.items() if name != subject.object.namespace), _SHOWN)
        named = ", ".join(str(each.reference) for each in others)
        yield Flaw(
            message=f"{named}{f' and {more - _SHOWN} more' if more > _SHOWN else ''} has the same private key",
            at=("data", "tls.key"),
            observed=(f"public key SHA-256 {digest}",),
            fix=f"{subject.object.reference}: a key of its own, or one Secret for all",
        )


def _digest(secret: KubeObject) -> str | None:
    """The public key's, of a Secret that has the private one."""
    if Secret.of(secret).key_matches is not True:
        return None
    leaf = next(iter(chain_of(secret)), None)
    return leaf.key_sha256 if leaf else None


def _holders(declared: Declared) -> Mapping[str, Mapping[str, KubeObject]]:
    """By digest, of each namespace the first Secret: more of them say no more."""
    found: dict[str, dict[str, KubeObject]] = {}
    for each in declared.every(SECRET):
        digest = _digest(each)
        if digest and each.namespace:
            found.setdefault(digest, {}).setdefault(each.namespace, each)
    return found


SECRET_CERTIFICATE = ObjectRule(
    id="secret-certificate",
    subjects=(SECRET,),
    reads=(*references.READS, *_USERS),
    check=check_secret,
)
REUSE = ObjectRule(id="secret-key-reuse", subjects=(SECRET,), check=check_reuse)
