"""Ingresses, webhooks, aggregated APIs, probes, monitors and keys, one line a case."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path

import pytest

from scanner.lint.kubernetes.ingress_rules import CERTIFICATE, HOSTS
from scanner.lint.kubernetes.monitors import MONITOR, MONITOR_SCHEME
from scanner.lint.kubernetes.probes import PROBES, PROTOCOL
from scanner.lint.kubernetes.secret_rules import REUSE
from scanner.lint.kubernetes.webhooks import API, BUNDLE
from scanner.model.object_rule import ObjectRule
from tests.lint.examples import WHOLE, findings_of, linted
from tests.lint.kubernetes.declared_objects import (
    ENTRY,
    HIGH,
    INFO,
    LOW,
    MEDIUM,
    UNKNOWN,
    api_service,
    conversion,
    ingress,
    monitor,
    pod,
    probe,
    secret,
    service,
    webhook,
    workload,
)

BLANK = b64encode(b"\n").decode()
NO_PEM = b64encode(b"a CA").decode()


OF_NGINX = ingress(
    "{hosts: [web.example.com], secretName: web}", annotations="projectcontour.io/tls-cert-namespace: certs"
).replace("spec: {", "spec: {ingressClassName: nginx, ")
NGINX = (
    "apiVersion: networking.k8s.io/v1\nkind: IngressClass\nmetadata: {name: nginx}\n"
    "spec: {controller: k8s.io/ingress-nginx}\n"
)


PAIR = secret("CERTIFICATE(web.example.com)", "KEY(web.example.com)")
SERVED = "service: {name: a, namespace: b}"
GOOD, EXPIRED = 'caBundle: "CA_DATA(a)"', 'caBundle: "EXPIRED(a.b.svc)"'
SECURE, PLAIN = "readinessProbe: {httpGet: {port: 8443, scheme: HTTPS}}", "readinessProbe: {httpGet: {port: 8443}}"
TLS = "tlsConfig: {serverName: a}"
SKIPS = "tlsConfig: {insecureSkipVerify: true}"
SCRAPED = "v1\nkind: Probe", "v1alpha1\nkind: ScrapeConfig"
API_PORT = ", ports: [{name: api, containerPort: 8443}]"
BY_HTTPS, NAMED_HTTPS = service("port: 8443, appProtocol: https"), service("name: https, port: 1")
METRICS = service("name: metrics, port: 1, appProtocol: https")


def annotated(annotation: str) -> str:
    return ingress(ENTRY, annotations=annotation)


def filled(annotation: str, metadata: str = "") -> str:
    return webhook(SERVED, f"{metadata}, annotations: {{{annotation}}}")


def ready(get: str, more: str = "") -> str:
    return workload(f"readinessProbe: {{httpGet: {{{get}}}}}{more}")


def probed(get: str) -> str:
    return workload(f"{SECURE}, livenessProbe: {{httpGet: {{{get}}}}}")


def relabelled(how: str) -> str:
    return monitor(f"port: a, {TLS}, relabelings: [{{{how}}}]")


CASES: dict[str, tuple[ObjectRule, list[str], list[tuple[str, str]]]] = {
    "a certificate": (CERTIFICATE, [ingress(ENTRY), PAIR], []),
    "a Secret that was not given": (CERTIFICATE, [ingress(ENTRY)], [UNKNOWN]),
    "a Secret that does not exist": (CERTIFICATE, [WHOLE, ingress(ENTRY)], [HIGH]),
    "a Secret that cert-manager makes": (CERTIFICATE, [WHOLE, annotated("cert-manager.io/cluster-issuer: any")], []),
    "a Secret in Contour's other namespace": (
        CERTIFICATE,
        [WHOLE, annotated("projectcontour.io/tls-cert-namespace: any")],
        [],
    ),
    "a Secret of another controller, with an annotation of Contour": (CERTIFICATE, [WHOLE, OF_NGINX, NGINX], [HIGH]),
    "an annotation of Contour, and another's class": (CERTIFICATE, [OF_NGINX, PAIR], []),
    "an annotation of Contour, and a class that was not read": (
        CERTIFICATE,
        [OF_NGINX.replace("nginx", "public"), PAIR],
        [UNKNOWN],
    ),
    "no Secret named": (CERTIFICATE, [WHOLE, ingress("{hosts: [web.example.com]}")], []),
    "Opaque": (CERTIFICATE, [ingress(ENTRY), PAIR.replace("kubernetes.io/tls", "Opaque")], [HIGH]),
    "another key": (
        CERTIFICATE,
        [ingress(ENTRY), secret("CERTIFICATE(web.example.com)", "KEY(other.example.com)")],
        [HIGH],
    ),
    "another name": (CERTIFICATE, [ingress(ENTRY.replace("web.e", "www.e")), PAIR], [HIGH]),
    "every host is named": (HOSTS, [ingress(ENTRY, "{host: web.example.com}")], []),
    "case does not matter": (HOSTS, [ingress(ENTRY, "{host: WEB.example.com}")], []),
    "a host is not named": (HOSTS, [ingress(ENTRY, "{host: web.example.com}, {host: a.example.com}")], [MEDIUM]),
    "no tls at all": (HOSTS, [ingress("", "{host: a.example.com}, {}")], [LOW]),
    "tls for another host": (HOSTS, [ingress("{hosts: [b.example.com]}", "{host: a.example.com}")], [MEDIUM]),
    "an entry for all": (HOSTS, [ingress("{secretName: web}", "{host: a.example.com}, {}")], []),
    "a wildcard": (HOSTS, [ingress('{hosts: ["*.example.com"]}', "{host: a.example.com}")], []),
    "a wildcard is one label": (HOSTS, [ingress('{hosts: ["*.example.com"]}', "{host: a.b.example.com}")], [MEDIUM]),
    "Contour takes no wildcard": (
        HOSTS,
        [ingress('{hosts: ["*.example.com"]}', "{host: a.example.com}", "projectcontour.io/retry-on: any")],
        [MEDIUM],
    ),
    "a bundle": (BUNDLE, [webhook(f"{SERVED}, {GOOD}")], []),
    "no bundle": (BUNDLE, [webhook(SERVED)], [UNKNOWN]),
    "no bundle in the cluster": (BUNDLE, [webhook(SERVED, ", uid: a")], [HIGH]),
    "a blank bundle": (BUNDLE, [webhook(f"{SERVED}, caBundle: {BLANK}")], [UNKNOWN]),
    "a blank bundle in the cluster": (BUNDLE, [webhook(f"{SERVED}, caBundle: {BLANK}", ", uid: a")], [HIGH]),
    "no bundle for a URL": (BUNDLE, [webhook("url: 'https://a.example'")], []),
    "no base64": (BUNDLE, [webhook("url: 'https://a.example', caBundle: '-----BEGIN CERTIFICATE-----'")], [HIGH]),
    "a number": (BUNDLE, [webhook(f"{SERVED}, caBundle: 7")], [HIGH]),
    "no PEM": (BUNDLE, [webhook(f"{SERVED}, caBundle: {NO_PEM}")], [HIGH]),
    "an old bundle": (BUNDLE, [webhook(f"{SERVED}, {EXPIRED}")], [HIGH]),
    "filled by cert-manager": (BUNDLE, [filled("cert-manager.io/inject-ca-from: b/a")], [INFO]),
    "filled by the service CA": (BUNDLE, [filled('service.beta.openshift.io/inject-cabundle: "true"')], [INFO]),
    "not to be filled": (BUNDLE, [filled('service.beta.openshift.io/inject-cabundle: "false"')], [UNKNOWN]),
    "not filled in the cluster": (BUNDLE, [filled("cert-manager.io/inject-ca-from: b/a", ", uid: a")], [HIGH]),
    "a conversion": (BUNDLE, [conversion(f"strategy: Webhook, webhook: {{clientConfig: {{{SERVED}}}}}")], [UNKNOWN]),
    "no conversion": (BUNDLE, [conversion("strategy: None")], []),
    "an API": (BUNDLE, [api_service(f"{SERVED}, {GOOD}")], []),
    "an API without": (BUNDLE, [api_service(SERVED)], [UNKNOWN]),
    "an API that is not verified": (BUNDLE, [api_service(f"{SERVED}, insecureSkipTLSVerify: true")], []),
    "a local API": (BUNDLE, [api_service("group: a")], []),
    "unverified": (API, [api_service(f"{SERVED}, insecureSkipTLSVerify: true")], [HIGH]),
    "verified": (API, [api_service(f"{SERVED}, {GOOD}")], []),
    "an unverified service": (MONITOR, [monitor(SKIPS)], [MEDIUM]),
    "unverified pods": (MONITOR, [monitor(SKIPS, "PodMonitor")], [MEDIUM]),
    "an unverified prober": (MONITOR, [probe(SKIPS)], [MEDIUM]),
    "an unverified target": (MONITOR, [probe(SKIPS).replace(*SCRAPED)], [MEDIUM]),
    "a verified service": (MONITOR, [monitor(f"scheme: https, {TLS}")], []),
    "two probes": (PROBES, [probed("port: 8443")], [MEDIUM]),
    "a hook": (PROBES, [workload(f"{SECURE}, lifecycle: {{preStop: {{httpGet: {{port: 8443}}}}}}")], [MEDIUM]),
    "two ports": (PROBES, [probed("port: 8080")], []),
    "small letters": (PROBES, [ready("port: 8443, scheme: https")], [HIGH]),
    "no scheme that there is": (PROBES, [ready("port: 8443, scheme: tls")], [HIGH]),
    "small letters beside capitals": (PROBES, [probed("port: 8443, scheme: https")], [HIGH]),
    "a name that the container has": (PROBES, [ready("port: api, scheme: HTTPS", API_PORT)], []),
    "a name that it has not": (PROBES, [ready("port: api, scheme: HTTPS")], [MEDIUM]),
    "a number in quotes": (PROBES, [ready("port: '8443'")], [MEDIUM]),
    "by gRPC": (PROBES, [workload(f"{SECURE}, livenessProbe: {{grpc: {{port: 8443}}}}")], []),
    "another host": (PROBES, [probed("port: 8443, host: a")], []),
    "a name": (PROBES, [workload(f"{PLAIN}, ports: [{{name: https, containerPort: 8443}}]")], [LOW]),
    "a name that says nothing": (PROBES, [workload(PLAIN + API_PORT)], []),
    "by a Service": (PROBES, [workload(PLAIN), service("port: 443, targetPort: 8443, appProtocol: https")], [MEDIUM]),
    "by a Service's named target": (
        PROBES,
        [workload(SECURE + API_PORT, "StatefulSet"), service("port: 80, targetPort: api, appProtocol: http")],
        [MEDIUM],
    ),
    "by a Service's own port": (PROBES, [workload(PLAIN, "DaemonSet"), service("name: https, port: 8443")], [LOW]),
    "by a Service of others": (
        PROBES,
        [workload(PLAIN), service("port: 8443, appProtocol: https", "app: web, tier: one")],
        [],
    ),
    "a pod": (PROBES, [pod(PLAIN), BY_HTTPS], [MEDIUM]),
    "a replica beside what made it": (PROBES, [WHOLE, pod(PLAIN, "ReplicaSet"), workload(PLAIN), BY_HTTPS], [MEDIUM]),
    "a replica alone": (PROBES, [pod(PLAIN, "ReplicaSet"), BY_HTTPS], [MEDIUM]),
    "a name against a protocol": (PROTOCOL, [service("name: http, port: 1, appProtocol: https")], [("fail", "info")]),
    "a name beside a protocol": (PROTOCOL, [service("name: web, port: 1, appProtocol: https")], []),
    "tls for nothing": (MONITOR_SCHEME, [monitor(f"port: metrics, {TLS}")], [MEDIUM]),
    "tls for nothing in a probe": (MONITOR_SCHEME, [probe(f"prober: {{url: a}}, {TLS}")], [MEDIUM]),
    "tls for nothing in a ScrapeConfig": (MONITOR_SCHEME, [probe(f"scheme: HTTP, {TLS}").replace(*SCRAPED)], [MEDIUM]),
    "tls in a probe": (MONITOR_SCHEME, [probe(f"prober: {{url: a, scheme: https}}, {TLS}")], []),
    "upper case": (MONITOR_SCHEME, [monitor(f"port: metrics, scheme: HTTPS, {TLS}")], []),
    "relabelled by the target": (MONITOR_SCHEME, [relabelled("sourceLabels: [a], targetLabel: __scheme__")], [INFO]),
    "relabelled for all": (MONITOR_SCHEME, [relabelled("targetLabel: __scheme__, replacement: https")], []),
    "relabelled to plain text": (
        MONITOR_SCHEME,
        [monitor(f"port: a, scheme: https, {TLS}, relabelings: [{{targetLabel: __scheme__, replacement: http}}]")],
        [MEDIUM],
    ),
    "no such scheme": (MONITOR_SCHEME, [monitor("port: a, scheme: Https")], [MEDIUM]),
    "every namespace": (
        MONITOR_SCHEME,
        [
            monitor("port: https", namespaces="namespaceSelector: {any: true},").replace("shop", "monitoring"),
            NAMED_HTTPS,
        ],
        [LOW],
    ),
    "by what is behind the Service": (
        MONITOR_SCHEME,
        [monitor("targetPort: 8443"), service("name: a, port: 443, targetPort: 8443, appProtocol: https")],
        [MEDIUM],
    ),
    "a Service's protocol": (MONITOR_SCHEME, [monitor("port: metrics"), METRICS], [MEDIUM]),
    "a Service's name": (MONITOR_SCHEME, [monitor("port: https"), NAMED_HTTPS], [LOW]),
    "another port": (MONITOR_SCHEME, [monitor("port: web"), METRICS], []),
    "another namespace": (
        MONITOR_SCHEME,
        [monitor("port: https", namespaces="namespaceSelector: {matchNames: [b]},"), NAMED_HTTPS],
        [],
    ),
    "pods' probes": (MONITOR_SCHEME, [monitor("port: api", "PodMonitor"), workload(SECURE + API_PORT)], [MEDIUM]),
    "pods' number": (MONITOR_SCHEME, [monitor("portNumber: 8443", "PodMonitor"), workload(SECURE)], [MEDIUM]),
    "pods that agree": (
        MONITOR_SCHEME,
        [monitor("portNumber: 8443, scheme: https", "PodMonitor"), workload(SECURE)],
        [],
    ),
    "a key in two namespaces": (REUSE, [PAIR, PAIR.replace("shop", "blog")], [MEDIUM, MEDIUM]),
    "a key twice in one": (REUSE, [PAIR, PAIR.replace("name: web", "name: copy")], []),
    "a certificate without its key": (
        REUSE,
        [PAIR, secret("CERTIFICATE(web.example.com)", "KEY(other.example.com)", "blog")],
        [],
    ),
    "no namespace is default": (REUSE, [PAIR.replace(", namespace: shop", ""), PAIR.replace("shop", "default")], []),
}


@pytest.mark.parametrize(("rule", "texts", "expected"), CASES.values(), ids=CASES)
def test_findings(tmp_path: Path, rule: ObjectRule, texts: list[str], expected: list[tuple[str, str]]) -> None:
    assert [(each.verdict, each.severity) for each in findings_of(rule, tmp_path, *texts)] == expected


def test_a_key_is_named_by_its_public_half(tmp_path: Path) -> None:
    found, _ = linted(tmp_path, "\n---\n".join([PAIR, PAIR.replace("shop", "blog")]), [REUSE])
    (first,) = found[0].findings
    assert first.finding.message == "Secret/blog/web has the same private key"
    assert first.finding.observed[0].startswith("public key SHA-256 ")


def test_of_many_namespaces_three_are_named(tmp_path: Path) -> None:
    many = [PAIR.replace("shop", f"team-{number}") for number in range(6)]
    found, _ = linted(tmp_path, "\n---\n".join(many), [REUSE])
    assert [
        each.finding.message.endswith("and 2 more has the same private key") for one in found for each in one.findings
    ] == [True] * 6


def test_who_contradicts_a_probe_is_evidence(tmp_path: Path) -> None:
    texts = [workload(PLAIN), service("name: web, port: 443, targetPort: 8443, appProtocol: https")]
    found, _ = linted(tmp_path, "\n---\n".join(texts), [PROBES])
    (finding,) = found[0].findings
    assert finding.finding.evidence == ("the appProtocol https of Service/shop/web",)
    assert finding.field == "spec.template.spec.containers[0].readinessProbe.httpGet"


def test_another_name_is_not_mended_by_renewal(tmp_path: Path) -> None:
    texts = ingress("{hosts: [other.example], secretName: web}"), secret("CERTIFICATE(web.example)", "KEY(web.example)")
    (first, *_), _ = linted(tmp_path, "---\n".join(texts), [CERTIFICATE])
    assert [each.finding.fix for each in first.findings] == ["Secret/shop/web: use a certificate with these names"]
