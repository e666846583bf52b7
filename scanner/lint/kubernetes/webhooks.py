"""Calls of the API server to webhooks and aggregated APIs: the CAs to verify them with, and their targets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from ipaddress import ip_address
from typing import Final
from urllib.parse import SplitResult, urlsplit

from scanner.files.source_positions import Steps, dotted, shown
from scanner.kube.kinds import API_SERVICE, CUSTOM_RESOURCE_DEFINITION, SERVICE
from scanner.kube.objects import KubeObject
from scanner.kube.service import Service
from scanner.kube.service_callers import CALLS, APIService, Call, CustomResourceDefinition, calls
from scanner.lint.referenced_certificates import display_name, is_remainder, of_text
from scanner.model.certificate_faults import date
from scanner.model.declared import Missing
from scanner.model.finding import Severity
from scanner.model.object_rule import Flaw, ObjectRule, Subject, undecided
from scanner.model.pem import REMOVED, broken, decoded, form_of
from scanner.tls.certificate import CertificateFacts
from scanner.values import replace

_INJECTED: Final[Mapping[str, str]] = {
    "service.beta.openshift.io/inject-cabundle": "the service CA operator",
    "service.alpha.openshift.io/inject-cabundle": "the service CA operator",
    "cert-manager.io/inject-ca-from": "cert-manager",
    "cert-manager.io/inject-ca-from-secret": "cert-manager",
    "cert-manager.io/inject-apiserver-ca": "cert-manager",
}
"""The component that fills the caBundle, by annotation."""


def check_bundle(subject: Subject) -> Iterator[Flaw]:
    """The API server can verify webhooks and aggregated APIs."""
    for call in calls(subject.object):
        # api-service-unverified reports an APIService without verification.
        if subject.object.kind != API_SERVICE or not call.client.insecure_skip_tls_verify:
            yield from _bundle_flaws(subject, call)


def _bundle_flaws(subject: Subject, call: Call) -> Iterator[Flaw]:
    value = call.client.ca_bundle
    content = b"" if value is None else _decoded(value)
    if isinstance(value, str) and REMOVED in value:
        yield _undecided(call, "what is in the caBundle beside a private key; its content was removed")
    elif content is None:
        yield _bad(subject, call, "is not base64: the API server refuses it")
    elif _filler(subject.object) and not subject.object.uid:
        yield _undecided(call, f"what {_filler(subject.object)} puts into the caBundle", "info")
    elif not content.strip():
        yield from _empty(subject, call)
    else:
        yield from _read(subject, call, content)


def _decoded(value: object) -> bytes | None:
    try:
        return decoded(value) if isinstance(value, str) else None
    except ValueError:
        return None


def _bad(subject: Subject, call: Call, what: str, severity: Severity | None = None) -> Flaw:
    ignored = "; failurePolicy Ignore hides this" if call.is_ignored and not severity else ""
    filler = _filler(subject.object)
    fix = f"find out why {filler} does not fill it" if filler else "put the CA of the serving certificate into caBundle"
    return Flaw(
        message=f"the caBundle {what}{ignored}",
        at=_at(call),
        severity=severity,
        fix=f"{subject.object.reference}: {fix}",
        correction="caBundle: <base64 of the CA's certificate in PEM>",
    )


def _at(call: Call) -> Steps:
    return (*call.client.steps, "caBundle")


def _undecided(call: Call, what: str, severity: Severity | None = None) -> Flaw:
    return Flaw(message=f"unknown: {what}", at=_at(call), verdict="inconclusive", severity=severity)


def _filler(holder: KubeObject) -> str:
    return next((who for name, who in _INJECTED.items() if holder.annotations.get(name, "false") != "false"), "")


def _empty(subject: Subject, call: Call) -> Iterator[Flaw]:
    filler = _filler(subject.object)
    if filler:
        yield _bad(subject, call, f"is empty: {filler} has not filled it, although an annotation requests it")
    elif call.in_cluster and not subject.object.uid:
        flaw = _undecided(call, "what fills the empty caBundle; if nothing does, every call fails")
        annotations = "service.beta.openshift.io/inject-cabundle or cert-manager.io/inject-ca-from"
        fix = f"{subject.object.reference}: set {dotted(flaw.at)} to the CA, or annotate with {annotations}"
        yield replace(flaw, fix=f"{fix}; if a program fills it, adhere lint --cluster judges the result")
    elif call.in_cluster:
        yield _bad(subject, call, "is empty: the API server trusts only public CAs, and none signs a Service's name")


def _read(subject: Subject, call: Call, content: bytes) -> Iterator[Flaw]:
    found = of_text(content.decode("utf-8", "replace"))
    reasons = [None if is_remainder(each) else broken(each) for each in found]
    good = [each for each, why in zip(found, reasons, strict=True) if why is None]
    if not found:
        what = form_of(content)
        yield _bad(subject, call, f"has no certificate in PEM{f': it is {what}' if what else ''}; every call fails")
        return
    for place, why in enumerate(reasons, 1):
        if why:
            severity: Severity | None = "medium" if good else None
            yield _bad(subject, call, f"has a certificate that cannot be read, number {place}: {why}", severity)
    yield from _valid(subject, call, good)


def _valid(subject: Subject, call: Call, found: list[CertificateFacts]) -> Iterator[Flaw]:
    now, states = subject.declared.known.taken_at, [_state(subject, each) for each in found]
    if found and not any(state is not False for state in states):
        last = max(found, key=lambda each: each.not_after or now)
        over = last.not_after is not None and last.not_after < now
        how = (
            f"expired on {date(last.not_after or now)}"
            if over
            else f"is not valid before {date(last.not_before or now)}"
        )
        yield _bad(subject, call, f"{'has expired' if over else 'is not valid yet'}: {display_name(last)} {how}")
    elif found and True not in states:
        yield _undecided(call, "whether the caBundle has expired: a certificate in it cannot be read")
    for each, state in zip(found, states, strict=True):
        if state is not False and each.is_ca is False and not each.self_issued:
            what = f"has {display_name(each)}, which is not a CA: it only verifies a server that serves it itself"
            yield _bad(subject, call, what, "medium")


def _state(subject: Subject, certificate: CertificateFacts) -> bool | None:
    """True if it is valid now; None if its dates cannot be read."""
    now, start, end = subject.declared.known.taken_at, certificate.not_before, certificate.not_after
    if (end is not None and end < now) or (start is not None and start > now):
        return False
    return None if start is None or end is None else True


BUNDLE = ObjectRule(id="ca-bundle", subjects=CALLS, check=check_bundle)


# --- Targets ----------------------------------------------------------------------------------------------------------

_PORT: Final = 443
"""The default port of a reference to a Service."""
_LOCAL: Final = frozenset({"localhost", "localhost.localdomain"})
_EITHER: Final = "exactly one of url or service is required"


def check_target(subject: Subject) -> Iterator[Flaw]:
    """The target of a call is valid and exists."""
    for call in calls(subject.object):
        url, service = call.client.url, call.client.service
        if subject.object.kind != API_SERVICE and bool(url) == bool(service):
            yield _refused(subject, call, f"{_EITHER}, but {'both are' if url else 'neither is'} set")
        if isinstance(url, str) and url:
            yield from _url_flaws(subject, call, url)
        if service:
            yield from _service_flaws(subject, call)
    if subject.object.kind == CUSTOM_RESOURCE_DEFINITION:
        yield from _unused_webhook(subject)


def _refused(subject: Subject, call: Call, what: str, *steps: str) -> Flaw:
    return Flaw(
        message=f"the API server refuses it: {what}",
        at=(*call.client.steps, *steps),
        fix=f"{subject.object.reference}: set a Service, or an https:// URL",
    )


def _url_flaws(subject: Subject, call: Call, url: str) -> Iterator[Flaw]:
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        yield _refused(subject, call, f"{shown(url)} is not a URL", "url")
        return
    for what in _malformed(parts, url):
        yield _refused(subject, call, f"{what}: {shown(url, 200)}", "url")
    fix = f"{subject.object.reference}: set a Service, or a URL with a DNS name"
    if host.rstrip(".").lower() in _LOCAL or _is_loopback(host):
        message = f"{shown(host)} is the API server's own node: the call fails on nodes without the webhook"
        yield Flaw(message=message, at=(*call.client.steps, "url"), severity="medium", fix=fix)
    elif _address(host):
        message = f"{shown(host)} is an address: the certificate must contain it, and fails when it changes"
        yield Flaw(message=message, at=(*call.client.steps, "url"), severity="low", fix=fix)


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


def _service_flaws(subject: Subject, call: Call) -> Iterator[Flaw]:
    reference = call.client.service
    name, namespace = reference.name, reference.namespace
    port = reference.port if reference.has_port else _PORT
    missing = [each for each, value in (("name", name), ("namespace", namespace)) if not value]
    if missing:
        yield _refused(subject, call, f"service has no {' and no '.join(missing)}", "service")
    if not isinstance(port, int) or isinstance(port, bool) or not 1 <= port <= 65535:
        yield _refused(subject, call, f"invalid port {shown(str(port))}", "service", "port")
    elif not missing:
        yield from _found(subject, call, subject.find(SERVICE, name, namespace), port)


def _found(subject: Subject, call: Call, found: KubeObject | Missing, port: int) -> Iterator[Flaw]:
    at = call.client.service.steps
    if isinstance(found, Missing):
        if found.gap:
            yield undecided(found, at, f"whether it has port {port}")
        else:
            message = f"{found.name} does not exist: {_fails(call)}"
            yield Flaw(message=message, at=at, fix=f"create {found.name}, or name an existing Service")
        return
    service = Service.of(found)
    if service.is_external_name:
        yield Flaw(
            message=f"{service.reference} is an ExternalName: its host has no certificate for "
            f"{service.name}.{service.namespace}.svc, the name that is verified",
            at=at,
            severity="medium",
            fix=f"{subject.object.reference}: set the url of the host",
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
    return "every call fails, which failurePolicy Ignore hides" if call.is_ignored else "every call fails"


def _unused_webhook(subject: Subject) -> Iterator[Flaw]:
    definition = CustomResourceDefinition.of(subject.object)
    if definition.strategy != "Webhook" and definition.has_webhook:
        yield Flaw(
            message="the API server refuses webhook without strategy Webhook: should not be set when strategy is not "
            "set to Webhook",
            at=definition.client_config.steps[:-1],
            severity="medium",
            fix=f"{subject.object.reference}: set strategy to Webhook, or remove webhook",
        )


TARGET = ObjectRule(id="webhook-target", subjects=CALLS, reads=(SERVICE,), check=check_target)


def check_api_service(subject: Subject) -> Iterator[Flaw]:
    """The API server verifies aggregated APIs."""
    client = APIService.of(subject.object).client_config
    if client.insecure_skip_tls_verify:
        refused = "; the API server refuses it with a caBundle: may not be true if caBundle is present"
        yield Flaw(
            message=f"the API server accepts any certificate{refused if client.ca_bundle else ''}",
            at=("spec", "insecureSkipTLSVerify"),
            fix=f"{subject.object.reference}: remove it, and set caBundle",
            correction="insecureSkipTLSVerify: false\ncaBundle: <base64 of the CA's certificate in PEM>",
        )


API = ObjectRule(id="api-service-unverified", subjects=(API_SERVICE,), check=check_api_service)
