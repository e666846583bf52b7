"""The fields of the Gateway API (apis/v1, release 1.6; what other releases say otherwise is noted beside it).

Fields of earlier releases stand here too, as ``FORMER``: rules of their own say that they are dropped.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from scanner.kube import kinds
from scanner.kube.kinds import Kind
from scanner.lint.fields import gateway_others as others
from scanner.lint.fields import gateway_routes as routes
from scanner.lint.fields import together
from scanner.lint.fields.names import (
    GROUP,
    HOSTNAME,
    KIND,
    LABELS,
    NAME,
    NAMESPACE,
    OPTIONS,
    PORT,
    PRECISE,
    REFERENCE,
    SECRET_REFERENCE,
    SELECTOR,
)
from scanner.lint.fields.shape import Items, Number, Record, Shape, Text, anything, former

_AUTHORITIES: Final = Items(REFERENCE, 0, 16)
"""8 up to release 1.5; that there must be one is said by ``gateway-client-ca``."""
_FRONTEND: Final = Record(
    {
        "validation": Record(
            {
                "caCertificateRefs": _AUTHORITIES,
                "mode": Text(enum=("AllowValidOnly", "AllowInsecureFallback"), weak=("AllowInsecureFallback",)),
            }
        )
    }
)
_PROTOCOL: Final = Text(
    pattern=rf"^[a-zA-Z0-9]([-a-zA-Z0-9]*[a-zA-Z0-9])?$|{LABELS}\/[A-Za-z0-9]+$",
    shortest=1,
    longest=255,
    known=("HTTP", "HTTPS", "TLS", "TCP", "UDP", "HBONE"),
    meant="HTTP, HTTPS, TLS, TCP or UDP, or an implementation's own with its domain (example.com/NAME)",
)
"""``ProtocolType``; HBONE is Istio's, for its own proxies (istio.io, "Configure waypoint proxies").

Up to release 1.1 the pattern has a slip, which takes the same."""
_LISTENER_TLS: Final = Record(
    {
        "mode": Text(enum=("Terminate", "Passthrough")),
        "certificateRefs": Items(SECRET_REFERENCE, 0, 64),
        "options": OPTIONS,
        **former("frontendValidation"),
    }
)
_LISTENER: Final[dict[str, Shape]] = {
    "name": PRECISE,
    "hostname": HOSTNAME,
    "protocol": _PROTOCOL,
    "port": PORT,
    "tls": _LISTENER_TLS,
    "allowedRoutes": Record(
        {
            "kinds": Items(Record({"group": GROUP, "kind": KIND}, ("kind",)), 0, 8),
            "namespaces": Record({"from": Text(enum=("All", "Selector", "Same")), "selector": SELECTOR}),
        }
    ),
}
_LISTENERS: Final = Items(Record(_LISTENER, ("name", "port", "protocol"), clashes=together.LISTENER), 1, 64)
_GATEWAY: Final = Record(
    {
        "listeners": _LISTENERS,
        "tls": Record(
            {
                "backend": Record({"clientCertificateRef": SECRET_REFERENCE}),
                "frontend": Record(
                    {
                        "default": _FRONTEND,
                        "perPort": Items(Record({"port": PORT, "tls": _FRONTEND}, ("port", "tls")), 0, 64),
                    },
                    ("default",),
                ),
                **former("default", "perPort"),
            }
        ),
        "gatewayClassName": NAME,
        **anything("addresses", "allowedListeners", "defaultScope", "infrastructure"),
        **former("backendTLS"),
    },
    ("gatewayClassName", "listeners"),
)
_PARENT: Final = Record({"group": GROUP, "kind": KIND, "name": NAME, "namespace": NAMESPACE}, ("name",))
_LISTENER_SET: Final = Record({"listeners": _LISTENERS, "parentRef": _PARENT}, ("listeners", "parentRef"))
_X_LISTENER: Final = Record(
    {**_LISTENER, "port": Number(least=0, most=65535)}, ("name", "protocol"), clashes=together.LISTENER
)
_X_LISTENER_SET: Final = Record(
    {
        "listeners": Items(_X_LISTENER, 1, 64),
        "parentRef": _PARENT,
    },
    ("listeners", "parentRef"),
)
"""In group gateway.networking.x-k8s.io, before release 1.5; without a port, or with 0, it is the Gateway's."""
GATEWAY_API: Final[Mapping[Kind, Record]] = {
    kinds.GATEWAY: Record({"spec": _GATEWAY}, ("spec",)),
    kinds.LISTENER_SET: Record({"spec": _LISTENER_SET}, ("spec",)),
    kinds.X_LISTENER_SET: Record({"spec": _X_LISTENER_SET}, ("spec",)),
    kinds.BACKEND_TLS_POLICY: Record({"spec": others.BACKEND_TLS_POLICY}, ("spec",)),
    kinds.TLS_ROUTE: Record({"spec": others.TLS_ROUTE}, ("spec",)),
    kinds.REFERENCE_GRANT: Record({"spec": others.REFERENCE_GRANT}, ("spec",)),
    kinds.HTTP_ROUTE: Record({"spec": routes.HTTP_ROUTE}, ("spec",)),
    kinds.GRPC_ROUTE: Record({"spec": routes.GRPC_ROUTE}, ("spec",)),
    kinds.TCP_ROUTE: Record({"spec": routes.TCP_ROUTE}, ("spec",)),
    kinds.X_BACKEND: Record({"spec": routes.X_BACKEND}, ("spec",)),
}
EARLIER: Final[Mapping[tuple[Kind, str], Record]] = {
    (kinds.BACKEND_TLS_POLICY, "v1alpha2"): Record({"spec": others.OLD_POLICY}, ("spec",)),
    (kinds.TLS_ROUTE, "v1alpha2"): Record({"spec": others.OLD_TLS_ROUTE}, ("spec",)),
    (kinds.TCP_ROUTE, "v1alpha2"): Record({"spec": routes.OLD_TCP_ROUTE}, ("spec",)),
}
"""Versions that say something else."""
