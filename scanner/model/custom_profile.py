"""A ``tlsSecurityProfile`` of type Custom: ``ciphers``, ``minTLSVersion`` and ``groups``, and what becomes of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from scanner.files.problems import Problems, did_you_mean
from scanner.files.source_positions import Steps, shown
from scanner.kube.profile import Profile
from scanner.tls.codepoints import EMPTY_RENEGOTIATION_INFO_SCSV, FALLBACK_SCSV, SUITES, TLS12, TLS13
from scanner.tls.names import group_code, is_tls13, openssl_name, suite_code, version_code

TLS13_SUITES: Final = (0x1301, 0x1302, 0x1303)
"""What Go's crypto/tls speaks in TLS 1.3, whatever is configured (golang/go issue 29349)."""

GO_SUITES: Final = frozenset(
    {
        *TLS13_SUITES,
        *(0xC02B, 0xC02F, 0xC02C, 0xC030, 0xCCA9, 0xCCA8),  # ECDHE with AEAD
        *(0xC023, 0xC027, 0xC009, 0xC013, 0xC00A, 0xC014, 0xC012),  # ECDHE with CBC
        *(0x009C, 0x009D, 0x003C, 0x002F, 0x0035, 0x000A),  # RSA key exchange
    }
)
"""What library-go maps to a suite of Go's (``pkg/crypto/crypto.go``, ``OpenSSLToIANACipherSuites``); all else it drops
without a word."""

HYPERSHIFT_SUITES: Final = frozenset(
    {*(0xC02B, 0xC02F, 0xC02C, 0xC030, 0xCCA9, 0xCCA8), *(0xC009, 0xC013, 0xC00A, 0xC014)}
)
"""What HyperShift maps, without TLS 1.3 (openshift/hypershift ``support/config/cipher.go``)."""

HTTP2: Final = (0xC02F, 0xC02B)
"""One of them must be there (RFC 9113, section 9.2.2, and golang.org/x/net/http2), or no HTTP/2 server starts."""

VERSIONS: Final = ("VersionTLS10", "VersionTLS11", "VersionTLS12", "VersionTLS13")

GROUPS: Final = (
    "X25519",
    "secp256r1",
    "secp384r1",
    "secp521r1",
    "X25519MLKEM768",
    "SecP256r1MLKEM768",
    "SecP384r1MLKEM1024",
)
"""The enumeration ``TLSGroup``. The field is behind the feature gate TLSGroupPreferences."""

MISPLACED: Final = {
    name: f"put it under 'custom:', where {name} belongs" for name in ("ciphers", "minTLSVersion", "groups")
}

_FIELDS: Final = ("ciphers", "minTLSVersion", "groups")
_MOST: Final = 500
"""Items of a list: there are 372 suites."""
_ALL_SUITES: Final = (*(suite.openssl for suite in SUITES if suite.openssl), *(suite.iana for suite in SUITES))
_NO_SUITES: Final = (0x0000, EMPTY_RENEGOTIATION_INFO_SCSV, FALLBACK_SCSV)
"""They have names in the registry and select nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Consumer:
    """Who reads the profile, as far as it matters to what is valid."""

    admission: bool
    """Whether the API server's admission has looked at it."""
    tls13_suites: Literal["fixed", "listed"]
    """Go's servers speak all three, so ``ciphers`` with ``VersionTLS13`` are refused; HAProxy speaks those listed."""
    called: str = "Go"
    suites: frozenset[int] | None = GO_SUITES
    """What it has; None: anything that OpenSSL names."""


API_SERVER: Final = Consumer(admission=True, tls13_suites="fixed")
HYPERSHIFT: Final = Consumer(admission=True, tls13_suites="fixed", called="HyperShift", suites=HYPERSHIFT_SUITES)
KUBELET: Final = Consumer(admission=False, tls13_suites="fixed")
HAPROXY: Final = Consumer(admission=False, tls13_suites="listed", called="HAProxy", suites=None)
"""An IngressController's; its operator's rules are in cluster-ingress-operator ``ingress/controller.go``."""


def read(problems: Problems, steps: Steps, consumer: Consumer, *, groups_known: bool) -> Profile:
    """The profile whose ``custom`` is at ``steps``. Complaints go to ``problems``: then the result means nothing.

    ``groups_known`` says whether the release has the field ``groups`` at all (from 4.23).
    """
    problems.unknown_fields(steps, _FIELDS, {"curves": "the field is called groups"})
    notes: list[str] = []
    minimum = _minimum(problems, (*steps, "minTLSVersion"), notes)
    suites = _suites(problems, (*steps, "ciphers"), minimum, consumer, notes)
    groups = _groups(problems, (*steps, "groups"), notes, known=groups_known)
    return Profile(
        name=f"custom ({Path(problems.document.file).name})",
        min_version=minimum,
        suites=suites,
        groups=groups,
        source=problems.document.position(steps),
        notes=tuple(notes),
    )


def _minimum(problems: Problems, steps: Steps, notes: list[str]) -> int:
    value = problems.document.get(steps)
    if value is None:
        notes.append("minTLSVersion is not set, which means VersionTLS12")
        return TLS12
    if value in VERSIONS:
        return version_code(str(value))
    hint = f"one of {', '.join(VERSIONS)}"
    try:
        meant = version_code(str(value)[:40])
        hint = next((f"write {name}" for name in VERSIONS if version_code(name) == meant), hint)
    except KeyError:
        pass
    problems.add(steps, f"unknown version {shown(value)}", hint)
    return TLS12


