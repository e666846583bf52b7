"""Secrets: certificates that no object names, keys in several namespaces, and private keys exposed in any object."""

from __future__ import annotations

import marshal
from collections.abc import Iterator, Mapping
from itertools import chain, islice
from typing import Any, Final

from scanner.files.source_positions import Steps
from scanner.kube import kinds
from scanner.kube.kinds import CONFIG_MAP, POD, ROUTE, SECRET, Kind
from scanner.kube.objects import KubeObject
from scanner.kube.references import referenced_names
from scanner.kube.secrets import Secret
from scanner.lint import references
from scanner.lint.referenced_certificates import (
    Fault,
    chain_of,
    entry,
    expired,
    fault_flaws,
    is_a_ca,
    key_strength,
    leaf_of,
    not_yet_valid,
    unreadable_flaws,
)
from scanner.lint.references import TLS, editable, secret_flaws
from scanner.model.certificate_faults import weak_signature
from scanner.model.declared import Declared
from scanner.model.finding import Severity
from scanner.model.object_rule import Flaw, ObjectRule, Subject
from scanner.model.pem import CONTAINER, REMOVED

_USERS: Final[tuple[Kind, ...]] = (
    kinds.GATEWAY,
    kinds.LISTENER_SET,
    kinds.X_LISTENER_SET,
    kinds.ROUTE,
    kinds.INGRESS,
    kinds.HTTP_PROXY,
    kinds.INGRESS_ROUTE,
)
"""Kinds with rules of their own on the Secrets that they refer to."""
_TYPES: Final = (TLS, "Opaque")
_AT: Final = ("data", "tls.crt")
_SHOWN: Final = 3


def check_secret(subject: Subject) -> Iterator[Flaw]:
    """A certificate in a Secret has no faults."""
    secret = subject.object
    if not _is_pair(secret) or (secret.namespace or "", secret.name) in subject.declared.once(_referred):
        return
    owner, now = editable(subject.declared, secret.name, secret.namespace), subject.declared.known.taken_at
    fix = f"{owner}: replace the certificate"
    yield from secret_flaws(subject.declared, secret, _AT, types=(Secret.of(secret).type or "Opaque",))
    found = chain_of(secret)
    yield from unreadable_flaws(secret, found, _AT, fix=fix)
    faults: tuple[tuple[Severity | None, Fault], ...] = (
        ("high", expired(now)),
        ("high", not_yet_valid(now)),
        ("medium", key_strength),
        ("medium", weak_signature),
    )
    for place, each in enumerate(found):
        of_leaf: tuple[tuple[Severity | None, Fault], ...] = (("info", is_a_ca),) if place == 0 else ()
        yield from fault_flaws(secret, each, _AT, (*faults, *of_leaf), fix=fix)


def _is_pair(secret: KubeObject) -> bool:
    found = Secret.of(secret)
    if found.type == TLS:
        return True
    keyed = found.key_matches not in ("there is no tls.key", "tls.key is empty")
    return found.type in ("", *_TYPES) and entry(secret, "tls.crt") is not None and keyed


def _referred(declared: Declared) -> frozenset[tuple[str, str]]:
    """Namespace and name of the Secrets that other rules check."""
    return frozenset(referenced_names(chain.from_iterable(map(declared.every, _USERS)), SECRET))


def check_reuse(subject: Subject) -> Iterator[Flaw]:
    """A private key is in one namespace only."""
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
            fix=f"{subject.object.reference}: use a separate key for each namespace",
        )


def _digest(secret: KubeObject) -> str | None:
    """The digest of the public key, if the Secret has the private one."""
    if Secret.of(secret).key_matches is not True:
        return None
    leaf = leaf_of(secret)
    return leaf.key_sha256 if leaf else None


def _holders(declared: Declared) -> Mapping[str, Mapping[str, KubeObject]]:
    """The first Secret of each namespace with a key, by the key's digest."""
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


# --- Exposed private keys ---------------------------------------------------------------------------------------------
# Keys are removed when objects are read (``scanner/cluster/secret_contents.py``); this finds the notes in their place.

