"""Who may do what, from Roles and their bindings, as the API server's authorizer decides it. Pure.

kubernetes ``plugin/pkg/auth/authorizer/rbac/rbac.go`` (``RuleAllows``) and ``pkg/registry/rbac/validation/rule.go``
(``appliesToUser``). Other authorizers (Node, webhooks) may allow more, and no object says what.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Final

from scanner.model.declared import Declared, Missing
from scanner.model.kinds import CLUSTER_ROLE, CLUSTER_ROLE_BINDING, ROLE, ROLE_BINDING, Kind
from scanner.model.label_selector import selects
from scanner.model.objects import Fields, KubeObject

READS: Final[tuple[Kind, ...]] = (ROLE, ROLE_BINDING, CLUSTER_ROLE, CLUSTER_ROLE_BINDING)
"""What a rule that asks this must read."""

_ACCOUNT: Final = "system:serviceaccount:"
_MOST: Final = 1000
"""Subjects of one binding, rules of one role, and roles that one role aggregates, as far as they are looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Who asks."""

    name: str
    groups: tuple[str, ...] = ()


def account(namespace: str, name: str) -> Identity:
    """A service account as a review without groups names it."""
    return Identity(name=f"{_ACCOUNT}{namespace}:{name}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """One request."""

    verb: str
    resource: str
    """``secrets``, ``routes/custom-host``."""
    group: str = ""
    namespace: str | None = None
    """None: that of manifests that name none."""
    name: str = ""
    """Of one object; empty for a request that names none, as ``create`` and most that ``list`` do."""
    any_name: bool = False
    """Whether what is allowed for some object, whichever, will do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """What allows it."""

    binding: KubeObject
    role: KubeObject
    by_name: bool
    """Whether the rule names the object (``resourceNames``)."""

    @property
    def cluster_wide(self) -> bool:
        """Whether it holds in every namespace."""
        return self.binding.kind == CLUSTER_ROLE_BINDING

    def __str__(self) -> str:
        return f"{self.role.reference} by {self.binding.reference}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """Whether somebody may do something."""

    grants: tuple[Grant, ...]
    role: Missing | None = None
    """A role that is bound to whoever asks, and that nobody saw."""
    bindings: Missing | None = None
    """The kind of which there may be bindings that nobody saw."""
    named: bool = False
    """Whether any binding that was seen names whoever asks."""

    @property
    def unseen(self) -> Missing | None:
        """What nobody saw and might allow it."""
        return self.role or self.bindings

    @property
    def known(self) -> bool | None:
        """The same by the bindings that were seen, as if there were no others."""
        return True if self.grants else None if self.role else False

    @property
    def allowed(self) -> bool | None:
        """None where that cannot be told."""
        return True if self.grants else None if self.unseen else False


def access(declared: Declared, who: Identity, wish: Wish) -> Access:
    """Whether ``who`` may do what ``wish`` says."""
    grants: list[Grant] = []
    role: Missing | None = None
    bound_to = tuple(declared.once(_index).of(who, wish.namespace))
    for bound in bound_to:
        if bound.role is None:
            role = role or bound.missing
        elif (rule := next((each for each in bound.rules if _allows(each, wish)), None)) is not None:
            grants.append(Grant(binding=bound.binding, role=bound.role, by_name=bool(rule.at("resourceNames"))))
    gaps = ((kind, declared.gap(kind)) for kind in (ROLE_BINDING, CLUSTER_ROLE_BINDING))
    bindings = next((Missing(name=kind.name, gap=gap) for kind, gap in gaps if gap), None)
    return Access(grants=tuple(grants), role=role, bindings=bindings, named=bool(bound_to))


def subjects(declared: Declared, namespace: str | None) -> tuple[Identity, ...]:
    """Everybody to whom anything is bound that holds in ``namespace``: users, service accounts, and groups, each of
    them as somebody who is in that group alone."""
    return declared.once(_index).everybody(namespace)


# --- Bindings ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Bound:
    binding: KubeObject
    role: KubeObject | None
    rules: tuple[Fields, ...] = ()
    missing: Missing


@dataclass(frozen=True, slots=True)
class _Index:
    """What is bound to whom; the namespace "*" is that of cluster-wide bindings."""

    by_subject: Mapping[tuple[str, str | None], Mapping[str, tuple[_Bound, ...]]]
    """By kind and namespace, then by name."""

    def of(self, who: Identity, namespace: str | None) -> Iterator[_Bound]:
        for where in ("*", namespace):
            yield from self.by_subject.get(("User", where), {}).get(who.name, ())
            for group in who.groups:
                yield from self.by_subject.get(("Group", where), {}).get(group, ())

    def everybody(self, namespace: str | None) -> tuple[Identity, ...]:
        found = {
            (kind, name): None
            for kind in ("User", "Group")
            for where in ("*", namespace)
            for name in self.by_subject.get((kind, where), {})
        }
        return tuple(
            Identity(name=name) if kind == "User" else Identity(name="", groups=(name,)) for kind, name in found
        )


def _index(declared: Declared) -> _Index:
    found: dict[tuple[str, str | None], dict[str, list[_Bound]]] = {}
    for kind in (CLUSTER_ROLE_BINDING, ROLE_BINDING):
        for binding in declared.every(kind):
            bound = _bound(declared, binding)
            where = "*" if kind == CLUSTER_ROLE_BINDING else binding.namespace
            for subject, name in _subjects(binding):
                found.setdefault((subject, where), {}).setdefault(name, []).append(bound)
    return _Index({key: {name: tuple(each) for name, each in inner.items()} for key, inner in found.items()})


def _subjects(binding: KubeObject) -> Iterator[tuple[str, str]]:
    """Kind and name; a service account is the user that it authenticates as."""
    for each in islice(binding.each("subjects"), _MOST):
        kind, name = each.text("kind"), each.text("name")
        if kind == "ServiceAccount":
            namespace = each.text("namespace") or binding.namespace
            if namespace and name:
                yield "User", f"{_ACCOUNT}{namespace}:{name}"
        elif kind in ("User", "Group") and name:
            yield kind, name


def _bound(declared: Declared, binding: KubeObject) -> _Bound:
    kind = ROLE if binding.text("roleRef", "kind") == "Role" else CLUSTER_ROLE
    found = declared.find(kind, binding.text("roleRef", "name"), binding.namespace)
    if isinstance(found, Missing):
        # A role that does not exist allows nothing.
        empty = KubeObject({"metadata": {"name": binding.text("roleRef", "name")}}, kind)
        return _Bound(binding=binding, role=None if found.gap else empty, missing=found)
    rules = tuple(islice(found.each("rules"), _MOST)) + _aggregated(declared, found)
    return _Bound(binding=binding, role=found, rules=rules, missing=Missing(name=str(found.reference)))


def _aggregated(declared: Declared, role: KubeObject) -> tuple[Fields, ...]:
    """The rules that the controller has yet to copy into a ClusterRole that a manifest has (``aggregationRule``)."""
    selectors = list(islice(role.each("aggregationRule", "clusterRoleSelectors"), 20))
    if role.kind != CLUSTER_ROLE or not selectors or role.at("rules"):
        return ()
    chosen = (each for each in declared.every(CLUSTER_ROLE) if any(selects(one, each.labels) for one in selectors))
    return tuple(rule for each in islice(chosen, _MOST) for rule in islice(each.each("rules"), _MOST))


# --- Rules ------------------------------------------------------------------------------------------------------------


def _allows(rule: Fields, wish: Wish) -> bool:
    return bool(
        _has(rule.at("verbs"), wish.verb)
        and _has(rule.at("apiGroups"), wish.group)
        and _covers(rule.texts("resources"), wish.resource)
        and (not rule.at("resourceNames") or wish.any_name or (wish.name and wish.name in rule.texts("resourceNames")))
    )


def _has(value: object, wanted: str) -> bool:
    return isinstance(value, list) and ("*" in value or wanted in value)


def _covers(resources: Iterable[str], wanted: str) -> bool:
    subresource = wanted.partition("/")[2]
    return any(each in ("*", wanted) or (subresource and each == f"*/{subresource}") for each in resources)
