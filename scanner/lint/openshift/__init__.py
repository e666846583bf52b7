"""OpenShift: Routes and the Secrets that they name, and the objects that hold a ``tlsSecurityProfile``."""

from __future__ import annotations

from scanner.lint.openshift.adherence import REMOVED, VALUE
from scanner.lint.openshift.custom_host import CUSTOM_HOST
from scanner.lint.openshift.ingress_routes import INGRESS_ROUTE
from scanner.lint.openshift.inherited import INHERITED, POOL
from scanner.lint.openshift.profile_ciphers import CIPHERS, VERSION
from scanner.lint.openshift.profile_custom import CUSTOM
from scanner.lint.openshift.profile_type import TYPE
from scanner.lint.openshift.route_access import ACCESS, WIDE
from scanner.lint.openshift.route_backend import BACKEND_NAME, BACKEND_TRUST
from scanner.lint.openshift.route_certificate import CERTIFICATE, HOST
from scanner.lint.openshift.route_fields import FIELDS
from scanner.lint.openshift.route_hosts import DEFAULT, SAME_HOST
from scanner.lint.openshift.route_inline import INLINE, KEY
from scanner.lint.openshift.route_plain import INSECURE, WITHOUT_TLS
from scanner.lint.openshift.route_policy import CLIENTS, WILDCARD
from scanner.lint.openshift.route_secret import CHAIN, SECRET
from scanner.lint.openshift.route_status import STATUS, SUPPORT
from scanner.lint.openshift.route_writers import WRITERS
from scanner.model.object_rule import ObjectRule

ROUTE_RULES: tuple[ObjectRule, ...] = (
    FIELDS,
    SECRET,
    CHAIN,
    CERTIFICATE,
    HOST,
    KEY,
    INLINE,
    ACCESS,
    WIDE,
    WRITERS,
    BACKEND_NAME,
    BACKEND_TRUST,
    INSECURE,
    WITHOUT_TLS,
    SAME_HOST,
    DEFAULT,
    CLIENTS,
    WILDCARD,
    STATUS,
    SUPPORT,
    INGRESS_ROUTE,
    CUSTOM_HOST,
)
PROFILE_RULES: tuple[ObjectRule, ...] = (TYPE, CUSTOM, CIPHERS, VERSION, INHERITED, POOL, VALUE, REMOVED)
OPENSHIFT_RULES: tuple[ObjectRule, ...] = (*ROUTE_RULES, *PROFILE_RULES)
