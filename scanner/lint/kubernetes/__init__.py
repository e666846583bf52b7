"""Kubernetes' own kinds and those of Prometheus: Ingress, webhooks, aggregated APIs, probes, monitors, Secrets."""

from __future__ import annotations

from scanner.lint.kubernetes.ca_bundles import BUNDLE
from scanner.lint.kubernetes.cert_manager import CERTIFICATE_MADE
from scanner.lint.kubernetes.exposed import EXPOSED
from scanner.lint.kubernetes.ingress_rules import CERTIFICATE, CLASS, HOSTS, ONE_CERTIFICATE
from scanner.lint.kubernetes.monitor_tls import MONITOR_TLS
from scanner.lint.kubernetes.monitors import MONITOR_SCHEME
from scanner.lint.kubernetes.probes import PROBES, PROTOCOL
from scanner.lint.kubernetes.secrets import REUSE, SECRET_CERTIFICATE
from scanner.lint.kubernetes.unverified import API, MONITOR
from scanner.lint.kubernetes.webhook_targets import TARGET
from scanner.model.object_rule import ObjectRule

KUBERNETES_RULES: tuple[ObjectRule, ...] = (
    CERTIFICATE,
    HOSTS,
    CLASS,
    ONE_CERTIFICATE,
    BUNDLE,
    TARGET,
    API,
    MONITOR,
    PROBES,
    PROTOCOL,
    MONITOR_SCHEME,
    MONITOR_TLS,
    REUSE,
    SECRET_CERTIFICATE,
    EXPOSED,
    CERTIFICATE_MADE,
)
