"""Make endpoints from merged listeners: owner, component, server names, and id.

An id is ``<owner kind>/<namespace>/<name>:<port>``, with ``#<server name>`` if one is sent and ``/<transport>`` for
STARTTLS: ``Deployment/shop/web:8443``, ``StaticPod/kube-system/etcd:2379``, ``Node/kubelet:10250``. It contains no
address and no pod, so that it stays the same while these change. An instance is an id with an address, and the node if
the listener is in a node's network.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from scanner.discover import hints
from scanner.discover.index import Index
from scanner.discover.merged_claims import MAX_ALIASES, MAX_FOREIGN, MAX_ORIGINS, Listener, MergedClaims, stronger
from scanner.discover.truncation import Omission
from scanner.discover.workloads import Pod
from scanner.kube.hostnames import escaped_id, server_name
from scanner.model import components
from scanner.model.endpoint import Certainty, Endpoint, Origin, Owner, Transport, Tunnel, host_port, owner_order

MESH = "mesh"
"""The component of a listener behind a service mesh. The pod's author sets it, so the catalogue takes precedence."""
MAX_CANDIDATES = 20
_LOOPBACK = "127.0.0.1"
_NO_FORWARD = "listeners on the loopback address of their pod, reachable only with --via port-forward"
_NO_WAY = "listeners on loopback of nodes without a pod on the host network: not reachable by port-forward"


