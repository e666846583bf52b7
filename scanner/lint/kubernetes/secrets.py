"""Secrets that hold a certificate, and that nothing refers to: what is wrong with them shows nowhere else."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Final

from scanner.kube import kinds
from scanner.kube.kinds import SECRET, Kind
from scanner.kube.objects import KubeObject
from scanner.kube.references import named
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


def check_secret(subject: Subject) -> Iterator[Flaw]:
    """A certificate in a Secret is one that can be served."""
    secret = subject.object
    if not _is_pair(secret) or (secret.namespace or "", secret.name) in subject.declared.once(_referred):
        return
    keeper, now = mend(subject.declared, secret.name, secret.namespace), subject.declared.known.taken_at
    fix = f"{keeper}: replace the certificate"
    yield from secret_flaws(subject.declared, secret, _AT, types=(secret.text("type") or "Opaque",))
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
    if secret.text("type") == TLS:
        return True
    keyed = secret.at("adhere", "keyMatches") not in ("there is no tls.key", "tls.key is empty")
    return secret.text("type") in ("", *_TYPES) and entry(secret, "tls.crt") is not None and keyed


def _referred(declared: Declared) -> frozenset[tuple[str, str]]:
    """Namespace and name."""
    return frozenset(named(chain.from_iterable(map(declared.every, _USERS)), SECRET))


SECRET_CERTIFICATE = ObjectRule(
    id="secret-certificate",
    subjects=(SECRET,),
    reads=(*references.READS, *_USERS),
    check=check_secret,
)
