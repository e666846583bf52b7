"""The TLS settings of the demo's cluster listeners, by name.

``compliant`` is Modern, as the cluster's APIServer object asks (OpenShift 4.22). Cipher lists are OpenSSL's; the Old
one is openshift/api's for 4.22 without 3DES, which the wheels' OpenSSL is built without.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Literal

from scanner.demo import behaviours
from scanner.demo.listening import Part
from scanner.demo.tls_server import TlsSettings, can_choose_groups

GO_GROUPS = "X25519MLKEM768:X25519:P-256:P-384:P-521" if can_choose_groups() else None
"""What Go 1.24 and later offer by themselves, and the router too."""

_TLS = partial(TlsSettings, groups=GO_GROUPS)
_MODERN = partial(_TLS, min_version=0x0304)
_OLD_SUITES = (
    "ECDHE+AESGCM:ECDHE+CHACHA20:ECDHE-RSA-AES128-SHA256:ECDHE-RSA-AES128-SHA:ECDHE-RSA-AES256-SHA:"
    "AES128-GCM-SHA256:AES256-GCM-SHA384:AES128-SHA256:AES128-SHA:AES256-SHA:@SECLEVEL=0"
)

Serves = Literal[
    "modern",
    "modern-asks",
    "modern-demands",
    "intermediate",
    "intermediate-asks",
    "old-router",
    "stale-cbc",
    "forgotten",
    "plaintext",
]

TLS: dict[Serves, Callable[..., TlsSettings]] = {
    "modern": _MODERN,
    "modern-asks": partial(_MODERN, client_certificate="requested"),
    "modern-demands": partial(_MODERN, client_certificate="required"),
    "intermediate": _TLS,
    "intermediate-asks": partial(_TLS, client_certificate="requested"),
    "old-router": partial(_TLS, min_version=0x0302, ciphers=_OLD_SUITES, server_preference=True),
    "stale-cbc": partial(_TLS, ciphers="ECDHE+AESGCM:ECDHE-ECDSA-AES128-SHA256:ECDHE-ECDSA-AES256-SHA"),
    "forgotten": partial(_TLS, min_version=0x0301, ciphers="ECDHE+AESGCM:ECDHE+AES:@SECLEVEL=0"),
}
"""Called with ``credential`` and ``client_ca``."""

PARTS: dict[Serves, Part] = {"plaintext": behaviours.plaintext_http}
