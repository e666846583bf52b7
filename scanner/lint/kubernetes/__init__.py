"""Kubernetes' own kinds and those of Prometheus: Ingress, webhooks, aggregated APIs, probes, monitors, Secrets."""

from __future__ import annotations

from scanner.lint.kubernetes.cert_manager import CERTIFICATE_MADE
from scanner.lint.kubernetes.ingress_rules import CERTIFICATE, CLASS, HOSTS, ONE_CERTIFICATE
from scanner.lint.kubernetes.monitors import MONITOR, MONITOR_SCHEME, MONITOR_TLS
from scanner.lint.kubernetes.probes import PROBES, PROTOCOL
from scanner.lint.kubernetes.secret_rules import EXPOSED, REUSE, SECRET_CERTIFICATE
from scanner.lint.kubernetes.webhooks import API, BUNDLE, TARGET
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
