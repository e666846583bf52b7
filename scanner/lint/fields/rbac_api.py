"""The fields of roles and of what binds them (k8s.io/kubernetes ``pkg/apis/rbac/validation``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from scanner.kube import kinds
from scanner.kube.kinds import Kind
from scanner.lint.fields import together_rbac as together
from scanner.lint.fields.names import METADATA
from scanner.lint.fields.shape import TEXT, Items, Record, Shape, Text, anything

_NAME: Final = Text(
    pattern=r"^([^./%][^/%]*|\.[^./%][^/%]*|\.\.[^/%]+)$", meant="a name without / and %, and none of . and .."
)
"""What a path can have: ``system:auth-delegator``."""
_METADATA: Final[dict[str, Shape]] = {"metadata": replace(METADATA, fields={**METADATA.fields, "name": _NAME})}
_GROUP: Final = Text(enum=(together.GROUP, ""))
"""Where it is empty, the API server fills it in."""
_TEXTS: Final = Items(TEXT, nulls=True)
_RULE: Final = Record(
    {
        "verbs": Items(TEXT, 1, nulls=True),
        **dict.fromkeys(("apiGroups", "resources", "resourceNames", "nonResourceURLs"), _TEXTS),
    },
    ("verbs",),
    clashes=together.RULE,
)
_SUBJECT: Final = Record(
    {
        "kind": Text(enum=("ServiceAccount", "User", "Group")),
        "name": Text(shortest=1),
        "namespace": TEXT,
        "apiGroup": _GROUP,
    },
    ("kind", "name"),
    clashes=together.SUBJECT,
)


def _role(rule: Record, *others: str) -> Record:
    return Record({**_METADATA, "rules": Items(rule), **anything(*others)})


def _binding(subject: Record, *roles: str) -> Record:
    role = Record({"apiGroup": _GROUP, "kind": Text(enum=roles), "name": _NAME}, ("kind", "name"))
    return Record({**_METADATA, "subjects": Items(subject), "roleRef": role}, ("roleRef",))


RBAC_API: Final[Mapping[Kind, Record]] = {
    kinds.ROLE: _role(replace(_RULE, clashes=(*together.RULE, *together.NAMESPACED_RULE))),
    kinds.CLUSTER_ROLE: _role(_RULE, "aggregationRule"),
    kinds.ROLE_BINDING: _binding(_SUBJECT, "Role", "ClusterRole"),
    kinds.CLUSTER_ROLE_BINDING: _binding(
        replace(_SUBJECT, clashes=(*together.SUBJECT, *together.CLUSTER_SUBJECT)), "ClusterRole"
    ),
}
