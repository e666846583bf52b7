"""What is published in the demo's cluster: Routes of all terminations under two IngressControllers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from scanner.demo.addresses import APPS, LEGACY
from scanner.demo.certificates import Paper
from scanner.demo.tls_settings import Serves
from scanner.demo.workloads import COMPLIES, Outcome

Termination = Literal["edge", "reencrypt", "passthrough"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """One Route."""

    namespace: str
    name: str
    host: str
    termination: Termination
    service: str
    port: str
    story: str
    router: Literal["default", "legacy"] = "default"
    paper: Paper | None = None
    """Of the certificate that it brings (``externalCertificate``); None: the router's default one."""
    outcome: Outcome = COMPLIES


@dataclass(frozen=True, slots=True, kw_only=True)
class Router:
    """One IngressController."""

    name: Literal["default", "legacy"]
    domain: str
    profile: Literal["Intermediate", "Old"]
    serves: Serves
    http: int
    https: int
    stats: int
    paper: Paper


ROUTERS = (
    Router(
        name="default",
        domain=APPS,
        profile="Intermediate",
        serves="intermediate",
        http=10080,
        https=10443,
        stats=1936,
        paper=Paper(signer="router", names=(f"*.{APPS}",), days=(-60, 670), key="rsa2048"),
    ),
    Router(
        name="legacy",
        domain=LEGACY,
        profile="Old",
        serves="old-router",
        http=11080,
        https=11443,
        stats=1936,
        paper=Paper(signer="router", names=(f"*.{LEGACY}",), days=(-60, 670), key="rsa2048"),
    ),
)

ROUTES = (
    Published(
        namespace="openshift-console",
        name="console",
        host=f"console-openshift-console.{APPS}",
        termination="reencrypt",
        service="console",
        port="https",
        story="Re-encrypt: clients meet the router at Intermediate, the router meets the console at Modern.",
    ),
    Published(
        namespace="openshift-authentication",
        name="oauth-openshift",
        host=f"oauth-openshift.{APPS}",
        termination="passthrough",
        service="oauth-openshift",
        port="https",
        story="Passthrough: behind a router at Intermediate, and yet TLS 1.3 alone.",
    ),
    Published(
        namespace="shop",
        name="web",
        host=f"shop.{APPS}",
        termination="reencrypt",
        service="web",
        port="https",
        story="Brings a certificate of its own, from a Secret.",
        paper=Paper(signer="shop", names=(f"shop.{APPS}",), days=(-30, 60)),
    ),
    Published(
        namespace="shop",
        name="catalog",
        host=f"catalog.{APPS}",
        termination="edge",
        service="catalog",
        port="metrics",
        story="Edge: TLS ends at the router.",
    ),
    Published(
        namespace="shop",
        name="checkout",
        host=f"checkout.{APPS}",
        termination="passthrough",
        service="checkout",
        port="https",
        story="Passthrough to three replicas: a connection reaches one of them, so each replica is probed.",
    ),
    Published(
        namespace="mainframe",
        name="bridge",
        host=f"bridge.{LEGACY}",
        termination="edge",
        service="bridge",
        port="http",
        story="Edge on the Old router, TLS 1.1 and CBC and all: its IngressController asks for exactly that.",
        router="legacy",
    ),
)
