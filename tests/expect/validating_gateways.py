"""Gateways that validate the certificates of clients."""

from __future__ import annotations

from typing import Any

from tests.expect.declared_objects import GATEWAY_API, config_map, made

CA = config_map("shop", "ca", "ca.crt", b"ca")


def policy(version: str = "v1", **spec: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    return made("BackendTLSPolicy", "shop", "web", GATEWAY_API.replace("v1", version), spec=spec)


REFERENCE = {"group": "", "kind": "ConfigMap", "name": "ca"}


def v1(**more: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    return {"caCertificateRefs": [REFERENCE], **more}


WEB = "Deployment/shop/web:8443#web.shop.svc"
