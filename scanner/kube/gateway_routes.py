"""Routes of the Gateway API, the listeners that they are attached to, and the BackendTLSPolicies of Services.

apis/v1 ``CommonRouteSpec``, ``RouteParentStatus``, ``RouteConditionReason``; GEP-2907. A BackendTLSPolicy has
``spec.targetRef`` and ``spec.tls`` in v1alpha2, ``spec.targetRefs`` and ``spec.validation`` in v1alpha3 and v1 (the
CRDs of releases 1.0, 1.1 and 1.4). The API server drops the fields that a version does not have, so only the fields of
an object's own version are read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Final, TypeAlias

from msgspec import Struct

from scanner.kube.gateway import (
    HOLDER_NAMES,
    HolderKey,
    Listener,
    ListenerHolder,
    ObjectReference,
    accepts_namespace,
    precedence,
)
from scanner.kube.hostnames import narrower
from scanner.kube.kinds import GATEWAY, SERVICE, Kind
from scanner.kube.meta import Condition
from scanner.kube.objects import KubeObject, Steps
from scanner.kube.snapshot import Snapshot
from scanner.kube.view import Number, Part, Parts, Present, Text, Texts, Value, View, Words

MAX_PARENTS: Final = 32
"""Maximum number of parents of a route, and of entries of its status (MaxItems)."""
_MOST: Final = 64
"""Maximum number of rules that are read from a route, and of backends from a rule; the CRDs allow fewer."""
_NAMES: Final = 1024
"""Maximum number of hostnames that are read from a route."""


class ParentRef(View):
    """An entry of ``parentRefs``, or ``parentRef`` in a status."""

    group = Text()
    has_group = Present("group")
    kind = Text()
    namespace = Text()
    name = Text()
    section_name = Text()
    port = Number()


class BackendRef(View):
    """A reference to a backend."""

    group = Text()
    kind = Text()
    namespace = Text()
    name = Text()
    port = Number()
    weight = Value()

    @property
    def is_service(self) -> bool:
        """True if it names a Service, which is the default. An empty group is the core group."""
        return (self.group, self.kind or SERVICE.name) == (SERVICE.group, SERVICE.name)


class RouteMatch(View):
    """An entry of ``matches`` of an HTTPRoute."""

    path = Text("path", "value")


class RouteFilter(View):
    """A filter of a rule or of a backend."""

    redirect_scheme = Text("requestRedirect", "scheme")
    mirror = Part(BackendRef, "requestMirror", "backendRef")
    authorization = Part(BackendRef, "externalAuth", "backendRef")

    @property
    def backends(self) -> Iterator[BackendRef]:
        """Backends to which it sends requests (``HTTPRequestMirrorFilter``, ``HTTPExternalAuthFilter``)."""
        yield from filter(None, (self.mirror, self.authorization))


class RuleBackendRef(BackendRef):
    """An entry of ``backendRefs``."""

    filters = Parts(RouteFilter)


class RouteRule(View):
    """A rule of a route."""

    matches = Parts(RouteMatch)
    filters = Parts(RouteFilter)
    backend_refs = Parts(RuleBackendRef)


class ParentStatus(View):
    """An entry of ``status.parents``."""

    parent_ref = Part(ParentRef)
    conditions = Parts(Condition)


class GatewayRoute(KubeObject):
    """An HTTPRoute, GRPCRoute, TLSRoute, TCPRoute or UDPRoute."""

    parent_refs = Parts(ParentRef, "spec", "parentRefs")
    every_hostname = Texts("spec", "hostnames")
    """Hostnames as written."""
    every_rule = Parts(RouteRule, "spec", "rules")
    parent_statuses = Parts(ParentStatus, "status", "parents")

    @property
    def hostnames(self) -> tuple[str, ...]:
        """Lower case; empty: every name that the listener accepts."""
        return tuple(map(str.lower, self.every_hostname[:_NAMES]))

    @property
    def rules(self) -> tuple[RouteRule, ...]:
        """As many rules as a CRD allows."""
        return self.every_rule[:_MOST]

    @property
    def backends(self) -> Iterator[RuleBackendRef]:
        """Backends of the rules."""
        for rule in self.rules:
            yield from rule.backend_refs[:_MOST]

    @property
    def filter_backends(self) -> Iterator[BackendRef]:
        """Backends to which filters of the rules and of their backends send requests."""
        for rule in self.rules:
            of_backends = (each for backend in rule.backend_refs[:_MOST] for each in backend.filters)
            for each in islice((*rule.filters, *of_backends), _MOST):
                yield from each.backends


class Parent(Struct, frozen=True, kw_only=True):
    """A reference to a Gateway or ListenerSet, with the API's defaults applied."""

    steps: Steps
    """Path from the top of the route."""
    kind: Kind
    namespace: str
    name: str
    section: str
    """Name of the listener; empty: every listener."""
    port: int | None

    def takes(self, listener: str, port: int | None) -> bool:
        """True if it refers to a listener with this name and port."""
        return self.section in ("", listener) and self.port in (None, port)

    def __str__(self) -> str:
        if self.section:
            return f"listener {self.section!r}"
        return f"listener on port {self.port}" if self.port is not None else "listeners"


