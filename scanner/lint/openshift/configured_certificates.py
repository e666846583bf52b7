"""Certificates and CAs of the cluster's configuration: the API server's, and those for identity providers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Final

from scanner.files.source_positions import Steps, shown
from scanner.kube.api_server import NamedCertificate, api_server_config
from scanner.kube.hostnames import host_of
from scanner.kube.ingress import CONFIG_NAMESPACE
from scanner.kube.kinds import API_SERVER, CONFIG_MAP, HOSTED_CLUSTER, INFRASTRUCTURE, OAUTH, SECRET
from scanner.kube.objects import KubeObject
from scanner.kube.openshift import Infrastructure, OAuth, Provider
from scanner.lint import references
from scanner.lint.referenced_certificates import authority_flaws, chain_of, display_name, leaf_flaws, leaf_of
from scanner.lint.references import TLS, editable, look_up, name_flaws, secret_flaws
from scanner.model.declared import Declared, Missing
from scanner.model.object_rule import Flaw, ObjectRule, Subject, undecided

OPAQUE: Final = (TLS, "Opaque")
"""Secret types that are accepted where only the entries are read."""


def serving_flaws(
    subject: Subject,
    at: Steps,
    secret: KubeObject | Missing,
    names: Iterable[str] = (),
    *,
    types: tuple[str, ...] = (TLS,),
    usage: str = "serverAuth",
) -> Iterator[Flaw]:
    """Find the faults of a Secret that is served for ``names``: absent, no pair, expired, weak, wrong order or names.

    ``usage``: the extended key usage of the leaf."""
    yield from secret_flaws(subject.declared, secret, at, types=types)
    if isinstance(secret, Missing):
        return
    owner = editable(subject.declared, secret.name, secret.namespace)
    now = subject.declared.known.taken_at
    yield from leaf_flaws(secret, at, now, usage=usage, fix=f"{owner}: replace the certificate")
    for one, other in pairwise(chain_of(secret)):  # each certificate precedes its issuer's (RFC 5246, section 7.4.2)
        if one.issuer is not None and other.subject is not None and one.issuer != other.subject:
            yield Flaw(
                message=f"{secret.reference}: {display_name(one)} is followed by {display_name(other)}, "
                "which did not issue it",
                at=at,
                severity="medium",
                fix=f"{owner}: put the leaf first, then each issuer",
            )
            break
    yield from name_flaws(secret, names, at, fix=f"{owner}: use a certificate with these names")


def named_secret(subject: Subject, name: str, namespace: str | None) -> KubeObject | Missing:
    """Find a Secret, or explain its absence."""
    return look_up(subject.declared, SECRET, name, namespace)


def bundle_flaws(subject: Subject, at: Steps, name: str, namespace: str | None, key: str) -> Iterator[Flaw]:
    """Find the faults of CAs in entry ``key`` of the ConfigMap ``name``."""
    found = look_up(subject.declared, CONFIG_MAP, name, namespace)
    if not isinstance(found, Missing):
        yield from authority_flaws(found, at, subject.declared.known.taken_at, name=key)
    elif found.gap:
        yield undecided(found, at, "whether there are CAs to verify with")
    else:
        yield Flaw(message=f"{found.name} does not exist", at=at, fix=f"create {found.name} with the CAs in {key}")


# --- The API server ---------------------------------------------------------------------------------------------------

_HOLDERS: Final = (API_SERVER, HOSTED_CLUSTER)
_INTERNAL: Final = (
    *("localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"),
    *("kubernetes.default.svc.cluster.local", "openshift", "openshift.default", "openshift.default.svc"),
)
"""Names inside the cluster, whose clients trust only the cluster's own CAs."""
_BUNDLE: Final = "ca-bundle.crt"


def check_named(subject: Subject) -> Iterator[Flaw]:
    """A named certificate of the API server can be served for its names."""
    namespace = _namespace(subject.object)
    internal = _internal(subject.declared)
    seen: dict[str, int] = {}
    for number, each in enumerate(api_server_config(subject.object).named_certificates):
        at: Steps = (*each.steps, "servingCertificate")
        names = tuple(map(str.lower, each.names))
        if not each.secret:
            yield Flaw(message="it names no Secret", at=at, fix=f"name a Secret in {namespace or 'its namespace'}")
            continue
        secret = named_secret(subject, each.secret, namespace)
        yield from serving_flaws(subject, at, secret, names)
        leaf = None if isinstance(secret, Missing) else leaf_of(secret)
        yield from _names(each, names or (leaf.dns_names if leaf else None), internal)
        for one in dict.fromkeys(names):
            if seen.setdefault(one, number) != number:
                message = f"{one} is also in namedCertificates[{seen[one]}]: it is undefined which one is served"
                yield Flaw(message=message, at=(*each.steps, "names"), severity="medium", fix="keep it in one of them")


