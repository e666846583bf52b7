"""What Prometheus scrapes and asks: ServiceMonitors, PodMonitors, Probes and ScrapeConfigs (monitoring.coreos.com)."""

from __future__ import annotations

from typing import Final

from scanner.kube.kinds import POD_MONITOR, PROBE, SERVICE_MONITOR
from scanner.kube.label_selector import LabelSelector
from scanner.kube.objects import KubeObject
from scanner.kube.service import ServicePort
from scanner.kube.view import Flag, Part, Parts, Present, Text, Texts, Value, View

_FIELDS: Final = {SERVICE_MONITOR: ("spec", "endpoints"), POD_MONITOR: ("spec", "podMetricsEndpoints")}


class KeyReference(View):
    """A key of a Secret or ConfigMap."""

    name = Text()
    key = Text()


class SecretOrConfigMap(View):
    """A key of one of both."""

    config_map = Part(KeyReference)
    secret = Part(KeyReference)


class TLSConfig(View):
    """TLS settings of a scrape (v1 ``TLSConfig``, ``SafeTLSConfig``)."""

    ca = Part(SecretOrConfigMap)
    ca_file = Text()
    cert = Part(SecretOrConfigMap)
    cert_file = Text()
    key_secret = Part(KeyReference)
    key_file = Text()
    server_name = Text()
    min_version = Value()
    max_version = Value()
    insecure_skip_verify = Flag()


class Relabeling(View):
    """A rule that changes the labels of a target before it is scraped (v1 ``RelabelConfig``)."""

    action = Text()
    target_label = Text()
    replacement = Text()
    source_labels = Value()


class Scrape(View):
    """One endpoint of a ServiceMonitor or PodMonitor; ``spec`` of a Probe or ScrapeConfig."""

    port = Text()
    port_number = Value()
    target_port = Value()
    tls_config = Part(TLSConfig)
    relabelings = Parts(Relabeling)
    relabel_configs = Parts(Relabeling)
    """The same in older versions."""
    written_scheme = Text("scheme")

    @property
    def scheme(self) -> str | None:
        """As it is written, or as relabeling sets it; None where that depends on the target."""
        return self.relabeled(self.written_scheme)

    def relabeled(self, scheme: str) -> str | None:
        """``scheme`` as relabeling leaves it; None where that depends on the target."""
        said: str | None = scheme
        for each in (*self.relabelings, *self.relabel_configs):
            if each.target_label == "__scheme__":
                plain = each.action.lower() in ("", "replace") and not each.source_labels
                said = each.replacement if plain and "$" not in each.replacement else None
        return said

    def leads_to(self, port: ServicePort) -> bool:
        """Whether it is for a port of a Service: by the Service's own name for it, or by what is behind it."""
        if self.port:
            return port.name == self.port
        return self.target_port is not None and self.target_port == port.target


class NamespaceSelector(View):
    """The namespaces in which a monitor selects; by default its own."""

    any = Flag()
    match_names = Texts()


class Selection(View):
    """What a monitor selects."""

    selector = Part(LabelSelector)
    namespace_selector = Part(NamespaceSelector)


class Monitor(KubeObject):
    """A ServiceMonitor, PodMonitor, Probe or ScrapeConfig."""

    selection = Part(Selection, "spec")

    @property
    def scrapes(self) -> tuple[Scrape, ...]:
        """Each endpoint of a ServiceMonitor or PodMonitor; of a Probe or ScrapeConfig, its spec."""
        path = _FIELDS.get(self.kind)
        return Parts(Scrape, *path).read(self) if path else (Scrape(self.fields("spec").raw, ("spec",)),)

    def scheme(self, scrape: Scrape) -> str | None:
        """That of a scrape; of a Probe that by which its prober is asked."""
        return scrape.relabeled(Probe.of(self).prober_scheme) if self.kind == PROBE else scrape.scheme


class Probe(Monitor):
    """Targets that a prober asks, as the blackbox exporter does."""

    prober_scheme = Text("spec", "prober", "scheme")
    prober_url = Text("spec", "prober", "url")
    module = Text("spec", "module")
    server_name = Text("spec", "tlsConfig", "serverName")
    has_static = Present("spec", "targets", "staticConfig")
    static = Texts("spec", "targets", "staticConfig", "static")
    has_ingress = Present("spec", "targets", "ingress")
    ingresses = Part(Selection, "spec", "targets", "ingress")
