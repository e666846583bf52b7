"""Who may do what, from Roles and their bindings, as the API server's authorizer decides it. Pure.

kubernetes ``plugin/pkg/auth/authorizer/rbac/rbac.go`` (``RuleAllows``) and ``pkg/registry/rbac/validation/rule.go``
(``appliesToUser``). Other authorizers (Node, webhooks) may allow more, and no object says what.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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
    index = declared.once(_index)
    grants: list[Grant] = []
    role: Missing | None = None
    named = False
    for bound in index.of(who, wish.namespace):
        named = True
        if bound.role is None:
            role = role or bound.missing
        elif allowing := [each for each in bound.rules if each.allows(wish)]:
            by_name = all(each.named for each in allowing)
            grants.append(Grant(binding=bound.binding, role=bound.role, by_name=by_name))
    return Access(grants=tuple(grants), role=role, bindings=index.unseen, named=named)


def nameable(declared: Declared, who: Identity, wish: Wish) -> frozenset[str] | None:
    """The objects for which ``who`` may do it, by the bindings that were seen; None: for all."""
    names: set[str] = set()
    for bound in declared.once(_index).of(who, wish.namespace):
        for each in bound.rules:
            if each.asks(wish) and not each.named:
                return None
            if each.asks(wish):
                names.update(each.names)
    return frozenset(names)


def subjects(declared: Declared, namespace: str | None) -> tuple[Identity, ...]:
    """Everybody to whom anything is bound that holds in ``namespace``: users, service accounts, and groups, each of
    them as somebody who is in that group alone."""
    return declared.once(_index).everybody(namespace)


# --- Bindings ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Rule:
    """A PolicyRule, to be asked often."""

    verbs: frozenset[str]
    groups: frozenset[str]
    resources: frozenset[str]
    names: frozenset[str]
    named: bool

    def allows(self, wish: Wish) -> bool:
        """The authorizer's answer."""
        return self.asks(wish) and (not self.named or (wish.name != "" and wish.name in self.names))

    def asks(self, wish: Wish) -> bool:
        """Whether it is about such requests, for whichever object."""
        return (
            (wish.verb in self.verbs or "*" in self.verbs)
            and (wish.group in self.groups or "*" in self.groups)
            and (wish.resource in self.resources or "*" in self.resources or self._sub(wish.resource))
        )

    def _sub(self, resource: str) -> bool:
        _, slash, name = resource.partition("/")
        return slash != "" and f"*/{name}" in self.resources


def _rule(each: Fields) -> _Rule:
    return _Rule(
        verbs=frozenset(each.texts("verbs")),
        groups=frozenset(each.texts("apiGroups")),
        resources=frozenset(each.texts("resources")),
        names=frozenset(each.texts("resourceNames")),
        named=bool(each.at("resourceNames")),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Bound:
    binding: KubeObject
    role: KubeObject | None
    rules: tuple[_Rule, ...] = ()
    missing: Missing


@dataclass(frozen=True, slots=True)
class _Index:
    """What is bound to whom; the namespace "*" is that of cluster-wide bindings."""

    by_subject: Mapping[tuple[str, str | None], Mapping[str, tuple[_Bound, ...]]]
    """By kind and namespace, then by name."""
    unseen: Missing | None
    """The kind of which there may be bindings that nobody saw."""

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
    roles: dict[int, tuple[_Rule, ...]] = {}
    for kind in (CLUSTER_ROLE_BINDING, ROLE_BINDING):
        for binding in declared.every(kind):
            bound = _bound(declared, binding, roles)
            where = "*" if kind == CLUSTER_ROLE_BINDING else binding.namespace
            for subject, name in _subjects(binding):
                found.setdefault((subject, where), {}).setdefault(name, []).append(bound)
    gaps = ((kind, declared.gap(kind)) for kind in (ROLE_BINDING, CLUSTER_ROLE_BINDING))
    unseen = next((Missing(name=kind.name, gap=gap) for kind, gap in gaps if gap), None)
    by_subject = {key: {name: tuple(each) for name, each in inner.items()} for key, inner in found.items()}
    return _Index(by_subject, unseen)


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


def _bound(declared: Declared, binding: KubeObject, roles: dict[int, tuple[_Rule, ...]]) -> _Bound:
    kind = ROLE if binding.text("roleRef", "kind") == "Role" else CLUSTER_ROLE
    found = declared.find(kind, binding.text("roleRef", "name"), binding.namespace)
    if isinstance(found, Missing):
        # A role that does not exist allows nothing.
        empty = KubeObject({"metadata": {"name": binding.text("roleRef", "name")}}, kind)
        return _Bound(binding=binding, role=None if found.gap else empty, missing=found)
    if id(found) not in roles:  # one ClusterRole is bound in thousands of namespaces
        roles[id(found)] = tuple(map(_rule, (*islice(found.each("rules"), _MOST), *_aggregated(declared, found))))
    return _Bound(binding=binding, role=found, rules=roles[id(found)], missing=Missing(name=str(found.reference)))


def _aggregated(declared: Declared, role: KubeObject) -> tuple[Fields, ...]:
    """The rules that the controller has yet to copy into a ClusterRole that a manifest has (``aggregationRule``)."""
    selectors = list(islice(role.each("aggregationRule", "clusterRoleSelectors"), 20))
    if role.kind != CLUSTER_ROLE or not selectors or role.at("rules"):
        return ()
    chosen = (each for each in declared.every(CLUSTER_ROLE) if any(selects(one, each.labels) for one in selectors))
    return tuple(rule for each in islice(chosen, _MOST) for rule in islice(each.each("rules"), _MOST))
