"""Gateways, ListenerSets and ReferenceGrants: listeners and their precedence, TLS of a Gateway, and allowed references.

Gateway API apis/v1 ``Gateway``, ``ReferenceGrantSpec``; GEP-1713 (ListenerSet); GEP-91 (client certificates); GEP-2907
(the segments of TLS).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Final, TypeAlias

from scanner.kube.kinds import (
    GATEWAY,
    GATEWAY_CLASS,
    GRPC_ROUTE,
    HTTP_ROUTE,
    LISTENER_SET,
    NAMESPACE,
    TCP_ROUTE,
    TLS_ROUTE,
    UDP_ROUTE,
    X_LISTENER_SET,
    Kind,
)
from scanner.kube.meta import Condition, of_type, selects
from scanner.kube.objects import KubeObject, Steps
from scanner.kube.snapshot import Snapshot
from scanner.kube.view import Flag, Number, Part, Parts, Present, Text, Value, View, Words

GATEWAY_NAME: Final = "gateway.networking.k8s.io/gateway-name"
"""Label on the objects that an implementation creates for a Gateway (GEP-1762)."""
OPENSHIFT: Final = "openshift.io/gateway-controller/v1"
CONTOUR: Final = "projectcontour.io/gateway-controller"
"""Values of ``spec.controllerName`` of a GatewayClass."""

SETS: Final[tuple[Kind, ...]] = (LISTENER_SET, X_LISTENER_SET)
HOLDERS: Final[tuple[Kind, ...]] = (GATEWAY, *SETS)
"""Kinds that have listeners."""
HOLDER_NAMES: Final[Mapping[str, Kind]] = {each.name: each for each in HOLDERS}
ROUTES: Final[tuple[Kind, ...]] = (HTTP_ROUTE, GRPC_ROUTE, TLS_ROUTE, TCP_ROUTE, UDP_ROUTE)
MAX_LISTENERS: Final = 64
"""Maximum number of listeners of one object (MaxItems of ``spec.listeners``). The API server refuses an object with
more."""
_CARRIES: Final[Mapping[tuple[str, str], tuple[Kind, ...]]] = {
    ("HTTP", ""): (HTTP_ROUTE, GRPC_ROUTE),
    ("HTTPS", "Terminate"): (HTTP_ROUTE, GRPC_ROUTE),
    ("TLS", "Passthrough"): (TLS_ROUTE,),
    # The implementation decides on a TCPRoute here: Contour accepts it, others do not.
    ("TLS", "Terminate"): (TLS_ROUTE, TCP_ROUTE),
    # GEP-2907 has "TCP, Terminate: yes", but the CRD admits no tls on a TCP listener: that is protocol TLS.
    ("TCP", ""): (TCP_ROUTE,),
    ("UDP", ""): (UDP_ROUTE,),
}
"""Kinds of routes that a listener can carry, by its protocol and TLS mode."""

HolderKey: TypeAlias = tuple[Kind, str | None, str]
"""Kind, namespace and name."""
GatewayName: TypeAlias = tuple[str | None, str]
"""Namespace and name."""


# --- Fields -----------------------------------------------------------------------------------------------------------


class ObjectReference(View):
    """A reference to a Secret, a ConfigMap or another object (``SecretObjectReference``, ``ObjectReference``)."""

    group = Text()
    has_group = Present("group")
    kind = Text()
    namespace = Text()
    has_namespace = Present("namespace")
    name = Text()


class NamespaceRule(View):
    """Namespaces from which routes or ListenerSets are accepted (``RouteNamespaces``, ``ListenerNamespaces``)."""

    source = Text("from")
    has_selector = Present("selector")
    selector = Part(View)


class RouteKind(View):
    """An entry of ``allowedRoutes.kinds``."""

    group = Text()
    has_group = Present("group")
    kind = Text()

    def means(self, kind: Kind) -> bool:
        """True if it names this kind. The default group is that of the Gateway API; an empty one is the core group."""
        return (self.group if self.has_group else kind.group, self.kind) == (kind.group, kind.name)


class ListenerTLS(View):
    """``tls`` of a listener (``ListenerTLSConfig``)."""

    mode = Text()
    certificate_refs = Parts(ObjectReference)
    options = Words()
    former_validation = Value("frontendValidation")
    """Client validation in the experimental CRDs of releases 1.2 and 1.3."""


class ListenerStatus(View):
    """An entry of ``status.listeners``."""

    name = Text()
    conditions = Parts(Condition)


@dataclass(frozen=True, slots=True, kw_only=True)
class Listener(View):
    """A listener of a Gateway or ListenerSet. The fields that thousands of routes are compared with are parsed once."""

    holder: ListenerHolder
    name: str
    hostname: str
    """Lower case; empty: every name."""
    port: int | None
    """None in an XListenerSet with port 0: the implementation chooses a port for each listener."""
    protocol: str
    """``HTTP``, ``HTTPS``, ``TLS``, ``TCP``, ``UDP`` or a name of the implementation, which contains a slash."""
    mode: str
    """``Terminate``, which is the default, or ``Passthrough``; empty without TLS."""
    routes: tuple[Kind, ...]
    """Kinds of routes that it accepts, by its protocol, mode and ``allowedRoutes.kinds``."""

    has_tls = Present("tls")
    tls = Part(ListenerTLS)
    allowed_kinds = Parts(RouteKind, "allowedRoutes", "kinds")
    allowed_namespaces = Part(NamespaceRule, "allowedRoutes", "namespaces")

    @property
    def terminates(self) -> bool:
        """True if the client's TLS ends here."""
        return self.protocol in ("HTTPS", "TLS") and self.mode == "Terminate"

    @property
    def key(self) -> tuple[HolderKey, Steps]:
        """Unique key among all listeners."""
        return key_of(self.holder), self.steps

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """Conditions of its status; empty if no controller has set any."""
        every = islice(self.holder.listener_statuses, MAX_LISTENERS)
        return next((each.conditions for each in every if each.name == self.name), ())

    def __str__(self) -> str:
        return f"listener '{self.name or '?'}' of {self.holder.reference}"