def parents(route: KubeObject) -> Iterator[Parent]:
    """Yield the Gateways and ListenerSets among the parents. Other parents, such as Services of a mesh, have no
    listeners."""
    for each in GatewayRoute.of(route).parent_refs[:MAX_PARENTS]:
        found = _parent(route, each)
        if found is not None:
            yield found


def _parent(route: KubeObject, reference: ParentRef) -> Parent | None:
    kind = HOLDER_NAMES.get(reference.kind or GATEWAY.name)
    if kind is None or kind.group != (reference.group if reference.has_group else GATEWAY.group):
        return None
    return Parent(
        steps=reference.steps,
        kind=kind,
        namespace=reference.namespace or route.namespace or "",
        name=reference.name,
        section=reference.section_name,
        port=reference.port,
    )


# --- By the spec ------------------------------------------------------------------------------------------------------


class Attached(Struct, frozen=True):
    """A listener that accepts the route, with the common hostnames."""

    route: KubeObject
    listener: Listener
    names: tuple[str, ...]
    """Hostnames that both match; an empty one is every name."""


class Attachment(Struct, frozen=True):
    """The listeners of one parent that accept a route, or the reason why none does."""

    parent: Parent
    attached: tuple[Attached, ...] = ()
    unsure: tuple[Listener, ...] = ()
    """Listeners that accept the route if its Namespace, which was not read, has the right labels."""
    why: str = ""
    """For people, if it is attached to no listener."""
    reason: str = ""
    """The reason that the route's status would have."""


def attach(
    snapshot: Snapshot, route: KubeObject, parent: Parent, holder: ListenerHolder, /, listeners: Iterable[Listener]
) -> Attachment:
    """Decide by the specs which ``listeners`` of ``holder``, the parent's object, accept the route."""
    every = [each for each in listeners if parent.takes(each.name, each.port)]
    if not every:
        return Attachment(parent, why=f"{holder.reference} has no {parent}", reason="NoMatchingParent")
    carrying = [each for each in every if route.kind in each.routes]
    if not carrying:
        return Attachment(parent, why=_unsuitable(holder, every, route), reason="NotAllowedByListeners")
    namespace, hostnames = route.namespace, GatewayRoute.of(route).hostnames
    answers = [(each, accepts_namespace(snapshot, each, namespace)) for each in carrying]
    unsure = tuple(each for each, answer in answers if answer is None and common(each, hostnames))
    named = ((each, common(each, hostnames)) for each, answer in answers if answer)
    attached = tuple(Attached(route, each, names) for each, names in named if names)
    if attached or unsure:
        return Attachment(parent, attached=attached, unsure=unsure)
    open_ones = [each for each, answer in answers if answer]
    if not open_ones:
        why = f"no listener allows routes of namespace {namespace} (allowedRoutes.namespaces)"
        return Attachment(parent, why=why, reason="NotAllowedByListeners")
    accepted = ", ".join(sorted({each.hostname for each in open_ones})[:5])
    return Attachment(parent, why=f"none of its hostnames matches {accepted}", reason="NoMatchingListenerHostname")


def _unsuitable(holder: ListenerHolder, every: list[Listener], route: KubeObject) -> str:
    protocols = sorted({" ".join(filter(None, (each.protocol, each.mode))) or "without protocol" for each in every})
    return f"{holder.reference} has no listener that accepts {route.kind.name}: {', '.join(protocols[:5])}"


def common(listener: Listener, names: tuple[str, ...]) -> tuple[str, ...]:
    """Hostnames that the listener and a route with these ``names`` both match."""
    if not names:
        return (listener.hostname,)
    if not listener.hostname or listener.protocol in ("TCP", "UDP"):
        return names
    return tuple(filter(None, (narrower(each, listener.hostname) for each in names)))


# --- By the status ----------------------------------------------------------------------------------------------------


def is_refused(route: KubeObject, parent: Parent) -> bool:
    """True if every controller that reports on this parent refuses the route. A condition of an older generation does
    not count. A parent without a status may accept the route."""
    answers: dict[bool, list[bool]] = {True: [], False: []}
    for entry in GatewayRoute.of(route).parent_statuses[:MAX_PARENTS]:
        named = _parent(route, entry.parent_ref)
        if named is None or (named.kind, named.namespace, named.name) != (parent.kind, parent.namespace, parent.name):
            continue
        exact = (named.section, named.port) == (parent.section, parent.port)
        if exact or (named.section in ("", parent.section) and named.port in (None, parent.port)):
            accepted = (each for each in entry.conditions if each.type == "Accepted" and each.is_current(route))
            answers[exact] += (each.status != "False" for each in accepted)
    found = answers[True] or answers[False]
    return bool(found) and not any(found)


# --- By both ----------------------------------------------------------------------------------------------------------


