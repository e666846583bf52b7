"""OpenShift: Routes and the Secrets that they name, and the objects that hold a ``tlsSecurityProfile``."""

from __future__ import annotations

from scanner.lint.openshift.profile_ciphers import CIPHERS, VERSION
from scanner.lint.openshift.profile_custom import CUSTOM
from scanner.lint.openshift.profile_type import TYPE
from scanner.lint.openshift.route_fields import FIELDS
from scanner.model.object_rule import ObjectRule

OPENSHIFT_RULES: tuple[ObjectRule, ...] = (FIELDS, TYPE, CUSTOM, CIPHERS, VERSION)
