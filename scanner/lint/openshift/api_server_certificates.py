"""The certificates that an API server has for more names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from scanner.files.source_positions import Steps
from scanner.kube.hostnames import host_of
from scanner.kube.kinds import INFRASTRUCTURE
from scanner.kube.objects import Fields, KubeObject
from scanner.lint import references
from scanner.lint.certificates import chain_of
from scanner.lint.openshift.api_servers import HOLDERS
from scanner.lint.openshift.serving import named_secret, serving_flaws
from scanner.model.declared import Declared, Missing
from scanner.model.object_rule import Flaw, ObjectRule, Subject

_INTERNAL: Final = (
    *("localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"),
    *("kubernetes.default.svc.cluster.local", "openshift", "openshift.default", "openshift.default.svc"),
)
"""Names inside the cluster, whose clients trust the cluster's own CAs and no others."""


def check_named(subject: Subject) -> Iterator[Flaw]:
    """A named certificate of the API server can be served, for the names that it is for."""
    holder = HOLDERS[subject.object.kind]
    namespace = holder.namespace or subject.object.namespace
    internal = _internal(subject.declared)
    seen: dict[str, int] = {}
    for number, (steps, each) in enumerate(subject.items(*holder.steps, "servingCerts", "namedCertificates")):
        at: Steps = (*steps, "servingCertificate")
        name = each.text("servingCertificate", "name")
        names = tuple(map(str.lower, each.texts("names")))
        if not name:
            yield Flaw(message="it names no Secret", at=at, fix=f"name a Secret of {namespace or 'its namespace'}")
            continue
        secret = named_secret(subject, name, namespace)
        yield from serving_flaws(subject, at, secret, names)
        yield from _names(steps, each, names or _own(secret), internal)
        for one in dict.fromkeys(names):
            if seen.setdefault(one, number) != number:
                message = f"{one} is in namedCertificates[{seen[one]}] already: which is served nobody has decided"
                yield Flaw(message=message, at=(*steps, "names"), severity="medium", fix="keep it in one of them")


def _own(secret: KubeObject | Missing) -> tuple[str, ...] | None:
    """The names of a certificate that is given none; None where nobody saw it."""
    leaf = None if isinstance(secret, Missing) else next(iter(chain_of(secret)), None)
    return leaf.dns_names if leaf is not None else None


def _names(steps: Steps, each: Fields, names: tuple[str, ...] | None, internal: frozenset[str]) -> Iterator[Flaw]:
    at = (*steps, "names") if each.at("names") else (*steps, "servingCertificate")
    if names == ():
        message = "the certificate has no names, and none are given: nobody is served it"
        yield Flaw(message=message, at=at, fix="give names, or a certificate that has some")
    for name in names or ():
        if name.lower() in internal or name.lower().startswith("api-int."):
            message = (
                f"{name} is a name by which the cluster reaches its API server: its clients refuse this certificate"
            )
            yield Flaw(message=message, at=at, observed=(name,), fix=f"remove {name}, here or from the certificate")


def _internal(declared: Declared) -> frozenset[str]:
    found = declared.find(INFRASTRUCTURE, "cluster")
    said = "" if isinstance(found, Missing) else host_of(found.text("status", "apiServerInternalURI"))
    return frozenset((*_INTERNAL, *((said,) if said else ())))


NAMED = ObjectRule(
    id="apiserver-named-certificate",
    subjects=tuple(HOLDERS),
    check=check_named,
    reads=(INFRASTRUCTURE, *references.READS),
)
