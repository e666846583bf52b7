"""Who may do what, from Roles and their bindings, as the API server's authorizer decides it. Pure.

kubernetes ``plugin/pkg/auth/authorizer/rbac/rbac.go`` (``RuleAllows``) and ``pkg/registry/rbac/validation/rule.go``
(``appliesToUser``). Other authorizers (Node, webhooks) may allow more, and no object says what: where the API server
itself was asked, its answer counts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import chain, islice
from typing import Final, TypeAlias

from scanner.kube.kinds import CLUSTER_ROLE, CLUSTER_ROLE_BINDING, ROLE, ROLE_BINDING, Kind
from scanner.kube.meta import selects
from scanner.kube.objects import KubeObject
from scanner.kube.rbac import Binding, PolicyRule, Review, Role
from scanner.model.declared import Declared, Missing, identity
from scanner.model.declared import Identity as ObjectIdentity

READS: Final[tuple[Kind, ...]] = (ROLE, ROLE_BINDING, CLUSTER_ROLE, CLUSTER_ROLE_BINDING)
"""What a rule that asks this must read."""

ACCOUNT: Final = "system:serviceaccount:"
_MOST: Final = 1000
"""Subjects of one binding, rules of one role, and roles that one role aggregates, as far as they are looked at."""
_SAME: Final = 20
"""Bindings that are told of those that say the same: of one role, or for all objects."""
_FEW: Final = 50
"""Names in one role by which it is found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Who asks."""

    name: str
    groups: tuple[str, ...] = ()


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


def _rule(each: PolicyRule) -> _Rule:
    return _Rule(
        verbs=frozenset(each.verbs),
        groups=frozenset(each.api_groups),
        resources=frozenset(each.resources),
        names=frozenset(each.resource_names),
        named=bool(each.names_any),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Bound:
    binding: KubeObject
    role: KubeObject | None
    rules: tuple[_Rule, ...] = ()
    names: frozenset[str] = frozenset()
    """Of objects, in the rules that name some; one for all bindings of a role."""
    missing: Missing


class _Held:
    """What is bound to one name in one place, in the order of the bindings.

    A router may hold thousands of Roles in a namespace, each for one Secret: a role whose rules name few objects is
    found by these. Of one that names many, which may be bound in thousands of places, it is looked up whether it does.
    """

    def __init__(self) -> None:
        self.every: list[_Bound] = []
        self._same: dict[int, int] = defaultdict(int)
        self._by_name: dict[str, list[int]] = defaultdict(list)
        self._many: list[tuple[int, frozenset[str]]] = []
        self._unseen: list[int] = []
        self._wide: dict[tuple[str, str, str], tuple[int, ...]] = {}

    def add(self, bound: _Bound) -> None:
        """One more. Those of a role that is bound here more often than anybody reads allow no more, and are left
        out."""
        if self._same[id(bound.role)] == _SAME:
            return
        self._same[id(bound.role)] += 1
        number = len(self.every)
        self.every.append(bound)
        if bound.role is None and not self._unseen:  # of several the first is told
            self._unseen.append(number)
        if len(bound.names) > _FEW:
            self._many.append((number, bound.names))
        else:
            for name in bound.names:
                self._by_name[name].append(number)

    def about(self, wish: Wish) -> Iterator[_Bound]:
        """Those that may allow it, and the first of which nobody knows."""
        named = {*self._by_name.get(wish.name, ()), *(number for number, names in self._many if wish.name in names)}
        return (self.every[number] for number in sorted({*self._unseen, *named, *self._of_all(wish)}))

    def _of_all(self, wish: Wish) -> tuple[int, ...]:
        """The first that allow it for every object, found once for all names: more of them allow no more."""
        asked = (wish.verb, wish.group, wish.resource)
        if asked not in self._wide:
            allowing = (
                number
                for number, bound in enumerate(self.every)
                if any(not rule.named and rule.asks(wish) for rule in bound.rules)
            )
            self._wide[asked] = tuple(islice(allowing, _SAME))
        return self._wide[asked]


@dataclass(frozen=True, slots=True)
class Index:
    """What is bound to whom; the namespace "*" is that of cluster-wide bindings."""

    by_subject: Mapping[tuple[str, str | None], Mapping[str, _Held]]
    """By kind and namespace, then by name."""
    by_binding: Mapping[int, _Bound]
    """By the binding's ``id``."""
    unseen: Missing | None
    """The kind of which there may be bindings that nobody saw."""

    def held(self, who: Identity, namespace: str | None) -> Iterator[_Held]:
        """What is bound to somebody and holds in the namespace, by each of their names."""
        for where in ("*", namespace):
            names = (("User", who.name), *(("Group", group) for group in who.groups))
            found = (self.by_subject.get((kind, where), {}).get(name) for kind, name in names)
            yield from filter(None, found)

    def of(self, who: Identity, namespace: str | None) -> Iterator[_Bound]:
        """All of it."""
        return chain.from_iterable(each.every for each in self.held(who, namespace))

    def about(self, who: Identity, wish: Wish) -> Iterator[_Bound]:
        """What of it may allow what ``wish`` says."""
        return chain.from_iterable(each.about(wish) for each in self.held(who, wish.namespace))

    def allows(self, binding: KubeObject, wish: Wish) -> bool:
        """Whether the role of a binding that is known allows it, to whomever it is bound."""
        return any(rule.allows(wish) for rule in self.by_binding[id(binding)].rules)

    def everybody(self, namespace: str | None) -> tuple[Identity, ...]:
        """Who has anything there."""
        found = {
            (kind, name): None
            for kind in ("User", "Group")
            for where in ("*", namespace)
            for name in self.by_subject.get((kind, where), {})
        }
        return tuple(
            Identity(name=name) if kind == "User" else Identity(name="", groups=(name,)) for kind, name in found
        )


