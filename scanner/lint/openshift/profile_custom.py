"""A ``tlsSecurityProfile`` of type Custom, as its readers take it or do not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from scanner.files.problems import did_you_mean
from scanner.files.source_positions import shown
from scanner.kube.kinds import API_SERVER
from scanner.lint.openshift import gates
from scanner.lint.openshift.profile_groups import group_flaws
from scanner.lint.openshift.profiles import SUBJECTS, Declaration, declarations
from scanner.model.custom_profile import GO_SUITES, HTTP2, VERSIONS, suite_named
from scanner.model.ingress_admission import refusals
from scanner.model.object_rule import Flaw, ObjectRule, Subject
from scanner.tls.names import openssl_name

_MOST: Final = 500
"""Names of a list; there are 372 suites."""
_TLS13: Final = "VersionTLS13"
_NOT_WITH_TLS13: Final = (
    "Cipher suites cannot be configured when minTLSVersion is VersionTLS13. "
    "TLS 1.3 cipher suites are hardcoded by the Go runtime."
)
"""The enhancement's words; the admission that shipped says it shorter."""
_HTTP2_NAMES: Final = tuple(str(openssl_name(code)) for code in HTTP2)


def check_custom(subject: Subject) -> Iterator[Flaw]:
    """A Custom profile is one that its readers take."""
    for each in declarations(subject.object):
        if each.type == "Custom" and each.fields.has("custom"):
            yield from _version(each)
            yield from (_listed(each) if each.consumer.tls13_suites == "listed" else _fixed(each))
            yield from group_flaws(each, subject.declared)


def _version(each: Declaration) -> Iterator[Flaw]:
    said = each.custom.at("minTLSVersion")
    if said not in (None, *VERSIONS):
        listed = ", ".join(f'"{name}"' for name in VERSIONS)
        yield Flaw(
            message=f"no API takes it: Unsupported value: {shown(said)}: supported values: {listed}",
            at=(*each.steps, "custom", "minTLSVersion"),
            expected=VERSIONS,
            fix=did_you_mean(said, VERSIONS) if isinstance(said, str) else f"one of {', '.join(VERSIONS)}",
        )
    elif not said and each.consumer.tls13_suites == "fixed":
        yield _unset(each)


def _unset(each: Declaration) -> Flaw:
    heir = ", and an IngressController that inherits it is not admitted" if each.object.kind == API_SERVER else ""
    return Flaw(
        message=f"minTLSVersion is not set, which counts as VersionTLS12{heir}",
        at=(*each.steps, "custom", "minTLSVersion"),
        severity="low",
        expected=VERSIONS[2:],
        fix="write 'minTLSVersion: VersionTLS12'",
        correction="minTLSVersion: VersionTLS12",
    )


def _fixed(each: Declaration) -> Iterator[Flaw]:
    """For Go, which speaks all of TLS 1.3 whatever is listed."""
    names = each.custom.texts("ciphers")[:_MOST]
    if each.custom.text("minTLSVersion") == _TLS13:
        if names:
            fix = "remove ciphers, or write 'minTLSVersion: VersionTLS12'"
            yield _refused(each, _NOT_WITH_TLS13, "TLS 1.3 cipher suites are not configurable", fix)
        return
    if not any(code in GO_SUITES and openssl_name(code) == name for name, code in _codes(names)):
        says = "no supported cipher suite found"
        yield _refused(each, says, says, f"list OpenSSL's names, for example {_HTTP2_NAMES[0]}")
    if not set(_HTTP2_NAMES).intersection(names):
        said = (
            "http2: TLSConfig.CipherSuites is missing an HTTP/2-required AES_128_GCM_SHA256 cipher "
            f"(need at least one of {' or '.join(_HTTP2_NAMES)})"
        )
        yield _refused(each, "no cipher suite that HTTP/2 requires", said, f"add {' or '.join(_HTTP2_NAMES)}")


def _codes(names: tuple[str, ...]) -> Iterator[tuple[str, int]]:
    for name in names:
        code = suite_named(name)
        if code is not None:
            yield name, code


def _listed(each: Declaration) -> Iterator[Flaw]:
    """For HAProxy, as its operator looks at it."""
    for refusal in refusals(each.custom):
        yield _refused(each, refusal.message, "", refusal.fix, refusal.field)


def _refused(each: Declaration, message: str, words: str, fix: str, field: str = "ciphers") -> Flaw:
    return Flaw(
        message=f"{each.refused_by}: {message}",
        at=(*each.steps, "custom", field),
        fix=fix,
        evidence=(f"admission of an APIServer says: {words}",) if words and words != message else (),
    )


CUSTOM = ObjectRule(
    id="tls-profile-custom",
    subjects=SUBJECTS,
    check=check_custom,
    reads=gates.READS,
)
