"""Kubernetes' own kinds and those of Prometheus: Ingress, webhooks, aggregated APIs, probes, monitors, Secrets."""

from __future__ import annotations

from scanner.lint.kubernetes.ca_bundles import BUNDLE
from scanner.lint.kubernetes.ingress import CERTIFICATE, HOSTS
from scanner.lint.kubernetes.keys import REUSE
from scanner.lint.kubernetes.monitors import MONITOR_SCHEME
from scanner.lint.kubernetes.probes import PROBES, PROTOCOL
from scanner.lint.kubernetes.unverified import API, MONITOR
from scanner.model.object_rule import ObjectRule

KUBERNETES_RULES: tuple[ObjectRule, ...] = (
    CERTIFICATE,
    HOSTS,
    BUNDLE,
    API,
    MONITOR,
    PROBES,
    PROTOCOL,
    MONITOR_SCHEME,
    REUSE,
)
