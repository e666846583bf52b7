"""RBAC: decide from Roles and bindings if a user may do something, as the API server's authorizer does. Pure.

Sources: kubernetes ``plugin/pkg/auth/authorizer/rbac/rbac.go`` (``RuleAllows``) and
``pkg/registry/rbac/validation/rule.go`` (``appliesToUser``). Other authorizers (Node, webhooks) may allow more, which
no object declares: where the API server answered an access review, its answer counts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache, partial
from itertools import chain, islice
from typing import Final, TypeAlias

from msgspec import Struct

from scanner.kube.kinds import CLUSTER_ROLE, CLUSTER_ROLE_BINDING, ROLE, ROLE_BINDING, Kind
from scanner.kube.meta import selects
from scanner.kube.objects import KubeObject
from scanner.kube.rbac import Binding, PolicyRule, Review, Role
from scanner.model.declared import Declared, Missing, identity
from scanner.model.declared import Identity as ObjectIdentity

READS: Final[tuple[Kind, ...]] = (ROLE, ROLE_BINDING, CLUSTER_ROLE, CLUSTER_ROLE_BINDING)
"""Kinds that a rule must read to ask this."""

ACCOUNT: Final = "system:serviceaccount:"
_MOST: Final = 1000
"""Limit for the subjects of one binding, the rules of one role, and the roles that one role aggregates."""
_SAME: Final = 20
"""Bindings that are reported of those that allow the same: of one role, or for all objects."""
_FEW: Final = 50
"""Largest number of object names in a role that are indexed."""


class Identity(Struct, frozen=True, kw_only=True):
    """The user or service account of a request."""

    name: str
    groups: tuple[str, ...] = ()


class Request(Struct, frozen=True, kw_only=True):
    """One request to the API server."""

    verb: str
    resource: str
    """``secrets``, ``routes/custom-host``."""
    group: str = ""
    namespace: str | None = None
    """None: the namespace of manifests that name none."""
    name: str = ""
    """The object's name; empty for a request without one, such as ``create`` and most of ``list``."""


class _Rule(Struct, frozen=True):
    """A PolicyRule with sets, for fast lookups."""

    verbs: frozenset[str]
    groups: frozenset[str]
    resources: frozenset[str]
    names: frozenset[str]
    named: bool

    def allows(self, request: Request) -> bool:
        """The authorizer's answer."""
        return self.matches(request) and (not self.named or (request.name != "" and request.name in self.names))

    def matches(self, request: Request) -> bool:
        """True if the verb, group and resource match, whatever the object's name."""
        _, slash, subresource = request.resource.partition("/")
        return (
            (request.verb in self.verbs or "*" in self.verbs)
            and (request.group in self.groups or "*" in self.groups)
            and not self.resources.isdisjoint({request.resource, "*", f"*/{subresource}" if slash else "*"})
        )


def _rule(each: PolicyRule) -> _Rule:
    return _Rule(
        verbs=frozenset(each.verbs),
        groups=frozenset(each.api_groups),
        resources=frozenset(each.resources),
        names=frozenset(each.resource_names),
        named=bool(each.raw_resource_names),
    )


class _Bound(Struct, frozen=True, kw_only=True):
    binding: KubeObject
    role: KubeObject | None
    rules: tuple[_Rule, ...] = ()
    names: frozenset[str] = frozenset()
    """Object names in the role's rules; one set for all bindings of a role."""
    missing: Missing


class _BoundRoles:
    """The roles that are bound to one subject in one namespace, in the order of the bindings.

    A router may have thousands of Roles in a namespace, each for one Secret. So a role that names few objects is
    indexed by their names. One that names many, which may be bound in thousands of namespaces, is searched.
    """

    def __init__(self) -> None:
        self.every: list[_Bound] = []
        self._same: dict[int, int] = defaultdict(int)
        self._by_name: dict[str, list[int]] = defaultdict(list)
        self._many: list[tuple[int, frozenset[str]]] = []
        self._unseen: list[int] = []
        self._wide: dict[tuple[str, str, str], tuple[int, ...]] = {}

    def add(self, bound: _Bound) -> None:
        """Add a binding, unless the same role is bound here ``_SAME`` times already: more of them allow no more."""
        if self._same[id(bound.role)] == _SAME:
            return
        self._same[id(bound.role)] += 1
        number = len(self.every)
        self.every.append(bound)
        if bound.role is None and not self._unseen:  # only the first is reported
            self._unseen.append(number)
        if len(bound.names) > _FEW:
            self._many.append((number, bound.names))
        else:
            for name in bound.names:
                self._by_name[name].append(number)

    def matching(self, request: Request) -> Iterator[_Bound]:
        """Bindings that may allow a request, and the first whose role was not read."""
        name = request.name
        named = {*self._by_name.get(name, ()), *(number for number, names in self._many if name in names)}
        return (self.every[number] for number in sorted({*self._unseen, *named, *self._for_all_names(request)}))

    def _for_all_names(self, request: Request) -> tuple[int, ...]:
        """The first bindings that allow the request for every object name, found once for all names."""
        key = (request.verb, request.group, request.resource)
        if key not in self._wide:
            allowing = (
                number
                for number, bound in enumerate(self.every)
                if any(not rule.named and rule.matches(request) for rule in bound.rules)
            )
            self._wide[key] = tuple(islice(allowing, _SAME))
        return self._wide[key]


