"""The certificates that an API server has for more names, and the CAs by which it recognises its clients."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from scanner.kube.api_server import NamedCertificate, api_server_config
from scanner.kube.hostnames import host_of
from scanner.kube.ingress import CONFIG_NAMESPACE
from scanner.kube.kinds import API_SERVER, CONFIG_MAP, HOSTED_CLUSTER, INFRASTRUCTURE
from scanner.kube.objects import KubeObject, Steps
from scanner.kube.openshift import Infrastructure
from scanner.lint import references
from scanner.lint.certificates import chain_of
from scanner.lint.openshift.serving import bundle_flaws, named_secret, serving_flaws
from scanner.model.declared import Declared, Missing
from scanner.model.object_rule import Flaw, ObjectRule, Subject

_HOLDERS: Final = (API_SERVER, HOSTED_CLUSTER)
_INTERNAL: Final = (
    *("localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"),
    *("kubernetes.default.svc.cluster.local", "openshift", "openshift.default", "openshift.default.svc"),
)
"""Names inside the cluster, whose clients trust the cluster's own CAs and no others."""
_BUNDLE: Final = "ca-bundle.crt"


def check_named(subject: Subject) -> Iterator[Flaw]:
    """A named certificate of the API server can be served, for the names that it is for."""
    namespace = _namespace(subject.object)
    internal = _internal(subject.declared)
    seen: dict[str, int] = {}
    for number, each in enumerate(api_server_config(subject.object).named_certificates):
        at: Steps = (*each.steps, "servingCertificate")
        names = tuple(map(str.lower, each.names))
        if not each.secret:
            yield Flaw(message="it names no Secret", at=at, fix=f"name a Secret of {namespace or 'its namespace'}")
            continue
        secret = named_secret(subject, each.secret, namespace)
        yield from serving_flaws(subject, at, secret, names)
        yield from _names(each, names or _own(secret), internal)
        for one in dict.fromkeys(names):
            if seen.setdefault(one, number) != number:
                message = f"{one} is in namedCertificates[{seen[one]}] already: which one is served is undefined"
                yield Flaw(message=message, at=(*each.steps, "names"), severity="medium", fix="keep it in one of them")


def _own(secret: KubeObject | Missing) -> tuple[str, ...] | None:
    """The names of a certificate that is given none; None where nobody saw it."""
    leaf = None if isinstance(secret, Missing) else next(iter(chain_of(secret)), None)
    return leaf.dns_names if leaf is not None else None


def _names(each: NamedCertificate, names: tuple[str, ...] | None, internal: frozenset[str]) -> Iterator[Flaw]:
    at = (*each.steps, "names" if each.any_names else "servingCertificate")
    if names == ():
        message = "the certificate has no names, and none are set: it is not served"
        yield Flaw(message=message, at=at, fix="give names, or a certificate that has some")
    for name in names or ():
        if name.lower() in internal or name.lower().startswith("api-int."):
            message = (
                f"{name} is a name by which the cluster reaches its API server: its clients refuse this certificate"
            )
            yield Flaw(message=message, at=at, observed=(name,), fix=f"remove {name}, here or from the certificate")


def _internal(declared: Declared) -> frozenset[str]:
    found = declared.find(INFRASTRUCTURE, "cluster")
    said = "" if isinstance(found, Missing) else host_of(Infrastructure.of(found).internal_url)
    return frozenset((*_INTERNAL, *((said,) if said else ())))


def check_client_ca(subject: Subject) -> Iterator[Flaw]:
    """The CAs by which an API server recognises clients are there."""
    config = api_server_config(subject.object)
    if config.client_ca:
        at = (*config.steps, "clientCA")
        yield from bundle_flaws(subject, at, config.client_ca, _namespace(subject.object), _BUNDLE)


def _namespace(holder: KubeObject) -> str | None:
    """The namespace of the Secrets and ConfigMaps that it names."""
    return CONFIG_NAMESPACE if holder.kind == API_SERVER else holder.namespace


NAMED = ObjectRule(
    id="apiserver-named-certificate",
    subjects=_HOLDERS,
    check=check_named,
    reads=(INFRASTRUCTURE, *references.READS),
)
CLIENT_CA = ObjectRule(id="apiserver-client-ca", subjects=_HOLDERS, check=check_client_ca, reads=(CONFIG_MAP,))
