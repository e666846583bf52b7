"""The status of HTTPProxies: errors and warnings that Contour reports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from scanner.files.source_positions import shown
from scanner.kube.contour import DetailedCondition, HTTPProxy
from scanner.kube.kinds import HTTP_PROXY
from scanner.model.object_rule import Flaw, ObjectRule, Subject

_REASONS: Final[Mapping[str, tuple[str, str]]] = {
    "TLSConfigNotValid": (
        "its tls has both secretName and passthrough, or neither, or excludes every version",
        "set either tls.secretName or tls.passthrough, and a minimum version that is not above the maximum",
    ),
    "TLSIncompatibleFeatures": ("two of its TLS settings exclude each other", "remove one of the two settings"),
    "SecretNotValid": (
        "Contour does not find the Secret with its certificate, or cannot use its content",
        "create the Secret of tls.secretName with tls.crt and tls.key, or correct the name",
    ),
    "DelegationNotPermitted": (
        "a Secret of another namespace is not delegated to it",
        "create a TLSCertificateDelegation in the Secret's namespace",
    ),
    "FallbackNotPresent": (
        "it requires a fallback certificate, and Contour has none",
        "set tls.fallback-certificate in Contour's configuration, or tls.enableFallbackCertificate to false",
    ),
    "FallbackNotDelegated": (
        "the fallback certificate is not delegated to its namespace",
        "create a TLSCertificateDelegation in the namespace of the fallback certificate",
    ),
    "FallbackNotValid": (
        "Contour does not find the fallback certificate, or cannot use it",
        "correct the Secret of tls.fallback-certificate in Contour's configuration",
    ),
    "ClientValidationInvalid": (
        "the CA or the revocation list of clients is missing or cannot be read",
        "correct the Secrets of tls.clientValidation",
    ),
    "CACertificateNotDelegated": (
        "a CA of another namespace is not delegated to it",
        "create a TLSCertificateDelegation in the namespace of the CA's Secret",
    ),
    "TLSUpstreamValidation": (
        "the CA or the subject to verify a service with is missing or cannot be read",
        "set validation.caSecret and validation.subjectName of the service",
    ),
    "RemoteJWKSCACertificateNotDelegated": (
        "the CA of a JWKS in another namespace is not delegated to it",
        "create a TLSCertificateDelegation in the namespace of the CA's Secret",
    ),
    "RemoteJWKSUpstreamValidationInvalid": (
        "the CA or the subject to verify a JWKS with is missing or cannot be read",
        "set validation.caSecret and validation.subjectName of remoteJWKS",
    ),
    "JWTVerificationNotPermitted": (
        "it has jwtProviders, but does not terminate TLS",
        "set tls.secretName, or remove jwtProviders",
    ),
    "AuthNotPermitted": (
        "it has an authorization, but does not terminate TLS",
        "set tls.secretName, or remove authorization",
    ),
    "UnsupportedProtocol": (
        "a service has a protocol that Contour does not support",
        "set protocol to h2, h2c or tls, or remove it",
    ),
    "TLSMustBeConfigured": (
        "its tcpproxy has no TLS",
        "set tls.secretName or tls.passthrough of the virtual host",
    ),
    "DuplicateVhost": ("another HTTPProxy has the same fqdn", "set another fqdn, or include one of them in the other"),
    "FQDNNotSpecified": ("its virtual host has no fqdn", "set virtualhost.fqdn"),
    "RootIncludesRoot": (
        "it includes an HTTPProxy that has a virtual host of its own",
        "remove the include, or the virtualhost of the included HTTPProxy",
    ),
    "RootProxyNotAllowedInNamespace": (
        "roots are not allowed in its namespace",
        "move it to a namespace of --root-namespaces, or add its namespace there",
    ),
    "ErrorIdentifyingListener": (
        "its virtual host matches no listener, or several",
        "correct the listeners of the Gateway that Contour serves",
    ),
    "Orphaned": ("no root includes it", "include it in an HTTPProxy with a virtualhost, or remove it"),
}
"""Meanings and fixes by reason (``internal/dag/httpproxy_processor.go``)."""
_MOST: Final = 50


def check_status(subject: Subject) -> Iterator[Flaw]:
    """Contour serves what an HTTPProxy declares."""
    proxy = HTTPProxy.of(subject.object)
    valid = next((each for each in proxy.conditions if each.type == "Valid"), None)
    current = proxy.current_status
    if valid is not None:
        yield from _condition(subject, valid)
    elif current in ("invalid", "orphaned"):
        yield Flaw(
            message=f"Contour calls it {current}: {shown(proxy.description, 200)}",
            at=("status", "currentStatus"),
            severity="low" if current == "orphaned" else None,
        )


def _condition(subject: Subject, condition: DetailedCondition) -> Iterator[Flaw]:
    seen, present = condition.observed_generation, subject.object.generation
    if not condition.is_current(subject.object):
        yield Flaw(
            message=f"Contour has not read it since it was changed (generation {seen} of {present})",
            at=(*condition.steps, "observedGeneration"),
            verdict="inconclusive",
        )
        return
    every = (("errors", condition.errors), ("warnings", condition.warnings))
    found = [(name, each) for name, several in every for each in several[:_MOST]]
    for name, each in found:
        reason, kind = each.reason, each.type
        meaning, fix = _REASONS.get(reason, ("see its message", None))
        yield Flaw(
            message=f"Contour reports {reason or kind or 'it as invalid'}: {meaning}",
            at=(*condition.steps, name),
            severity="low" if name == "warnings" or kind == "Orphaned" else None,
            observed=(shown(each.message, 300),),
            fix=fix,
        )
    if not found and condition.status == "False":
        yield Flaw(message=f"Contour calls it invalid: {shown(condition.message, 200)}", at=condition.steps)


STATUS = ObjectRule(id="contour-status", subjects=(HTTP_PROXY,), check=check_status)
