"""Names in the definitions: the same patterns stand in many of them."""

from __future__ import annotations

from typing import Final

from scanner.lint.fields.shape import TEXT, Either, Items, Number, Record, Shape, Text, Words, anything, texts

LABEL: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
LABELS: Final = rf"{LABEL}(\.{LABEL})*"
"""Of RFC 1123, in lower case; no label's length is held."""
SHORT_LABELS: Final = r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*"
"""The same with labels of 63 characters at most, where that is held."""
_MEANT: Final = "a DNS name in lower case"

HOSTNAME: Final = Text(
    pattern=rf"^(\*\.)?{LABELS}$", shortest=1, longest=253, meant=f"{_MEANT}, with *. before it for a wildcard"
)
PRECISE: Final = Text(pattern=rf"^{LABELS}$", shortest=1, longest=253, meant=_MEANT)
"""Gateway API ``PreciseHostname`` and ``SectionName``."""
GROUP: Final = Text(pattern=rf"^$|^{LABELS}$", longest=253, meant="an API group, or empty for the core")
KIND: Final = Text(pattern="^[a-zA-Z]([-a-zA-Z0-9]*[a-zA-Z0-9])?$", shortest=1, longest=63, meant="a kind")
NAME: Final = Text(shortest=1, longest=253)
NAMESPACE: Final = Text(pattern=rf"^{LABEL}$", shortest=1, longest=63, meant="a namespace's name, in lower case")
PORT: Final = Number(least=1, most=65535)
_PORT_NAME: Final = r"(?=[-0-9]*[a-z])[a-z0-9]+(-[a-z0-9]+)*"
PORT_NAME: Final = Text(
    pattern=rf"^$|^{_PORT_NAME}$",
    longest=15,
    meant="a port's name (a-z, 0-9 and single -, with a letter), or its number without quotes",
)
"""k8s.io/apimachinery ``IsValidPortName``."""
NUMBER_OR_NAME: Final = Either(PORT, Text(pattern=rf"^{_PORT_NAME}$", longest=15, meant=PORT_NAME.meant))

OPTIONS: Final = Words(most=16, longest=4096)
"""Gateway API ``AnnotationKey`` to ``AnnotationValue``."""

_REFERENCE: Final[dict[str, Shape]] = {"group": GROUP, "kind": KIND, "name": NAME}
SECRET_REFERENCE: Final = Record({**_REFERENCE, "namespace": NAMESPACE}, ("name",))
"""To a Secret, unless it says otherwise (Gateway API ``SecretObjectReference``)."""
REFERENCE: Final = Record({**_REFERENCE, "namespace": NAMESPACE}, ("group", "kind", "name"))
"""``ObjectReference``."""
LOCAL: Final = Record(_REFERENCE, ("group", "kind", "name"))
"""``LocalObjectReference``."""

_REQUIREMENT: Final = Record({**texts("key", "operator"), "values": Items(TEXT)}, ("key", "operator"))
SELECTOR: Final = Record({"matchLabels": Words(), "matchExpressions": Items(_REQUIREMENT)})
"""Kubernetes ``LabelSelector``."""
METADATA: Final = Record(
    {
        "name": Text(pattern=rf"^{LABELS}\.?$", longest=253, meant=_MEANT),
        "namespace": Text(pattern=rf"^$|^{LABEL}$", longest=63, meant="a namespace's name, in lower case"),
        "labels": Words(longest=63),
        "annotations": Words(),
        **anything("generateName", "finalizers", "ownerReferences"),
        **anything("clusterName", "creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp"),
        **anything("generation", "initializers", "managedFields", "resourceVersion", "selfLink", "uid"),
    }
)
"""k8s.io/apimachinery meta/v1 ``ObjectMeta``, with what earlier releases had. Names are those of the kinds in the
table, of which the APIService of the core group is called ``v1.``; others may be any that a path can have."""
