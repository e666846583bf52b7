"""What users run in the demo's cluster: they owe the cluster's profile nothing, and are told how ready they are."""

from __future__ import annotations

from scanner.demo.landscape import APPS, WORKER_0, WORKER_1
from scanner.demo.signers import Paper
from scanner.demo.workloads import IN_CLEAR, Front, Port, Told, Workload, service_paper
from scanner.model.observation import Reach

_READINESS = ("tls-version", "tls-cipher-suite")

USERS = (
    Workload(
        namespace="shop",
        name="web",
        nodes=(WORKER_0,),
        labels={"app": "web"},
        ports=(
            Port(
                number=8443,
                story="A user's workload at Intermediate: bound by nothing, not ready for Modern.",
                voice="intermediate",
                paper=service_paper("web", "shop"),
                told=Told(verdict="fail", status="readiness", breaks=_READINESS),
            ),
            Port(
                number=9402,
                name="metrics",
                story="Metrics in plaintext; nothing says that it should be TLS.",
                voice="plaintext",
                told=IN_CLEAR,
            ),
            Port(
                number=9444,
                name="debug",
                story="Declared, and nobody listens.",
                told=Told(verdict="not_applicable", reach=Reach.CLOSED, status="unreachable"),
            ),
        ),
        front=Front(
            name="web",
            ports=((443, "https"), (9402, "metrics"), (9444, "debug")),
            serving_cert="web-tls",
        ),
    ),
    Workload(
        namespace="shop",
        name="checkout",
        nodes=(WORKER_0, WORKER_1, WORKER_0),
        labels={"app": "checkout"},
        ports=(
            Port(
                number=8443,
                story="Three replicas behind a passthrough Route, and one of them still accepts TLS 1.0.",
                voice="modern",
                odd_voice="forgotten",
                paper=Paper(signer="shop", names=(f"checkout.{APPS}", "checkout.shop.svc"), days=(-30, 60)),
                odd_told=Told(verdict="fail", status="readiness", breaks=_READINESS),
            ),
        ),
        front=Front(name="checkout"),
    ),
    Workload(
        namespace="shop",
        name="catalog",
        nodes=(WORKER_1,),
        labels={"app": "catalog"},
        ports=(
            Port(
                number=8443,
                name="metrics",
                story="Its ServiceMonitor says https, and it answers in plaintext.",
                voice="plaintext",
                told=Told(verdict="fail", reach=Reach.PLAINTEXT, status="not-tls", breaks=("tls-reach",)),
            ),
        ),
        front=Front(name="catalog", ports=((8443, "metrics"),)),
    ),
    Workload(
        namespace="mainframe",
        name="bridge",
        nodes=(WORKER_1,),
        labels={"app": "bridge"},
        ports=(
            Port(
                number=8081,
                name="http",
                story="Behind an edge Route: TLS ends at the router, as its termination says.",
                voice="plaintext",
                told=IN_CLEAR,
            ),
        ),
        front=Front(name="bridge", ports=((8081, "http"),)),
    ),
)