class Index(Struct, frozen=True):
    """Bindings by subject; the namespace "*" is that of cluster-wide bindings."""

    by_subject: Mapping[tuple[str, str | None], Mapping[str, _BoundRoles]]
    """By kind and namespace, then by name."""
    by_binding: Mapping[int, _Bound]
    """By the binding's ``id``."""
    unseen: Missing | None
    """A kind that may have more bindings than were read."""

    def bound_to(self, who: Identity, namespace: str | None) -> Iterator[_BoundRoles]:
        """The roles of a user and of each of the user's groups that apply in the namespace."""
        for where in ("*", namespace):
            names = (("User", who.name), *(("Group", group) for group in who.groups))
            found = (self.by_subject.get((kind, where), {}).get(name) for kind, name in names)
            yield from filter(None, found)


_Roles: TypeAlias = dict[int, tuple[tuple[_Rule, ...], frozenset[str]]]
"""By the role's ``id``: its rules and the object names in them."""


def index_of(declared: Declared) -> Index:
    found: dict[tuple[str, str | None], dict[str, _BoundRoles]] = {}
    roles: _Roles = {}
    by_binding: dict[int, _Bound] = {}
    for kind in (CLUSTER_ROLE_BINDING, ROLE_BINDING):
        for binding in declared.every(kind):
            bound = by_binding[id(binding)] = _bound(declared, binding, roles)
            where = "*" if kind == CLUSTER_ROLE_BINDING else binding.namespace
            for subject, name in _subjects(Binding.of(binding)):
                found.setdefault((subject, where), {}).setdefault(name, _BoundRoles()).add(bound)
    gaps = ((kind, declared.gap(kind)) for kind in (ROLE_BINDING, CLUSTER_ROLE_BINDING))
    return Index(found, by_binding, next((Missing(name=kind.name, gap=gap) for kind, gap in gaps if gap), None))


def _subjects(binding: Binding) -> Iterator[tuple[str, str]]:
    """The kind and name of each subject; a service account is the user that it authenticates as."""
    for each in binding.subjects[:_MOST]:
        kind, name = each.kind, each.name
        if kind == "ServiceAccount":
            namespace = each.namespace or binding.namespace
            if namespace and name:
                yield "User", f"{ACCOUNT}{namespace}:{name}"
        elif kind in ("User", "Group") and name:
            yield kind, name


def _bound(declared: Declared, binding: KubeObject, roles: _Roles) -> _Bound:
    read = Binding.of(binding)
    kind = ROLE if read.role_kind == "Role" else CLUSTER_ROLE
    found = declared.find(kind, read.role_name, binding.namespace)
    if isinstance(found, Missing):
        # A role that does not exist allows nothing.
        empty = KubeObject({"metadata": {"name": read.role_name}}, kind)
        return _Bound(binding=binding, role=None if found.gap else empty, missing=found)
    if id(found) not in roles:  # one ClusterRole is bound in thousands of namespaces
        rules = tuple(map(_rule, (*Role.of(found).rules[:_MOST], *_aggregated(declared, Role.of(found)))))
        roles[id(found)] = rules, frozenset().union(*(rule.names for rule in rules if rule.named))
    rules, names = roles[id(found)]
    return _Bound(binding=binding, role=found, rules=rules, names=names, missing=Missing(name=str(found.reference)))


def _aggregated(declared: Declared, role: Role) -> tuple[PolicyRule, ...]:
    """The rules that the controller will copy into a ClusterRole of a manifest (``aggregationRule``)."""
    selectors = role.aggregated[:20]
    if role.kind != CLUSTER_ROLE or not selectors or role.raw_rules:
        return ()
    chosen = (each for each in declared.every(CLUSTER_ROLE) if any(selects(one, each.labels) for one in selectors))
    return tuple(rule for each in islice(chosen, _MOST) for rule in Role.of(each).rules[:_MOST])


# --- Answers ----------------------------------------------------------------------------------------------------------


_RECENT: Final = 64
"""Cached answers."""


def account(namespace: str, name: str) -> Identity:
    """A service account, as in an access review without groups."""
    return Identity(name=f"{ACCOUNT}{namespace}:{name}")