class ListenerHolder(KubeObject):
    """A Gateway or ListenerSet."""

    listener_items = Parts(View, "spec", "listeners")
    """All listeners as written, including those after the first 64."""
    listener_statuses = Parts(ListenerStatus, "status", "listeners")
    conditions = Parts(Condition, "status", "conditions")

    @property
    def listeners(self) -> tuple[Listener, ...]:
        """The first 64 listeners."""
        return tuple(_listener(self, each) for each in self.listener_items[:MAX_LISTENERS])

    def named(self, name: str) -> Iterator[Listener]:
        """Listeners with this name, which the API makes unique."""
        for each in self.listener_items[:MAX_LISTENERS]:
            if _NAME.read(each) == name:
                yield _listener(self, each)


class FrontendValidation(View):
    """Validation of client certificates (``FrontendTLSValidation``)."""

    mode = Text()
    ca_certificate_refs = Parts(ObjectReference)

    @property
    def falls_back(self) -> bool:
        """True if clients without a valid certificate are accepted."""
        return self.mode == "AllowInsecureFallback"


class FrontendTLS(View):
    """TLS settings for clients, by default or for one port (``TLSConfig``)."""

    has_validation = Present("validation")
    validation = Part(FrontendValidation)


class PortTLS(View):
    """An entry of ``spec.tls.frontend.perPort``."""

    port = Number()
    tls = Part(FrontendTLS)


class GatewayAddress(View):
    """An entry of ``status.addresses``."""

    value = Text()


class Gateway(ListenerHolder):
    gateway_class_name = Text("spec", "gatewayClassName")
    allowed_listeners = Part(NamespaceRule, "spec", "allowedListeners", "namespaces")
    default_frontend = Part(FrontendTLS, "spec", "tls", "frontend", "default")
    per_port = Parts(PortTLS, "spec", "tls", "frontend", "perPort")
    client_certificate_ref = Part(ObjectReference, "spec", "tls", "backend", "clientCertificateRef")
    addresses = Parts(GatewayAddress, "status", "addresses")

    @property
    def frontends(self) -> Iterator[FrontendTLS]:
        """The default TLS configuration and that of each port."""
        if self.default_frontend:
            yield self.default_frontend
        yield from (each.tls for each in self.per_port)

    def validation(self, port: int | None) -> FrontendValidation | None:
        """The client validation of HTTPS listeners on ``port``, or None. No other protocol has any (GEP-91). An entry
        for the port replaces the default, even if the entry is empty."""
        entries = (each.tls for each in reversed(self.per_port) if each.port == port)
        chosen = next(entries, self.default_frontend)
        return chosen.validation if chosen.has_validation else None


