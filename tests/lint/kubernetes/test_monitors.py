"""TLS settings of monitors, one line a case."""

from __future__ import annotations

from pathlib import Path

import pytest

from scanner.lint.kubernetes.monitors import MONITOR_TLS
from tests.lint.examples import WHOLE, findings_of
from tests.lint.kubernetes.declared_objects import INFO, LOW, MEDIUM, monitor, probe, service

UNKNOWN = ("inconclusive", "medium")
NAMED = "serverName: web.shop.svc"
FILE = "caFile: /a"
HELD = "ca: {configMap: {name: ca, key: ca.crt}}"
SERVICE = service("name: a, port: 1")


def endpoint(tls: str, kind: str = "ServiceMonitor", scheme: str = "https") -> str:
    return monitor(f"port: a, scheme: {scheme}, tlsConfig: {{{tls}}}", kind)


def scraping(spec: str) -> str:
    metadata = "metadata: {name: web, namespace: shop}"
    return f"apiVersion: monitoring.coreos.com/v1alpha1\nkind: ScrapeConfig\n{metadata}\nspec: {{{spec}}}\n"


def config_map(data: str, annotations: str = "") -> str:
    metadata = f"{{name: ca, namespace: shop, annotations: {{{annotations}}}}}"
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata: {metadata}\ndata: {{{data}}}\n"


CA = config_map("ca.crt: CA(a)")
CASES: dict[str, tuple[list[str], list[tuple[str, str]], str]] = {
    "good": ([endpoint(f"{NAMED}, {FILE}, minVersion: TLS12"), SERVICE], [], ""),
    "http": ([endpoint("minVersion: TLS10", scheme="http")], [], ""),
    "turned round": ([endpoint(f"{NAMED}, {FILE}, minVersion: TLS13, maxVersion: TLS12")], [MEDIUM], "is above"),
    "equal": ([endpoint(f"{NAMED}, {FILE}, minVersion: TLS12, maxVersion: TLS12")], [], ""),
    "old": ([endpoint(f"{NAMED}, {FILE}, minVersion: TLS11")], [LOW], "RFC 8996"),
    "only old": ([endpoint(f"{NAMED}, {FILE}, maxVersion: TLS11")], [MEDIUM], "RFC 8996"),
    "no such version": ([endpoint(f"{NAMED}, {FILE}, minVersion: VersionTLS12")], [MEDIUM], "unknown version"),
    "a certificate alone": ([endpoint(f"{NAMED}, {FILE}, cert: {{secret: {{name: a}}}}")], [MEDIUM], "no key"),
    "a key alone": ([endpoint(f"{NAMED}, {FILE}, keySecret: {{name: a}}")], [MEDIUM], "no certificate"),
    "both": ([endpoint(f"{NAMED}, {FILE}, cert: {{secret: {{name: a}}}}, keySecret: {{name: a}}")], [], ""),
    "two CAs": ([endpoint(f"{NAMED}, {FILE}, {HELD}"), CA], [MEDIUM], "more than one CA"),
    "no CA": ([endpoint(NAMED)], [INFO], "which CA Prometheus verifies with"),
    "a CA": ([endpoint(f"{NAMED}, {HELD}"), CA], [], ""),
    "a CA that was not given": ([endpoint(f"{NAMED}, {HELD}")], [UNKNOWN], "whether it has the CA"),
    "a CA in a Secret that does not exist": (
        [WHOLE, endpoint(f"{NAMED}, ca: {{secret: {{name: ca, key: ca.crt}}}}")],
        [MEDIUM],
        "Secret/shop/ca does not exist",
    ),
    "another key": ([endpoint(f"{NAMED}, {HELD}"), config_map("other: CA(a)")], [MEDIUM], "has no ca.crt"),
    "a leaf": ([endpoint(f"{NAMED}, {HELD}"), config_map("ca.crt: PEM(a)")], [MEDIUM], "is not a CA"),
    "a published one": ([endpoint(f"{NAMED}, ca: {{configMap: {{name: kube-root-ca.crt, key: ca.crt}}}}")], [], ""),
    "one that will be filled": (
        [endpoint(f"{NAMED}, {HELD}"), config_map("", 'service.beta.openshift.io/inject-cabundle: "true"')],
        [INFO],
        "the service CA operator",
    ),
    "no name": ([endpoint(FILE)], [MEDIUM], "no serverName"),
    "no name, of pods": ([endpoint(FILE, "PodMonitor")], [MEDIUM], "no serverName"),
    "no name, and nothing verified": ([endpoint("insecureSkipVerify: true")], [], ""),
    "no name of a prober": ([probe(f"prober: {{url: a.b, scheme: https}}, tlsConfig: {{{FILE}}}")], [], ""),
    "another Service": (
        [endpoint(f"serverName: other.shop.svc, {FILE}"), SERVICE],
        [MEDIUM],
        "serverName is 'other.shop.svc', but it selects web.shop.svc",
    ),
    "another namespace": ([endpoint(f"serverName: web.blog.svc, {FILE}"), SERVICE], [MEDIUM], "it selects web.shop"),
    "the whole name": ([endpoint(f"serverName: web.shop.svc.cluster.local, {FILE}"), SERVICE], [], ""),
    "a name of its own": ([endpoint(f"serverName: metrics.example, {FILE}"), SERVICE], [], ""),
    "no tlsConfig": ([monitor("port: a, scheme: https")], [INFO], "what Prometheus verifies"),
    "of a ScrapeConfig": ([scraping(f"scheme: HTTPS, tlsConfig: {{{FILE}, maxVersion: TLS11}}")], [MEDIUM], "RFC 8996"),
    "of a ScrapeConfig, without a name": ([scraping(f"scheme: HTTPS, tlsConfig: {{{FILE}}}")], [], ""),
    "nothing selected": ([endpoint(f"serverName: other.shop.svc, {FILE}")], [], ""),
}


@pytest.mark.parametrize(("texts", "expected", "said"), CASES.values(), ids=CASES)
def test_findings(tmp_path: Path, texts: list[str], expected: list[tuple[str, str]], said: str) -> None:
    findings = findings_of(MONITOR_TLS, tmp_path, *texts)
    assert [(each.verdict, each.severity) for each in findings] == expected
    assert said in (findings[0].message if findings else "")
