"""What of an HTTPProxy's ``tls`` excludes each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from scanner.files.source_positions import Steps
from scanner.kube.kinds import HTTP_PROXY
from scanner.kube.objects import Fields, KubeObject
from scanner.lint.contour.uses import TLS, VHOST
from scanner.model.object_rule import Flaw, ObjectRule, Subject

_VALIDATION: Final = (*TLS, "clientValidation")
_FALLBACK: Final = (*TLS, "enableFallbackCertificate")


def _named(proxy: KubeObject) -> Fields:
    return proxy.fields(*TLS)


_Test = Callable[[KubeObject], object]
_CONTRADICTIONS: Final[tuple[tuple[_Test, Steps, str, str], ...]] = (
    (
        lambda proxy: _named(proxy).raw and _named(proxy).flag("passthrough") and _named(proxy).text("secretName"),
        (*TLS, "secretName"),
        "passthrough and secretName exclude each other",
        "TLSConfigNotValid",
    ),
    (
        lambda proxy: (
            isinstance(proxy.at(*TLS), dict)
            and not _named(proxy).flag("passthrough")
            and not _named(proxy).text("secretName")
        ),
        TLS,
        "tls has neither passthrough nor secretName",
        "TLSConfigNotValid",
    ),
    (
        lambda proxy: _named(proxy).flag("passthrough") and proxy.has(*_VALIDATION),
        _VALIDATION,
        "what is passed through shows Contour no client certificate",
        "TLSIncompatibleFeatures",
    ),
    (
        lambda proxy: proxy.flag(*_FALLBACK) and _named(proxy).flag("passthrough"),
        _FALLBACK,
        "the fallback certificate and passthrough exclude each other",
        "TLSIncompatibleFeatures",
    ),
    (
        lambda proxy: proxy.flag(*_FALLBACK) and proxy.has(*_VALIDATION),
        _FALLBACK,
        "the fallback certificate and clientValidation exclude each other",
        "TLSIncompatibleFeatures",
    ),
    (
        lambda proxy: proxy.flag(*_FALLBACK) and proxy.has(*VHOST, "authorization"),
        _FALLBACK,
        "the fallback certificate and authorization exclude each other",
        "TLSIncompatibleFeatures",
    ),
    (
        lambda proxy: proxy.flag(*_FALLBACK) and proxy.at(*VHOST, "jwtProviders"),
        _FALLBACK,
        "the fallback certificate and jwtProviders exclude each other, since Contour 1.33.5",
        "TLSIncompatibleFeatures",
    ),
    (
        lambda proxy: proxy.has("spec", "tcpproxy") and proxy.has(*VHOST) and not proxy.has(*TLS),
        ("spec", "tcpproxy"),
        "a TCP proxy needs TLS: without a server name Envoy cannot tell whose connection it is",
        "TLSMustBeConfigured",
    ),
)
"""When, where, what, and the reason in the object's status (``httpproxy_processor.go``)."""


def check_settings(subject: Subject) -> Iterator[Flaw]:
    """The TLS settings of an HTTPProxy do not exclude each other."""
    for applies, at, message, reason in _CONTRADICTIONS:
        if applies(subject.object):
            yield Flaw(
                message=f"{message}: Contour calls the HTTPProxy invalid ({reason}) and serves none of it",
                at=at,
                fix=f"{subject.object.reference}: decide for one of the two",
            )
    tls = _named(subject.object)
    if tls.flag("passthrough") and not tls.text("secretName") and not subject.object.has("spec", "tcpproxy"):
        yield Flaw(
            message="passthrough has no tcpproxy to pass connections to: nobody answers TLS for this host, and Contour "
            "calls it valid",
            at=(*TLS, "passthrough"),
            fix=f"{subject.object.reference}: name the services in spec.tcpproxy",
            correction="tcpproxy:\n  services:\n  - name: <service>\n    port: 443",
        )


SETTINGS = ObjectRule(
    id="contour-tls-settings",
    subjects=(HTTP_PROXY,),
    check=check_settings,
)
