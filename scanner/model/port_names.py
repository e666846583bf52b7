"""What the names and protocols of ports say of TLS."""

from __future__ import annotations

import re

_TLS = frozenset({"https", "tls", "ssl", "wss", "grpcs", "kubernetes.io/wss", "ldaps", "amqps", "mqtts"})
"""``appProtocol`` of Service ports (Kubernetes, core/v1 ServicePort; IANA service names) that mean TLS."""
_PLAIN = frozenset({"http", "ws", "h2c", "kubernetes.io/h2c", "kubernetes.io/ws"})
"""Those that mean HTTP without."""
_TLS_NAME = re.compile(r"https|(^|-)(tls|ssl|wss|grpcs|ldaps|amqps|mqtts|webhook)(-|$)|^webhook")
"""Port names: ``https``, ``https-metrics``, ``metrics-tls``, ``webhook-server``."""
_PLAIN_NAME = re.compile(r"(^|-)(http|h2c|ws)(-|$)")


def protocol_says(app_protocol: str) -> bool | None:
    """Whether an ``appProtocol`` means TLS; None where it means neither that nor plain HTTP."""
    protocol = app_protocol.lower()
    return True if protocol in _TLS else False if protocol in _PLAIN else None


def name_says(name: str) -> bool | None:
    """The same of a port's name, which is a hint and no promise."""
    lower = name.lower()
    return True if _TLS_NAME.search(lower) else False if _PLAIN_NAME.search(lower) else None
