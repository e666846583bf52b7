"""The fields of what belongs to Gateways: policies for backends, routes for TLS, and grants."""

from __future__ import annotations

from typing import Final

from scanner.lint.fields import together
from scanner.lint.fields.names import GROUP, HOSTNAME, KIND, LABELS, LOCAL, NAME, NAMESPACE, OPTIONS, PORT, PRECISE
from scanner.lint.fields.shape import Items, Number, Record, Text, anything, former

ALTERNATIVE: Final = Record(
    {
        "type": Text(enum=("Hostname", "URI")),
        "hostname": HOSTNAME,
        "uri": Text(
            pattern=r"^(([^:/?#]+):)(//([^/?#]*))([^?#]*)(\?([^#]*))?(#(.*))?",
            shortest=1,
            longest=253,
            meant="a URI with a scheme and a host, such as spiffe://example.com/web",
        ),
    },
    ("type",),
)
WELL_KNOWN: Final = Text(
    pattern=rf"^(System|({LABELS}/([A-Za-z0-9][-A-Za-z0-9_.]{{0,61}})?[A-Za-z0-9]))$",
    shortest=1,
    longest=253,
    known=("System",),
    meant="System, or an implementation's own with its domain (example.com/NAME)",
)
AUTHORITIES: Final = Items(LOCAL, 0, 8)
BACKEND_TLS_POLICY: Final = Record(
    {
        "targetRefs": Items(
            Record({"group": GROUP, "kind": KIND, "name": NAME, "sectionName": PRECISE}, ("group", "kind", "name")),
            0,
            16,
        ),
        "options": OPTIONS,
        "validation": Record(
            {
                "hostname": PRECISE,
                "wellKnownCACertificates": WELL_KNOWN,
                "caCertificateRefs": AUTHORITIES,
                "subjectAltNames": Items(ALTERNATIVE, 0, 5),
            },
            ("hostname",),
            told=("hostname",),
        ),
        **former("targetRef", "tls"),
    },
    ("validation",),
)
"""That there must be a target is said by ``backend-tls-target``.

Up to release 1.4, ``wellKnownCACertificates`` is ``System`` alone."""
BACKEND: Final = Record(
    {
        "group": GROUP,
        "kind": KIND,
        "name": NAME,
        "namespace": NAMESPACE,
        "port": PORT,
        "weight": Number(least=0, most=1_000_000),
    },
    ("name",),
    clashes=together.BACKEND,
)
BACKENDS: Final = Items(BACKEND, 1, 16)
PARENTS: Final = Items(
    Record(
        {
            "group": GROUP,
            "kind": KIND,
            "name": NAME,
            "namespace": NAMESPACE,
            "port": PORT,
            "sectionName": PRECISE,
        },
        ("name",),
    ),
    0,
    32,
)
TLS_RULE: Final = Record({"name": PRECISE, "backendRefs": BACKENDS}, ("backendRefs",))
TLS_ROUTE: Final = Record(
    {
        "hostnames": Items(HOSTNAME, 0, 1024),
        "parentRefs": PARENTS,
        "rules": Items(TLS_RULE, 1, 1),
        **anything("useDefaultGateways"),
    },
    ("rules",),
    clashes=together.PARENTS,
)
"""At most 16 hostnames up to release 1.5; that there must be one is said by ``gateway-route-attachment``."""
_FROM: Final = Record({"group": GROUP, "kind": KIND, "namespace": NAMESPACE}, ("group", "kind", "namespace"))
_TO: Final = Record({"group": GROUP, "kind": KIND, "name": NAME}, ("group", "kind"))
REFERENCE_GRANT: Final = Record(
    {
        "from": Items(_FROM, 1, 16),
        "to": Items(_TO, 1, 16),
    },
    ("from", "to"),
)

OLD_POLICY: Final = Record({**anything("targetRef", "tls"), **former("targetRefs", "validation")})
"""v1alpha2, release 1.0: only ``targetRef`` and ``tls`` count."""
OLD_TLS_ROUTE: Final = Record(
    {
        **TLS_ROUTE.fields,
        "rules": Items(TLS_RULE, 1, 16),
    },
    ("rules",),
    clashes=(*together.PARENTS, *together.RULES),
)
"""v1alpha2."""