class Grant(Struct, frozen=True, kw_only=True):
    """A binding and its role that allow a request."""

    binding: KubeObject
    role: KubeObject
    by_name: bool
    """True if the rule names the object (``resourceNames``)."""

    @property
    def cluster_wide(self) -> bool:
        """True if it applies in every namespace."""
        return self.binding.kind == CLUSTER_ROLE_BINDING

    def __str__(self) -> str:
        return f"{self.role.reference} by {self.binding.reference}"


class Access(Struct, frozen=True, kw_only=True):
    """The bindings and roles that allow a request, and those that were not read and may allow it."""

    grants: tuple[Grant, ...]
    role: Missing | None = None
    """A role that is bound to the user and was not read."""
    bindings: Missing | None = None
    """A kind that may have more bindings than were read."""
    named: bool = False
    """True if any binding that was read names the user."""

    @property
    def unseen(self) -> Missing | None:
        """An object that was not read and may allow the request."""
        return self.role or self.bindings

    @property
    def known(self) -> bool | None:
        """The answer by the bindings that were read, as if there were no others."""
        return True if self.grants else None if self.role else False

    @property
    def allowed(self) -> bool | None:
        """None if it cannot be determined."""
        return True if self.grants else None if self.unseen else False


def access(declared: Declared, who: Identity, request: Request) -> Access:
    """Find what allows ``who`` a request."""
    return declared.once(_answers)(who, request)


def _answers(declared: Declared) -> Callable[[Identity, Request], Access]:
    """Cached, because several rules ask the same about one object, and rules on bindings ask it for each binding."""
    return lru_cache(_RECENT)(partial(_access, declared.once(index_of)))


def _access(index: Index, who: Identity, request: Request) -> Access:
    grants: list[Grant] = []
    role: Missing | None = None
    roles = list(index.bound_to(who, request.namespace))
    for bound in chain.from_iterable(each.matching(request) for each in roles):
        if bound.role is None:
            role = role or bound.missing
        elif allowing := [each for each in bound.rules if each.allows(request)]:
            by_name = all(each.named for each in allowing)
            grants.append(Grant(binding=bound.binding, role=bound.role, by_name=by_name))
    return Access(grants=tuple(grants), role=role, bindings=index.unseen, named=bool(roles))


def allows(declared: Declared, binding: KubeObject, request: Request) -> bool:
    """True if the role of a binding allows its subjects a request."""
    return any(rule.allows(request) for rule in declared.once(index_of).by_binding[id(binding)].rules)


def allowed_names(declared: Declared, who: Identity, request: Request) -> frozenset[str] | None:
    """The object names for which ``who`` is allowed a request, by the bindings that were read; None: all names."""
    names: set[str] = set()
    for roles in declared.once(index_of).bound_to(who, request.namespace):
        for each in chain.from_iterable(bound.rules for bound in roles.every):
            if each.matches(request) and not each.named:
                return None
            if each.matches(request):
                names.update(each.names)
    return frozenset(names)


def subjects(declared: Declared, namespace: str | None) -> tuple[Identity, ...]:
    """All users, service accounts and groups with a role that applies in ``namespace``; a group is a user that is in
    this group only."""
    by_subject = declared.once(index_of).by_subject
    found = {
        (kind, name): None
        for kind in ("User", "Group")
        for where in ("*", namespace)
        for name in by_subject.get((kind, where), {})
    }
    return tuple(Identity(name=name) if kind == "User" else Identity(name="", groups=(name,)) for kind, name in found)


# --- Access reviews ---------------------------------------------------------------------------------------------------


def review_of(who: Identity, request: Request) -> Review:
    """The access review that asks the API server about a request."""
    resource, _, subresource = request.resource.partition("/")
    return Review(
        user=who.name,
        groups=who.groups,
        verb=request.verb,
        group=request.group,
        resource=resource,
        subresource=subresource,
        namespace=request.namespace or "",
        name=request.name,
    )


def decide(declared: Declared, who: Identity, request: Request, found: Access) -> bool | None:
    """The API server's answer if it reviewed the request, else that of ``found``, from Roles and bindings.

    ``found`` also wins where a manifest that is to be applied allows the request: the API server does not know it yet.
    """
    reviewed = declared.reviews.get(review_of(who, request))
    if reviewed is None or (not reviewed and any(_is_new(declared, each) for each in found.grants)):
        return found.allowed
    return reviewed


def _is_new(declared: Declared, grant: Grant) -> bool:
    manifests = declared.once(_manifests)
    return identity(grant.binding) in manifests or identity(grant.role) in manifests


def _manifests(declared: Declared) -> frozenset[ObjectIdentity]:
    return frozenset(identity(each.object) for each in declared.subjects if each.located is not None)
