"""Where the API server's calls go: the URL or Service of webhooks, conversions and aggregated APIs."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_address
from typing import Final
from urllib.parse import SplitResult, urlsplit

from scanner.files.source_positions import shown
from scanner.kube.kinds import API_SERVICE, CUSTOM_RESOURCE_DEFINITION, SERVICE
from scanner.kube.objects import KubeObject
from scanner.kube.service import Service
from scanner.kube.service_callers import CALLS, Call, CustomResourceDefinition, calls
from scanner.model.declared import Missing
from scanner.model.object_rule import Flaw, ObjectRule, Subject, undecided

_PORT: Final = 443
"""Of a reference to a Service that says none."""
_LOCAL: Final = frozenset({"localhost", "localhost.localdomain"})
_EITHER: Final = "exactly one of url or service is required"


def check_target(subject: Subject) -> Iterator[Flaw]:
    """What the API server calls can be called."""
    for call in calls(subject.object):
        url, service = call.client.url, call.client.service
        if subject.object.kind != API_SERVICE and bool(url) == bool(service):
            yield _refused(subject, call, f"{_EITHER}, and {'both are' if url else 'neither is'} given")
        if isinstance(url, str) and url:
            yield from _of_url(subject, call, url)
        if service:
            yield from _of_service(subject, call)
    if subject.object.kind == CUSTOM_RESOURCE_DEFINITION:
        yield from _idle(subject)


def _refused(subject: Subject, call: Call, what: str, *steps: str) -> Flaw:
    return Flaw(
        message=f"the API server refuses it: {what}",
        at=(*call.client.steps, *steps),
        fix=f"{subject.object.reference}: a Service, or an https:// URL",
    )


def _of_url(subject: Subject, call: Call, url: str) -> Iterator[Flaw]:
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        yield _refused(subject, call, f"{shown(url)} is no URL", "url")
        return
    for what in _malformed(parts, url):
        yield _refused(subject, call, f"{what}: {shown(url, 200)}", "url")
    if host.rstrip(".").lower() in _LOCAL or _is_loopback(host):
        message = f"{shown(host)} is whatever machine the API server runs on, and nothing answers on the others"
        yield Flaw(message=message, at=(*call.client.steps, "url"), severity="medium", fix=_by_name(subject))
    elif _address(host):
        message = f"{shown(host)} is an address: the certificate has to be made for it, and ends when it changes"
        yield Flaw(message=message, at=(*call.client.steps, "url"), severity="low", fix=_by_name(subject))


def _by_name(subject: Subject) -> str:
    return f"{subject.object.reference}: name a Service, or a host by its name"


def _malformed(parts: SplitResult, url: str) -> Iterator[str]:
    """``ValidateWebhookURL`` of k8s.io/apiserver, pkg/util/webhook/validation.go."""
    if parts.scheme != "https":
        yield "only https is allowed"
    if not parts.hostname:
        yield "a host is required"
    if "@" in parts.netloc:
        yield "user information is not permitted"
    if parts.query or url.partition("#")[0].endswith("?"):
        yield "query parameters are not permitted"
    if parts.fragment:
        yield "fragments are not permitted"


def _address(host: str) -> bool:
    try:
        return bool(ip_address(host))
    except ValueError:
        return False


def _is_loopback(host: str) -> bool:
    return _address(host) and ip_address(host).is_loopback


def _of_service(subject: Subject, call: Call) -> Iterator[Flaw]:
    reference = call.client.service
    name, namespace = reference.name, reference.namespace
    port = reference.port if reference.has_port else _PORT
    missing = [each for each, said in (("name", name), ("namespace", namespace)) if not said]
    if missing:
        yield _refused(subject, call, f"service has no {' and no '.join(missing)}", "service")
    if not isinstance(port, int) or isinstance(port, bool) or not 1 <= port <= 65535:
        yield _refused(subject, call, f"port {shown(str(port))} is none", "service", "port")
    elif not missing:
        yield from _found(subject, call, subject.find(SERVICE, name, namespace), port)


def _found(subject: Subject, call: Call, found: KubeObject | Missing, port: int) -> Iterator[Flaw]:
    at = call.client.service.steps
    if isinstance(found, Missing):
        if found.gap:
            yield undecided(found, at, f"whether it has port {port}")
        else:
            message = f"{found.name} does not exist: {_fails(call)}"
            yield Flaw(message=message, at=at, fix=f"create {found.name}, or name the right one")
        return
    service = Service.of(found)
    if service.is_external_name:
        yield Flaw(
            message=f"{service.reference} is an ExternalName: what answers there has no certificate for "
            f"{service.name}.{service.namespace}.svc, which is verified",
            at=at,
            severity="medium",
            fix=f"{subject.object.reference}: give the url of the host",
        )
    elif port not in {each.port for each in service.ports}:
        ports = tuple(str(each.port) for each in service.ports)[:10]
        yield Flaw(
            message=f"{service.reference} has no port {port}: {_fails(call)}",
            at=(*at, "port"),
            expected=ports,
            observed=(str(port),),
            fix=f"{subject.object.reference}: name a port of the Service",
        )


def _fails(call: Call) -> str:
    return (
        "each call fails, and with failurePolicy Ignore this stays unnoticed" if call.is_ignored else "each call fails"
    )


def _idle(subject: Subject) -> Iterator[Flaw]:
    definition = CustomResourceDefinition.of(subject.object)
    if definition.strategy != "Webhook" and definition.has_webhook:
        yield Flaw(
            message="webhook means nothing without strategy: Webhook, and the API server refuses it: should not be set "
            "when strategy is not set to Webhook",
            at=definition.client_config.steps[:-1],
            severity="medium",
            fix=f"{subject.object.reference}: set the strategy, or leave webhook out",
        )


TARGET = ObjectRule(id="webhook-target", subjects=CALLS, reads=(SERVICE,), check=check_target)
