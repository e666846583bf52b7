"""HTTPS servers that the API server calls: admission webhooks, conversions of custom resources, aggregated APIs."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from scanner.discover.index import Index, Source
from scanner.discover.listener_claims import Claim, Found, PlacedClaim, verified
from scanner.discover.truncation import Omission
from scanner.discover.workloads import Place
from scanner.kube.hostnames import https_place, port, server_name, valid_names
from scanner.kube.kinds import API_SERVICE, CUSTOM_RESOURCE_DEFINITION, MUTATING_WEBHOOK, VALIDATING_WEBHOOK, Kind
from scanner.kube.objects import KubeObject
from scanner.kube.service_callers import ServiceReference, calls
from scanner.model.endpoint import Origin, Owner, Role

MAX_WEBHOOKS = 500
"""Limit of webhooks per configuration."""


def _find(role: Role, kinds: tuple[Kind, ...], view: Index) -> Iterator[Found]:
    for item in (each for kind in kinds for each in view.snapshot.every(kind)):
        for call in view.cuts.first(calls(item), MAX_WEBHOOKS, "webhooks of one configuration", item):
            origin, client = Origin(role=role, reference=item.reference, part=call.name), call.client
            if client.has_url and item.kind != API_SERVICE:
                yield from _of_url(view, client.url if isinstance(client.url, str) else "", origin, item)
            elif client.has_service:
                yield from _of_service(view, client.service, origin, item)


def _of_service(view: Index, service: ServiceReference, origin: Origin, subject: KubeObject) -> Iterator[Found]:
    """Claims of a ServiceReference: ``namespace``, ``name`` and ``port`` (443). The API server verifies
    ``<name>.<namespace>.svc`` even if it dials the backends (k8s.io/apiserver, pkg/util/webhook/client.go)."""
    namespace, name = service.namespace, service.name
    number = port(service.port) if service.has_port else 443
    if number is None or not valid_names(namespace, name):
        yield Omission("calls of the API server with an invalid Service name or port")
        return
    found = view.services.with_port(namespace, name, number)
    if found and not found[0].raw.is_external_name:
        yield from view.through(*found, verified(origin, found[0].dns, subject))
    else:
        yield _missing(namespace, name, number, origin, subject)


def _of_url(view: Index, url: str, origin: Origin, subject: KubeObject) -> Iterator[Found]:
    """Claims of a URL, whose host may be anywhere; the dial scope decides later."""
    found = https_place(url)
    if found is None:
        yield Omission("URLs of webhooks other than https://host")
        return
    host, number = found
    name = server_name(host)
    claim = Claim(certainty="declared", origin=origin, name=name, naming="only" if name else "soft", subject=subject)
    # One object may call several servers that are not replicas of each other.
    owner = Owner(kind=subject.kind.name, name=subject.name)
    yield from view.behind_or_at(host, number, claim, owner, sampled=False, apart=host)


def _missing(namespace: str, name: str, number: int, origin: Origin, subject: KubeObject) -> PlacedClaim:
    """A Service that does not exist, or not with that port: every call fails, which the report must show."""
    dns = server_name(f"{name}.{namespace}.svc")
    owner = Owner(kind="Service", name=name, namespace=namespace)
    claim = Claim(certainty="declared", origin=origin, name=dns, naming="only" if dns else "soft", subject=subject)
    return PlacedClaim(claim, Place("", number, host=dns or name, owner=owner), ready=False)


WEBHOOKS = Source(
    name="admission webhooks",
    reads=(VALIDATING_WEBHOOK, MUTATING_WEBHOOK),
    find=partial(_find, "webhook", (VALIDATING_WEBHOOK, MUTATING_WEBHOOK)),
)
CONVERSIONS = Source(
    name="conversion webhooks",
    reads=(CUSTOM_RESOURCE_DEFINITION,),
    find=partial(_find, "conversion", (CUSTOM_RESOURCE_DEFINITION,)),
)
API_SERVICES = Source(name="APIServices", reads=(API_SERVICE,), find=partial(_find, "aggregation", (API_SERVICE,)))
