"""Facts of a snapshot that several resolvers read; each is computed once, when it is first needed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cached_property

from scanner.expect.authority import Authority, Wishes, is_microshift, of_api_server, of_control_planes, of_microshift
from scanner.expect.partial_expectation import Partial
from scanner.expect.release import minor
from scanner.kube.cluster_facts import document, in_fips_mode, is_guest
from scanner.kube.contour import SecretName, delegations_by_secret
from scanner.kube.gateway import (
    HOLDER_NAMES,
    Gateway,
    GatewayName,
    GrantTarget,
    ListenerSet,
    ReferenceGrant,
    admitted,
    gateway_of,
    holder_of,
    merged,
    sets_by_gateway,
)
from scanner.kube.gateway import (
    Listener as GatewayListener,
)
from scanner.kube.gateway_routes import Routes
from scanner.kube.kinds import (
    ENDPOINT_SLICE,
    HEPTIO_DELEGATION,
    POD,
    REFERENCE_GRANT,
    TLS_CERTIFICATE_DELEGATION,
    TLS_ROUTE,
    Kind,
)
from scanner.kube.kubelet import KubeletConfiguration
from scanner.kube.maybe import Known, Unknown
from scanner.kube.objects import Fields, KubeObject
from scanner.kube.openshift import installed_operators
from scanner.kube.pod import Pod
from scanner.kube.profile_catalogue import load_profile
from scanner.kube.service import EndpointSlice
from scanner.kube.snapshot import Snapshot
from scanner.kube.tls_profile import Profile
from scanner.model.components import Catalogue, Governor, Listener
from scanner.model.declared import Once
from scanner.model.endpoint import Endpoint, Origin
from scanner.model.scan_policy import ScanPolicy

_SECRET: GrantTarget = ("", "Secret")
_FORMER = "only a TLSCertificateDelegation of contour.heptio.com allows it, which no Contour since 1.6 reads"


class Grants:
    """Grants for Secrets of other namespaces: Gateways and ListenerSets need a ReferenceGrant, objects of Contour a
    TLSCertificateDelegation."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._grants: dict[str, list[ReferenceGrant]] = {}
        for each in map(ReferenceGrant.of, snapshot.every(REFERENCE_GRANT)):
            self._grants.setdefault(each.namespace or "", []).append(each)
        self._delegated = delegations_by_secret(snapshot.every(TLS_CERTIFICATE_DELEGATION))
        self._formerly = delegations_by_secret(snapshot.every(HEPTIO_DELEGATION))

    def to_gateway(self, holder: KubeObject, namespace: str, name: str) -> Known[bool]:
        """True if a listener of ``holder``, a Gateway or ListenerSet, may serve that Secret. A ListenerSet does not
        inherit its Gateway's grants (GEP-1713)."""
        if namespace == holder.namespace:
            return True
        if any(each.allows(holder, _SECRET, name) for each in self._grants.get(namespace, ())):
            return True
        return self._no(f"a ReferenceGrant in {namespace} may allow it", (REFERENCE_GRANT,))

    def to_contour(self, user: KubeObject, namespace: str, name: str) -> Known[bool]:
        """True if an HTTPProxy or Ingress may refer to that Secret."""
        if namespace == user.namespace:
            return True
        found, former = (every.get(SecretName(namespace, name)) for every in (self._delegated, self._formerly))
        if found is not None and found.permits(user.namespace):
            return True
        if former is not None and former.permits(user.namespace):
            return Unknown(_FORMER)
        kinds = (TLS_CERTIFICATE_DELEGATION, HEPTIO_DELEGATION)
        return self._no(f"a TLSCertificateDelegation in {namespace} may allow it", kinds)

    def _no(self, maybe: str, kinds: Iterable[Kind]) -> Known[bool]:
        gap = next(filter(None, map(self._snapshot.gap, kinds)), None)
        return Unknown(f"{maybe}: {gap}") if gap else False


Follow = Callable[[Endpoint, frozenset[str]], Partial]
"""Resolves another endpoint; the ids are those of the listeners that passed the connection on."""


