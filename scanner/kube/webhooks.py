"""What the API server calls by TLS: admission webhooks, conversions of custom resources, aggregated APIs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Final

from scanner.kube.kinds import API_SERVICE, CUSTOM_RESOURCE_DEFINITION, MUTATING_WEBHOOK, VALIDATING_WEBHOOK, Kind
from scanner.kube.objects import KubeObject
from scanner.kube.view import Flag, Part, Parts, Present, Text, Value, View


class ServiceReference(View):
    """A Service that is called."""

    name = Text()
    namespace = Text()
    port = Value()
    has_port = Present("port")
    """Without one it is port 443."""


class ClientConfig(View):
    """Where the API server calls, and whom it trusts there (``WebhookClientConfig``, ``APIServiceSpec``)."""

    url = Value()
    has_url = Present("url")
    service = Part(ServiceReference)
    has_service = Present("service")
    ca_bundle = Value()
    """PEM in base64; without it the API server trusts its system's CAs."""
    insecure_skip_tls_verify = Flag("insecureSkipTLSVerify")
    """Only of an APIService."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call of the API server."""

    client: ClientConfig
    name: str = ""
    """Name of the webhook, where an object has several."""
    is_ignored: bool = False
    """Whether a request goes on without it when it fails."""

    @property
    def in_cluster(self) -> bool:
        """Whether it goes to a Service's name, which no public CA signs."""
        return bool(self.client.service)


_WEBHOOKS: Final = Parts(Webhook, "webhooks")


def _webhooks(item: KubeObject) -> Iterator[Call]:
    for each in _WEBHOOKS.read(item):
        yield Call(client=each.client_config, name=each.name, is_ignored=each.failure_policy == "Ignore")


def _conversion(item: KubeObject) -> Iterator[Call]:
    definition = CustomResourceDefinition.of(item)
    if definition.strategy == "Webhook":
        yield Call(client=definition.client_config)


def _aggregated(item: KubeObject) -> Iterator[Call]:
    client = APIService.of(item).client_config
    if client.has_service:  # without one it is an API of the API server itself
        yield Call(client=client)


_CALLS: Final[Mapping[Kind, Callable[[KubeObject], Iterator[Call]]]] = {
    VALIDATING_WEBHOOK: _webhooks,
    MUTATING_WEBHOOK: _webhooks,
    CUSTOM_RESOURCE_DEFINITION: _conversion,
    API_SERVICE: _aggregated,
}
CALLS: Final[tuple[Kind, ...]] = tuple(_CALLS)
"""Kinds whose objects make the API server call something."""
_MOST: Final = 1000
"""Webhooks of one object."""


def calls(item: KubeObject) -> Iterator[Call]:
    """The calls that an object of one of ``CALLS`` makes the API server do."""
    return islice(_CALLS[item.kind](item), _MOST)
