"""GnuTLS: ``gnutls-serv`` by priority string. It listens on every address; the zoo connects to it over loopback."""

from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path

from tests.zoo.certificates import Pki
from tests.zoo.processes import Launch, program
from tests.zoo.truth import ELLIPTIC, FINITE, GROUPS, TLS10, TLS11, TLS12, TLS13, Settings, Truth

_NAME = {TLS10: "TLS1.0", TLS11: "TLS1.1", TLS12: "TLS1.2", TLS13: "TLS1.3"}
_GROUP = {"GROUP-SECP256R1": "P-256", "GROUP-SECP384R1": "P-384", "GROUP-SECP521R1": "P-521"} | {
    f"GROUP-{name.upper()}": name for name in GROUPS if name.startswith(("X", "ffdhe"))
}
_LINE = re.compile(r"^(TLS_\S+)\s+0x(\w\w), 0x(\w\w)\s+(TLS\S+)")
_VERIFY = {"none": "--disable-client-cert", "requested": "--verify-client-cert", "required": "--require-client-cert"}


@cache
def listed(priority: str) -> str:
    """Output of ``gnutls-cli --list --priority``: suites with the lowest version of each, groups, protocols."""
    argv = [program("gnutls-cli") or "gnutls-cli", "--list", "--priority", priority]
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout


def priority(settings: Settings) -> str:
    """The whole priority string: its own versions, groups and preference, and the suites of the settings."""
    spelled = {code: name for name, code in GROUPS.items()}
    names = {value: name for name, value in _GROUP.items()}
    words = [settings.suites, "-VERS-ALL", *(f"+VERS-{_NAME[version]}" for version in settings.versions), "-GROUP-ALL"]
    words += [f"+{names[spelled[GROUPS[group]]]}" for group in settings.groups]
    words += ["%SERVER_PRECEDENCE"] if settings.preference == "server" else []
    return ":".join(words)


def truth(settings: Settings) -> Truth:
    """From the listing: a suite belongs to its lowest version and those above it up to TLS 1.2, or to TLS 1.3.

    DHE needs a group of RFC 7919 in the priority string, or parameters in a file.
    """
    text = listed(priority(settings))
    rows = [
        (match[1], int(match[2] + match[3], 16), match[4]) for match in map(_LINE.match, text.splitlines()) if match
    ]
    known = frozenset(GROUPS[_GROUP[word]] for word in re.findall(r"GROUP-[A-Z0-9-]+", text) if word in _GROUP)
    field = bool(known & FINITE) or settings.own_field
    suites: dict[int, frozenset[int]] = {}
    groups: dict[int, frozenset[int]] = {}
    for version in settings.versions:
        usable = [
            (name, code)
            for name, code, lowest in rows
            if _fits(version, lowest, name, settings.key) and ("_DHE_" not in name or field)
        ]
        if usable:
            suites[version] = frozenset(code for _, code in usable)
        if version == TLS13:
            groups[version] = known
        elif any("_ECDHE_" in name for name, _ in usable):
            groups[version] = known & ELLIPTIC
    return Truth(
        suites=suites,
        groups=groups,
        preference=settings.preference,
        client_certificate=settings.client_certificate,
    )


def _fits(version: int, lowest: str, name: str, key: str) -> bool:
    if (version == TLS13) != (lowest == "TLS1.3") or _NAME[version] < lowest:
        return False
    return version == TLS13 or ("_ECDSA_" in name) == (key != "rsa")


@cache
def _field() -> bytes:
    """The group of 2,048 bits of RFC 3526, section 3."""
    argv = [program("openssl") or "openssl", "genpkey", "-genparam", "-algorithm", "DH", "-pkeyopt", "group:modp_2048"]
    return subprocess.run(argv, capture_output=True, check=True).stdout


def launch(settings: Settings, pki: Pki, address: str, port: int, directory: Path) -> Launch:
    """``gnutls-serv`` has no option for the address."""
    argv = [program("gnutls-serv") or "gnutls-serv", "--http", "--port", str(port), "--priority", priority(settings)]
    argv += ["--x509certfile", str(pki.certificate(settings.key)), "--x509keyfile", str(pki.key(settings.key))]
    argv += ["--x509cafile", str(pki.authority), _VERIFY[settings.client_certificate]]
    if settings.own_field:
        parameters = directory / "dh.pem"
        parameters.write_bytes(_field())
        argv += ["--dhparams", str(parameters)]
    return Launch(argv=argv)
