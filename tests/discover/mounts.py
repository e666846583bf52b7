"""A Pod that mounts a certificate."""

from __future__ import annotations


def pod(volume: str, port: str = "containerPort: 7000", mounted: str = "c", namespace: str = "shop") -> str:
    return f"""
---
{{kind: Pod, metadata: {{name: web, namespace: {namespace}}},
  spec: {{containers: [{{name: c, ports: [{{{port}}}], volumeMounts: [{{name: {mounted}, mountPath: /tls}}]}}],
          volumes: [{{name: c, {volume}}}]}},
  status: {{podIP: 10.128.0.9}}}}
"""


CERTIFICATE = """
---
{kind: Certificate, metadata: {name: web, namespace: shop}, spec: {secretName: web-tls, dnsNames: [web.shop.svc]}}
"""
SECRET = "secret: {secretName: web-tls}"
