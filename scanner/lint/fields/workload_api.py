"""The fields of pods and of what makes them, as far as rules on TLS look into them (k8s.io/kubernetes
``pkg/apis/core/validation`` and ``pkg/apis/apps/validation``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from scanner.kube import kinds
from scanner.kube.kinds import Kind
from scanner.lint.fields import together_workload as together
from scanner.lint.fields.names import LABEL, METADATA, NUMBER_OR_NAME, PORT, PORT_NAME
from scanner.lint.fields.shape import TEXT, Items, Record, Shape, Text, anything

_HTTP_GET: Final = Record(
    {
        "scheme": Text(enum=("HTTP", "HTTPS", "")),
        "port": NUMBER_OR_NAME,
        "host": TEXT,
        "path": TEXT,
        **anything("httpHeaders"),
    },
    ("port",),
    told=("scheme",),
)
"""Of schemes, ``probe-scheme`` says what is wrong with them."""
_PROBE: Final = Record(
    {
        **anything(*together.HANDLERS, "failureThreshold", "initialDelaySeconds", "periodSeconds", "successThreshold"),
        **anything("terminationGracePeriodSeconds", "timeoutSeconds"),
        "httpGet": _HTTP_GET,
    },
    clashes=together.PROBE,
)
_HOOK: Final = Record({**anything(*together.HANDLERS), "httpGet": _HTTP_GET}, clashes=together.PROBE)
_CONTAINER_PORT: Final = Record(
    {
        "name": PORT_NAME,
        "containerPort": PORT,
        "hostPort": replace(PORT, least=0),
        "protocol": Text(enum=("TCP", "UDP", "SCTP", "")),
        **anything("hostIP"),
    },
    ("containerPort",),
)
_NAME: Final = Text(pattern=rf"^{LABEL}$", longest=63, meant="a name in lower case without dots")
_CONTAINER: Final = Record(
    {
        **dict.fromkeys(("livenessProbe", "readinessProbe", "startupProbe"), _PROBE),
        "lifecycle": Record({"postStart": _HOOK, "preStop": _HOOK, **anything("stopSignal")}),
        "ports": Items(_CONTAINER_PORT),
        "name": _NAME,
        **anything("args", "command", "env", "envFrom", "image", "imagePullPolicy", "resizePolicy"),
        **anything("resources", "restartPolicy", "restartPolicyRules", "securityContext", "stdin", "stdinOnce"),
        **anything("terminationMessagePath", "terminationMessagePolicy", "tty", "volumeDevices", "volumeMounts"),
        **anything("workingDir"),
    },
    ("name",),
    clashes=together.CONTAINER,
)
_NAMED: Final = Text(shortest=1)
_VOLUME: Final = Record(
    {
        "name": _NAME,
        "secret": Record({"secretName": _NAMED, **anything("defaultMode", "items", "optional")}, ("secretName",)),
        "configMap": Record({"name": _NAMED, **anything("defaultMode", "items", "optional")}, ("name",)),
    },
    ("name",),
    others=True,
)
_POD: Final = Record(
    {"containers": Items(_CONTAINER, 1), "initContainers": Items(_CONTAINER), "volumes": Items(_VOLUME)},
    ("containers",),
    others=True,
)
_METADATA: Final[dict[str, Shape]] = {**METADATA.fields, **anything("name", "namespace")}
"""Of a template, whose names nobody reads."""
_TEMPLATE: Final = Record({"metadata": Record(_METADATA), "spec": _POD}, ("spec",))
_WORKLOAD: Final = Record(
    {"spec": Record({"template": _TEMPLATE}, ("template",), clashes=together.WORKLOAD, others=True)}, ("spec",)
)

WORKLOAD_API: Final[Mapping[Kind, Record]] = {
    kinds.POD: Record({"spec": _POD}, ("spec",)),
    **dict.fromkeys((kinds.DEPLOYMENT, kinds.STATEFUL_SET, kinds.DAEMON_SET), _WORKLOAD),
}
