"""What runs in the demo's cluster: each workload with its ports, and what is to be heard at each.

One table makes the Pods, Services and EndpointSlices, and the listeners behind them: they cannot disagree.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Literal

from scanner.demo.certificates import Paper
from scanner.demo.tls_settings import Serves
from scanner.model.finding import Status, Verdict
from scanner.model.observation import Reach

ControllerKind = Literal["StaticPod", "DaemonSet", "Deployment"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a scan of the cluster should say of a listener."""

    verdict: Verdict = "pass"
    reach: Reach = Reach.TLS
    status: Status = "ok"
    breaks: tuple[str, ...] = ()
    """Ids of rules that must fail, at least."""
    left_out: bool = False
    """It is not asked at all: known to be plaintext, or another name for what is asked."""


COMPLIES = Outcome()
IN_CLEAR = Outcome(verdict="not_applicable", reach=Reach.PLAINTEXT, status="not-tls")
"""Plaintext where nothing says that it should be TLS."""
NOT_ASKED = Outcome(verdict="not_applicable", reach=Reach.PLAINTEXT, status="not-tls", left_out=True)
"""Plaintext, and the component catalogue knows it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Port:
    """One port of each pod of a workload."""

    number: int
    name: str = "https"
    story: str
    """One sentence for the reader of the report."""
    serves: Serves | None = None
    """None: nothing listens, or (routers, the API server) what does is made elsewhere."""
    odd_serves: Serves | None = None
    """How the last replica speaks, where it disagrees with the others."""
    paper: Paper | None = None
    named: tuple[tuple[str, Paper], ...] = ()
    """Names for which it has another certificate."""
    outcome: Outcome = COMPLIES
    odd_outcome: Outcome | None = None
    listed: bool = True
    """Whether the container declares it; else it is in the arguments only, or in the catalogue."""
    loopback: bool = False
    """It listens on the pod's loopback: only a port-forward leads there."""
    plaintext_too: bool = False
    """Whoever speaks HTTP there gets HTTP."""
    probed: bool = False
    """Whether the kubelet asks it by HTTPS."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Front:
    """A Service in front of a workload."""

    name: str
    ports: tuple[tuple[int, str], ...] = ((443, "https"),)
    """Its port, and the name of the container's; its own name is the same."""
    headless: bool = False
    serving_cert: str | None = None
    """service-ca makes a certificate into this Secret."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """One workload."""

    namespace: str
    name: str
    kind: ControllerKind = "Deployment"
    nodes: tuple[str, ...]
    """Where its pods are, one for each entry."""
    ports: tuple[Port, ...]
    host_network: bool = False
    args: tuple[str, ...] = ()
    labels: dict[str, str] = field(default_factory=dict)
    front: Front | None = None
    installed_by: str | None = None
    """The ClusterServiceVersion, of what OLM installed."""


def service_paper(service: str, namespace: str) -> Paper:
    """What service-ca signs for a Service."""
    name = f"{service}.{namespace}.svc"
    return Paper(signer="service-ca", names=(name, f"{name}.cluster.local"))


def asking_port(service: str, namespace: str) -> partial[Port]:
    """A port whose server asks for a client certificate and does without, as Go servers of the platform do."""
    return partial(Port, serves="modern-asks", paper=service_paper(service, namespace))