_Roles: TypeAlias = dict[int, tuple[tuple[_Rule, ...], frozenset[str]]]
"""By the role's ``id``: its rules, and the names of objects in them."""


def index_of(declared: Declared) -> Index:
    """All bindings that are known; for ``Declared.once``."""
    found: dict[tuple[str, str | None], dict[str, _Held]] = {}
    roles: _Roles = {}
    by_binding: dict[int, _Bound] = {}
    for kind in (CLUSTER_ROLE_BINDING, ROLE_BINDING):
        for binding in declared.every(kind):
            bound = by_binding[id(binding)] = _bound(declared, binding, roles)
            where = "*" if kind == CLUSTER_ROLE_BINDING else binding.namespace
            for subject, name in _subjects(Binding.of(binding)):
                found.setdefault((subject, where), {}).setdefault(name, _Held()).add(bound)
    gaps = ((kind, declared.gap(kind)) for kind in (ROLE_BINDING, CLUSTER_ROLE_BINDING))
    return Index(found, by_binding, next((Missing(name=kind.name, gap=gap) for kind, gap in gaps if gap), None))


def _subjects(binding: Binding) -> Iterator[tuple[str, str]]:
    """Kind and name; a service account is the user that it authenticates as."""
    for each in binding.subjects[:_MOST]:
        kind, name = each.kind, each.name
        if kind == "ServiceAccount":
            namespace = each.namespace or binding.namespace
            if namespace and name:
                yield "User", f"{ACCOUNT}{namespace}:{name}"
        elif kind in ("User", "Group") and name:
            yield kind, name


def _bound(declared: Declared, binding: KubeObject, roles: _Roles) -> _Bound:
    said = Binding.of(binding)
    kind = ROLE if said.role_kind == "Role" else CLUSTER_ROLE
    found = declared.find(kind, said.role_name, binding.namespace)
    if isinstance(found, Missing):
        # A role that does not exist allows nothing.
        empty = KubeObject({"metadata": {"name": said.role_name}}, kind)
        return _Bound(binding=binding, role=None if found.gap else empty, missing=found)
    if id(found) not in roles:  # one ClusterRole is bound in thousands of namespaces
        rules = tuple(map(_rule, (*Role.of(found).rules[:_MOST], *_aggregated(declared, Role.of(found)))))
        roles[id(found)] = rules, frozenset().union(*(rule.names for rule in rules if rule.named))
    rules, names = roles[id(found)]
    return _Bound(binding=binding, role=found, rules=rules, names=names, missing=Missing(name=str(found.reference)))