class EndpointBuilder:
    """Makes the endpoints of one listener, with all that its names and addresses have in common."""

    def __init__(self, view: Index, listener: Listener, *, via_port_forward: bool) -> None:
        self._listener = listener
        self._view = view
        self._claims = sorted(listener.pods, key=_pod_order) if len(listener.pods) > 1 else listener.pods
        self.entry, self.pod = self._known()
        self.owner = self._owner()
        self.loopback = self._is_loopback()
        self._forwards = via_port_forward
        through = self._through() if via_port_forward else None
        self.tunnel = (
            Tunnel(namespace=through.namespace, pod=through.name, port=listener.place.port) if through else None
        )

    def omitted(self) -> str | None:
        """The reason why it is not probed, or None."""
        if self.entry and self.entry.speaks in ("plain", "nothing") and not self._is_declared():
            return "ports that use no TLS according to the component catalogue"
        if self.loopback and self.tunnel is None:
            return _NO_WAY if self._forwards else _NO_FORWARD
        return None

    def endpoints(self) -> Iterator[Endpoint]:
        """One endpoint per name and address. An additional name is probed at one address only, because the process is
        the same."""
        listener = self._listener
        addresses = [_LOOPBACK] if self.loopback else listener.addresses
        if not listener.named and not (self.entry and self.entry.server_names):  # nearly always
            name = listener.soft[2] if listener.soft and not listener.bare else None
            yield from (self._endpoint(each, name, listener.unnamed) for each in addresses if listener.unnamed)
            return
        only = {name: self._folded(merged) for name, merged in listener.named.items() if merged.naming == "only"}
        also = {name: merged for name, merged in listener.named.items() if merged.naming == "also"}
        for extra in self.entry.server_names if self.entry else ():
            name = server_name(extra)
            if name and name not in only:
                origin = Origin(role="catalogue", part=self.entry_name)
                also.setdefault(name, MergedClaims(certainty="declared", origins=[origin]))
        soft = listener.soft[2] if listener.soft and not only and not listener.bare else None
        for address in addresses:
            yield from (self._endpoint(address, name, merged) for name, merged in only.items())
            if listener.unnamed and (not only or listener.bare):
                yield self._endpoint(address, soft, listener.unnamed)
        yield from (self._endpoint(self._primary(addresses), name, each) for name, each in also.items() if name != soft)

    @property
    def entry_name(self) -> str:
        """Name of the catalogue's entry."""
        return f"{self.entry.component} {self.entry.listener}" if self.entry else ""

    def _is_declared(self) -> bool:
        every = (self._listener.unnamed, *self._listener.named.values())
        return any(each.certainty == "declared" for each in every if each)

    def _known(self) -> tuple[components.Listener | None, Pod | None]:
        """The catalogue's entry, and the pod that listens: the one in the catalogue, else the first."""
        place, view = self._listener.place, self._view
        number = self._listener.known_port or place.port
        on_node = place.node is not None
        if on_node and self._listener.owner:
            return view.entry(None, (self._listener.owner.name,), number, on_node=True), None
        for pod in self._claims:
            entry = view.entry(pod.namespace, (pod.owner.name,), number, on_node=on_node)
            if entry:
                return entry, pod
        if self._claims:
            return None, self._claims[0]
        if on_node:
            return view.entry(None, (), number, on_node=True), None
        return (view.catalogue.behind(place.owner) if place.owner else None), None

    def _owner(self) -> Owner:
        place = self._listener.place
        if self.pod:
            return self.pod.owner
        if owner := self._listener.owner or place.owner:
            return owner
        name = self.entry.component if self.entry else place.node or place.host or place.address
        return Owner(kind="Node", name=name)

    def _is_loopback(self) -> bool:
        merged = self._listener.loopback
        if self._listener.called:
            return False
        if merged:
            return merged == {True}
        return bool(self.entry and self.entry.loopback)

    def _through(self) -> Pod | None:
        """The pod whose port-forward reaches the listener; None if it is dialled at its address.

        Runtimes connect to localhost in the pod's network. For pods on the host network that is the node's own
        (containerd/cri#739, cri-o/cri-o#4495), so any such pod reaches all loopback listeners of the node. Listeners
        with an address of the node are dialled there, because another listener may have the same port on loopback:
        OpenShift's node exporter serves plaintext there, behind the TLS of the node's address.
        """
        if not self.loopback:
            return None if self.pod and self.pod.host_network else self.pod
        return self.pod or min(
            (each for each in self._view.workloads.on_node.get(self._listener.place.node, ()) if not each.terminating),
            key=lambda each: (not each.ready, *_pod_order(each)),
            default=None,
        )

    def _candidates(self) -> tuple[Owner, ...]:
        """Possible owners of a node's port that no pod or several pods claim."""
        place = self._listener.place
        if place.node is None or len(self._claims) == 1 or self._listener.owner:
            return ()
        pods = self._claims or ([] if self.entry else self._view.workloads.on_node.get(place.node, []))
        return tuple(sorted({pod.owner for pod in pods}, key=owner_order)[:MAX_CANDIDATES])

    def _folded(self, merged: MergedClaims) -> MergedClaims:
        """The claims on a name, with those on its listener without a name."""
        unnamed = self._listener.unnamed
        if unnamed:
            merged.certainty = stronger(merged.certainty, unnamed.certainty)
            merged.segment = merged.segment or unnamed.segment
            merged.expects = merged.expects or unnamed.expects
            for origin in unnamed.origins:
                if origin not in (self._listener.bare or ()):
                    merged.origin(origin)
        return merged

    def _primary(self, addresses: list[str]) -> str:
        return (
            next((each for each in self.pod.addresses if each in addresses), addresses[0]) if self.pod else addresses[0]
        )

    def _certainty(self, merged: MergedClaims) -> Certainty:
        known = self.entry is not None and self.entry.speaks in ("tls", "both") and not self._listener.guess
        return "declared" if known else merged.certainty

    def _labels(self, merged: MergedClaims) -> tuple[tuple[str, str], ...]:
        """Labels of the pod or node, and of the object that decides what is served under the name."""
        place = self._listener.place
        node = self._view.workloads.nodes.get(place.node) if self.pod is None else None
        own = self.pod.labels if self.pod else place.labels or (node.labels if node else ())
        if merged.subject is None or merged.naming == "soft":
            return own
        return (*own, *(pair for pair in sorted(merged.subject.labels.items()) if pair not in own))

    def _origins(self, merged: MergedClaims, identity: str) -> tuple[Origin, ...]:
        cuts = self._view.cuts
        if cut := self._listener.cut_aliases:
            cuts.note(f"addresses of Services of one listener beyond the first {MAX_ALIASES:,}", identity, cut)
        if merged.cut:
            cuts.note(f"objects that lead to one listener beyond the first {MAX_ORIGINS:,}", identity, merged.cut)
        if merged.cut_foreign:
            what = f"objects of other namespaces that name one listener beyond the first {MAX_FOREIGN}"
            cuts.note(what, identity, merged.cut_foreign, decides=False)
        return self._view.origins(merged.origins)

    def _endpoint(self, address: str, name: str | None, merged: MergedClaims) -> Endpoint:
        listener, place = self._listener, self._listener.place
        certainty = self._certainty(merged)
        transport: Transport = (
            "tls" if certainty == "declared" or name else hints.transport(place.port, listener.app_protocol)
        )
        identity = called(self.owner, place.port, name, transport, apart=place.apart)
        vantage = f" on {place.node}" if place.node else f" in {self.pod.name}" if self.pod and self.loopback else ""
        return Endpoint(
            id=identity,
            instance=f"{identity} @ {host_port(address or place.host, place.port)}{vantage}",
            address=address,
            port=place.port,
            server_name=name,
            transport=transport,
            host=place.host or name or "",
            owner=self.owner,
            component=self.entry.component if self.entry else MESH if self.pod and self.pod.mesh else None,
            segment=merged.segment,
            certainty=certainty,
            origins=self._origins(merged, identity),
            subject=merged.subject.reference if merged.subject else None,
            node=place.node,
            runs_on=self.pod.node if self.pod else place.node,
            pod=self.pod.reference if self.pod else None,
            candidates=self._candidates(),
            labels=self._labels(merged),
            aliases=self._view.same(tuple(listener.aliases)),
            sampled=place.sampled or merged.sampled,
            ready=listener.ready,
            tunnel=self.tunnel,
            expects=merged.expects or (self.entry.client_certificate if self.entry else None),
        )


@lru_cache(maxsize=1 << 12)  # replicas have the same id and are consecutive
def called(owner: Owner, port: int, name: str | None, transport: Transport, *, apart: str = "") -> str:
    above = "/".join(escaped_id(each) for each in (owner.kind, owner.namespace, owner.name, apart) if each)
    return f"{above}:{port}{f'#{name}' if name else ''}{f'/{transport}' if transport != 'tls' else ''}"


def endpoints_of(
    view: Index, listener: Listener, *, via_port_forward: bool, everything: bool
) -> Iterator[Endpoint | Omission]:
    """The endpoints of a listener, or an ``Omission``, which has the endpoints if ``everything``."""
    one = EndpointBuilder(view, listener, via_port_forward=via_port_forward)
    reason = one.omitted()
    if reason:
        yield Omission(reason, endpoints=tuple(one.endpoints()) if everything else ())
    else:
        yield from one.endpoints()


def _pod_order(pod: Pod) -> tuple[str, str]:
    return pod.namespace, pod.name