_MARSHAL: Final = 2
"""The version that writes texts in UTF-8, unchanged."""
_MARKS: Final = (REMOVED.encode(), CONTAINER.encode())
_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_OF_SECRETS: Final[Mapping[str, tuple[Steps, Severity | None, str]]] = {
    "tls.crt": (("data", "tls.crt"), None, "which is for certificates, and is shared with clients"),
    "ca.crt": (("data", "ca.crt"), None, "which is for certificates, and is shared with clients"),
    "last-applied": (
        ("metadata", "annotations", _LAST_APPLIED),
        "low",
        "written by kubectl apply; tools that hide the data of Secrets may show annotations",
    ),
}
"""Marks that were set when the Secret was read (``scanner/cluster/key_removal.py``)."""
_ELSEWHERE: Final = (ROUTE, ("spec", "tls", "key"))
"""Reported by ``route-inline-key``."""


def check_exposed(subject: Subject) -> Iterator[Flaw]:
    """No private key is in a field that others can read."""
    if subject.object.kind == SECRET:
        yield from _secret_flaws(subject)
    if _is_marked(subject.object):
        for steps, mark in _marks(subject.object.raw, ()):
            if steps[:1] != ("adhere",) and (subject.object.kind, steps) != _ELSEWHERE:
                yield _flaw(subject, steps, mark)


def _flaw(subject: Subject, steps: Steps, mark: str) -> Flaw:
    if mark == CONTAINER:
        message = "a PKCS #12 container: without its password it is unknown whether it has a private key"
        return Flaw(message=message, at=steps, verdict="inconclusive", severity="info")
    readers = f"every user who may read {subject.object.kind.plural}"
    return Flaw(
        message=f"a private key is in this field, which {readers} can read",
        at=steps,
        fix=f"{subject.object.reference}: put a new key into a Secret, and remove this one",
    )


def _secret_flaws(subject: Subject) -> Iterator[Flaw]:
    for name in Secret.of(subject.object).exposed:
        if name in _OF_SECRETS:
            steps, severity, what = _OF_SECRETS[name]
            yield Flaw(
                message=f"a private key is in {steps[-1]}, {what}",
                at=steps,
                severity=severity,
                fix=f"{subject.object.reference}: keep the key in tls.key only",
            )


def _is_marked(item: KubeObject) -> bool:
    """Search the object without a walk through it: nearly no object is marked."""
    raw: Any = item.raw
    try:
        written = marshal.dumps(raw, _MARSHAL)
    except ValueError:
        return True
    return any(mark in written for mark in _MARKS)


def _marks(value: object, steps: Steps) -> Iterator[tuple[Steps, str]]:
    """The steps to each mark, and the mark. Nesting is bounded when an object is read."""
    if isinstance(value, str):
        if mark := next((each for each in (REMOVED, CONTAINER) if each in value), None):
            yield steps, mark
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _marks(item, (*steps, index))
    elif isinstance(value, Mapping):
        for name, item in value.items():
            yield from _marks(name, steps)
            yield from _marks(item, (*steps, str(name)))


_SUBJECTS: Final[tuple[Kind, ...]] = (
    SECRET,
    CONFIG_MAP,
    ROUTE,
    POD,
    kinds.DEPLOYMENT,
    kinds.STATEFUL_SET,
    kinds.DAEMON_SET,
    kinds.SERVICE,
    kinds.INGRESS,
    kinds.GATEWAY,
    kinds.LISTENER_SET,
    kinds.BACKEND_TLS_POLICY,
    kinds.HTTP_ROUTE,
    kinds.HTTP_PROXY,
    kinds.INGRESS_ROUTE,
    kinds.VALIDATING_WEBHOOK,
    kinds.MUTATING_WEBHOOK,
    kinds.CUSTOM_RESOURCE_DEFINITION,
    kinds.API_SERVICE,
    kinds.SERVICE_MONITOR,
    kinds.POD_MONITOR,
    kinds.PROBE,
    kinds.CERTIFICATE,
)

EXPOSED = ObjectRule(id="private-key-exposed", subjects=_SUBJECTS, check=check_exposed)
