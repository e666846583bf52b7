"""What the API server itself calls by HTTPS: a Service by its name in the cluster, or a URL."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

from scanner.discover.claims import verified
from scanner.discover.draft import Claim, Draft, Found, Omission, Place
from scanner.discover.names import address, port, server_name, sound
from scanner.discover.view import View
from scanner.kube.objects import Fields, KubeObject
from scanner.model.endpoint import Origin, Owner


def of_service(view: View, service: Fields, origin: Origin, subject: KubeObject) -> Iterator[Found]:
    """A ServiceReference: ``namespace``, ``name`` and ``port`` (443). The API server verifies
    ``<name>.<namespace>.svc`` even where it dials the backends (k8s.io/apiserver, pkg/util/webhook/client.go)."""
    namespace, name = service.text("namespace"), service.text("name")
    number = 443 if not service.has("port") else port(service.at("port"))
    if number is None or not sound(namespace, name):
        yield Omission("calls of the API server to what no Service can be called")
        return
    found = view.balanced.get(namespace, name)
    wanted = found.port(number) if found else None
    if found and wanted and found.raw.text("spec", "type") != "ExternalName":
        yield from view.through(found, wanted, verified(origin, found, subject))
    else:
        yield _missing(namespace, name, number, origin, subject)


def of_url(view: View, url: str, origin: Origin, subject: KubeObject) -> Iterator[Found]:
    """A URL: an address or name that may be anywhere; the dial scope decides later."""
    try:
        parts = urlsplit(url[:2048])
        host, number = parts.hostname or "", parts.port or 443
    except ValueError:
        parts, host, number = urlsplit(""), "", 443
    where, name = address(host), server_name(host)
    if not (where or name) or parts.scheme.lower() != "https":
        yield Omission("URLs of webhooks that are no https://host")
        return
    yield from _elsewhere(view, where or "", name, number, origin, subject)


def _elsewhere(
    view: View, where: str, name: str | None, number: int, origin: Origin, subject: KubeObject
) -> Iterator[Found]:
    claim = Claim(certainty="declared", origin=origin, name=name, naming="only" if name else "soft", subject=subject)
    known = list(view.behind(where or name or "", number, claim))
    # One object may call many that are no replicas of each other.
    owner = Owner(kind=subject.kind.name, name=subject.name)
    place = Place(where, number, host="" if where else name or "", owner=owner, apart=where or name or "")
    yield from known or [Draft(claim, place)]


def _missing(namespace: str, name: str, number: int, origin: Origin, subject: KubeObject) -> Draft:
    """A Service that does not exist, or not with that port: every call fails, and the report has to say so."""
    dns = server_name(f"{name}.{namespace}.svc")
    owner = Owner(kind="Service", name=name, namespace=namespace)
    claim = Claim(certainty="declared", origin=origin, name=dns, naming="only" if dns else "soft", subject=subject)
    return Draft(claim, Place("", number, host=dns or name, owner=owner), ready=False)
