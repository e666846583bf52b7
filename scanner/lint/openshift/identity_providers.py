"""How the OAuth server reaches those who know users: over TLS, by which CAs, with which certificate."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from scanner.kube.kinds import CONFIG_MAP, OAUTH
from scanner.kube.objects import Fields
from scanner.lint import references
from scanner.lint.openshift.controllers import CONFIG
from scanner.lint.openshift.serving import OPAQUE, bundle_flaws, named_secret, serving_flaws
from scanner.model.located import Steps, shown
from scanner.model.object_rule import Flaw, ObjectRule, Subject

_URLS: Final[Mapping[str, tuple[str, ...]]] = {
    "basicAuth": ("url",),
    "keystone": ("url",),
    "gitlab": ("url",),
    "openID": ("issuer",),
    "requestHeader": ("loginURL", "challengeURL"),
    "ldap": (),
    "github": (),
}
"""Providers that are asked over the network, and the fields with URLs that must be HTTPS."""
_PAIR: Final = ("tlsClientCert", "tlsClientKey")
_KEY: Final = "ca.crt"


def check_providers(subject: Subject) -> Iterator[Flaw]:
    """The OAuth server asks identity providers over TLS, by CAs that are there.

    ## What it requires

    Of each of `spec.identityProviders` of the OAuth object:

    * URLs are `https://`. LDAP is not `insecure`: `ldaps://`, or `ldap://`, which is then upgraded to TLS.
    * The ConfigMap that `ca` names is in openshift-config and has CAs in PEM in `ca.crt`, valid now. `requestHeader`
      has one.
    * `tlsClientCert` and `tlsClientKey` name a Secret in openshift-config with a certificate for clients in `tls.crt`,
      valid now, and its key in `tls.key`.

    ## Why

    The passwords of all users go that way, or what is believed instead of a password: whoever sends the headers of
    `requestHeader` is any user that he likes to be, and the CA is all that tells him from others.

    ## What fails

    Each of these: high; a weak key or signature, a leaf that is a CA or not for clients: medium. `insecure` with
    `ldaps://`, where it means nothing: low.

    ## What is inconclusive

    A ConfigMap or Secret that was not given; whether a key belongs to a certificate of another Secret.

    ## Example that fails

    ```yaml
    apiVersion: config.openshift.io/v1
    kind: OAuth
    metadata: {name: cluster}
    spec:
      identityProviders:
      - name: people
        type: LDAP
        mappingMethod: claim
        ldap: {url: "ldap://ldap.example/o=example?uid", insecure: true, attributes: {id: [dn]}}
    ```

    ## Example that passes

    ```yaml
    apiVersion: config.openshift.io/v1
    kind: OAuth
    metadata: {name: cluster}
    spec:
      identityProviders:
      - name: people
        type: LDAP
        mappingMethod: claim
        ldap: {url: "ldaps://ldap.example/o=example?uid", insecure: false, ca: {name: ldap}, attributes: {id: [dn]}}
    ---
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: ldap, namespace: openshift-config}
    data: {ca.crt: CA(ldap)}
    ```

    ## How to fix

    Write `https://` or `ldaps://`, and `oc create configmap NAME --from-file=ca.crt=FILE -n openshift-config`.
    """
    for steps, each in subject.items("spec", "identityProviders"):
        for name in _URLS:
            if each.fields(name).raw:
                yield from _provider(subject, (*steps, name), each.fields(name), name)


def _provider(subject: Subject, at: Steps, provider: Fields, name: str) -> Iterator[Flaw]:
    for field in _URLS[name]:
        url = provider.text(field)
        if url and not url.lower().startswith("https://"):
            message = f"{shown(url, 100)} is not reached over TLS"
            yield Flaw(message=message, at=(*at, field), fix="write https://")
    if name == "ldap":
        yield from _ldap(provider, at)
    if authority := provider.text("ca", "name"):
        yield from bundle_flaws(subject, (*at, "ca"), authority, CONFIG, _KEY)
    elif name == "requestHeader":
        message = "without a CA nobody can tell the proxy from others"
        yield Flaw(message=message, at=at, fix="name a ConfigMap of openshift-config in ca")
    yield from _client(subject, provider, at)


def _ldap(provider: Fields, at: Steps) -> Iterator[Flaw]:
    if provider.at("insecure") is not True:
        return
    if provider.text("url").lower().startswith("ldaps://"):
        message = "insecure means nothing with ldaps://, which is always TLS"
        yield Flaw(message=message, at=(*at, "insecure"), severity="low", fix="write 'insecure: false'")
    else:
        message = "insecure: passwords of all users travel in plain text"
        yield Flaw(message=message, at=(*at, "insecure"), fix="write 'insecure: false'", correction="insecure: false")


def _client(subject: Subject, provider: Fields, at: Steps) -> Iterator[Flaw]:
    """The certificate that the OAuth server shows."""
    given = [name for name in _PAIR if provider.text(name, "name")]
    names = {provider.text(name, "name") for name in given}
    if len(given) == 1:
        other = next(name for name in _PAIR if name not in given)
        yield Flaw(message=f"{given[0]} is there, and {other} is not", at=(*at, given[0]), fix=f"add {other}")
    elif len(names) == 1:
        secret = named_secret(subject, names.pop(), CONFIG)
        yield from serving_flaws(subject, (*at, given[0]), secret, types=OPAQUE, usage="clientAuth")
    elif names:
        what = " and ".join(f"Secret/{CONFIG}/{name}" for name in sorted(names))
        message = f"cannot be decided here: whether certificate and key in {what} belong together"
        yield Flaw(message=message, at=(*at, given[0]), verdict="inconclusive")


PROVIDERS = ObjectRule(
    id="oauth-provider-tls",
    title="The OAuth server asks identity providers over TLS, by CAs that are there",
    severity="high",
    subjects=(OAUTH,),
    check=check_providers,
    reads=(CONFIG_MAP, *references.READS),
    references=("openshift/api config/v1/types_oauth.go",),
)
