"""NetworkPolicies that explain why a listener did not answer: evidence for ``tls-reach``, never a verdict.

Which pod the packets of a scan seem to come from is not known here, so that nothing is said of whether a rule admits
the scanner, only of whom it admits. A port that any policy leaves open to everybody is explained by none (policies add
up: Kubernetes API reference, NetworkPolicySpec v1 networking.k8s.io, ``ingress``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from scanner.kube.kinds import NETWORK_POLICY, Kind
from scanner.kube.objects import Fields, KubeObject, Reference
from scanner.model.endpoint import Endpoint
from scanner.model.finding import Finding
from scanner.model.observation import Observation, Reach

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
            return f"{self.policy} selects the pod and admits nobody to this port"
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
        self._of: dict[str, list[KubeObject]] = {}
        for each in objects:
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
            if not _about_ingress(policy) or not _selects(policy.fields("spec", "podSelector"), labels):
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


def _about_ingress(policy: KubeObject) -> bool:
    """Every policy is, unless it says otherwise (NetworkPolicySpec ``policyTypes``)."""
    types = policy.texts("spec", "policyTypes")
    return not types or "Ingress" in types


def _selects(selector: Fields, labels: dict[str, str]) -> bool:
    """Whether a label selector matches; one that cannot be read matches nothing, so that nothing is made up."""
    wanted = selector.words("matchLabels")
    if not wanted.items() <= labels.items():
        return False
    return all(_fits(each, labels) for each in selector.each("matchExpressions"))


def _fits(expression: Fields, labels: dict[str, str]) -> bool:
    """LabelSelectorRequirement v1 meta: ``NotIn`` also holds where there is no such label."""
    key, values = expression.text("key"), expression.texts("values")
    match expression.text("operator"):
        case "In":
            return labels.get(key) in values
        case "NotIn":
            return labels.get(key) not in values
        case "Exists":
            return key in labels
        case "DoesNotExist":
            return key not in labels
        case _:
            return False


def _admitted(policy: KubeObject, port: int) -> Iterator[str | None]:
    """Whom each rule lets in to ``port``, as a reader would say it; None for everybody."""
    for rule in policy.each("spec", "ingress"):
        if not _covers(rule, port):
            continue
        peers = list(rule.each("from"))
        if not peers:
            yield None
        yield from map(_peer, peers)


def _covers(rule: Fields, port: int) -> bool:
    """Whether a rule is about ``port``. A port's name could be any number: then the rule may open it."""
    ports = [each for each in rule.each("ports") if (each.text("protocol") or "TCP") == "TCP"]
    if not list(rule.each("ports")):
        return True
    return any(_is_port(each, port) for each in ports)


def _is_port(said: Fields, port: int) -> bool:
    first = said.number("port")
    if first is None:
        return True  # every port, or one by its name
    return first <= port <= (said.number("endPort") or first)


_EVERYWHERE = frozenset({"0.0.0.0/0", "::/0"})


def _peer(peer: Fields) -> str | None:
    """``namespaces with team=a``; None for everybody."""
    block = peer.text("ipBlock", "cidr")
    if block:
        return None if block in _EVERYWHERE and not peer.texts("ipBlock", "except") else f"addresses in {block}"
    pods = _words(peer.fields("podSelector"))
    if not peer.has("namespaceSelector"):
        return f"pods{pods and f' with {pods}'} of its own namespace"
    namespaces = _words(peer.fields("namespaceSelector"))
    if not pods and not namespaces:
        return None
    of = f"namespaces with {namespaces}" if namespaces else "all namespaces"
    return f"pods with {pods} of {of}" if pods else of


def _words(selector: Fields) -> str:
    """``a=b, c in (d, e)``: what a selector asks for, the first few of it; empty for one that asks for nothing."""
    labels = [f"{key}={value}" for key, value in selector.words("matchLabels").items()]
    for each in selector.each("matchExpressions"):
        values = ", ".join(each.texts("values")[:_NAMED])
        labels.append(f"{each.text('key')} {each.text('operator')}{values and f' ({values})'}")
    return ", ".join(labels[:_NAMED])[:200]
