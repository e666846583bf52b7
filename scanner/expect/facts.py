"""Facts of a snapshot that more than one resolver looks at; each is found once, when it is first needed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fnmatch import fnmatchcase
from functools import cached_property

from scanner.expect import api_server, hypershift, microshift
from scanner.expect.api_server import Wishes
from scanner.expect.authority import Authority
from scanner.expect.draft import Draft
from scanner.expect.grants import Grants
from scanner.expect.release import minor
from scanner.kube.cluster_facts import document, in_fips_mode, is_guest
from scanner.kube.kinds import ENDPOINT_SLICE, POD
from scanner.kube.kubelet import KubeletConfiguration
from scanner.kube.maybe import Known, Unknown
from scanner.kube.objects import Fields
from scanner.kube.openshift import installed_operators
from scanner.kube.pod import Pod
from scanner.kube.profile_catalogue import load_profile
from scanner.kube.service import EndpointSlice
from scanner.kube.snapshot import Snapshot
from scanner.kube.tls_profile import Profile
from scanner.model.components import Catalogue, Governor, Listener
from scanner.model.endpoint import Endpoint
from scanner.model.once import Once
from scanner.model.scan_policy import ScanPolicy

Follow = Callable[[Endpoint, frozenset[str]], Draft]
"""What an endpoint owes, seen from another one; the ids are those that were passed through on the way."""


class Facts(Once):
    """A snapshot, what is known of components, what the user wants, and what follows from them: ``once`` is for what
    would cost each endpoint a walk through all objects."""

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
        """Snapshots that may have what is configured for this cluster by the one that hosts its control plane."""
        release = self.cluster.releases.desired
        self.overrides: Mapping[str, Profile] = overridden(policy, None if isinstance(release, Unknown) else release)
        """The profiles of the policy's overrides, by what the policy calls them."""

    @cached_property
    def cluster(self) -> Authority:
        """What says what this cluster's own components owe."""
        return microshift.authority(self.snapshot, self.wishes) or api_server.authority(
            self.snapshot, self.wishes, self.earlier
        )

    @cached_property
    def hosted(self) -> dict[str, Authority]:
        """The same for the control planes that this cluster hosts, by their namespaces."""
        return hypershift.authorities(self.snapshot, self.wishes)

    def authority(self, endpoint: Endpoint) -> Authority:
        """What says what ``endpoint`` owes."""
        plane = self.hosted.get(endpoint.owner.namespace or "")
        entry = self.entry(endpoint) if plane else None
        return self.cluster if plane is None or (entry is not None and entry.management_side) else plane

    @property
    def is_openshift(self) -> bool:
        """Whether there are objects of a platform that say what is owed."""
        return self.cluster.platform

    @property
    def is_microshift(self) -> bool:
        """Whether a file of the node takes the place of those objects."""
        return microshift.is_here(self.snapshot)

    @cached_property
    def fips(self) -> Known[bool]:
        """Whether the cluster is in FIPS mode."""
        return in_fips_mode(self.snapshot)

    def entry(self, endpoint: Endpoint) -> Listener | None:
        """What the catalogue knows of this listener; discovery has named the component where it matched."""
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
        """The catalogue's entry for what routers show to clients, whatever port an IngressController chooses."""
        return self._governed("ingress", "router")

    @cached_property
    def gateway(self) -> Listener | None:
        """The same for the Gateways of OpenShift's own controller."""
        return self._governed("gateway", "gateway")

    def _governed(self, governor: Governor, component: str) -> Listener | None:
        found = (each for each in self.catalogue.listeners if each.governor == governor and each.speaks == "tls")
        return next((each for each in found if each.component == component), None)

    @cached_property
    def is_guest(self) -> bool:
        """Whether the control plane is hosted elsewhere: then no pool governs the nodes."""
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
        """Kinds of layered products, as (group, kind), and the ClusterServiceVersion that owns each: what an object of
        such a kind owns is an operand of it."""
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

    @cached_property
    def kubelet_config(self) -> Known[KubeletConfiguration] | None:
        """The KubeletConfiguration that kubeadm keeps for all kubelets, in a ConfigMap; None where there is none."""
        found = self._kubeadm("kubelet-config", "kubelet", "what kubeadm configures for all kubelets")
        return KubeletConfiguration(found.raw) if isinstance(found, Fields) else found

    @cached_property
    def kubeadm_config(self) -> Known[Fields] | None:
        """The ClusterConfiguration that kubeadm makes the control plane's manifests of; None where there is none."""
        return self._kubeadm("kubeadm-config", "ClusterConfiguration", "what kubeadm configures for the control plane")

    def _kubeadm(self, name: str, key: str, what: str) -> Known[Fields] | None:
        found = document(self.snapshot, name, key)
        return Unknown(f"{what} is not known: {found.reason}") if isinstance(found, Unknown) else found

    @cached_property
    def grants(self) -> Grants:
        """Who may refer to Secrets of other namespaces."""
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
