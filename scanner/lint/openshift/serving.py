"""What every certificate must be that an object of the cluster's configuration names for a server."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final

from scanner.files.source_positions import Steps
from scanner.kube.kinds import CONFIG_MAP, SECRET
from scanner.kube.objects import KubeObject
from scanner.lint.certificates import authority_flaws, called, chain_of, leaf_flaws
from scanner.lint.references import TLS, look_up, mend, name_flaws, secret_flaws
from scanner.model.declared import Missing
from scanner.model.object_rule import Flaw, Subject, undecided
from scanner.tls.certificate import CertificateFacts

OPAQUE: Final = (TLS, "Opaque")
"""Types of Secrets where only the entries count."""


def serving_flaws(
    subject: Subject,
    at: Steps,
    secret: KubeObject | Missing,
    names: Iterable[str] = (),
    *,
    types: tuple[str, ...] = (TLS,),
    usage: str = "serverAuth",
) -> Iterator[Flaw]:
    """Why a Secret cannot be served for ``names``, or should not be: absent, no pair, ended, weak, another name.

    ``usage``: what the certificate is for; a client's is no other but for that."""
    yield from secret_flaws(subject.declared, secret, at, types=types)
    if isinstance(secret, Missing):
        return
    keeper = mend(subject.declared, secret.name, secret.namespace)
    now = subject.declared.known.taken_at
    yield from leaf_flaws(secret, at, now, usage=usage, fix=f"{keeper}: replace the certificate")
    yield from _order(secret, chain_of(secret), at, keeper)
    yield from name_flaws(secret, names, at, fix=f"{keeper}: a certificate with these names")


def named_secret(subject: Subject, name: str, namespace: str | None) -> KubeObject | Missing:
    """The Secret of that name, of which others may be in the cluster that nobody saw."""
    return look_up(subject.declared, SECRET, name, namespace)


def _order(secret: KubeObject, chain: Sequence[CertificateFacts], at: Steps, keeper: str) -> Iterator[Flaw]:
    """Each certificate is followed by its issuer's (RFC 5246, section 7.4.2)."""
    for one, other in pairwise(chain):
        if one.issuer is not None and other.subject is not None and one.issuer != other.subject:
            yield Flaw(
                message=f"{secret.reference}: {called(one)} is followed by {called(other)}, which did not issue it",
                at=at,
                severity="medium",
                fix=f"{keeper}: put the leaf first, then each issuer",
            )
            return


def bundle_flaws(subject: Subject, at: Steps, name: str, namespace: str | None, key: str) -> Iterator[Flaw]:
    """Why the ConfigMap ``name`` has no CAs to verify clients by in its entry ``key``."""
    found = look_up(subject.declared, CONFIG_MAP, name, namespace)
    if not isinstance(found, Missing):
        yield from authority_flaws(found, at, subject.declared.known.taken_at, name=key)
    elif found.gap:
        yield undecided(found, at, "whether there are CAs to verify clients by")
    else:
        yield Flaw(message=f"{found.name} does not exist", at=at, fix=f"create {found.name} with the CAs in {key}")