def _suites(problems: Problems, steps: Steps, minimum: int, consumer: Consumer, notes: list[str]) -> tuple[int, ...]:
    if minimum == TLS13 and consumer.tls13_suites == "fixed":
        if problems.document.get(steps):
            what = "Cipher suites cannot be configured when minTLSVersion is VersionTLS13"
            problems.add(steps, what, "remove ciphers, or write 'minTLSVersion: VersionTLS12'", key=True)
        notes.append("Go's servers speak the three TLS 1.3 suites whatever is configured")
        return TLS13_SUITES
    before = len(problems.found)
    listed = _listed(problems, steps, notes)
    if len(problems.found) == before:
        _enough(problems, steps, tuple(listed), minimum, consumer)
    _remark(listed, consumer, notes)
    return tuple(listed)


def _listed(problems: Problems, steps: Steps, notes: list[str]) -> dict[int, str]:
    """Every suite of the list, and the name that it has there."""
    codes: dict[int, str] = {}
    for index, name in enumerate(problems.texts(steps, _MOST)):
        code = suite_named(name)
        if code is None:
            problems.add((*steps, index), f"unknown cipher suite {shown(name)}", _suggestion(name))
        elif code in codes:
            notes.append(f"{name} is listed twice" + ("" if codes[code] == name else f", also as {codes[code]}"))
        else:
            codes[code] = name
    return codes


def suite_named(name: str) -> int | None:
    """The suite that a configuration names, None where this names none; a number is no name."""
    try:
        code = suite_code(name)
    except KeyError:
        return None
    return None if name[:2].lower() == "0x" or code in _NO_SUITES else code


def _suggestion(name: str) -> str:
    if name.startswith("!"):
        return "leave out what is not wanted: adhere does not read OpenSSL's exclusions"
    return did_you_mean(name, _ALL_SUITES, otherwise="OpenSSL's and IANA's names are known here")


def _enough(problems: Problems, steps: Steps, suites: Sequence[int], minimum: int, consumer: Consumer) -> None:
    """Complain about a list that its consumer would refuse for what is missing."""
    old = [code for code in suites if not is_tls13(code)]
    if minimum == TLS13:
        if len(old) == len(suites):
            hint = "add one: an IngressController, unlike an APIServer, must list them"
            problems.add(steps, "no TLS 1.3 cipher suite, with minTLSVersion VersionTLS13", hint)
    elif not suites:
        problems.add(steps, "no cipher suite", "list at least one, for example ECDHE-RSA-AES128-GCM-SHA256")
    elif consumer.admission and not GO_SUITES.intersection(suites):
        problems.add(steps, "no cipher suite that Go's servers have", "add for example ECDHE-RSA-AES128-GCM-SHA256")
    elif consumer.admission and not set(HTTP2).intersection(suites):
        names = " or ".join(str(openssl_name(code)) for code in HTTP2)
        problems.add(
            steps, "no cipher suite that HTTP/2 requires", f"add {names}: the API server refuses a list without"
        )
    elif not old:
        problems.add(steps, "only TLS 1.3 cipher suites", "add one of TLS 1.2, or write 'minTLSVersion: VersionTLS13'")


def _remark(listed: dict[int, str], consumer: Consumer, notes: list[str]) -> None:
    """Say what becomes of the list on the way to a server."""
    if consumer.tls13_suites == "listed":
        if not any(map(is_tls13, listed)):
            notes.append("no TLS 1.3 suite is listed, so HAProxy keeps OpenSSL's own, and TLS 1.3 stays on")
        return
    has = consumer.suites or GO_SUITES
    dropped = [name for code, name in listed.items() if code not in has]
    iana = [name for code, name in listed.items() if code in has and name != openssl_name(code)]
    if dropped:
        notes.append(f"Go's servers leave out what they do not have: {', '.join(dropped)}")
    if iana:
        notes.append(f"a cluster drops these names, because it takes OpenSSL's only: {', '.join(iana)}")
    notes.append("Go's servers speak the three TLS 1.3 suites beside the listed ones, whatever is configured")


def _groups(problems: Problems, steps: Steps, notes: list[str], *, known: bool) -> tuple[int, ...] | None:
    if problems.document.get(steps) is None:
        notes.append("groups is not set: every component has its own, and none is judged")
        return None
    names = problems.texts(steps, _MOST)
    if problems.document.get(steps) == []:
        problems.add(steps, "no group", "leave groups out, so that every component has its own")
    for index, name in enumerate(names):
        if name not in GROUPS:
            problems.add((*steps, index), f"unknown group {shown(name)}", _group_meant(name))
        elif name in names[:index]:
            problems.add((*steps, index), f"{name} is listed twice", "a group stands in the list once")
    if not known:
        notes.append("groups has no effect: the release does not know the field")
        return None
    return tuple(group_code(name) for name in names if name in GROUPS)


def _group_meant(name: str) -> str:
    """The enumeration's name of a group that has others: P-256 is secp256r1."""
    try:
        code = group_code(name)
    except KeyError:
        return did_you_mean(name, GROUPS)
    return next((f"write {each}" for each in GROUPS if group_code(each) == code), f"known here: {', '.join(GROUPS)}")
