"""Probes of the Prometheus operator."""

from __future__ import annotations


def probe(targets: str, rest: str = "", namespace: str = "shop") -> str:
    return f"""
---
{{kind: Probe, metadata: {{name: site, namespace: {namespace}}}, spec: {{targets: {{{targets}}} {rest}}}}}
"""


def static(*targets: str, module: str = "http_2xx", namespace: str = "shop") -> str:
    listed = ", ".join(f'"{each}"' for each in targets)
    return probe(f"staticConfig: {{static: [{listed}]}}", f", module: {module}", namespace)