def _aggregated(declared: Declared, role: Role) -> tuple[PolicyRule, ...]:
    """The rules that the controller has yet to copy into a ClusterRole that a manifest has (``aggregationRule``)."""
    selectors = role.aggregated[:20]
    if role.kind != CLUSTER_ROLE or not selectors or role.any_rules:
        return ()
    chosen = (each for each in declared.every(CLUSTER_ROLE) if any(selects(one, each.labels) for one in selectors))
    return tuple(rule for each in islice(chosen, _MOST) for rule in Role.of(each).rules[:_MOST])


# --- Answers ----------------------------------------------------------------------------------------------------------


_RECENT: Final = 64
"""Answers that are kept."""


def account(namespace: str, name: str) -> Identity:
    """A service account as a review without groups names it."""
    return Identity(name=f"{ACCOUNT}{namespace}:{name}")


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
        """None where that cannot be determined."""
        return True if self.grants else None if self.unseen else False


def access(declared: Declared, who: Identity, wish: Wish) -> Access:
    """Whether ``who`` may do what ``wish`` says."""
    return declared.once(_answers)(who, wish)


def _answers(declared: Declared) -> Callable[[Identity, Wish], Access]:
    """The rules on one object ask the same one after the other; those on bindings ask it for each binding."""
    return lru_cache(_RECENT)(partial(_access, declared.once(index_of)))


def _access(index: Index, who: Identity, wish: Wish) -> Access:
    grants: list[Grant] = []
    role: Missing | None = None
    for bound in index.about(who, wish):
        if bound.role is None:
            role = role or bound.missing
        elif allowing := [each for each in bound.rules if each.allows(wish)]:
            by_name = all(each.named for each in allowing)
            grants.append(Grant(binding=bound.binding, role=bound.role, by_name=by_name))
    named = any(index.held(who, wish.namespace))
    return Access(grants=tuple(grants), role=role, bindings=index.unseen, named=named)


def allows(declared: Declared, binding: KubeObject, wish: Wish) -> bool:
    """Whether a binding that is known allows it to those that it names."""
    return declared.once(index_of).allows(binding, wish)


def nameable(declared: Declared, who: Identity, wish: Wish) -> frozenset[str] | None:
    """The objects for which ``who`` may do it, by the bindings that were seen; None: for all."""
    names: set[str] = set()
    for bound in declared.once(index_of).of(who, wish.namespace):
        for each in bound.rules:
            if each.asks(wish) and not each.named:
                return None
            if each.asks(wish):
                names.update(each.names)
    return frozenset(names)


def subjects(declared: Declared, namespace: str | None) -> tuple[Identity, ...]:
    """Everybody to whom anything is bound that holds in ``namespace``: users, service accounts, and groups, each of
    them as somebody who is in that group alone."""
    return declared.once(index_of).everybody(namespace)


# --- What the API server itself answers -------------------------------------------------------------------------------


def question(who: Identity, wish: Wish) -> Review:
    """What the API server is asked for a wish."""
    resource, _, subresource = wish.resource.partition("/")
    return Review(
        user=who.name,
        groups=who.groups,
        verb=wish.verb,
        group=wish.group,
        resource=resource,
        subresource=subresource,
        namespace=wish.namespace or "",
        name=wish.name,
    )


def answer(declared: Declared, who: Identity, wish: Wish, found: Access) -> bool | None:
    """The API server's own where it was asked, unless the manifests that are to be applied are what allows it: these it
    does not know yet. Else ``found``: what Roles and their bindings say."""
    reviewed = declared.reviews.get(question(who, wish))
    if reviewed is None or (not reviewed and any(_is_new(declared, each) for each in found.grants)):
        return found.allowed
    return reviewed


def _is_new(declared: Declared, grant: Grant) -> bool:
    manifests = declared.once(_manifests)
    return identity(grant.binding) in manifests or identity(grant.role) in manifests


def _manifests(declared: Declared) -> frozenset[ObjectIdentity]:
    return frozenset(identity(each.object) for each in declared.given if each.located is not None)
