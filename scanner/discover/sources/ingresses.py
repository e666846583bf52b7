"""Ingresses with ``spec.tls``: names on port 443 of the controller that published an address (networking.k8s.io/v1)."""

from __future__ import annotations

from collections.abc import Iterator

from scanner.discover.index import Index, Source
from scanner.discover.listener_claims import Found, frontend
from scanner.discover.services import published
from scanner.discover.truncation import Omission
from scanner.kube.hostnames import MAX_NAMES, server_name, valid_names
from scanner.kube.ingress import Ingress
from scanner.kube.kinds import INGRESS
from scanner.model.endpoint import Origin, Owner


def _find(view: Index) -> Iterator[Found]:
    for ingress in map(Ingress.of, view.snapshot.every(INGRESS)):
        if not ingress.has_tls or not valid_names(ingress.name, ingress.namespace):
            yield Omission("Ingresses without TLS")
            continue
        yield from ingress_claims(view, ingress, Origin(role="frontend", reference=ingress.reference))


def ingress_claims(view: Index, ingress: Ingress, origin: Origin) -> Iterator[Found]:
    """Claims of its names at its published addresses, with this ``origin``."""
    hosts = list(published(ingress, view.cuts))
    if not hosts:
        yield Omission("Ingresses without a published address")
        return
    owner = Owner(kind="Ingress", name=ingress.name, namespace=ingress.namespace)
    for name in _names(view, ingress):
        if name is None:
            yield Omission("server names that are not DNS names")
            continue
        for host in hosts:
            yield from view.behind_or_at(host, 443, frontend(origin, name, ingress), owner)


def _names(view: Index, ingress: Ingress) -> list[str | None]:
    hosts = dict.fromkeys(host for each in ingress.tls for host in each.hosts)
    chosen = view.cuts.first(hosts, MAX_NAMES, "hosts of one Ingress", ingress)
    return list(dict.fromkeys(map(server_name, chosen)))


SOURCE = Source(name="Ingresses", reads=(INGRESS,), find=_find)
