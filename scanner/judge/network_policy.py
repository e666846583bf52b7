"""NetworkPolicies that explain why a listener did not answer: evidence for ``tls-reach``, never a verdict.

Which pod the packets of a scan seem to come from is not known here, so that nothing is said of whether a rule admits
the scanner, only of whom it admits. A port that any policy leaves open to everybody is explained by none (policies add
up: Kubernetes API reference, NetworkPolicySpec v1 networking.k8s.io, ``ingress``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from scanner.kube.kinds import NETWORK_POLICY, Kind
from scanner.kube.meta import LabelSelector
from scanner.kube.objects import KubeObject, Reference
from scanner.kube.view import Number, Part, Parts, Present, Text, Texts, View
from scanner.model.endpoint import Endpoint
from scanner.model.finding import Finding
from scanner.model.observation import Observation, Reach


class PolicyPort(View):
    """Ports that a rule is about: one, several to ``end_port``, or all. One by its name has no number."""

    port = Number()
    end_port = Number()
    protocol = Text()
    """TCP by default."""

    def may_be(self, port: int) -> bool:
        """Whether it is about that TCP port; a name may be that of any port."""
        first = self.port
        return self.protocol in ("", "TCP") and (first is None or first <= port <= (self.end_port or first))


class Peer(View):
    """Whom a rule admits."""

    cidr = Text("ipBlock", "cidr")
    except_ = Texts("ipBlock", "except")
    pods = Part(LabelSelector, "podSelector")
    namespaces = Part(LabelSelector, "namespaceSelector")
    has_namespaces = Present("namespaceSelector")
    """Without a selector of namespaces, it is about pods of the policy's own."""


class IngressRule(View):
    """Whom a policy admits to which ports; without ports to all, without peers everybody."""

    ports = Parts(PolicyPort)
    peers = Parts(Peer, "from")

    def covers(self, port: int) -> bool:
        """Whether the rule may be about ``port``."""
        ports = self.ports
        return not ports or any(each.may_be(port) for each in ports)


class NetworkPolicy(KubeObject):
    """A NetworkPolicy."""

    selector = Part(LabelSelector, "spec", "podSelector")
    types = Texts("spec", "policyTypes")
    ingress = Parts(IngressRule, "spec", "ingress")

    @property
    def is_about_ingress(self) -> bool:
        """Whether it restricts what comes in; without types it does."""
        return not self.types or "Ingress" in self.types


READS: tuple[Kind, ...] = (NETWORK_POLICY,)

_NAMED = 3
"""Policies named for one listener, and peers for one policy; whoever writes them decides how many there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Closing:
    """A policy that keeps at least some from a port."""

    policy: Reference
    admits: tuple[str, ...]
    """Whom it lets in to that port; empty for nobody."""

    def __str__(self) -> str:
        if not self.admits:
            return f"{self.policy} selects the pod and admits no client to this port"
        more = f" and {len(self.admits) - _NAMED} more" if len(self.admits) > _NAMED else ""
        return f"{self.policy} admits to this port only {', '.join(self.admits[:_NAMED])}{more}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """Findings with what explains them, and the policies that do."""

    findings: tuple[Finding, ...]
    blocked_by: tuple[Reference, ...] = ()


class NetworkPolicies:
    """The policies of a cluster, by namespace."""

    def __init__(self, objects: Iterable[KubeObject]) -> None:
        self._of: dict[str, list[NetworkPolicy]] = {}
        for each in map(NetworkPolicy.of, objects):
            self._of.setdefault(each.namespace or "", []).append(each)

    def closing(self, endpoint: Endpoint) -> tuple[Closing, ...]:
        """The policies that close the endpoint's port to somebody; none where one of them opens it to everybody.

        Only for pods with an address of their own: no policy binds those that share the node's (same reference,
        ``podSelector``; the behaviour of hostNetwork pods is undefined, and nearly always that they are left out).
        """
        if endpoint.pod is None or endpoint.node is not None:
            return ()
        labels, found = dict(endpoint.labels), []
        for policy in self._of.get(endpoint.pod.namespace or "", ()):
            if not policy.is_about_ingress or not policy.selector.selects(labels):
                continue
            admitted = list(_admitted(policy, endpoint.port))
            if None in admitted:
                return ()
            found.append(Closing(policy=policy.reference, admits=tuple(filter(None, admitted))))
        return tuple(found)


def explain(
    policies: NetworkPolicies, endpoint: Endpoint, observation: Observation, findings: Iterable[Finding]
) -> Explained:
    """``findings`` with the policies that explain them named on ``tls-reach``, where nothing answered at all."""
    told = tuple(findings)
    closing = policies.closing(endpoint) if observation.reach is Reach.FILTERED else ()
    if not closing:
        return Explained(findings=told)
    return Explained(
        findings=tuple(_with_evidence(one, endpoint, closing) for one in told),
        blocked_by=tuple(each.policy for each in closing[:_NAMED]),
    )


def _with_evidence(finding: Finding, endpoint: Endpoint, closing: tuple[Closing, ...]) -> Finding:
    if finding.rule != "tls-reach":
        return finding
    return replace(
        finding,
        evidence=(*finding.evidence, *map(str, closing[:_NAMED])),
        fix=f"admit the scanner to port {endpoint.port} in {closing[0].policy}, or scan from where it admits",
    )


def _admitted(policy: NetworkPolicy, port: int) -> Iterator[str | None]:
    """Whom each rule lets in to ``port``, as a reader would say it; None for everybody."""
    for rule in policy.ingress:
        if not rule.covers(port):
            continue
        if not rule.peers:
            yield None
        yield from map(_peer, rule.peers)


_EVERYWHERE = frozenset({"0.0.0.0/0", "::/0"})


def _peer(peer: Peer) -> str | None:
    """``namespaces with team=a``; None for everybody."""
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
    """``a=b, c in (d, e)``: what a selector asks for, the first few of it; empty for one that asks for nothing."""
    labels = [f"{key}={value}" for key, value in selector.match_labels.items()]
    for each in selector.match_expressions:
        values = ", ".join(each.values[:_NAMED])
        labels.append(f"{each.key} {each.operator}{values and f' ({values})'}")
    return ", ".join(labels[:_NAMED])[:200]
