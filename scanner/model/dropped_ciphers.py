"""Names in a Custom profile's ``ciphers`` that a reader drops. Scans and lint ask here."""

from __future__ import annotations

from typing import Final, NamedTuple

from scanner.files.problems import did_you_mean
from scanner.files.source_positions import shown
from scanner.model.custom_profile import TLS13_SUITES, Consumer, suite_named
from scanner.model.ingress_admission import is_a_set
from scanner.tls.codepoints import SUITES
from scanner.tls.names import is_tls13, openssl_name

_OPENSSL: Final = tuple(suite.openssl for suite in SUITES if suite.openssl)


class Loss(NamedTuple):
    """A name of ``ciphers`` that selects nothing."""

    name: str
    reason: str
    """A clause for people."""
    fix: str
    certain: bool = True
    """Whether every release of the reader drops it."""


def lost(name: object, consumer: Consumer, *, guess: bool = True) -> Loss | None:
    """Why a consumer drops a name without a word; None where it selects suites, or takes them out.

    ``guess``: whether to look for a name that is meant instead.
    """
    if not isinstance(name, str):
        return Loss(shown(name), f"{shown(name)} is no name of a cipher suite", "write OpenSSL's name")
    code = suite_named(name)
    if consumer.suites is None and (name.startswith("!") or is_a_set(name)):
        return None
    if code is None:
        near = did_you_mean(name, _OPENSSL, otherwise="remove it") if guess else "remove it"
        return Loss(shown(name), f"{shown(name)} is no cipher suite, and is dropped without a word", near)
    known, has = openssl_name(code), consumer.suites
    if (has is not None and code not in {*has, *TLS13_SUITES}) or known is None:
        return Loss(name, f"{name} is none that {consumer.called} has: it is dropped without a word", "remove it")
    if known == name or is_tls13(code):
        return None
    if has is None:  # OpenSSL 3.0 refuses it and 4.0 takes it; which one a router has is not known
        reason = f"{name} is IANA's name, which older releases of OpenSSL drop without a word"
        return Loss(name, reason, f"write {known}", certain=False)
    reason = f"{name} is IANA's name, and only OpenSSL's are mapped: it is dropped without a word"
    return Loss(name, reason, f"write {known}")
