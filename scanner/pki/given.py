"""What people gave the cluster: certificates and CAs that no operator generates, so that the PKI object cannot ask
anything of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TypeAlias

from scanner.files.source_positions import dotted
from scanner.kube.contour_settings import configured
from scanner.kube.kinds import (
    API_SERVER,
    BACKEND_TLS_POLICY,
    CONFIG_MAP,
    CONTOUR_CONFIGURATION,
    GATEWAY,
    HTTP_PROXY,
    INGRESS,
    INGRESS_CONFIG,
    INGRESS_CONTROLLER,
    LISTENER_SET,
    ROUTE,
    X_LISTENER_SET,
    Kind,
)
from scanner.kube.objects import Fields, KubeObject
from scanner.kube.references import Link, links
from scanner.kube.secrets import KEEPER, OF_SERVICE
from scanner.kube.snapshot import Snapshot

PLATFORM: tuple[Kind, ...] = (API_SERVER, INGRESS_CONFIG, INGRESS_CONTROLLER)
"""Whose Secrets take the place of those that operators generate."""
READS: tuple[Kind, ...] = (
    *PLATFORM,
    INGRESS,
    GATEWAY,
    LISTENER_SET,
    X_LISTENER_SET,
    BACKEND_TLS_POLICY,
    HTTP_PROXY,
    CONTOUR_CONFIGURATION,
    CONFIG_MAP,
    ROUTE,
)

Name: TypeAlias = tuple[str, str]
"""Namespace and name."""

_INJECTED = ("cert-manager.io/inject-ca-from", "cert-manager.io/inject-ca-from-secret")
_TRUST_BUNDLE = "config.openshift.io/inject-trusted-cabundle"
_INSTALL_CONFIG = ("kube-system", "cluster-config-v1")


def given(snapshot: Snapshot) -> Iterator[Link]:
    """The Secrets and ConfigMaps that people had objects name: the platform's own configuration first, whose Secrets
    take the place of an operator's."""
    for kind in READS:
        for item in snapshot.every(kind):
            yield from (replace(each, source=item) for each in links(configured(item)))


class Given:
    """Who gave what."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._platform: dict[Name, str] = {}
        self._workloads: dict[Name, str] = {}
        self._client_cas: dict[Name, str] = {}
        for link in given(snapshot):
            by = self._platform if link.source.kind in PLATFORM else self._workloads
            if not link.is_secret:
                by = self._client_cas
            if link.is_secret or (link.source.kind, link.role) == (API_SERVER, "client-ca"):
                by.setdefault((link.namespace or "", link.name), f"{link.source.reference} {dotted(link.steps)}")

    def secret(self, secret: KubeObject) -> str | None:
        """Why the Secret's certificates are nobody's to generate, or None. What the service CA made for a Service is
        the cluster's own, whoever uses it."""
        name = (secret.namespace or "", secret.name)
        if name in self._platform:
            return self._platform[name]
        if any(each in secret.annotations for each in OF_SERVICE):
            return None
        issued = secret.annotations.get(KEEPER)
        return f"cert-manager's Certificate {issued[:253]}" if issued else self._workloads.get(name)

    def config_map(self, found: KubeObject) -> str | None:
        """Why the CAs in a ConfigMap are not the cluster's, or None."""
        name = (found.namespace or "", found.name)
        if name == _INSTALL_CONFIG:
            return "additionalTrustBundle of the install-config"
        if found.labels.get(_TRUST_BUNDLE) == "true":
            return f"the label {_TRUST_BUNDLE}: the system's trusted CAs and those of Proxy spec.trustedCA"
        others = None if name in CONFIG_MAP.named else "none of the platform's: an object names it as a CA"
        return self._client_cas.get(name) or others


def injected(found: KubeObject) -> str | None:
    """Why the caBundle of a webhook, a conversion or an aggregated API is not the cluster's, or None."""
    annotations = Fields(found.annotations)
    return next((f"the annotation {name}" for name in _INJECTED if annotations.has(name)), None)
