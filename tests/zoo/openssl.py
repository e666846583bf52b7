"""OpenSSL: ``s_server``, and what the library says of a cipher string (for every program that links it)."""

from __future__ import annotations

import os
import re
import subprocess
from functools import cache
from pathlib import Path

from tests.zoo.certificates import Pki
from tests.zoo.processes import Launch, program
from tests.zoo.truth import ELLIPTIC, GROUPS, TLS10, TLS11, TLS12, TLS13, Settings, Truth

PLAIN = {"OPENSSL_CONF": os.devnull}
"""A distribution's configuration file may forbid versions; the zoo says all that it wants itself."""

FLAG = {TLS10: "tls1", TLS11: "tls1_1", TLS12: "tls1_2", TLS13: "tls1_3"}
_LINE = re.compile(r"0x(\w\w),0x(\w\w) - (\S+)\s+\S+\s+Kx=(\S+)\s+Au=(\S+)")
_VERIFY = {"none": [], "requested": ["-verify", "2"], "required": ["-Verify", "2"]}


@cache
def _rows(version: int, suites: str, tls13: str) -> tuple[re.Match[str], ...]:
    argv = [program("openssl") or "openssl", "ciphers", "-s", "-srp", "-V", f"-{FLAG[version]}", "-ciphersuites", tls13]
    argv += [suites] if suites else []
    run = subprocess.run(argv, capture_output=True, text=True, check=True, env={**os.environ, **PLAIN})
    return tuple(row for row in map(_LINE.search, run.stdout.splitlines()) if row)


def listed(version: int, suites: str, tls13: str) -> tuple[tuple[int, str, str], ...]:
    """(code, key exchange, authentication) of what this library would use (openssl-ciphers(1), ``-s``)."""
    return tuple((int(row[1] + row[2], 16), row[4], row[5]) for row in _rows(version, suites, tls13))


def names(version: int, suites: str) -> dict[int, str]:
    """Codes and OpenSSL's names of what this library would use below TLS 1.3."""
    return {int(row[1] + row[2], 16): row[3] for row in _rows(version, suites, "")}


def truth(settings: Settings, *, dhe: bool = True) -> Truth:
    """Versions, suites and groups that a server with these settings has. ``dhe``: whether it has DH parameters.

    TLS 1.0 and 1.1 sign with SHA-1, which OpenSSL 3 does only at security level 0 (SSL_CTX_set_security_level(3)):
    above it ``ciphers`` still lists their suites, and the server answers internal_error.
    """
    authentication = {"any", "RSA" if settings.key == "rsa" else "ECDSA"}
    suites: dict[int, frozenset[int]] = {}
    groups: dict[int, frozenset[int]] = {}
    for version in settings.versions:
        rows = [
            (code, exchange)
            for code, exchange, who in listed(version, settings.suites, settings.tls13)
            if who in authentication and (dhe or exchange != "DH") and exchange != "SRP"
        ]
        if not rows or (version < TLS12 and "@SECLEVEL=0" not in settings.suites):
            continue
        suites[version] = frozenset(code for code, _ in rows)
        known = frozenset(GROUPS[name] for name in settings.groups)
        if version == TLS13:
            groups[version] = known
        elif any(exchange == "ECDH" for _, exchange in rows):
            groups[version] = known & ELLIPTIC
    return Truth(
        suites=suites,
        groups=groups,
        preference=settings.preference,
        client_certificate=settings.client_certificate,
        credentialed=_credentialed(settings),
    )


def _credentialed(settings: Settings) -> frozenset[int]:
    if not settings.srp:
        return frozenset()
    rows = (row for version in settings.versions for row in listed(version, settings.suites, settings.tls13))
    return frozenset(code for code, exchange, who in rows if exchange == "SRP" and who != "DSS")


def launch(settings: Settings, pki: Pki, address: str, port: int, directory: Path) -> Launch:
    """``openssl s_server``; it serves one connection at a time, in order."""
    argv = [program("openssl") or "openssl", "s_server", "-accept", f"{address}:{port}", "-www"]
    argv += ["-cert", str(pki.certificate(settings.key)), "-key", str(pki.key(settings.key))]
    argv += [f"-no_{flag}" for version, flag in FLAG.items() if version not in settings.versions]
    argv += ["-cipher", settings.suites] if settings.suites else []
    argv += ["-ciphersuites", settings.tls13, "-groups", ":".join(settings.groups)]
    argv += ["-serverpref"] if settings.preference == "server" else []
    argv += ["-CAfile", str(pki.authority), *_VERIFY[settings.client_certificate]]
    if settings.srp:
        argv += ["-srpvfile", str(_accounts(directory)), "-srpuserseed", "zoo"]
    return Launch(argv=argv, env=PLAIN)


def _accounts(directory: Path) -> Path:
    """One SRP user, so that the library turns its SRP suites on."""
    accounts = directory / "accounts.srpv"
    accounts.touch()
    argv = [
        program("openssl") or "openssl",
        "srp",
        "-add",
        "-srpvfile",
        str(accounts),
        "-passout",
        "pass:only-for-this-run",
        "user",
    ]
    subprocess.run(argv, check=True, capture_output=True, env={**os.environ, **PLAIN})
    return accounts
