"""The certificate that a Route brings, wherever it stands: whether clients take it."""

from __future__ import annotations

from collections.abc import Iterator

from scanner.kube.kinds import ROUTE
from scanner.kube.objects import KubeObject
from scanner.lint import references
from scanner.lint.certificates import leaf_flaws
from scanner.lint.openshift.routes import hosts, served
from scanner.lint.references import mend, name_flaws
from scanner.model.object_rule import Flaw, ObjectRule, Subject


def check_certificate(subject: Subject) -> Iterator[Flaw]:
    """A Route's certificate is one that clients take."""
    found = served(subject)
    if found is not None:
        holder, at = found
        now = subject.declared.known.taken_at
        yield from leaf_flaws(holder, at, now, fix=f"{_where(subject, holder)}: replace the certificate")


def _where(subject: Subject, holder: KubeObject) -> str:
    if holder.kind == ROUTE:
        return str(holder.reference)
    return mend(subject.declared, holder.name, holder.namespace)


def check_host(subject: Subject) -> Iterator[Flaw]:
    """A Route's certificate covers its host."""
    found = served(subject)
    if found is not None:
        holder, at = found
        yield from name_flaws(
            holder, hosts(subject.object), at, fix=f"{_where(subject, holder)}: a certificate with these names"
        )


CERTIFICATE = ObjectRule(
    id="route-certificate",
    subjects=(ROUTE,),
    check=check_certificate,
    reads=references.READS,
)
HOST = ObjectRule(
    id="route-certificate-host",
    subjects=(ROUTE,),
    check=check_host,
    reads=references.READS,
)
