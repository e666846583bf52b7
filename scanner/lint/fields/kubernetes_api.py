"""The fields of Kubernetes' own kinds, which no definition describes: Go code in the API server holds them.

Ingresses: k8s.io/kubernetes ``pkg/apis/networking/validation``; webhooks: ``pkg/apis/admissionregistration/validation``
and k8s.io/apiserver ``pkg/util/webhook/validation.go``; APIServices: k8s.io/kube-aggregator
``pkg/apis/apiregistration/validation``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from scanner.kube import kinds
from scanner.kube.kinds import Kind
from scanner.lint.fields import together
from scanner.lint.fields.names import LABEL, LABELS, PORT
from scanner.lint.fields.shape import FLAG, TEXT, Items, Record, Shape, Text, Words, anything

_HOST: Final = Text(
    pattern=rf"^{LABELS}$|^\*\.{LABELS}$",
    shortest=1,
    longest=253,
    meant="a DNS name in lower case, with *. before it for a wildcard",
)
_RULE_HOST: Final = Text(pattern=rf"^$|{_HOST.pattern}", longest=253, meant=_HOST.meant)
_SECRET: Final = Text(pattern=rf"^$|^{LABELS}$|/", longest=253, meant="the name of a Secret, in lower case")
"""The API server takes no slash either; what is meant by one is said by the rules for Contour."""
_INGRESS: Final = Record(
    {
        "tls": Items(Record({"hosts": Items(_HOST), "secretName": _SECRET}, clashes=together.INGRESS_TLS), nulls=True),
        "ingressClassName": Text(pattern=rf"^{LABELS}$", longest=253, meant="the name of an IngressClass"),
        "rules": Items(Record({"host": _RULE_HOST, **anything("http")}, clashes=together.INGRESS_RULE), nulls=True),
        **anything("defaultBackend", "backend"),
    },
    clashes=together.INGRESS,
)
_NAMED: Final = Text(shortest=1)
_CALLED: Final[dict[str, Shape]] = {"namespace": _NAMED, "name": _NAMED, "port": PORT}
_TOLD: Final = ("namespace", "name", "port")
"""By ``webhook-target``, which also looks at URLs."""
_PATH: Final = Text(pattern="^$|^/", meant="a path that begins with /")
CLIENT_CONFIG: Final = Record(
    {"url": TEXT, "caBundle": TEXT, "service": Record({**_CALLED, "path": _PATH}, told=_TOLD)}
)
_WEBHOOK: Final = Record(
    {
        "name": Text(pattern=rf"^{LABEL}(\.{LABEL}){{2,}}$", longest=253, meant="a DNS name of three labels or more"),
        "clientConfig": CLIENT_CONFIG,
        "failurePolicy": Text(enum=("Fail", "Ignore")),
        **anything("admissionReviewVersions", "matchConditions", "matchPolicy", "namespaceSelector"),
        **anything("objectSelector", "reinvocationPolicy", "rules", "sideEffects", "timeoutSeconds"),
    },
    ("name",),
)
_WEBHOOKS: Final = Record({"webhooks": Items(_WEBHOOK)})
_API_SERVICE: Final = Record(
    {
        "service": Record(_CALLED, told=_TOLD),
        "caBundle": TEXT,
        "insecureSkipTLSVerify": FLAG,
        **anything("group", "version", "groupPriorityMinimum", "versionPriority"),
    },
    ("groupPriorityMinimum", "version", "versionPriority"),
    clashes=together.API_SERVICE,
)
_CONFIG_MAP: Final = Record({"data": Words(), "immutable": FLAG, **anything("binaryData")}, clashes=together.CONFIG_MAP)

KUBERNETES_API: Final[Mapping[Kind, Record]] = {
    kinds.INGRESS: Record({"spec": _INGRESS}, ("spec",)),
    kinds.VALIDATING_WEBHOOK: _WEBHOOKS,
    kinds.MUTATING_WEBHOOK: _WEBHOOKS,
    kinds.API_SERVICE: Record({"spec": _API_SERVICE}, ("spec",)),
    kinds.CONFIG_MAP: _CONFIG_MAP,
}
