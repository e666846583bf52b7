"""NetworkPolicies that may explain why a listener did not answer: evidence for ``tls-reach``, never a verdict.

The source address of the scan's packets is not known here, so a finding lists the admitted clients and does not decide
whether the scanner is one of them. If any policy opens the port to all clients, no policy explains the silence
(policies add up: Kubernetes API reference, NetworkPolicySpec v1 networking.k8s.io, ``ingress``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from scanner.kube.kinds import NETWORK_POLICY, Kind
from scanner.kube.meta import LabelSelector, selects
from scanner.kube.objects import KubeObject, Reference
from scanner.kube.view import Number, Part, Parts, Present, Text, Texts, View
from scanner.model.endpoint import Endpoint
from scanner.model.finding import Finding
from scanner.model.observation import Observation, Reach
from scanner.values import replace


class PolicyPort(View):
    """Ports of a rule: one, a range to ``end_port``, or all. A named port has no number."""

    port = Number()
    end_port = Number()
    protocol = Text()
    """TCP by default."""

    def may_be(self, port: int) -> bool:
        """True if it may include the TCP port; a named port may be any."""
        first = self.port
        return self.protocol in ("", "TCP") and (first is None or first <= port <= (self.end_port or first))


class Peer(View):
    """Clients that a rule admits."""

    cidr = Text("ipBlock", "cidr")
    except_ = Texts("ipBlock", "except")
    pods = Part(LabelSelector, "podSelector")
    namespaces = Part(LabelSelector, "namespaceSelector")
    has_namespaces = Present("namespaceSelector")
    """Without a namespace selector, the peers are pods of the policy's own namespace."""


class IngressRule(View):
    """A rule of a policy: the clients (all, without peers) that it admits to ports (all, without ports)."""

    ports = Parts(PolicyPort)
    peers = Parts(Peer, "from")

    def covers(self, port: int) -> bool:
        """True if the rule may include ``port``."""
        ports = self.ports
        return not ports or any(each.may_be(port) for each in ports)


class NetworkPolicy(KubeObject):
    """A NetworkPolicy."""

    selector = Part(LabelSelector, "spec", "podSelector")
    types = Texts("spec", "policyTypes")
    ingress = Parts(IngressRule, "spec", "ingress")

    @property
    def is_about_ingress(self) -> bool:
        """True if it restricts ingress, which is the default."""
        return not self.types or "Ingress" in self.types


READS: tuple[Kind, ...] = (NETWORK_POLICY,)

_NAMED = 3
"""Most policies named for one listener, and most peers for one policy; users control how many there are."""


class Closing(Struct, frozen=True, kw_only=True):
    """A policy that closes a port to at least some clients."""

    policy: Reference
    admits: tuple[str, ...]
    """The clients that it admits to the port; empty for none."""

    def __str__(self) -> str:
        if not self.admits:
            return f"{self.policy} selects the pod and admits no client to this port"
        more = f" and {len(self.admits) - _NAMED} more" if len(self.admits) > _NAMED else ""
        return f"{self.policy} admits to this port only {', '.join(self.admits[:_NAMED])}{more}"


class Explained(Struct, frozen=True, kw_only=True):
    """Findings with policies as evidence, and these policies."""

    findings: tuple[Finding, ...]
    blocked_by: tuple[Reference, ...] = ()


class NetworkPolicies:
    """The policies of a cluster, by namespace."""

    def __init__(self, objects: Iterable[KubeObject]) -> None:
        self._of: dict[str, list[NetworkPolicy]] = {}
        for each in map(NetworkPolicy.of, objects):
            self._of.setdefault(each.namespace or "", []).append(each)

    def closing(self, endpoint: Endpoint) -> tuple[Closing, ...]:
        """The policies that close the endpoint's port to some clients; none if one of them opens it to all.

        Only for pods with their own address: the behaviour of hostNetwork pods is undefined, and nearly always policies
        do not apply to them (same reference, ``podSelector``).
        """
        if endpoint.pod is None or endpoint.node is not None:
            return ()
        labels, found = dict(endpoint.labels), []
        for policy in self._of.get(endpoint.pod.namespace or "", ()):
            if not policy.is_about_ingress or not selects(policy.selector, labels):
                continue
            admitted = list(_admitted(policy, endpoint.port))
            if None in admitted:
                return ()
            found.append(Closing(policy=policy.reference, admits=tuple(filter(None, admitted))))
        return tuple(found)


def explain(
    policies: NetworkPolicies, endpoint: Endpoint, observation: Observation, findings: Iterable[Finding]
) -> Explained:
    """``findings``, with the closing policies as evidence of ``tls-reach`` if there was no answer at all."""
    every = tuple(findings)
    closing = policies.closing(endpoint) if observation.reach is Reach.FILTERED else ()
    if not closing:
        return Explained(findings=every)
    return Explained(
        findings=tuple(_with_evidence(one, endpoint, closing) for one in every),
        blocked_by=tuple(each.policy for each in closing[:_NAMED]),
    )


def _with_evidence(finding: Finding, endpoint: Endpoint, closing: tuple[Closing, ...]) -> Finding:
    if finding.rule != "tls-reach":
        return finding
    return replace(
        finding,
        evidence=(*finding.evidence, *map(str, closing[:_NAMED])),
        fix=f"admit the scanner to port {endpoint.port} in {closing[0].policy}, or scan from a client that it admits",
    )


def _admitted(policy: NetworkPolicy, port: int) -> Iterator[str | None]:
    """The clients that each rule admits to ``port``, as text; None for all clients."""
    for rule in policy.ingress:
        if not rule.covers(port):
            continue
        if not rule.peers:
            yield None
        yield from map(_peer, rule.peers)


_EVERYWHERE = frozenset({"0.0.0.0/0", "::/0"})


def _peer(peer: Peer) -> str | None:
    """``namespaces with team=a``; None for all clients."""
    if block := peer.cidr:
        return None if block in _EVERYWHERE and not peer.except_ else f"addresses in {block}"
    pods = _words(peer.pods)
    if not peer.has_namespaces:
        return f"pods{pods and f' with {pods}'} of its own namespace"
    namespaces = _words(peer.namespaces)
    if not pods and not namespaces:
        return None
    of = f"namespaces with {namespaces}" if namespaces else "all namespaces"
    return f"pods with {pods} of {of}" if pods else of


def _words(selector: LabelSelector) -> str:
    """``a=b, c in (d, e)``: the first few requirements of a selector; empty if it has none."""
    labels = [f"{key}={value}" for key, value in selector.match_labels.items()]
    for each in selector.match_expressions:
        values = ", ".join(each.values[:_NAMED])
        labels.append(f"{each.key} {each.operator}{values and f' ({values})'}")
    return ", ".join(labels[:_NAMED])[:200]
