"""Contour: what HTTPProxies, delegations, Ingresses and Contour's own configuration declare.

Read at projectcontour/contour 31c4bb38e (2026-08-18); what differs between versions is said where it matters.
"""

from __future__ import annotations

from scanner.lint.contour.authority import AUTHORITY
from scanner.lint.contour.certificate import CERTIFICATE
from scanner.lint.contour.clients import CLIENT_VALIDATION
from scanner.lint.contour.creators import CREATORS
from scanner.lint.contour.delegated import DELEGATION
from scanner.lint.contour.delegations import TARGET
from scanner.lint.contour.extension import EXTENSION
from scanner.lint.contour.fallback import FALLBACK
from scanner.lint.contour.hosts import FQDN, SLASH
from scanner.lint.contour.inert import FORMER_API
from scanner.lint.contour.limits import LIMITS
from scanner.lint.contour.plaintext import PLAINTEXT
from scanner.lint.contour.revocation import REVOCATION
from scanner.lint.contour.roots import ROOT
from scanner.lint.contour.settings import SETTINGS
from scanner.lint.contour.shared import BROAD, SECRET_OF_DELEGATION
from scanner.lint.contour.status import STATUS
from scanner.lint.contour.upstream import ANNOTATION, IGNORED, UNVERIFIED
from scanner.lint.contour.versions import VERSION
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
    FALLBACK,
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
