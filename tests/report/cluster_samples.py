"""A realistic report of a cluster: components that honour their profile and not, replicas, users, what was not read."""

from __future__ import annotations

from collections.abc import Iterator

from scanner.kube.kinds import ROUTE, SECRET
from scanner.kube.maybe import Unknown
from scanner.kube.objects import Reference
from scanner.kube.snapshot import Unreadable
from scanner.model.endpoint import Endpoint, Owner
from scanner.model.expectation import Because, Expectation
from scanner.model.finding import Finding
from scanner.model.observation import Observation, Reach
from scanner.model.report import Coverage, EndpointRow, Report, ScannerRow
from scanner.report.coverage import discovery_row
from scanner.report.rows import endpoint_row, finding_row
from scanner.values import replace
from tests.origins import origin
from tests.report import samples
from tests.report.certificate_samples import SAID, certificates
from tests.report.samples import HOSTILE, PASSED, PROFILE, certificate, finding

STRICT = Expectation(
    profile=PROFILE,
    standing="platform",
    adherence="StrictAllComponents",
    because=(
        Because(source="APIServer/cluster", field="spec.tlsSecurityProfile.type", said="Intermediate"),
        Because(source="APIServer/cluster", field="spec.tlsAdherence", said="StrictAllComponents", beat="the default"),
    ),
)
USER = replace(STRICT, standing="user", binding="not-enforced")

OLD = finding(
    "tls-version",
    "high",
    "fail",
    "it accepts versions below TLSv1.2",
    observed=("TLSv1 (VersionTLS10, 0x0301)", "TLSv1.1 (VersionTLS11, 0x0302)"),
    expected=("TLSv1.2 or later (openshift/4.23/intermediate)",),
    fix="this component ignores APIServer/cluster spec.tlsSecurityProfile: report it (adhere explain --bug)",
    reproduce="adhere ask tls://10.128.0.7:8443 --version 1.0",
)
WEAK = finding(
    "tls-cipher-suite",
    "medium",
    "fail",
    "it accepts suites that the profile forbids",
    observed=("TLS_RSA_WITH_AES_128_CBC_SHA (AES128-SHA, 0x002F)",),
    expected=("TLS_AES_128_GCM_SHA256",),
    fix="set spec.tlsSecurityProfile of IngressController/openshift-ingress-operator/default",
)
SILENT = finding(
    "tls-reach",
    "high",
    "inconclusive",
    "no answer to the connection attempt: open the firewall or NetworkPolicy for the scanner",
    status="unreachable",
    fix="admit the scanner to port 8443 in NetworkPolicy/shop/deny-all, or scan from a client that it admits",
    evidence=("no answer in 3.0 s", "NetworkPolicy/shop/deny-all selects the pod and admits no client to this port"),
)
DIFFER = finding(
    "replicas-differ",
    "medium",
    "fail",
    "the 3 replicas of DaemonSet/openshift-dns/dns-default:9154 do not accept the same",
    observed=("TLSv1 (VersionTLS10, 0x0301): accepted by 10.128.0.7:9154, refused by 10.129.0.7:9154 and 1 more",),
    evidence=("alike (1): 10.129.0.7:9154, 10.130.0.7:9154", "alike (2): 10.128.0.7:9154"),
    about="DaemonSet/openshift-dns/dns-default:9154",
)


def endpoint(owner: Owner, port: int, address: str, component: str | None, **more: object) -> Endpoint:
    """A listener of ``owner`` on one of its replicas."""
    id_ = "/".join(filter(None, (owner.kind, owner.namespace, owner.name))) + f":{port}"
    made = Endpoint(
        id=id_,
        instance=f"{id_} @ {address}:{port}",
        address=address,
        port=port,
        host=address,
        owner=owner,
        component=component,
        origins=(origin(f"{owner.kind}/{owner.namespace}/{owner.name} port {port}"),),
    )
    return replace(made, **more)  # type: ignore[arg-type]


def _row(of: Endpoint, owes: Expectation, *findings: Finding, seen: Observation | None = None) -> EndpointRow:
    told = [one for one in findings if one.verdict == "fail"] or list(findings[:1])
    verdict, status = told[0].verdict, "ok" if told[0].verdict == "pass" else told[0].status
    seen = seen or samples.speaking(of.id, chain=(certificate(of.owner.name[:20]), samples.ISSUER))
    blocked = [Reference(kind="NetworkPolicy", namespace="shop", name="deny-all")] if findings[0] is SILENT else []
    return endpoint_row(of, owes, replace(seen, instance=of.instance), verdict, status, findings, blocked_by=blocked)


def _accepting_old() -> Observation:
    return list(samples.parts())[1][2]


