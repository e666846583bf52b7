"""The fields of Services (k8s.io/kubernetes ``pkg/apis/core/validation``, ``validateService``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from scanner.kube import kinds
from scanner.kube.kinds import Kind
from scanner.lint.fields import together_service as together
from scanner.lint.fields.names import LABEL, LABELS, METADATA, PORT, PORT_NAME
from scanner.lint.fields.shape import TEXT, Either, Items, Record, Text, Words, anything

_ANY_OR_NONE: Final = replace(PORT, least=0)
"""Zero is as good as nothing."""
_PORT: Final = Record(
    {
        "name": Text(pattern=rf"^$|^{LABEL}$", longest=63, meant="a name in lower case without dots"),
        "port": PORT,
        "targetPort": Either(_ANY_OR_NONE, PORT_NAME),
        "nodePort": _ANY_OR_NONE,
        "protocol": Text(enum=("TCP", "UDP", "SCTP", "")),
        "appProtocol": Text(
            pattern=rf"^({LABELS}/)?[A-Za-z0-9]([-A-Za-z0-9_.]{{0,61}}[A-Za-z0-9])?$",
            longest=317,
            meant="a protocol's name, with its domain (kubernetes.io/wss) unless it is IANA's",
        ),
    },
    ("port",),
)
_SERVICE: Final = Record(
    {
        "ports": Items(_PORT),
        "selector": Words(longest=63),
        "type": Text(enum=("ClusterIP", "NodePort", "LoadBalancer", "ExternalName", "")),
        "externalName": TEXT,
        **anything("allocateLoadBalancerNodePorts", "clusterIP", "clusterIPs", "externalIPs", "externalTrafficPolicy"),
        **anything("healthCheckNodePort", "internalTrafficPolicy", "ipFamilies", "ipFamily", "ipFamilyPolicy"),
        **anything("loadBalancerClass", "loadBalancerIP", "loadBalancerSourceRanges", "publishNotReadyAddresses"),
        **anything("sessionAffinity", "sessionAffinityConfig", "topologyKeys", "trafficDistribution"),
    },
    clashes=together.SERVICE,
)
_NAME: Final = Text(pattern=rf"^{LABEL}$", longest=63, meant="a name in lower case without dots")
_METADATA: Final = replace(METADATA, fields={**METADATA.fields, "name": _NAME})

SERVICE_API: Final[Mapping[Kind, Record]] = {
    kinds.SERVICE: Record({"metadata": _METADATA, "spec": _SERVICE}, ("spec",)),
}
