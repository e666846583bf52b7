"""TLS that the names and protocols of ports suggest."""

from __future__ import annotations

import pytest

from scanner.kube.service import name_suggests_tls, protocol_suggests_tls


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("https", True),
        ("https-metrics", True),
        ("metrics-tls", True),
        ("webhook-server", True),
        ("HTTPS", True),
        ("http", False),
        ("http-web", False),
        ("admin-http", False),
        ("h2c", False),
        ("http-tls", True),
        ("metrics", None),
        ("http2", None),
        ("", None),
    ],
)
def test_names(name: str, expected: bool | None) -> None:
    assert name_suggests_tls(name) is expected


@pytest.mark.parametrize(
    ("protocol", "expected"),
    [
        ("https", True),
        ("TLS", True),
        ("kubernetes.io/wss", True),
        ("http", False),
        ("kubernetes.io/h2c", False),
        ("grpc", None),
        ("", None),
    ],
)
def test_protocols(protocol: str, expected: bool | None) -> None:
    assert protocol_suggests_tls(protocol) is expected
