"""Endpoints out of merged listeners: whose they are, which component, under which names, and what they are called.

An id is ``<owner kind>/<namespace>/<name>:<port>``, with ``#<server name>`` where one is sent and ``/<transport>``
where TLS begins with a STARTTLS: ``Deployment/shop/web:8443``, ``StaticPod/kube-system/etcd:2379``,
``Node/kubelet:10250``. It says nothing of an address or of a pod, so that it stays the same while these come and go. An
instance is an id with an address, and the node where the listener is in a node's network.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from scanner.discover import hints
from scanner.discover.index import Index
from scanner.discover.merge import MAX_ALIASES, MAX_FOREIGN, MAX_ORIGINS, Listener, Said, stronger
from scanner.discover.truncation import Omission
from scanner.discover.workloads import Pod
from scanner.kube.hostnames import part, server_name
from scanner.model import components
from scanner.model.endpoint import Certainty, Endpoint, Origin, Owner, Transport, Tunnel, host_port, owner_order

MESH = "mesh"
"""The component of what a service mesh may answer for. Whoever writes a pod says so, so the catalogue comes first."""
MAX_CANDIDATES = 20
_LOOPBACK = "127.0.0.1"
_NO_FORWARD = "listeners on loopback, reachable only with --via port-forward"
_NO_WAY = "listeners on loopback of nodes without a pod in the node's network: no port-forward leads there"


class Built:
    """One listener, with everything decided that is the same for all of its names and addresses."""

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
        """Why it is not asked, or None."""
        if self.entry and self.entry.speaks in ("plain", "nothing") and not self._is_declared():
            return "ports without TLS by the component catalogue"
        if self.loopback and self.tunnel is None:
            return _NO_WAY if self._forwards else _NO_FORWARD
        return None

    def endpoints(self) -> Iterator[Endpoint]:
        """One for each name and address. A name beside others is asked at one address: the process is the same."""
        listener = self._listener
        addresses = [_LOOPBACK] if self.loopback else listener.addresses
        if not listener.named and not (self.entry and self.entry.server_names):  # nearly always
            name = listener.soft[2] if listener.soft and not listener.bare else None
            yield from (self._endpoint(each, name, listener.unnamed) for each in addresses if listener.unnamed)
            return
        only = {name: self._folded(said) for name, said in listener.named.items() if said.naming == "only"}
        also = {name: said for name, said in listener.named.items() if said.naming == "also"}
        for extra in self.entry.server_names if self.entry else ():
            name = server_name(extra)
            if name and name not in only:
                origin = Origin(role="catalogue", part=self.entry_name)
                also.setdefault(name, Said(certainty="declared", origins=[origin]))
        soft = listener.soft[2] if listener.soft and not only and not listener.bare else None
        for address in addresses:
            if only:
                yield from (self._endpoint(address, name, said) for name, said in only.items())
            if listener.unnamed and (not only or listener.bare):
                yield self._endpoint(address, soft, listener.unnamed)
        yield from (self._endpoint(self._primary(addresses), name, each) for name, each in also.items() if name != soft)

    @property
    def entry_name(self) -> str:
        """The catalogue's entry, for people."""
        return f"{self.entry.component} {self.entry.listener}" if self.entry else ""

    def _is_declared(self) -> bool:
        every = (self._listener.unnamed, *self._listener.named.values())
        return any(each.certainty == "declared" for each in every if each)

    def _known(self) -> tuple[components.Listener | None, Pod | None]:
        """The catalogue's entry, and the pod that listens: the one that the catalogue knows, else the first."""
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
        if self._listener.owner or place.owner:
            return self._listener.owner or place.owner or Owner(kind="Node", name="")
        name = self.entry.component if self.entry else place.node or place.host or place.address
        return Owner(kind="Node", name=name)

    def _is_loopback(self) -> bool:
        said = self._listener.loopback
        if self._listener.called:
            return False
        if said:
            return said == {True}
        return bool(self.entry and self.entry.loopback)

    def _through(self) -> Pod | None:
        """The pod in whose network a port-forward ends where this listens; None where it is dialled at its address.

        Runtimes connect to localhost of that network, and for pods of the node's network that is the node's own
        (containerd/cri#739, cri-o/cri-o#4495): any such pod leads to all that is bound to loopback there. What has an
        address of the node is dialled there all the same, since something else may have its port on loopback:
        OpenShift's node exporter speaks plain text there, behind the TLS of the node's address.
        """
        if not self.loopback:
            return None if self.pod and self.pod.host_network else self.pod
        return self.pod or min(
            (each for each in self._view.workloads.on_node.get(self._listener.place.node or "", ()) if not each.leaves),
            key=lambda each: (not each.ready, *_pod_order(each)),
            default=None,
        )

    def _candidates(self) -> tuple[Owner, ...]:
        """Of a port of a node that nobody claims, or that several do."""
        place = self._listener.place
        if place.node is None or len(self._claims) == 1 or self._listener.owner:
            return ()
        pods = self._claims or ([] if self.entry else self._view.workloads.on_node.get(place.node, []))
        return tuple(sorted({pod.owner for pod in pods}, key=owner_order)[:MAX_CANDIDATES])

    def _folded(self, said: Said) -> Said:
        """What is said of a name, with what is said of its listener without one."""
        unnamed = self._listener.unnamed
        if unnamed:
            said.certainty = stronger(said.certainty, unnamed.certainty)
            said.segment = said.segment or unnamed.segment
            said.expects = said.expects or unnamed.expects
            for origin in unnamed.origins:
                if origin not in (self._listener.bare or ()):
                    said.origin(origin)
        return said

    def _primary(self, addresses: list[str]) -> str:
        return (
            next((each for each in self.pod.addresses if each in addresses), addresses[0]) if self.pod else addresses[0]
        )

    def _certainty(self, said: Said) -> Certainty:
        known = self.entry is not None and self.entry.speaks in ("tls", "both") and not self._listener.guess
        return "declared" if known else said.certainty

    def _labels(self, said: Said) -> tuple[tuple[str, str], ...]:
        """The pod's or the node's, and those of the object that decides what is served under the name."""
        place = self._listener.place
        node = self._view.workloads.nodes.get(place.node or "") if self.pod is None else None
        own = self.pod.labels if self.pod else place.labels or (node.labels if node else ())
        if said.subject is None or said.naming == "soft":
            return own
        return (*own, *(pair for pair in sorted(said.subject.labels.items()) if pair not in own))

    def _origins(self, said: Said, identity: str) -> tuple[Origin, ...]:
        cuts = self._view.cuts
        if cut := self._listener.cut_aliases:
            cuts.note(f"addresses of Services of one listener beyond the first {MAX_ALIASES:,}", identity, cut)
        if said.cut:
            cuts.note(f"objects that lead to one listener beyond the first {MAX_ORIGINS:,}", identity, said.cut)
        if said.cut_foreign:
            what = f"objects of other namespaces that name one listener beyond the first {MAX_FOREIGN}"
            cuts.note(what, identity, said.cut_foreign, decides=False)
        return self._view.origins(said.origins)

    def _endpoint(self, address: str, name: str | None, said: Said) -> Endpoint:
        listener, place = self._listener, self._listener.place
        certainty = self._certainty(said)
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
            segment=said.segment,
            certainty=certainty,
            origins=self._origins(said, identity),
            subject=said.subject.reference if said.subject else None,
            node=place.node,
            runs_on=self.pod.node if self.pod else place.node,
            pod=self.pod.reference if self.pod else None,
            candidates=self._candidates(),
            labels=self._labels(said),
            aliases=self._view.same(tuple(listener.aliases)),
            sampled=place.sampled or said.sampled,
            ready=listener.ready,
            tunnel=self.tunnel,
            expects=said.expects or (self.entry.client_certificate if self.entry else None),
        )


@lru_cache(maxsize=1 << 12)  # replicas follow each other
def called(owner: Owner, port: int, name: str | None, transport: Transport, *, apart: str = "") -> str:
    """An endpoint's id."""
    above = "/".join(part(each) for each in (owner.kind, owner.namespace, owner.name, apart) if each)
    return f"{above}:{port}{f'#{name}' if name else ''}{f'/{transport}' if transport != 'tls' else ''}"


def built(
    view: Index, listener: Listener, *, via_port_forward: bool, everything: bool = False
) -> Iterator[Endpoint | Omission]:
    """The endpoints of a listener, or why there are none, and with ``everything`` which there would be."""
    one = Built(view, listener, via_port_forward=via_port_forward)
    reason = one.omitted()
    if reason:
        yield Omission(reason, endpoints=tuple(one.endpoints()) if everything else ())
    else:
        yield from one.endpoints()


def _pod_order(pod: Pod) -> tuple[str, str]:
    return pod.namespace, pod.name