class Facts(Once):
    """A snapshot, the component catalogue, the user's options, and values derived from them. ``once`` caches what would
    otherwise need a walk through all objects for each endpoint."""

    def __init__(
        self,
        snapshot: Snapshot,
        catalogue: Catalogue,
        policy: ScanPolicy,
        endpoints: Iterable[Endpoint],
        wishes: Wishes,
        earlier: Iterable[Snapshot] = (),
        beside: Iterable[Snapshot] = (),
    ) -> None:
        self.snapshot = snapshot
        self.catalogue = catalogue
        self.policy = policy
        self.endpoints = endpoints
        self.wishes = wishes
        self.earlier = tuple(earlier)
        self.hosts = (snapshot, *beside)
        """Snapshots of this cluster and of others; one may host its control plane."""
        release = self.cluster.releases.desired
        self.overrides: Mapping[str, Profile] = overridden(policy, None if isinstance(release, Unknown) else release)
        """The profiles of the policy's overrides, by name."""

    @cached_property
    def cluster(self) -> Authority:
        """The authority over this cluster's own components."""
        return of_microshift(self.snapshot, self.wishes) or of_api_server(self.snapshot, self.wishes, self.earlier)

    @cached_property
    def hosted(self) -> dict[str, Authority]:
        """The authorities of the control planes that this cluster hosts, by namespace."""
        return of_control_planes(self.snapshot, self.wishes)

    def authority(self, endpoint: Endpoint) -> Authority:
        """The authority over ``endpoint``."""
        plane = self.hosted.get(endpoint.owner.namespace or "")
        entry = self.entry(endpoint) if plane else None
        return self.cluster if plane is None or (entry is not None and entry.management_side) else plane

    @property
    def is_openshift(self) -> bool:
        """True if objects of a platform set the profile."""
        return self.cluster.platform

    @property
    def is_microshift(self) -> bool:
        """True if the cluster is MicroShift, where a file of the node sets the profile."""
        return is_microshift(self.snapshot)

    @cached_property
    def fips(self) -> Known[bool]:
        """True if the cluster is in FIPS mode."""
        return in_fips_mode(self.snapshot)

    def entry(self, endpoint: Endpoint) -> Listener | None:
        """The catalogue's entry for this listener; discovery names the component if it matched one."""
        behind = self.catalogue.behind(endpoint.owner)
        if behind is not None:
            return behind
        workloads = {endpoint.owner.name, *(each.name for each in endpoint.candidates)}
        on_node = endpoint.node is not None
        namespace = endpoint.owner.namespace
        found = self.catalogue.find(namespace, workloads, endpoint.port, on_node=on_node)
        if endpoint.component is None or (found is not None and endpoint.component == found.component):
            return found
        named = [each for each in self.catalogue.listeners if each.component == endpoint.component]
        ours = [each for each in named if not each.namespaces or _named(namespace, each.namespaces)]
        return next((each for each in (*ours, *named) if endpoint.port in each.ports), None)

    @cached_property
    def router(self) -> Listener | None:
        """The catalogue's entry for the routers' frontend, on any port of an IngressController."""
        return self._governed("ingress", "router")

    @cached_property
    def gateway(self) -> Listener | None:
        """The catalogue's entry for Gateways of OpenShift's own controller."""
        return self._governed("gateway", "gateway")

    def _governed(self, governor: Governor, component: str) -> Listener | None:
        found = (each for each in self.catalogue.listeners if each.governor == governor and each.speaks == "tls")
        return next((each for each in found if each.component == component), None)

    @cached_property
    def is_guest(self) -> bool:
        """True if the control plane is hosted elsewhere: then no MachineConfigPool governs the nodes."""
        return is_guest(self.snapshot)

    @cached_property
    def installed(self) -> dict[tuple[str, str], str]:
        """Deployments that OLM installed, as (namespace, name), and the ClusterServiceVersion of each."""
        return {
            (each.namespace or "", deployment.name): str(each.reference)
            for each in installed_operators(self.snapshot)
            for deployment in each.deployments
        }

    @cached_property
    def owned_kinds(self) -> dict[tuple[str, str], str]:
        """Kinds of layered products, as (group, kind), and the ClusterServiceVersion that owns each. Workloads that an
        object of such a kind owns are its operands."""
        return {
            (owned.name.partition(".")[2], owned.kind): str(each.reference)
            for each in installed_operators(self.snapshot)
            for owned in each.owned
        }

    @cached_property
    def static_pods(self) -> tuple[Pod, ...]:
        """Pods that a kubelet runs from files, as the API shows them."""
        return tuple(each for each in map(Pod.of, self.snapshot.every(POD)) if each.is_static)

    @cached_property
    def listening(self) -> dict[tuple[str, int], list[Endpoint]]:
        """Endpoints by the address and port at which they listen."""
        found: dict[tuple[str, int], list[Endpoint]] = {}
        for each in self.endpoints:
            found.setdefault((each.address, each.port), []).append(each)
        return found

    def at_place(self, endpoint: Endpoint) -> list[Endpoint]:
        """Every endpoint with the address and port of ``endpoint``, which is one of them."""
        return self.listening.get((endpoint.address, endpoint.port), [])

    @cached_property
    def kubelet_config(self) -> Known[KubeletConfiguration] | None:
        """The KubeletConfiguration of kubeadm's ConfigMap for all kubelets; None if there is none."""
        found = self._kubeadm("kubelet-config", "kubelet", "kubeadm's configuration of all kubelets")
        return KubeletConfiguration(found.raw) if isinstance(found, Fields) else found

    @cached_property
    def kubeadm_config(self) -> Known[Fields] | None:
        """The ClusterConfiguration from which kubeadm writes the control plane's manifests; None if there is none."""
        return self._kubeadm("kubeadm-config", "ClusterConfiguration", "kubeadm's configuration of the control plane")

    def _kubeadm(self, name: str, key: str, what: str) -> Known[Fields] | None:
        found = document(self.snapshot, name, key)
        return Unknown(f"{what} is unknown: {found.reason}") if isinstance(found, Unknown) else found

    @cached_property
    def grants(self) -> Grants:
        """The grants for Secrets of other namespaces."""
        return Grants(self.snapshot)

    @cached_property
    def slices(self) -> dict[tuple[str, str], list[EndpointSlice]]:
        """EndpointSlices by the namespace and name of their Service."""
        found: dict[tuple[str, str], list[EndpointSlice]] = {}
        for each in map(EndpointSlice.of, self.snapshot.every(ENDPOINT_SLICE)):
            found.setdefault((each.namespace or "", each.service_name), []).append(each)
        return found


