"""TLS from Envoy to services: backends of an HTTPProxy, and services for authorization, rate limits and traces."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Final

from scanner.files.source_positions import Steps
from scanner.kube.contour import (
    TLS_PROTOCOLS,
    UPSTREAM_PROTOCOL,
    ExtensionService,
    HTTPProxy,
    ProxyService,
    UpstreamValidation,
    secret_name,
    upstream_protocol,
)
from scanner.kube.kinds import EXTENSION_SERVICE, HTTP_PROXY, SERVICE
from scanner.kube.objects import KubeObject
from scanner.kube.service import Service
from scanner.lint.contour.contour_secrets import READS, ca_flaws, permission
from scanner.lint.referenced_certificates import authority_flaws, entry, of_text
from scanner.lint.references import secret_of
from scanner.model.declared import Missing
from scanner.model.object_rule import Flaw, ObjectRule, Subject, undecided

_FORMER: Final = "contour.heptio.com/upstream-protocol."
_PROTOCOL: Final = ("spec", "protocol")
_VALIDATION: Final = ("spec", "validation")
_AUTHORITY: Final = (*_VALIDATION, "caSecret")
_TLS: Final = "h2"
"""The default of an ExtensionService."""


def _services(subject: Subject) -> Iterator[ProxyService]:
    """The services to which an HTTPProxy sends requests or connections."""
    proxy = HTTPProxy.of(subject.object)
    return chain(proxy.routed_services, proxy.tcp_proxy.services)


def _protocol(subject: Subject, each: ProxyService) -> str | Missing:
    """The protocol that Envoy uses to a service."""
    if each.protocol:
        return each.protocol
    service = subject.find(SERVICE, each.name)
    return service if isinstance(service, Missing) else upstream_protocol(each, service, each.port)


def check_ignored(subject: Subject) -> Iterator[Flaw]:
    """Verification of a service is not ignored."""
    for each in _services(subject):
        if not each.validation:
            continue
        protocol = _protocol(subject, each)
        if isinstance(protocol, Missing):
            # A Service that does not exist receives no requests.
            if protocol.gap:
                yield undecided(protocol, each.validation.steps, "whether Envoy uses TLS to this service")
        elif protocol not in TLS_PROTOCOLS:
            yield Flaw(
                message=f"validation has no effect: Envoy uses {protocol or 'plain HTTP'} to this service",
                at=each.validation.steps,
                expected=TLS_PROTOCOLS,
                observed=(protocol or "no protocol",),
                fix=f"{subject.object.reference}: set protocol to tls or h2",
                correction="protocol: tls",
            )


IGNORED = ObjectRule(id="contour-upstream-validation", subjects=(HTTP_PROXY,), reads=(SERVICE,), check=check_ignored)


def check_unverified(subject: Subject) -> Iterator[Flaw]:
    """Envoy verifies services to which it uses TLS."""
    for each in _services(subject):
        if _protocol(subject, each) in TLS_PROTOCOLS and not each.validation:
            yield Flaw(
                message="Envoy uses TLS to this service, but does not verify its certificate",
                at=each.steps,
                fix=f"{subject.object.reference}: add validation with caSecret and subjectName",
                correction="validation:\n  caSecret: <name>\n  subjectName: <name in the certificate>",
            )


UNVERIFIED = ObjectRule(
    id="contour-upstream-unverified",
    subjects=(HTTP_PROXY,),
    reads=(SERVICE,),
    check=check_unverified,
)


def _ports(service: KubeObject) -> tuple[str, ...]:
    """The names and numbers of the ports, by which annotations refer to them."""
    every = ((each.name, str(each.port)) for each in Service.of(service).ports)
    return tuple(dict.fromkeys(filter(None, chain.from_iterable(every))))


def check_annotation(subject: Subject) -> Iterator[Flaw]:
    """Protocol annotations of a Service name ports that it has."""
    ports = _ports(subject.object)
    for name, value in subject.object.annotations.items():
        at = ("metadata", "annotations", name)
        if name.startswith(_FORMER):
            yield Flaw(
                message="no Contour since 1.11 reads this annotation",
                at=at,
                fix=f"{subject.object.reference}: write it as {UPSTREAM_PROTOCOL}{name.removeprefix(_FORMER)}",
            )
        elif name.startswith(UPSTREAM_PROTOCOL):
            unknown = [each for each in (part.strip() for part in value.split(",")[:100]) if each and each not in ports]
            if unknown:
                yield Flaw(
                    message=f"the Service has no port {', '.join(unknown[:10])}",
                    at=at,
                    expected=ports[:20],
                    observed=tuple(unknown[:20]),
                    fix=f"{subject.object.reference}: name ports of the Service",
                )


ANNOTATION = ObjectRule(id="contour-upstream-annotation", subjects=(SERVICE,), check=check_annotation)


def check_extension(subject: Subject) -> Iterator[Flaw]:
    """Envoy verifies services for authorization, rate limits and traces."""
    service = ExtensionService.of(subject.object)
    protocol, validation = service.protocol or _TLS, service.validation
    if not service.has_validation:
        yield _unverified(subject, protocol)
        return
    if protocol != _TLS:
        what = f"upstream TLS validation not supported for {protocol!r} protocol (InconsistentProtocol)"
        yield _refused(subject, _PROTOCOL, what)
    name, names = validation.subject_name, validation.subject_names
    if not name:
        yield _refused(subject, (*_VALIDATION, "subjectName"), "validation has no subjectName (TLSUpstreamValidation)")
    elif names and names[0] != name:
        what = "the first of subjectNames is not subjectName (TLSUpstreamValidation)"
        yield _refused(subject, (*_VALIDATION, "subjectNames"), what)
    yield from _authority(subject, validation)


def _unverified(subject: Subject, protocol: str) -> Flaw:
    if protocol == _TLS:
        return Flaw(
            message="Envoy uses TLS to this service, but does not verify its certificate",
            at=("spec",),
            severity="medium",
            fix=f"{subject.object.reference}: add validation with caSecret and subjectName",
            correction="validation:\n  caSecret: <name>\n  subjectName: <name in the certificate>",
        )
    return Flaw(
        message=f"Envoy sends request headers in plaintext: the protocol is {protocol}",
        at=_PROTOCOL,
        severity="low",
        fix=f"{subject.object.reference}: set protocol to h2, and add validation",
        correction="protocol: h2",
    )


def _refused(subject: Subject, at: Steps, what: str) -> Flaw:
    fix = f"{subject.object.reference}: set h2, and a validation with caSecret and subjectName"
    return Flaw(message=f"Contour does not use this ExtensionService: {what}", at=at, fix=fix)


def _authority(subject: Subject, validation: UpstreamValidation) -> Iterator[Flaw]:
    if not validation.ca_secret:
        yield _refused(subject, _VALIDATION, "validation has no caSecret (TLSUpstreamValidation)")
        return
    secret = secret_name(validation.ca_secret, subject.object.namespace)
    permitted = permission(subject.declared, subject.object, secret)
    if permitted.allowed is False:
        yield _refused(subject, _AUTHORITY, f"{secret} is not delegated (CACertificateNotDelegated)")
        return
    if permitted.allowed is None:
        message = f"unknown: whether {secret} is delegated to this namespace"
        yield Flaw(message=message, at=_AUTHORITY, verdict="inconclusive")
    found = secret_of(subject, secret.name, secret.namespace)
    yield from ca_flaws(found, _AUTHORITY, "the CA of the service")
    if not isinstance(found, Missing) and of_text(entry(found, "ca.crt") or ""):
        yield from authority_flaws(found, _AUTHORITY, subject.declared.known.taken_at)


EXTENSION = ObjectRule(
    id="contour-extension-service",
    subjects=(EXTENSION_SERVICE,),
    reads=READS,
    check=check_extension,
)