def rows() -> Iterator[EndpointRow]:
    """What discovery and judging would give."""
    etcd = Owner(kind="Pod", namespace="openshift-etcd", name="etcd")
    for number in range(3):
        node = f"control-{number}"
        yield _row(endpoint(etcd, 2379, f"10.0.0.{number}", "etcd", node=node, runs_on=node), STRICT, *PASSED)
    dns = Owner(kind="DaemonSet", namespace="openshift-dns", name="dns-default")
    for number in range(3):
        where = endpoint(dns, 9154, f"10.{128 + number}.0.7", "dns", pod=Reference(kind="Pod", name=f"dns-{number}"))
        yield _row(where, STRICT, OLD, PASSED[1], seen=_accepting_old())
    router = Owner(kind="Deployment", namespace="openshift-ingress", name="router-default")
    yield _row(
        endpoint(router, 443, "10.0.1.1", "router", segment="Frontend", aliases=("203.0.113.7:443",),
                 subject=Reference(kind="Route", namespace="shop", name="checkout")),
        STRICT, PASSED[0], WEAK,
    )  # fmt: skip
    yield _row(endpoint(router, 1936, "10.0.1.1", "router"), STRICT, *PASSED)
    for number in range(2):
        kubelet = Owner(kind="Node", name=f"worker-{number}")
        yield _row(endpoint(kubelet, 10250, f"10.0.2.{number}", "kubelet", node=kubelet.name), STRICT, *PASSED)
    settling = replace(STRICT, binding="settling", alternatives=(replace(PROFILE, name="openshift/4.23/old"),))
    oauth = Owner(kind="Deployment", namespace="openshift-authentication", name="oauth-openshift")
    yield _row(
        endpoint(oauth, 6443, "10.128.0.30", "oauth-server"), settling, replace(OLD, status="converging"),
        seen=_accepting_old(),
    )  # fmt: skip
    unknown = replace(STRICT, profile=Unknown("KubeletConfig could not be read: forbidden"))
    crio = endpoint(Owner(kind="Node", name="worker-0"), 10010, "10.0.2.0", "crio", node="worker-0")
    untold = finding("tls-version", "high", "inconclusive", "the profile is unknown: KubeletConfig is forbidden")
    yield _row(crio, unknown, untold)
    logging = Owner(kind="Deployment", namespace="openshift-logging", name="lokistack-gateway")
    layered = replace(STRICT, standing="layered")
    yield _row(endpoint(logging, 8080, "10.128.0.31", None), layered, *PASSED)
    web = Owner(kind="Deployment", namespace="shop", name="web")
    for number in range(7):
        yield _row(endpoint(web, 8443, f"10.128.1.{number}", None), USER, replace(WEAK, status="readiness"), PASSED[0])
    silent = samples.deaf("db", Reach.FILTERED, "no answer in 3.0 s")
    database = Owner(kind="StatefulSet", namespace="shop", name="db")
    yield _row(endpoint(database, 8443, "10.128.1.9", None), USER, SILENT, seen=silent)
    plain = samples.deaf("metrics", Reach.PLAINTEXT, "HTTP/1.0 200 OK", "http")
    left = finding("tls-reach", "info", "not_applicable", "plaintext on a port that nobody declared as TLS")
    yield _row(endpoint(web, 9090, "10.128.1.1", None, certainty="candidate"), USER, left, seen=plain)
    hostile = Owner(kind="Deployment", namespace=HOSTILE, name=HOSTILE)
    yield _row(endpoint(hostile, 8443, "10.128.1.8", HOSTILE, node=HOSTILE), USER, *PASSED)


UNREADABLE = (
    Unreadable(kind=SECRET, gap="not-asked", reason="Secrets are read only with a permission of their own"),
    Unreadable(kind=ROUTE, gap="forbidden", reason=f"routes.route.openshift.io is forbidden: {HOSTILE}"),
)
LEFT_OUT = (("UDP, which TLS does not use", 12), ("never TLS by the component catalogue", 4))
CLUSTER: dict[str, object] = {
    "name": "prod-eu",
    "distribution": "openshift",
    "id": "7a1f3c52-0000-4000-8000-000000000000",
    "version": "4.23.1",
    "platform": "AWS",
    "topology": "HighlyAvailable",
    "server": "https://api.prod-eu.example:6443",
}


def report(kept: list[EndpointRow] | None = None, *, interrupted: str | None = None) -> Report:
    """A report over ``kept`` (all of ``rows`` unless given)."""
    plain = samples.report(list(rows()) if kept is None else kept, findings=(DIFFER, *SAID), interrupted=interrupted)
    told = discovery_row(plain.summary, discovered=45, left_out=LEFT_OUT, unreadable=UNREADABLE, accepted=("secrets",))
    coverage: Coverage = {**plain.coverage, "discovery": told}
    scanner: ScannerRow = {**plain.scanner, "profile": "", "arguments": ["scan", "--cluster"]}
    return replace(plain, cluster=CLUSTER, coverage=coverage, scanner=scanner, certificates=certificates())


FINDING_ROW = finding_row(DIFFER)
