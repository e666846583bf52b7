"""Contour: what HTTPProxies, delegations, Ingresses and Contour's own configuration declare.

Read at projectcontour/contour 31c4bb38e (2026-08-18); what differs between versions is said where it matters.
"""

from __future__ import annotations

from scanner.lint.contour.creators import CREATORS
from scanner.lint.contour.delegated import DELEGATION
from scanner.lint.contour.delegations import IMPOSSIBLE, STAR, TARGET
from scanner.lint.contour.inert import FORMER_API, ROOT
from scanner.lint.contour.shared import BROAD, SECRET_OF_DELEGATION, UNUSED
from scanner.model.object_rule import ObjectRule

CONTOUR_RULES: tuple[ObjectRule, ...] = (
    DELEGATION,
    STAR,
    IMPOSSIBLE,
    TARGET,
    SECRET_OF_DELEGATION,
    BROAD,
    UNUSED,
    CREATORS,
    FORMER_API,
    ROOT,
)
