"""The status of HTTPProxies: errors and warnings that Contour reports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from scanner.files.source_positions import shown
from scanner.kube.contour import DetailedCondition, HTTPProxy
from scanner.kube.kinds import HTTP_PROXY
from scanner.model.object_rule import Flaw, ObjectRule, Subject

_REASONS: Final[Mapping[str, str]] = {
    "TLSConfigNotValid": "its tls has both secretName and passthrough, or neither, or excludes every version",
    "TLSIncompatibleFeatures": "two of its TLS settings exclude each other",
    "SecretNotValid": "the Secret with its certificate does not exist or cannot be read",
    "DelegationNotPermitted": "a Secret of another namespace is not delegated to it",
    "FallbackNotPresent": "it requires a fallback certificate, and Contour has none",
    "FallbackNotDelegated": "the fallback certificate is not delegated to its namespace",
    "FallbackNotValid": "the fallback certificate does not exist or cannot be read",
    "ClientValidationInvalid": "the CA or the revocation list of clients is missing or cannot be read",
    "CACertificateNotDelegated": "a CA of another namespace is not delegated to it",
    "TLSUpstreamValidation": "the CA or the subject to verify a service with is missing or cannot be read",
    "RemoteJWKSCACertificateNotDelegated": "the CA of a JWKS in another namespace is not delegated to it",
    "RemoteJWKSUpstreamValidationInvalid": "the CA or the subject to verify a JWKS with is missing or cannot be read",
    "JWTVerificationNotPermitted": "it has jwtProviders, but does not terminate TLS",
    "AuthNotPermitted": "it has an authorization, but does not terminate TLS",
    "UnsupportedProtocol": "a service has a protocol that Contour does not support",
    "TLSMustBeConfigured": "its tcpproxy has no TLS",
    "DuplicateVhost": "another HTTPProxy has the same fqdn",
    "FQDNNotSpecified": "its virtual host has no fqdn",
    "RootIncludesRoot": "it includes an HTTPProxy that has a virtual host of its own",
    "RootProxyNotAllowedInNamespace": "roots are not allowed in its namespace",
    "ErrorIdentifyingListener": "its virtual host matches no listener, or several",
    "Orphaned": "no root includes it",
}
"""Meanings by reason (``internal/dag/httpproxy_processor.go``)."""
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
        yield Flaw(
            message=f"Contour reports {reason or kind or 'it as invalid'}: {_REASONS.get(reason, 'see its message')}",
            at=(*condition.steps, name),
            severity="low" if name == "warnings" or kind == "Orphaned" else None,
            observed=(shown(each.message, 300),),
            fix=f"{subject.object.reference}: {_REASONS[reason]}" if reason in _REASONS else None,
        )
    if not found and condition.status == "False":
        yield Flaw(message=f"Contour calls it invalid: {shown(condition.message, 200)}", at=condition.steps)


STATUS = ObjectRule(id="contour-status", subjects=(HTTP_PROXY,), check=check_status)