class Routes:
    """Routes of certain kinds, by the listeners that accept them."""

    def __init__(self, snapshot: Snapshot, *kinds: Kind) -> None:
        self._snapshot = snapshot
        self._by_parent: dict[HolderKey, dict[str, list[tuple[Parent, GatewayRoute, tuple[str, ...]]]]] = {}
        for route in (GatewayRoute.of(each) for kind in kinds for each in snapshot.every(kind)):
            for parent in parents(route):
                if not is_refused(route, parent):
                    by_section = self._by_parent.setdefault((parent.kind, parent.namespace, parent.name), {})
                    by_section.setdefault(parent.section, []).append((parent, route, route.hostnames))

    def on(self, listener: Listener) -> list[GatewayRoute]:
        """Routes that neither the specs nor a status exclude from the listener, each once."""
        holder, name, port = listener.holder, listener.name, listener.port
        by_section = self._by_parent.get((holder.kind, holder.namespace or "", holder.name), {})
        found: dict[int, GatewayRoute] = {}
        allowed: dict[str | None, bool] = {}
        for parent, route, names in (one for each in dict.fromkeys(("", name)) for one in by_section.get(each, ())):
            if id(route) in found or route.kind not in listener.routes or not parent.takes(name, port):
                continue
            home = route.namespace
            if home not in allowed:
                allowed[home] = accepts_namespace(self._snapshot, listener, home) is not False
            if allowed[home] and common(listener, names):
                found[id(route)] = route
        return list(found.values())


MAX_TARGETS: Final = 16
"""Maximum number of targets of one policy (MaxItems)."""


class PolicyTarget(View):
    """A target of a policy."""

    group = Text()
    kind = Text()
    name = Text()
    section_name = Text()
    """Name of a port of the Service; empty: all of them."""

    @property
    def is_service(self) -> bool:
        """True if it is a Service, the only kind that every implementation supports."""
        return (self.group, self.kind) == (SERVICE.group, SERVICE.name)


class AlternativeName(View):
    """An entry of ``subjectAltNames``."""

    type = Text()
    hostname = Text()
    uri = Text()


class Validation(View):
    """Validation of the backend's certificate (``BackendTLSPolicyValidation``)."""

    hostname = Text()
    subject_alt_names = Parts(AlternativeName)
    ca_certificate_refs = Parts(ObjectReference)
    well_known = Text("wellKnownCACertificates")
    authorities_field = "caCertificateRefs"
    well_known_field = "wellKnownCACertificates"


class FormerValidation(Validation):
    """Validation in v1alpha2."""

    ca_certificate_refs = Parts(ObjectReference, "caCertRefs")
    well_known = Text("wellKnownCACerts")
    authorities_field = "caCertRefs"
    well_known_field = "wellKnownCACerts"


class PolicyAncestor(View):
    """An entry of ``status.ancestors``: the report of one controller."""

    ancestor_ref = Part(ParentRef)
    controller_name = Text()
    conditions = Parts(Condition)


class BackendTLSPolicy(KubeObject):
    options = Words("spec", "options")
    ancestors = Parts(PolicyAncestor, "status", "ancestors")
    has_ancestors = Present("status", "ancestors")
    _targets = Parts(PolicyTarget, "spec", "targetRefs")
    _former_target = Part(PolicyTarget, "spec", "targetRef")
    _validation = Part(Validation, "spec", "validation")
    _former_validation = Part(FormerValidation, "spec", "tls")

    @property
    def is_former(self) -> bool:
        """True if it has the fields of v1alpha2."""
        return self.api_version.endswith("/v1alpha2")

    @property
    def targets_at(self) -> Steps:
        """Path of the field that names the targets."""
        return ("spec", "targetRef") if self.is_former else ("spec", "targetRefs")

    @property
    def every_target(self) -> tuple[PolicyTarget, ...]:
        """Targets in the field of its version."""
        if self.is_former:
            return (self._former_target,) if self._former_target else ()
        return self._targets

    @property
    def targets(self) -> tuple[PolicyTarget, ...]:
        """The first 16 targets."""
        return self.every_target[:MAX_TARGETS]

    @property
    def validation(self) -> Validation:
        """Validation in the field of its version."""
        return self._former_validation if self.is_former else self._validation


class XBackend(KubeObject):
    """An XBackend (apisx/v1alpha1, experimental), which configures TLS to the backend itself."""

    type = Text("spec", "type")
    mode = Text("spec", "tls", "mode")
    validation = Part(View, "spec", "tls", "validation")

    @property
    def is_plaintext(self) -> bool:
        """True if it is called without TLS."""
        return self.mode in ("", "None")


ServiceName: TypeAlias = tuple[str | None, str]
"""Namespace and name."""


def policies_by_service(
    policies: Iterable[KubeObject],
) -> Mapping[ServiceName, list[tuple[BackendTLSPolicy, PolicyTarget]]]:
    """Index policies by Service, in order of precedence: the oldest first, then by namespace and name."""
    found: dict[ServiceName, list[tuple[BackendTLSPolicy, PolicyTarget]]] = {}
    for policy in sorted(map(BackendTLSPolicy.of, policies), key=precedence):
        for target in policy.targets:
            if target.is_service:
                found.setdefault((policy.namespace, target.name), []).append((policy, target))
    return found
