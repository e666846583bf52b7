"""The TLS fields of a listener, which its protocol and mode require or exclude, and TLS options of implementations
(Gateway API apis/v1 ``Listener``, ``ListenerTLSConfig``, ``BackendTLSPolicySpec.options``).

Each implementation has its own option keys. Versions are recognised by their values: ``1.0`` or ``TLSv1_1`` is too old,
whatever the key.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from scanner.files.source_positions import Steps, shown
from scanner.kube.gateway import HOLDERS, MAX_LISTENERS, Listener, holder_of
from scanner.kube.gateway_routes import BackendTLSPolicy
from scanner.kube.kinds import BACKEND_TLS_POLICY
from scanner.lint.gateway.listeners import listeners
from scanner.model.object_rule import Flaw, ObjectRule, Subject
from scanner.tls.codepoints import TLS12
from scanner.tls.names import version_code, version_label

_TERMINATED: Final = "tls:\n  mode: Terminate\n  certificateRefs:\n  - name: SECRET"
_MODE: Final = "tls:\n  mode: Terminate"
_NO_TLS: Final = ("HTTP", "TCP", "UDP")


def check_tls(subject: Subject) -> Iterator[Flaw]:
    """Every listener of protocol HTTPS or TLS sets the mode and the certificates that it needs."""
    for listener in listeners(subject.declared, subject.object):
        message = _lacking(listener)
        if message:
            has_one = bool(listener.tls.certificate_refs)
            what = "mode to Terminate" if has_one else "certificateRefs"
            yield Flaw(
                message=message,
                at=(*listener.steps, "tls"),
                fix=f"{subject.object.reference}: in tls of listener {shown(listener.name)}, set {what}",
                correction=_MODE if has_one else _TERMINATED,
            )


def _lacking(listener: Listener) -> str:
    if listener.protocol == "HTTPS" and not listener.has_tls:
        return "an HTTPS listener without tls has no certificate"
    if listener.protocol == "TLS" and not listener.tls.mode:
        return "tls mode must be set for protocol TLS (CRDs of release 1.5 and later refuse this)"
    if listener.terminates and not (listener.tls.certificate_refs or listener.tls.options):
        return "certificateRefs or options must be specified when mode is Terminate"
    return ""


def check_refused(subject: Subject) -> Iterator[Flaw]:
    """No listener combines what the API refuses or ignores."""
    names: dict[str, int] = {}
    for listener in listeners(subject.declared, subject.object):
        for field, message in _REFUSED.items():
            if _is_refused(field, listener):
                yield Flaw(
                    message=message,
                    at=(*listener.steps, *field.split(".")),
                    fix=f"{subject.object.reference}: change the protocol of {shown(listener.name)}, or remove {field}",
                )
        if listener.mode == "Passthrough" and listener.tls.certificate_refs:
            yield Flaw(
                message="certificateRefs are never served in mode Passthrough: the backend's certificate is",
                at=(*listener.steps, "tls", "certificateRefs"),
                fix=f"{subject.object.reference}: remove them, or set the mode to Terminate",
                severity="low",
            )
        names[listener.name] = names.get(listener.name, 0) + 1
        if names[listener.name] == 2:
            yield Flaw(message="Listener name must be unique within the Gateway", at=(*listener.steps, "name"))
    count = len(holder_of(subject.object).listener_items)
    if count > MAX_LISTENERS:
        message = f"{count} listeners; the API allows {MAX_LISTENERS}"
        yield Flaw(message=message, at=("spec", "listeners", MAX_LISTENERS))


_REFUSED: Final[Mapping[str, str]] = {
    "tls": "tls must not be specified for protocols ['HTTP', 'TCP', 'UDP']",
    "tls.mode": "tls mode must be Terminate for protocol HTTPS",
    "hostname": "hostname must not be specified for protocols ['TCP', 'UDP']",
}
"""The API server's messages, by field."""


def _is_refused(field: str, listener: Listener) -> bool:
    if field == "tls":
        return listener.protocol in _NO_TLS and listener.has_tls
    if field == "tls.mode":
        return listener.protocol == "HTTPS" and listener.mode == "Passthrough"
    return listener.protocol in ("TCP", "UDP") and bool(listener.hostname)


TLS = ObjectRule(id="gateway-listener-tls", subjects=HOLDERS, check=check_tls)
REFUSED = ObjectRule(id="gateway-listener-refused", subjects=HOLDERS, check=check_refused)


_MOST: Final = 16
_WORD: Final = re.compile(r"[A-Za-z0-9._]+")
_ABOUT_VERSIONS: Final = re.compile(r"version|protocol|\bmin|\bmax|tls[-_.]?(min|max)", re.IGNORECASE)
_LONGEST: Final = 4096
"""Characters of a value (MaxLength of AnnotationValue)."""


def check_options(subject: Subject) -> Iterator[Flaw]:
    """TLS options have a prefix and allow no version before TLS 1.2."""
    for steps, options in _options(subject):
        for key, value in list(options.items())[:_MOST]:
            if "/" not in key:
                yield Flaw(
                    message=f"{shown(key)} has no prefix: keys without a prefix are reserved",
                    at=(*steps, key),
                    fix=_fix(subject, key),
                )
            old = _old_version(value[:_LONGEST]) if _ABOUT_VERSIONS.search(key) else None
            if old is not None:
                yield Flaw(
                    message=f"{shown(key)} names {old}",
                    at=(*steps, key),
                    expected=("TLS 1.2 or TLS 1.3",),
                    observed=(shown(value),),
                    fix=_fix(subject, key),
                )


def _fix(subject: Subject, key: str) -> str:
    return f"{subject.object.reference}: set option {shown(key)} as the implementation documents it"


def _options(subject: Subject) -> Iterator[tuple[Steps, dict[str, str]]]:
    if subject.object.kind == BACKEND_TLS_POLICY:
        yield ("spec", "options"), BackendTLSPolicy.of(subject.object).options
        return
    for listener in listeners(subject.declared, subject.object):
        yield (*listener.steps, "tls", "options"), listener.tls.options


def _old_version(value: str) -> str | None:
    for word in _WORD.findall(value):
        try:
            code = version_code(word)
        except KeyError:
            continue
        if code < TLS12:
            return version_label(code)
    return None


OPTIONS = ObjectRule(id="gateway-options", subjects=(*HOLDERS, BACKEND_TLS_POLICY), check=check_options)
