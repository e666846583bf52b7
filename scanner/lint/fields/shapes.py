"""Which fields the TLS parts of objects have, of what type, and which values an API server takes: a table beside the
definitions that it comes from.

``tests/e2e`` holds it against the real definitions, field by field, and against a real API server, value by value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from scanner.kube.kinds import Kind
from scanner.kube.objects import KubeObject
from scanner.lint.fields.contour_api import CONTOUR_API
from scanner.lint.fields.definition_api import DEFINITION_API, FORMER_DEFINITIONS
from scanner.lint.fields.gateway_api import EARLIER, GATEWAY_API
from scanner.lint.fields.kubernetes_api import KUBERNETES_API
from scanner.lint.fields.monitoring_api import MONITORING_API
from scanner.lint.fields.names import METADATA
from scanner.lint.fields.openshift_api import FORMER_OPENSHIFT, OPENSHIFT_API
from scanner.lint.fields.rbac_api import RBAC_API
from scanner.lint.fields.service_api import SERVICE_API
from scanner.lint.fields.shape import Record, Shape, anything
from scanner.lint.fields.workload_api import WORKLOAD_API

OBJECT: Final[Mapping[str, Shape]] = {**anything("apiVersion", "kind", "status", "adhere"), "metadata": METADATA}
"""What every object has; ``adhere`` is what adhere itself notes where it drops a key."""
SHAPES: Final[Mapping[Kind, Record]] = {
    **GATEWAY_API,
    **OPENSHIFT_API,
    **CONTOUR_API,
    **KUBERNETES_API,
    **MONITORING_API,
    **RBAC_API,
    **SERVICE_API,
    **WORKLOAD_API,
    **DEFINITION_API,
}
"""The objects whose fields are known, beside ``OBJECT``."""


def _whole(shape: Record) -> Record:
    return replace(shape, fields={**OBJECT, **shape.fields})


_WHOLE: Final = {kind: _whole(shape) for kind, shape in SHAPES.items()}
_FORMER: Final = {**EARLIER, **FORMER_DEFINITIONS, **FORMER_OPENSHIFT}
_VERSIONS: Final = {version: _whole(shape) for version, shape in _FORMER.items()}


def shape_of(given: KubeObject) -> Record:
    """What an object of its kind and version has. Raises ``KeyError`` for a kind that is not in the table."""
    version = given.text("apiVersion").rpartition("/")[2]
    return _VERSIONS.get((given.kind, version)) or _WHOLE[given.kind]
