"""The certificates to which virtual hosts refer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from scanner.kube.kinds import INGRESS, INGRESS_CLASS
from scanner.lint.certificates import leaf_flaws
from scanner.lint.contour import configuration, delegation
from scanner.lint.contour.configuration import Configuration, watched
from scanner.lint.contour.delegation import permission
from scanner.lint.contour.secrets import READS, serving
from scanner.lint.contour.uses import USERS, VHOST, Use, of_object
from scanner.lint.references import mend, name_flaws, readable, secret_of
from scanner.model.declared import Missing
from scanner.model.object_rule import Flaw, ObjectRule, Subject

CERTIFICATE_USE: Final = "the certificate"
READS_OF_USES: Final = (*READS, *delegation.READS, INGRESS_CLASS)


def looked_up(subject: Subject, use: Use) -> Missing | None:
    """Why nothing can be said of the Secret: what is not delegated is another rule's, and shows nothing of it."""
    if permission(subject.declared, subject.object, use.secret).allowed is False:
        return Missing(name=str(use.secret))
    return None


def check_certificate(subject: Subject) -> Iterator[Flaw]:
    """A virtual host's certificate can be served, and is for its host."""
    configured = configuration.of_object(subject.object)
    if configured:
        yield from _of_all(subject, configured)
    for use in of_object(subject) if subject.object.kind in USERS else ():
        if use.what == CERTIFICATE_USE:
            yield from seen(subject, use)
        if use.what == CERTIFICATE_USE and not looked_up(subject, use) and not _ordinary(subject, use):
            yield from _served(subject, use)


def seen(subject: Subject, use: Use) -> Iterator[Flaw]:
    """Whether Contour looks there at all. What is no root for that very reason is another rule's."""
    namespaces = watched(subject.declared)
    if subject.object.has(*VHOST) and subject.object.namespace not in namespaces:
        return
    if namespaces and use.secret.namespace and use.secret.namespace not in namespaces:
        where = ", ".join(sorted(namespaces)[:10])
        yield Flaw(
            message=f"Contour looks at the Secrets of {where} alone (rootNamespaces): {use.secret} is none to it",
            at=use.steps,
            fix="Contour's configuration: add the namespace to rootNamespaces",
        )


def _ordinary(subject: Subject, use: Use) -> bool:
    """An Ingress with a Secret of its own namespace is judged as any other Ingress."""
    return subject.object.kind == INGRESS and use.secret.namespace == subject.object.namespace


def _of_all(subject: Subject, configured: Configuration) -> Iterator[Flaw]:
    secrets = (configured.fallback, configured.client)
    for secret, steps, usage in zip(secrets, configured.secret_steps, ("serverAuth", "clientAuth"), strict=True):
        if secret is not None:
            yield from _served(subject, Use(steps=steps, secret=secret, what=CERTIFICATE_USE), usage)


def _served(subject: Subject, use: Use, usage: str = "serverAuth") -> Iterator[Flaw]:
    found = secret_of(subject, use.secret.name, use.secret.namespace)
    yield from serving(subject, found, use.steps)
    if not isinstance(found, Missing):
        keeper = mend(subject.declared, found.name, found.namespace)
        if readable(found):
            yield from name_flaws(found, use.hosts, use.steps, fix=f"{keeper}: a certificate with these names")
        now, fix = subject.declared.known.taken_at, f"{keeper}: replace the certificate"
        yield from leaf_flaws(found, use.steps, now, usage=usage, fix=fix)


CERTIFICATE = ObjectRule(
    id="contour-certificate",
    subjects=(*USERS, *configuration.READS),
    reads=READS_OF_USES,
    check=check_certificate,
)
