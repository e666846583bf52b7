"""The fields of the Gateway API's routes but TLSRoute, and of XBackend, as far as rules on TLS look into them."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from scanner.lint.fields import together
from scanner.lint.fields.gateway_others import (
    ALTERNATIVE,
    AUTHORITIES,
    BACKEND,
    PARENTS,
    TLS_RULE,
    WELL_KNOWN,
)
from scanner.lint.fields.names import HOSTNAME, PORT, PRECISE, SECRET_REFERENCE
from scanner.lint.fields.shape import Items, Record, Shape, Text, anything

_FILTERED: Final = Items(replace(BACKEND, fields={**BACKEND.fields, **anything("filters")}), 0, 16)
_RULE: Final[dict[str, Shape]] = {
    "name": PRECISE,
    "backendRefs": _FILTERED,
    **anything("filters", "matches", "sessionPersistence"),
}
_PARENT: Final[dict[str, Shape]] = {"parentRefs": PARENTS, **anything("useDefaultGateways")}
_SPEC: Final[dict[str, Shape]] = {**_PARENT, "hostnames": Items(HOSTNAME, 0, 16)}
_CLASHES: Final = (*together.PARENTS, *together.RULES)
HTTP_ROUTE: Final = Record(
    {**_SPEC, "rules": Items(Record({**_RULE, **anything("retry", "timeouts")}), 1, 16)}, clashes=_CLASHES
)
GRPC_ROUTE: Final = Record({**_SPEC, "rules": Items(Record(_RULE), 0, 16)}, clashes=_CLASHES)
TCP_ROUTE: Final = Record({**_PARENT, "rules": Items(TLS_RULE, 1, 1)}, ("rules",), clashes=together.PARENTS)
OLD_TCP_ROUTE: Final = Record({**_PARENT, "rules": Items(TLS_RULE, 1, 16)}, ("rules",), clashes=_CLASHES)
"""v1alpha2."""
_VALIDATION: Final = Record(
    {
        "hostname": PRECISE,
        "wellKnownCACertificates": WELL_KNOWN,
        "caCertificateRefs": AUTHORITIES,
        "subjectAltNames": Items(replace(ALTERNATIVE, clashes=together.ALTERNATIVE), 0, 5),
    },
    ("hostname",),
    clashes=together.X_BACKEND_AUTHORITIES,
)
X_BACKEND: Final = Record(
    {
        "type": Text(enum=("ExternalHostname",)),
        "externalHostname": Record({"hostname": PRECISE}, ("hostname",)),
        "port": Record({"port": PORT, **anything("name")}, ("port",)),
        "protocol": Text(enum=("TCP", "HTTP", "HTTP2", "HTTP11", "H2C", "MCP")),
        "tls": Record(
            {
                "mode": Text(enum=("None", "ServerOnly", "ClientAndServer"), weak=("None",)),
                "clientCertificateRef": SECRET_REFERENCE,
                "validation": _VALIDATION,
            },
            ("mode",),
            clashes=together.X_BACKEND_TLS,
        ),
    },
    ("port", "type"),
    clashes=together.X_BACKEND,
)
