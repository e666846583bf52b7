"""The types of the demo's tables: workloads, their ports, TLS settings and expected outcomes.

One table of them (``cluster_workloads``) makes the Pods, Services and EndpointSlices, and the listeners behind them:
they cannot disagree.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Literal

from msgspec import Struct, field

from scanner.demo.certificates import CertificateSpec
from scanner.demo.tls_server import TlsSettings, can_choose_groups
from scanner.model.finding import Status, Verdict
from scanner.model.observation import Reach

MASTER, WORKER_0, WORKER_1 = "master-0", "worker-0", "worker-1"
NODES = (MASTER, WORKER_0, WORKER_1)
API_PORT = 6443
KUBELET_PORT = 10250
GATEWAY_PORT = 8443
"""No port of the demo is below 1024, which only root may bind; free choices are ports that few programs use."""

BASE_DOMAIN = "demo.example"
APPS = f"apps.{BASE_DOMAIN}"
LEGACY = f"legacy.{BASE_DOMAIN}"
GATEWAY = f"gw.{BASE_DOMAIN}"

_GROUPS = "X25519MLKEM768:X25519:P-256:P-384:P-521" if can_choose_groups() else None
"""Defaults of Go 1.24 and later, and of the router."""
_TLS = partial(TlsSettings, groups=_GROUPS)
_MODERN = partial(_TLS, min_version=0x0304)
_OLD_SUITES = (
    "ECDHE+AESGCM:ECDHE+CHACHA20:ECDHE-RSA-AES128-SHA256:ECDHE-RSA-AES128-SHA:ECDHE-RSA-AES256-SHA:"
    "AES128-GCM-SHA256:AES256-GCM-SHA384:AES128-SHA256:AES128-SHA:AES256-SHA:@SECLEVEL=0"
)
"""openshift/api's Old list for 4.22 without 3DES, which the OpenSSL of cryptography's wheels is built without."""

Serves = Literal[
    "modern",
    "modern-mtls-requested",
    "modern-mtls-required",
    "intermediate",
    "intermediate-mtls-requested",
    "old-router",
    "cbc",
    "tls10",
    "plaintext",
]
TLS: dict[Serves, Callable[..., TlsSettings]] = {
    "modern": _MODERN,
    "modern-mtls-requested": partial(_MODERN, client_certificate="requested"),
    "modern-mtls-required": partial(_MODERN, client_certificate="required"),
    "intermediate": _TLS,
    "intermediate-mtls-requested": partial(_TLS, client_certificate="requested"),
    "old-router": partial(_TLS, min_version=0x0302, ciphers=_OLD_SUITES, server_preference=True),
    "cbc": partial(_TLS, ciphers="ECDHE+AESGCM:ECDHE-ECDSA-AES128-SHA256:ECDHE-ECDSA-AES256-SHA"),
    "tls10": partial(_TLS, min_version=0x0301, ciphers="ECDHE+AESGCM:ECDHE+AES:@SECLEVEL=0"),
}
"""TLS settings by name, called with ``credential`` and ``client_ca``. Modern is what the APIServer object requires."""

ControllerKind = Literal["StaticPod", "DaemonSet", "Deployment"]


class Outcome(Struct, frozen=True, kw_only=True):
    """The expected result of a scan for one listener."""

    verdict: Verdict = "pass"
    reach: Reach = Reach.TLS
    status: Status = "ok"
    failing_rules: tuple[str, ...] = ()
    """Ids of rules that must fail, at least."""
    excluded: bool = False
    """True if a scan does not probe it: known to be plaintext, or an alias of another listener."""


COMPLIES = Outcome()
PLAINTEXT = Outcome(verdict="not_applicable", reach=Reach.PLAINTEXT, status="not-tls")
"""Plaintext where no object requires TLS."""
EXCLUDED_PLAINTEXT = Outcome(verdict="not_applicable", reach=Reach.PLAINTEXT, status="not-tls", excluded=True)
"""Plaintext that the component catalogue lists."""


class Port(Struct, frozen=True, kw_only=True):
    """One port of each pod of a workload."""

    number: int
    name: str = "https"
    serves: Serves | None = None
    """None: no listener, or one that is made elsewhere (the API server)."""
    last_serves: Serves | None = None
    """TLS settings of the last replica, if they differ from the others'."""
    certificate: CertificateSpec | None = None
    by_name: tuple[tuple[str, CertificateSpec], ...] = ()
    """Server names with another certificate."""
    outcome: Outcome = COMPLIES
    last_outcome: Outcome | None = None
    declared: bool = True
    """True if the container declares it; else it is in the arguments or the component catalogue only."""
    loopback: bool = False
    """True if it listens on the pod's loopback, which only a port-forward reaches."""
    plaintext_too: bool = False
    """True if it also answers plaintext HTTP."""
    probed: bool = False
    """True if the kubelet probes it by HTTPS."""


class ServiceSpec(Struct, frozen=True, kw_only=True):
    """A Service in front of a workload."""

    name: str
    ports: tuple[tuple[int, str], ...] = ((443, "https"),)
    """Its port numbers, each with the name that the Service and the container give it."""
    headless: bool = False
    serving_cert: str | None = None
    """Secret into which service-ca writes a certificate."""


class Workload(Struct, frozen=True, kw_only=True):
    """One workload."""

    namespace: str
    name: str
    kind: ControllerKind = "Deployment"
    nodes: tuple[str, ...]
    """The node of each pod."""
    ports: tuple[Port, ...]
    host_network: bool = False
    args: tuple[str, ...] = ()
    labels: dict[str, str] = field(default_factory=dict)
    service: ServiceSpec | None = None
    installed_by: str | None = None
    """The ClusterServiceVersion of a workload that OLM installed."""


def service_certificate(service: str, namespace: str) -> CertificateSpec:
    """The certificate that service-ca signs for a Service."""
    name = f"{service}.{namespace}.svc"
    return CertificateSpec(signer="service-ca", names=(name, f"{name}.cluster.local"))


def mtls_port(service: str, namespace: str) -> partial[Port]:
    """A port that requests a client certificate and does not require it, as Go servers of the platform do."""
    return partial(Port, serves="modern-mtls-requested", certificate=service_certificate(service, namespace))
