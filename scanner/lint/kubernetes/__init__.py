"""Kubernetes' own kinds and those of Prometheus: Ingress, webhooks, aggregated APIs, probes, monitors, Secrets."""

from __future__ import annotations

from scanner.model.object_rule import ObjectRule

KUBERNETES_RULES: tuple[ObjectRule, ...] = ()
