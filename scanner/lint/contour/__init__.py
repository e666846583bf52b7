"""Rules on HTTPProxies, delegations, Ingresses of Contour, and Contour's own configuration.

Read at projectcontour/contour 31c4bb38e (2026-08-18); differences between versions are noted where they matter.
"""

from __future__ import annotations

from scanner.lint.contour.contour_configuration import LIMITS
from scanner.lint.contour.contour_secrets import AUTHORITY, CERTIFICATE, SLASH
from scanner.lint.contour.delegations import BROAD, CREATORS, DELEGATION, SECRET_OF_DELEGATION, TARGET
from scanner.lint.contour.proxy_status import STATUS
from scanner.lint.contour.removed_apis import FORMER_API
from scanner.lint.contour.revocation_lists import REVOCATION
from scanner.lint.contour.root_proxies import FQDN, ROOT
from scanner.lint.contour.upstream_tls import ANNOTATION, EXTENSION, IGNORED, UNVERIFIED
from scanner.lint.contour.virtual_hosts import CLIENT_VALIDATION, FALLS_BACK, PLAINTEXT, SETTINGS, VERSION
from scanner.model.object_rule import ObjectRule

CONTOUR_RULES: tuple[ObjectRule, ...] = (
    DELEGATION,
    TARGET,
    SECRET_OF_DELEGATION,
    BROAD,
    CREATORS,
    FORMER_API,
    ROOT,
    CERTIFICATE,
    AUTHORITY,
    REVOCATION,
    SETTINGS,
    VERSION,
    CLIENT_VALIDATION,
    FALLS_BACK,
    FQDN,
    PLAINTEXT,
    SLASH,
    IGNORED,
    UNVERIFIED,
    ANNOTATION,
    EXTENSION,
    LIMITS,
    STATUS,
)
