"""The like of ``together`` for roles and what binds them (k8s.io/kubernetes ``pkg/apis/rbac/validation``)."""

from __future__ import annotations

import re
from typing import Final

from scanner.kube.objects import Fields
from scanner.lint.fields.names import LABELS
from scanner.lint.fields.shape import Clash

GROUP: Final = "rbac.authorization.k8s.io"
_ACCOUNT: Final = re.compile(rf"{LABELS}\Z")
_ACCOUNT_AT_MOST: Final = 253
_OF_RESOURCES: Final = ("apiGroups", "resources", "resourceNames")


def _account(subject: Fields) -> bool:
    return subject.text("kind") == "ServiceAccount"


def _no_account(subject: Fields) -> bool:
    name = subject.text("name")
    return _account(subject) and bool(name) and not (_ACCOUNT.match(name) and len(name) <= _ACCOUNT_AT_MOST)


def _lacks(name: str, says: str) -> Clash:
    return Clash(lambda rule: not rule.at("nonResourceURLs") and not rule.at(name), says, (name,), fix=f"give {name}")


RULE: Final = (
    Clash(
        lambda rule: rule.at("nonResourceURLs") and any(rule.at(name) for name in _OF_RESOURCES),
        "rules cannot apply to both regular resources and non-resource URLs",
        ("nonResourceURLs",),
        fix="make two rules of it",
    ),
    _lacks("apiGroups", "resource rules must supply at least one api group"),
    _lacks("resources", "resource rules must supply at least one resource"),
)
NAMESPACED_RULE: Final = (
    Clash(
        lambda rule: rule.at("nonResourceURLs"),
        "namespaced rules cannot apply to non-resource URLs",
        ("nonResourceURLs",),
        fix="write it in a ClusterRole",
    ),
)
SUBJECT: Final = (
    Clash(
        lambda subject: _account(subject) and subject.text("apiGroup") == GROUP,
        "a ServiceAccount is of the core group, and its apiGroup is empty",
        ("apiGroup",),
        fix="remove apiGroup",
    ),
    Clash(_no_account, "a ServiceAccount's name is a DNS name in lower case", ("name",), fix="name the ServiceAccount"),
)
CLUSTER_SUBJECT: Final = (
    Clash(
        lambda subject: _account(subject) and not subject.text("namespace"),
        "a ServiceAccount has a namespace, and must say it here",
        ("namespace",),
        fix="give the namespace",
    ),
)
