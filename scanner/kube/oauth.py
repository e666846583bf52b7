"""OAuth/cluster (config.openshift.io/v1): who knows the users of a cluster, and how the OAuth server reaches them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from scanner.kube.objects import KubeObject
from scanner.kube.view import Flag, Parts, Text, View

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


class Provider(View):
    """What an identity provider of one type is configured with; the last of its steps is the type."""

    url = Text()
    insecure = Flag()
    authority = Text("ca", "name")
    client_certificate = Text("tlsClientCert", "name")
    client_key = Text("tlsClientKey", "name")

    @property
    def type(self) -> str:
        """``ldap``, ``openID`` ..."""
        return str(self.steps[-1])

    @property
    def https_urls(self) -> Iterator[tuple[str, str]]:
        """The fields whose URLs must be HTTPS, and the URLs."""
        return ((field, self.text(field)) for field in _URLS[self.type])


class _IdentityProvider(View):
    @property
    def providers(self) -> Iterator[Provider]:
        found = (Provider(self.fields(name).raw, (*self.steps, name)) for name in _URLS)
        return (each for each in found if each)


class OAuth(KubeObject):
    """OAuth/cluster."""

    _identity_providers = Parts(_IdentityProvider, "spec", "identityProviders")

    @property
    def providers(self) -> Iterator[Provider]:
        """The identity providers that are asked over the network."""
        return (provider for each in self._identity_providers for provider in each.providers)