class ListenerSet(ListenerHolder):
    """A ListenerSet or XListenerSet."""

    parent_ref = Part(ObjectReference, "spec", "parentRef")

    @property
    def gateway(self) -> GatewayName:
        """The Gateway that it belongs to; the name is empty if its parent is of another kind."""
        parent = self.parent_ref
        return parent.namespace or self.namespace, parent.name if self.has_gateway else ""

    @property
    def has_gateway(self) -> bool:
        """True if its parent is a Gateway, which is the default (``ParentGatewayReference``)."""
        parent = self.parent_ref
        return parent.kind in ("", GATEWAY.name) and (not parent.has_group or parent.group == GATEWAY.group)


class GatewayClass(KubeObject):
    controller_name = Text("spec", "controllerName")
    parameters_ref = Part(ObjectReference, "spec", "parametersRef")
    conditions = Parts(Condition, "status", "conditions")


class EnvoyProxy(KubeObject):
    """The parameters of a GatewayClass of Envoy Gateway."""

    merge_gateways = Flag("spec", "mergeGateways")
    """True if the listeners of all Gateways of the class are served as those of one Gateway."""


# --- Listeners --------------------------------------------------------------------------------------------------------

_NAME: Final = Text("name")
_HOSTNAME: Final = Text("hostname")
_PORT: Final = Number("port")
_PROTOCOL: Final = Text("protocol")


def _listener(holder: ListenerHolder, item: View) -> Listener:
    protocol = _PROTOCOL.read(item)
    mode = item.text("tls", "mode") or "Terminate" if protocol in ("HTTPS", "TLS") or item.has("tls") else ""
    # A protocol with a slash is the implementation's own and may carry any kind.
    able = ROUTES if "/" in protocol else carried(protocol, mode) or ()
    allowed = Listener.allowed_kinds.read(item)
    return Listener(
        item.raw,
        item.steps,
        holder=holder,
        name=_NAME.read(item),
        hostname=_HOSTNAME.read(item).lower(),
        port=_PORT.read(item) or None,
        protocol=protocol,
        mode=mode,
        routes=tuple(kind for kind in able if not allowed or any(each.means(kind) for each in allowed)),
    )


def carried(protocol: str, mode: str) -> tuple[Kind, ...] | None:
    """Kinds of routes that such a listener can carry; None if the API does not define them."""
    return _CARRIES.get((protocol, mode))


def holder_of(item: KubeObject) -> ListenerHolder:
    """Read a Gateway or ListenerSet as the class of its kind."""
    return Gateway.of(item) if item.kind == GATEWAY else ListenerSet.of(item)


def key_of(item: KubeObject) -> HolderKey:
    """Unique key of a Gateway, ListenerSet or route."""
    return item.kind, item.namespace, item.name


def rejection(listener: Listener) -> Condition | None:
    """The condition by which the controller rejects a listener, or None. A listener without conditions may serve. A
    condition of an older generation does not count."""
    for kind, status in (("Accepted", "False"), ("Conflicted", "True")):
        found = of_type(listener.conditions, kind)
        if found is not None and found.status == status and found.is_current(listener.holder):
            return found
    return None


# --- A Gateway and its ListenerSets -----------------------------------------------------------------------------------


def gateway_of(snapshot: Snapshot, holder: KubeObject) -> Gateway | None:
    """The Gateway itself, or the parent of a ListenerSet; None if it was not read."""
    if holder.kind == GATEWAY:
        return Gateway.of(holder)
    namespace, name = ListenerSet.of(holder).gateway
    found = snapshot.get(GATEWAY, name, namespace) if name else None
    return Gateway.of(found) if found else None


def sets_by_gateway(snapshot: Snapshot) -> Mapping[GatewayName, list[ListenerSet]]:
    """ListenerSets by their Gateway, in order of precedence (GEP-1713): the oldest first, then by namespace and
    name."""
    found: dict[GatewayName, list[ListenerSet]] = {}
    for kind in SETS:
        for each in map(ListenerSet.of, snapshot.every(kind)):
            found.setdefault(each.gateway, []).append(each)
    for several in found.values():
        several.sort(key=precedence)
    return found