def _names(each: NamedCertificate, names: tuple[str, ...] | None, internal: frozenset[str]) -> Iterator[Flaw]:
    at = (*each.steps, "names" if each.raw_names else "servingCertificate")
    if names == ():
        message = "the certificate has no names, and none are set: it is not served"
        yield Flaw(message=message, at=at, fix="set names, or use a certificate with names")
    for name in names or ():
        if name.lower() in internal or name.lower().startswith("api-int."):
            message = f"{name} is an internal name of the API server: clients in the cluster refuse this certificate"
            yield Flaw(message=message, at=at, observed=(name,), fix=f"remove {name}, here or from the certificate")


def _internal(declared: Declared) -> frozenset[str]:
    found = declared.find(INFRASTRUCTURE, "cluster")
    host = "" if isinstance(found, Missing) else host_of(Infrastructure.of(found).internal_url)
    return frozenset((*_INTERNAL, *((host,) if host else ())))


def check_client_ca(subject: Subject) -> Iterator[Flaw]:
    """The CAs with which an API server verifies clients exist."""
    config = api_server_config(subject.object)
    if config.client_ca:
        at = (*config.steps, "clientCA")
        yield from bundle_flaws(subject, at, config.client_ca, _namespace(subject.object), _BUNDLE)


def _namespace(holder: KubeObject) -> str | None:
    """The namespace of its Secrets and ConfigMaps."""
    return CONFIG_NAMESPACE if holder.kind == API_SERVER else holder.namespace


NAMED = ObjectRule(
    id="apiserver-named-certificate",
    subjects=_HOLDERS,
    check=check_named,
    reads=(INFRASTRUCTURE, *references.READS),
)
CLIENT_CA = ObjectRule(id="apiserver-client-ca", subjects=_HOLDERS, check=check_client_ca, reads=(CONFIG_MAP,))


# --- Identity providers -----------------------------------------------------------------------------------------------

_PAIR: Final = ("tlsClientCert", "tlsClientKey")
_KEY: Final = "ca.crt"


def check_providers(subject: Subject) -> Iterator[Flaw]:
    """The OAuth server uses TLS to identity providers, with CAs that exist."""
    for each in OAuth.of(subject.object).providers:
        yield from _provider(subject, each)


def _provider(subject: Subject, provider: Provider) -> Iterator[Flaw]:
    at = provider.steps
    for field, url in provider.https_urls:
        if url and not url.lower().startswith("https://"):
            message = f"{shown(url, 100)} does not use TLS"
            yield Flaw(message=message, at=(*at, field), fix="use an https:// URL")
    if provider.type == "ldap":
        yield from _ldap(provider)
    if provider.authority:
        yield from bundle_flaws(subject, (*at, "ca"), provider.authority, CONFIG_NAMESPACE, _KEY)
    elif provider.type == "requestHeader":
        message = "no ca: the OAuth server cannot verify the authenticating proxy"
        yield Flaw(message=message, at=at, fix="name a ConfigMap of openshift-config in ca")
    yield from _client(subject, provider)


def _ldap(provider: Provider) -> Iterator[Flaw]:
    at = provider.steps
    if not provider.insecure:
        return
    if provider.url.lower().startswith("ldaps://"):
        message = "insecure has no effect with ldaps://, which is always TLS"
        yield Flaw(message=message, at=(*at, "insecure"), severity="low", fix="set 'insecure: false'")
    else:
        message = "insecure: the passwords of all users are sent in plaintext"
        yield Flaw(message=message, at=(*at, "insecure"), fix="set 'insecure: false'", correction="insecure: false")


def _client(subject: Subject, provider: Provider) -> Iterator[Flaw]:
    """Check the client certificate of the OAuth server."""
    at, pair = provider.steps, (provider.client_certificate, provider.client_key)
    fields = [name for name, secret in zip(_PAIR, pair, strict=True) if secret]
    names = set(filter(None, pair))
    if len(fields) == 1:
        other = next(name for name in _PAIR if name not in fields)
        yield Flaw(message=f"{fields[0]} is set without {other}", at=(*at, fields[0]), fix=f"set {other}")
    elif len(names) == 1:
        secret = named_secret(subject, names.pop(), CONFIG_NAMESPACE)
        yield from serving_flaws(subject, (*at, fields[0]), secret, types=OPAQUE, usage="clientAuth")
    elif names:
        what = " and ".join(f"Secret/{CONFIG_NAMESPACE}/{name}" for name in sorted(names))
        message = f"unknown: whether certificate and key in {what} belong together"
        yield Flaw(message=message, at=(*at, fields[0]), verdict="inconclusive")


PROVIDERS = ObjectRule(
    id="oauth-provider-tls",
    subjects=(OAUTH,),
    check=check_providers,
    reads=(CONFIG_MAP, *references.READS),
)
