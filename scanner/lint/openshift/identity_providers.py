"""How the OAuth server reaches those who know users: over TLS, by which CAs, with which certificate."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from scanner.files.source_positions import shown
from scanner.kube.ingress import CONFIG_NAMESPACE as CONFIG
from scanner.kube.kinds import CONFIG_MAP, OAUTH
from scanner.kube.openshift import OAuth, Provider
from scanner.lint import references
from scanner.lint.openshift.serving import OPAQUE, bundle_flaws, named_secret, serving_flaws
from scanner.model.object_rule import Flaw, ObjectRule, Subject

_PAIR: Final = ("tlsClientCert", "tlsClientKey")
_KEY: Final = "ca.crt"


def check_providers(subject: Subject) -> Iterator[Flaw]:
    """The OAuth server asks identity providers over TLS, by CAs that are there."""
    for each in OAuth.of(subject.object).providers:
        yield from _provider(subject, each)


def _provider(subject: Subject, provider: Provider) -> Iterator[Flaw]:
    at = provider.steps
    for field, url in provider.https_urls:
        if url and not url.lower().startswith("https://"):
            message = f"{shown(url, 100)} is not reached over TLS"
            yield Flaw(message=message, at=(*at, field), fix="write https://")
    if provider.type == "ldap":
        yield from _ldap(provider)
    if provider.authority:
        yield from bundle_flaws(subject, (*at, "ca"), provider.authority, CONFIG, _KEY)
    elif provider.type == "requestHeader":
        message = "without a CA the proxy cannot be distinguished from others"
        yield Flaw(message=message, at=at, fix="name a ConfigMap of openshift-config in ca")
    yield from _client(subject, provider)


def _ldap(provider: Provider) -> Iterator[Flaw]:
    at = provider.steps
    if not provider.insecure:
        return
    if provider.url.lower().startswith("ldaps://"):
        message = "insecure means nothing with ldaps://, which is always TLS"
        yield Flaw(message=message, at=(*at, "insecure"), severity="low", fix="write 'insecure: false'")
    else:
        message = "insecure: passwords of all users travel in plain text"
        yield Flaw(message=message, at=(*at, "insecure"), fix="write 'insecure: false'", correction="insecure: false")


def _client(subject: Subject, provider: Provider) -> Iterator[Flaw]:
    """The certificate that the OAuth server shows."""
    at, pair = provider.steps, (provider.client_certificate, provider.client_key)
    given = [name for name, secret in zip(_PAIR, pair, strict=True) if secret]
    names = set(filter(None, pair))
    if len(given) == 1:
        other = next(name for name in _PAIR if name not in given)
        yield Flaw(message=f"{given[0]} is there, and {other} is not", at=(*at, given[0]), fix=f"add {other}")
    elif len(names) == 1:
        secret = named_secret(subject, names.pop(), CONFIG)
        yield from serving_flaws(subject, (*at, given[0]), secret, types=OPAQUE, usage="clientAuth")
    elif names:
        what = " and ".join(f"Secret/{CONFIG}/{name}" for name in sorted(names))
        message = f"not decided: whether certificate and key in {what} belong together"
        yield Flaw(message=message, at=(*at, given[0]), verdict="inconclusive")


PROVIDERS = ObjectRule(
    id="oauth-provider-tls",
    subjects=(OAUTH,),
    check=check_providers,
    reads=(CONFIG_MAP, *references.READS),
)
