"""NetworkPolicies: which packets reach a pod (networking.k8s.io/v1)."""

from __future__ import annotations

from scanner.kube.label_selector import LabelSelector
from scanner.kube.objects import KubeObject
from scanner.kube.view import Number, Part, Parts, Present, Text, Texts, View


class PolicyPort(View):
    """Ports that a rule is about: one, several to ``end_port``, or all. One by its name has no number."""

    port = Number()
    end_port = Number()

    @property
    def protocol(self) -> str:
        """``protocol``, by default TCP."""
        return self.text("protocol") or "TCP"

    def may_be(self, port: int) -> bool:
        """Whether it is about that TCP port; a name may be that of any port."""
        first = self.port
        return self.protocol == "TCP" and (first is None or first <= port <= (self.end_port or first))


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
