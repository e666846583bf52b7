"""Pods, workloads with pod templates, and nodes (core/v1, apps/v1)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from scanner.kube.kinds import DAEMON_SET, DEPLOYMENT, POD, STATEFUL_SET, Kind
from scanner.kube.objects import KubeObject
from scanner.kube.view import Flag, Number, Part, Parts, Present, Text, Texts, Value, View, Words

MIRROR: Final = "kubernetes.io/config.mirror"
"""Annotation of the kubelet on the API object of a static pod, which it runs from a file (pkg/kubelet/types)."""
_HASH: Final = "kubernetes.io/config.hash"
"""Annotation with the hash of a static pod's configuration, which is its UID on the node (pkg/kubelet/types)."""
WORKLOADS: Final[tuple[Kind, ...]] = (POD, DEPLOYMENT, STATEFUL_SET, DAEMON_SET)


class ContainerPort(View):
    """A port that a container declares. The declaration is informational: an undeclared port may be open, and a
    declared one closed."""

    container_port = Number()
    name = Text()
    host_port = Number()
    host_ip = Text("hostIP")

    @property
    def protocol(self) -> str:
        """``protocol``, by default TCP."""
        return self.text("protocol") or "TCP"


class HTTPGet(View):
    """An HTTP request of the kubelet."""

    host = Text()
    """Empty: the pod's address."""
    port = Value()
    """Number, or name of a port of the same container."""
    scheme = Text()
    has_scheme = Present("scheme")


class Handler(View):
    """A probe or lifecycle hook."""

    http_get = Part(HTTPGet)
    grpc_port = Value("grpc", "port")
    grpc_mode = Text("grpc", "mode")
    """``TLS`` needs the feature gate GRPCContainerProbeTLS."""


_HANDLERS: Final = (
    ("livenessProbe",),
    ("readinessProbe",),
    ("startupProbe",),
    ("lifecycle", "postStart"),
    ("lifecycle", "preStop"),
)


class VolumeMount(View):
    """A volume that is mounted in a container."""

    name = Text()


class Container(View):
    """A container of a pod or of a pod template."""

    name = Text()
    command = Texts()
    args = Texts()
    ports = Parts(ContainerPort)
    restart_policy = Text()
    volume_mounts = Parts(VolumeMount)
    liveness_probe = Part(Handler)

    @property
    def arguments(self) -> tuple[str, ...]:
        """The command with its arguments."""
        return (*self.command, *self.args)

    @property
    def handlers(self) -> Iterator[tuple[str, Handler]]:
        """The probes and lifecycle hooks that are set, by name."""
        for path in _HANDLERS:
            if path[0] in self.raw and (found := self.fields(*path).raw):
                yield path[-1], Handler(found, (*self.steps, *path))


class ProjectedSource(View):
    """One source of a projected volume."""

    secret = Text("secret", "name")
    has_pod_certificate = Present("podCertificate")


class Volume(View):
    """A volume of a pod."""

    name = Text()
    secret = Text("secret", "secretName")
    projected = Parts(ProjectedSource, "projected", "sources")
    csi_driver = Text("csi", "driver")


class PodSpec(View):
    """``spec`` of a pod or of a pod template."""

    containers = Parts(Container)
    init_containers = Parts(Container)
    ephemeral_containers = Parts(Container)
    volumes = Parts(Volume)
    node_name = Text()
    host_network = Flag()
    container_values = Value("containers")
    """The raw value, like the other ``_values``: replicas share it, so results can be memoised by its identity."""
    init_container_values = Value("initContainers")
    ephemeral_container_values = Value("ephemeralContainers")
    volume_values = Value("volumes")

    @property
    def sidecars(self) -> tuple[Container, ...]:
        """Init containers that run as long as the pod."""
        return tuple(each for each in self.init_containers if each.restart_policy == "Always")

    @property
    def long_running(self) -> tuple[Container, ...]:
        """Containers that run as long as the pod."""
        return (*self.containers, *self.sidecars, *self.ephemeral_containers)


class PodTemplate(View):
    """A pod, or the pod template of a workload."""

    labels = Words("metadata", "labels")
    spec = Part(PodSpec)


def template(workload: KubeObject) -> PodTemplate:
    """The pod template of one of ``WORKLOADS``."""
    if workload.kind == POD:
        return PodTemplate(workload.raw)
    return PodTemplate(workload.fields("spec", "template").raw, ("spec", "template"))


class Address(View):
    """An address in the status of a pod or node."""

    ip = Text()
    """Pods only."""
    address = Text()
    """Nodes only."""
    type = Text()
    """Nodes only: ``InternalIP``, ``ExternalIP``, ``Hostname`` ..."""


class Pod(KubeObject):
    spec = Part(PodSpec, "spec")
    phase = Text("status", "phase")
    pod_ips = Parts(Address, "status", "podIPs")
    pod_ip = Text("status", "podIP")
    host_ip = Text("status", "hostIP")
    label_values = Value("metadata", "labels")
    owner_values = Value("metadata", "ownerReferences")
    condition_values = Value("status", "conditions")

    @property
    def has_finished(self) -> bool:
        """True if all of its containers have terminated."""
        return self.phase in ("Succeeded", "Failed")

    @property
    def is_ready(self) -> bool:
        """False if a condition reports that it is not ready."""
        every = self.at("status", "conditions")  # read for every pod, so without a view of each condition
        return not any(
            isinstance(each, dict) and each.get("type") == "Ready" and each.get("status") == "False"
            for each in (every if isinstance(every, list) else ())
        )

    @property
    def uids(self) -> tuple[str, ...]:
        """The UIDs that its cgroup on the node may have."""
        return tuple(filter(None, (self.uid, self.annotation(_HASH))))

    @property
    def restarts(self) -> tuple[tuple[str, int | None], ...]:
        """The number of restarts of each container."""
        every = self.each("status", "containerStatuses")
        return tuple((each.text("name"), each.number("restartCount")) for each in every)

    @property
    def is_static(self) -> bool:
        """True if the kubelet runs it from a file."""
        return self.has("metadata", "annotations", MIRROR)


class Node(KubeObject):
    pod_cidrs = Texts("spec", "podCIDRs")
    pod_cidr = Text("spec", "podCIDR")
    addresses = Parts(Address, "status", "addresses")
    kubelet_version = Text("status", "nodeInfo", "kubeletVersion")
    kubelet_port = Value("status", "daemonEndpoints", "kubeletEndpoint", "Port")
    """The field name has a capital letter in the API (core/v1 DaemonEndpoint)."""
