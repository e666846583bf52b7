"""The proxy of an API server: the cases of Go's implementation of NO_PROXY."""

from __future__ import annotations

import pytest

from scanner.cluster.api_connection import environment_proxy
from scanner.errors import InputError

PROXY = "http://proxy.example:3128"


@pytest.mark.parametrize(
    ("server", "no_proxy", "proxied"),
    [
        ("https://api.example:6443", "", True),
        ("https://api.example:6443", "example", False),
        ("https://api.example:6443", ".example", False),
        ("https://api.example:6443", "*.example", False),
        ("https://api.example:6443", "API.EXAMPLE", False),
        ("https://api.example:6443", "pi.example", True),
        ("https://api.example:6443", "api.example:6443", False),
        ("https://api.example:6443", "api.example:443", True),
        ("https://api.example", "other, api.example:443", False),
        ("https://api.example", "*", False),
        ("https://172.30.0.1:443", "172.30.0.0/16", False),
        ("https://172.31.0.1:443", "172.30.0.0/16", True),
        ("https://172.30.0.1:443", "172.30.0.1", False),
        ("https://172.30.0.1:443", "30.0.1", True),
        ("https://172.30.0.1:443", "172.30.0.0/99", True),
        ("https://[fd00::1]:443", "fd00::/8", False),
        ("https://[fd00::1]:443", "[fd00::1]:443", False),
        ("https://[fd00::1]:443", "fd00::1", False),
        ("https://127.0.0.1:6443", "", False),
        ("https://localhost:6443", "", False),
        ("https://[::1]:6443", "", False),
    ],
)
def test_no_proxy(server: str, no_proxy: str, proxied: bool) -> None:
    environment = {"HTTPS_PROXY": PROXY, "NO_PROXY": no_proxy}
    assert environment_proxy(server, environment) == (PROXY if proxied else None)


@pytest.mark.parametrize(
    ("environment", "proxy"),
    [
        ({}, None),
        ({"https_proxy": PROXY}, PROXY),
        ({"HTTPS_PROXY": "proxy.example:3128"}, PROXY),
        ({"HTTP_PROXY": PROXY, "ALL_PROXY": PROXY}, None),
        ({"https_proxy": PROXY, "no_proxy": "api.example"}, None),
    ],
)
def test_the_variables(environment: dict[str, str], proxy: str | None) -> None:
    assert environment_proxy("https://api.example", environment) == proxy


@pytest.mark.parametrize("proxy", ["socks5://me:secret@x:1", "http://", "http://me:secret@x:port"])
def test_a_proxy_that_cannot_be_used_is_an_error_without_its_password(proxy: str) -> None:
    with pytest.raises(InputError, match="HTTPS_PROXY") as caught:
        environment_proxy("https://api.example", {"HTTPS_PROXY": proxy})
    assert "secret" not in caught.value.message