def overridden(policy: ScanPolicy, release: str | None) -> dict[str, Profile]:
    """Raises ``UsageError`` and ``InputError`` for a profile that does not exist or is not valid."""
    usable = release if release is not None and minor(release) else None
    return {each.profile: load_profile(each.profile, release=usable) for each in policy.overrides}


def _named(namespace: str | None, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(namespace or "", pattern) for pattern in patterns)


def led(snapshot: Snapshot, endpoint: Endpoint, kinds: Mapping[str, Kind]) -> Iterator[tuple[KubeObject, Origin]]:
    """Each object of these kinds that led to ``endpoint``, with its origin, without foreign origins."""
    for origin in endpoint.origins:
        named = origin.reference
        if named is not None and named.kind in kinds and not origin.foreign:
            found = snapshot.get(kinds[named.kind], named.name, named.namespace)
            if found is not None:
                yield found, origin


def gateway_listeners(snapshot: Snapshot, endpoint: Endpoint) -> Iterator[GatewayListener]:
    """Each listener of a Gateway or ListenerSet that ``endpoint`` is."""
    for holder, origin in led(snapshot, endpoint, HOLDER_NAMES):
        if origin.role == "listener":
            yield from holder_of(holder).named(origin.part)


def gateways(snapshot: Snapshot, endpoint: Endpoint) -> Iterator[Gateway]:
    """The Gateways of these listeners, each once; a ListenerSet counts as its parent Gateway."""
    seen = set()
    for listener in gateway_listeners(snapshot, endpoint):
        found = gateway_of(snapshot, listener.holder)
        if found is not None and found.reference not in seen:
            seen.add(found.reference)
            yield found


def all_listeners(facts: Facts, gateway: Gateway) -> list[GatewayListener]:
    """The Gateway's own listeners and those of all ListenerSets that refer to it, admitted or not."""
    return merged(gateway, _sets(facts, gateway))


def admitted_listeners(facts: Facts, gateway: Gateway) -> list[GatewayListener]:
    """The Gateway's own listeners and those of the ListenerSets that it does not reject."""
    return merged(
        gateway, (each for each in _sets(facts, gateway) if admitted(facts.snapshot, gateway, each) is not False)
    )


def _sets(facts: Facts, gateway: Gateway) -> list[ListenerSet]:
    return facts.once(_by_gateway).get((gateway.namespace, gateway.name), [])


def _by_gateway(facts: Facts) -> Mapping[GatewayName, list[ListenerSet]]:
    return sets_by_gateway(facts.snapshot)


def routes(facts: Facts) -> Routes:
    """The TLSRoutes by their listeners."""
    return facts.once(_routes)


def _routes(facts: Facts) -> Routes:
    return Routes(facts.snapshot, TLS_ROUTE)
