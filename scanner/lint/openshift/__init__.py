"""Rules on OpenShift: Routes and their Secrets, ``tlsSecurityProfile``, and certificates of the configuration."""

from __future__ import annotations

from scanner.lint.openshift.configured_certificates import CLIENT_CA, NAMED, PROVIDERS
from scanner.lint.openshift.ingress_controllers import CLIENT_TLS, COMPONENT_ROUTES, DEFAULT_CERTIFICATE, DOMAIN, SHARDS
from scanner.lint.openshift.kubelet_config import CONFLICT, POOL, RAW_FIELDS
from scanner.lint.openshift.profile_suites import FIPS, KEYS, WEAK
from scanner.lint.openshift.route_access import ACCESS, CUSTOM_HOST, WIDE, WRITERS
from scanner.lint.openshift.route_certificate import (
    BACKEND_NAME,
    BACKEND_TRUST,
    CERTIFICATE,
    CHAIN,
    HOST,
    INLINE,
    KEY,
    SECRET,
)
from scanner.lint.openshift.route_fields import FIELDS, INGRESS_ROUTE, INSECURE, STATUS, SUPPORT, WITHOUT_TLS
from scanner.lint.openshift.route_hosts import CLIENTS, DEFAULT, SAME_HOST, WILDCARD
from scanner.lint.openshift.tls_profiles import CIPHERS, CUSTOM, INHERITED, REMOVED, TYPE, VALUE, VERSION
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
PROFILE_RULES: tuple[ObjectRule, ...] = (TYPE, CUSTOM, CIPHERS, WEAK, KEYS, FIPS, VERSION, INHERITED, VALUE, REMOVED)
KUBELET_RULES: tuple[ObjectRule, ...] = (POOL, CONFLICT, RAW_FIELDS)
INGRESS_RULES: tuple[ObjectRule, ...] = (DEFAULT_CERTIFICATE, CLIENT_TLS, COMPONENT_ROUTES, DOMAIN, SHARDS)
SERVER_RULES: tuple[ObjectRule, ...] = (NAMED, CLIENT_CA, PROVIDERS)
OPENSHIFT_RULES: tuple[ObjectRule, ...] = (*ROUTE_RULES, *PROFILE_RULES, *KUBELET_RULES, *INGRESS_RULES, *SERVER_RULES)
