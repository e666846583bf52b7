"""TLS options of implementations (Gateway API apis/v1 ``ListenerTLSConfig.options``, ``BackendTLSPolicySpec.options``).

Each implementation has its own keys. What they say of versions is understood by the values: whatever a key is called,
``1.0`` or ``TLSv1_1`` in it is a version that nobody should offer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from scanner.files.source_positions import Steps, shown
from scanner.kube.gateway import HOLDERS
from scanner.kube.gateway_routes import BackendTLSPolicy
from scanner.kube.kinds import BACKEND_TLS_POLICY
from scanner.lint.gateway.listeners import listeners
from scanner.model.object_rule import Flaw, ObjectRule, Subject
from scanner.tls.codepoints import TLS12
from scanner.tls.names import version_code, version_label

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
                    message=f"{shown(key)} has no prefix: such keys are reserved",
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
    return f"{subject.object.reference}: option {shown(key)}, as the implementation documents it"


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