def precedence(item: KubeObject) -> tuple[str, str, str]:
    """Sort key. An object without a creation time is about to be created, so it is the youngest."""
    return item.creation_timestamp or "~", item.namespace or "", item.name


def admits(snapshot: Snapshot, gateway: Gateway, listener_set: KubeObject) -> bool | None:
    """True if ``spec.allowedListeners`` accepts a ListenerSet; None if that depends on a Namespace that was not
    read."""
    return _selects(snapshot, gateway.allowed_listeners, gateway.namespace, listener_set.namespace)


def admitted(snapshot: Snapshot, gateway: Gateway, listener_set: ListenerSet) -> bool | None:
    """True if the listeners of a ListenerSet are in effect, by its controller's condition or else by the specs."""
    found = of_type(listener_set.conditions, "Accepted")
    if found is not None and found.status in ("True", "False") and found.is_current(listener_set):
        return found.holds
    return admits(snapshot, gateway, listener_set)


def merged(gateway: Gateway, sets: Iterable[ListenerSet]) -> list[Listener]:
    """The Gateway's own listeners, then those of its ``sets``."""
    return [listener for holder in (gateway, *sets) for listener in holder.listeners]


def accepts_namespace(snapshot: Snapshot, listener: Listener, namespace: str | None) -> bool | None:
    """True if ``allowedRoutes.namespaces`` includes the namespace; None if that depends on a Namespace that was not
    read."""
    return _selects(snapshot, listener.allowed_namespaces, listener.holder.namespace, namespace, default="Same")


def _selects(
    snapshot: Snapshot, rule: NamespaceRule, home: str | None, namespace: str | None, default: str = "None"
) -> bool | None:
    source = rule.source or default
    if source != "Selector":
        return source == "All" or (source == "Same" and home == namespace)
    if not rule.has_selector:
        return False  # a missing selector selects nothing, an empty one everything (LabelSelectorAsSelector)
    found = snapshot.get(NAMESPACE, namespace or "") if NAMESPACE in snapshot.objects else None
    if found is None:
        return None
    # The API server gives every Namespace a label with its name.
    return selects(rule.selector, {**found.labels, "kubernetes.io/metadata.name": found.name})


def class_of(snapshot: Snapshot, gateway: Gateway) -> GatewayClass | None:
    """The class of a Gateway; None if it was not read."""
    found = snapshot.get(GATEWAY_CLASS, gateway.gateway_class_name)
    return GatewayClass.of(found) if found else None


def controller_of(snapshot: Snapshot, gateway: Gateway) -> str:
    """The controller name in a Gateway's class; empty if unknown."""
    found = class_of(snapshot, gateway)
    return found.controller_name if found else ""


MAX_GRANT_ENTRIES: Final = 16
"""Maximum number of entries of ``from`` and of ``to`` (MaxItems)."""

GrantSource: TypeAlias = tuple[str, str, str]
"""Group, kind and namespace of the referring object."""
GrantTarget: TypeAlias = tuple[str, str]
"""Group and kind of the referenced object."""


class GrantEntry(View):
    """An entry of ``from``, which has a namespace, or of ``to``, which may have a name."""

    group = Text()
    kind = Text()
    namespace = Text()
    name = Text()


class ReferenceGrant(KubeObject):
    sources = Parts(GrantEntry, "spec", "from")
    targets = Parts(GrantEntry, "spec", "to")

    @property
    def allowed_sources(self) -> set[GrantSource]:
        """Sources that may refer to the targets."""
        return {(each.group, each.kind, each.namespace) for each in self.sources[:MAX_GRANT_ENTRIES]}

    @property
    def allowed_targets(self) -> Iterator[tuple[GrantTarget, str]]:
        """Targets, each with its name; an empty name is every object of the kind."""
        return (((each.group, each.kind), each.name) for each in self.targets[:MAX_GRANT_ENTRIES])

    def allows(self, source: KubeObject, target: GrantTarget, name: str) -> bool:
        """True if a grant in the target's namespace lets ``source`` refer to ``name``: one ``from`` equals group, kind
        and namespace of the source, and one ``to`` equals group and kind and has this name or none. There are no
        wildcards and no selectors."""
        if (source.kind.group, source.kind.name, source.namespace or "") not in self.allowed_sources:
            return False
        return any(kind == target and each in ("", name) for kind, each in self.allowed_targets)
