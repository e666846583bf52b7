"""What Contour takes for a certificate, a CA and a revocation list (``internal/dag/secret.go``).

A certificate with its key, in a Secret of either type; it looks neither whether they belong together nor at names or
dates, so that what is wrong shows only when Envoy refuses it, or serves it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from scanner.files.source_positions import Steps
from scanner.kube.kinds import Kind
from scanner.kube.objects import KubeObject
from scanner.lint import references
from scanner.lint.certificates import entry, instead, of_text
from scanner.lint.references import absent, secret_flaws
from scanner.model.declared import Missing
from scanner.model.object_rule import Flaw, Subject

READS: Final[tuple[Kind, ...]] = references.READS
"""What a rule that asks this must read."""
TYPES: Final = ("kubernetes.io/tls", "Opaque")
CRL: Final = "crl.pem"


def serving(subject: Subject, secret: KubeObject | Missing, at: Steps) -> Iterator[Flaw]:
    """Why the Secret cannot be served."""
    yield from secret_flaws(subject.declared, secret, at, types=TYPES)


def verifying(secret: KubeObject | Missing, at: Steps, what: str) -> Iterator[Flaw]:
    """Why nothing can be verified by the Secret's ``ca.crt``: Contour wants a certificate in PEM there, and leaves it
    to Envoy whether it can be read."""
    if isinstance(secret, Missing):
        yield _absent(secret, at, what)
    elif not of_text(entry(secret, "ca.crt") or ""):
        yield Flaw(
            message=f"{secret.reference} has no certificate in PEM in ca.crt{instead(secret, 'ca.crt')}; Contour takes "
            "it for no CA",
            at=at,
            fix=f"{secret.reference}: put the CA's certificate into ca.crt",
        )


def revoking(secret: KubeObject | Missing, at: Steps) -> Iterator[Flaw]:
    """Why nothing can be revoked by the Secret's ``crl.pem``."""
    if isinstance(secret, Missing):
        yield _absent(secret, at, "the revocation list")
    elif CRL not in secret.texts("adhere", "revocationLists"):
        yield Flaw(
            message=f"{secret.reference} has no revocation list in PEM in {CRL}",
            at=at,
            fix=f"{secret.reference}: put the list into {CRL}",
        )


def _absent(secret: Missing, at: Steps, what: str) -> Flaw:
    return absent(secret, at, question=f"whether {what} can be read", message=f", with {what},")


def unusable(subject: Subject, secret: KubeObject | Missing, at: Steps) -> Iterator[Flaw]:
    """Why a Secret is none of the three."""
    if isinstance(secret, Missing) or entry(secret, "tls.crt") is not None or not _public(secret):
        yield from serving(subject, secret, at)


def _public(secret: KubeObject) -> bool:
    return bool(of_text(entry(secret, "ca.crt") or "")) or CRL in secret.texts("adhere", "revocationLists")
