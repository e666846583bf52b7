"""Objects that make a component call Services with TLS.

The API server calls admission webhooks, conversions of custom resources and aggregated APIs; Prometheus calls the
targets of ServiceMonitors, PodMonitors, Probes and ScrapeConfigs (monitoring.coreos.com).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from scanner.kube.kinds import (
    API_SERVICE,
    CUSTOM_RESOURCE_DEFINITION,
    MUTATING_WEBHOOK,
    POD_MONITOR,
    PROBE,
    SERVICE_MONITOR,
    VALIDATING_WEBHOOK,
    Kind,
)
from scanner.kube.meta import LabelSelector
from scanner.kube.objects import KubeObject
from scanner.kube.service import ServicePort
from scanner.kube.view import Flag, Part, Parts, Present, Text, Texts, Value, View


class ServiceReference(View):
    """The Service to call."""

    name = Text()
    namespace = Text()
    port = Value()
    has_port = Present("port")
    """False: the port is 443."""


class ClientConfig(View):
    """Address that the API server calls, and the CAs that it trusts there (``WebhookClientConfig``,
    ``APIServiceSpec``)."""

    url = Value()
    has_url = Present("url")
    service = Part(ServiceReference)
    has_service = Present("service")
    ca_bundle = Value()
    """PEM in base64; if empty, the API server trusts the system's CAs."""
    insecure_skip_tls_verify = Flag("insecureSkipTLSVerify")
    """APIServices only."""

    @property
    def bundle(self) -> str:
        """``ca_bundle`` where it is a text, or ""."""
        return self.ca_bundle if isinstance(self.ca_bundle, str) else ""


class Webhook(View):
    """One webhook of a configuration (admissionregistration.k8s.io/v1)."""

    name = Text()
    client_config = Part(ClientConfig)
    failure_policy = Text()


class CustomResourceDefinition(KubeObject):
    """The definition of a custom resource (apiextensions.k8s.io/v1)."""

    strategy = Text("spec", "conversion", "strategy")
    has_webhook = Present("spec", "conversion", "webhook")
    client_config = Part(ClientConfig, "spec", "conversion", "webhook", "clientConfig")


class APIService(KubeObject):
    """An API, of the API server itself or of another server (apiregistration.k8s.io/v1)."""

    client_config = Part(ClientConfig, "spec")


class Call(Struct, frozen=True, kw_only=True):
    """One call of the API server."""

    client: ClientConfig
    name: str = ""
    """Name of the webhook, where an object has several."""
    is_ignored: bool = False
    """True if a request continues without it when the call fails."""

    @property
    def in_cluster(self) -> bool:
        """True if it goes to a Service's name, which no public CA signs."""
        return bool(self.client.service)


class WebhookConfiguration(KubeObject):
    """A ValidatingWebhookConfiguration or MutatingWebhookConfiguration."""

    webhooks = Parts(Webhook, "webhooks")


CALLS: Final[tuple[Kind, ...]] = (VALIDATING_WEBHOOK, MUTATING_WEBHOOK, CUSTOM_RESOURCE_DEFINITION, API_SERVICE)
"""Kinds whose objects make the API server call another server."""
_MOST: Final = 1000
"""Maximum number of webhooks that are read from one object."""


def calls(item: KubeObject) -> Iterator[Call]:
    """The calls of the API server that an object of one of ``CALLS`` causes."""
    if item.kind == CUSTOM_RESOURCE_DEFINITION:
        definition = CustomResourceDefinition.of(item)
        if definition.strategy == "Webhook":
            yield Call(client=definition.client_config)
    elif item.kind == API_SERVICE:
        client = APIService.of(item).client_config
        if client.has_service:  # without one it is an API of the API server itself
            yield Call(client=client)
    else:
        for each in WebhookConfiguration.of(item).webhooks[:_MOST]:
            yield Call(client=each.client_config, name=each.name, is_ignored=each.failure_policy == "Ignore")


def clients(item: KubeObject) -> tuple[ClientConfig, ...]:
    """The client settings in an object of one of ``CALLS``, including those that cause no call."""
    if item.kind == CUSTOM_RESOURCE_DEFINITION:
        return (CustomResourceDefinition.of(item).client_config,)
    if item.kind == API_SERVICE:
        return (APIService.of(item).client_config,)
    return tuple(each.client_config for each in WebhookConfiguration.of(item).webhooks)


_FIELDS: Final = {SERVICE_MONITOR: ("spec", "endpoints"), POD_MONITOR: ("spec", "podMetricsEndpoints")}


class KeyReference(View):
    """A key of a Secret or ConfigMap."""

    name = Text()
    key = Text()


class SecretOrConfigMap(View):
    """A key of a Secret or of a ConfigMap."""

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
    """``relabelings`` in older versions."""
    written_scheme = Text("scheme")

    @property
    def scheme(self) -> str | None:
        """The scheme as written, or as relabeling sets it; None if it depends on the target."""
        return self.relabeled(self.written_scheme)

    def relabeled(self, scheme: str) -> str | None:
        """``scheme`` as relabeling leaves it; None if it depends on the target."""
        found: str | None = scheme
        for each in (*self.relabelings, *self.relabel_configs):
            if each.target_label == "__scheme__":
                plain = each.action.lower() in ("", "replace") and not each.source_labels
                found = each.replacement if plain and "$" not in each.replacement else None
        return found

    def selects_port(self, port: ServicePort) -> bool:
        """True if it selects a port of a Service, by the port's name or by its target."""
        if self.port:
            return port.name == self.port
        return self.target_port is not None and self.target_port == port.target


class NamespaceSelector(View):
    """The namespaces of a monitor's targets; by default its own."""

    any = Flag()
    match_names = Texts()


class Selection(View):
    """Selectors of a monitor's targets."""

    selector = Part(LabelSelector)
    namespace_selector = Part(NamespaceSelector)


class Monitor(KubeObject):
    """A ServiceMonitor, PodMonitor, Probe or ScrapeConfig."""

    selection = Part(Selection, "spec")

    @property
    def scrapes(self) -> tuple[Scrape, ...]:
        """Each endpoint of a ServiceMonitor or PodMonitor; for a Probe or ScrapeConfig its spec."""
        path = _FIELDS.get(self.kind)
        return Parts(Scrape, *path).read(self) if path else (Scrape(self.fields("spec").raw, ("spec",)),)

    def scheme(self, scrape: Scrape) -> str | None:
        """The scheme of a scrape; for a Probe the scheme of its prober."""
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
