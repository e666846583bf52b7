"""OpenShift: Routes and the Secrets that they name, and the objects that hold a ``tlsSecurityProfile``."""

from __future__ import annotations

from scanner.lint.openshift.route_fields import FIELDS
from scanner.model.object_rule import ObjectRule

OPENSHIFT_RULES: tuple[ObjectRule, ...] = (FIELDS,)
