"""The scanners that are compared, and how each is asked to do its best at the same job."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import truth
from benchmarks.measure import Command
from tests.zoo import build_cache, golang

Targets = Sequence[tuple[str, int]]

_BUILD = 900.0
"""Seconds that a build may take: two cores need three minutes for tlsx, with the download."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One way of running one scanner."""

    name: str
    program: str
    commands: Callable[[str, Targets, Path], list[Command]]
    """From the program's path, the targets and a directory for files."""
    report: Callable[[Path], truth.Report]
    """Facts that it found, from its files in that directory."""
    at_once: int = 1
    """Processes at the same time, for scanners that take one target a process."""
    fine: frozenset[int] = frozenset({0})
    most: int | None = None
    """The largest number of targets for which it is measured, for scanners that take minutes."""
    module: str = ""
    """Go package and version, if it is built here."""

    def path(self) -> str | None:
        """Path of the program: built here, beside this Python, or on PATH, where Debian leaves ``.sh`` out."""
        for path in (self._built(), Path(sys.executable).with_name(self.program)):
            if path.is_file():
                return str(path)
        return shutil.which(self.program) or shutil.which(self.program.removesuffix(".sh"))

    def missing(self) -> str | None:
        """The reason why it cannot be measured, after an attempt to build it."""
        if self.path():
            return None
        return self._build() if self.module else f"{self.program} is not installed"

    def _built(self) -> Path:
        return build_cache.cache_directory() / self.module.replace("/", "-") / self.program

    def _build(self) -> str | None:
        """Build the pinned version as a dependency of an empty module, which needs no list of its versions."""
        package, _, version = self.module.partition("@")
        directory = self._built().parent
        directory.mkdir(parents=True, exist_ok=True)
        root = "/".join(package.split("/")[:3])
        oldest = ".".join(map(str, golang.OLDEST))  # without it, Go reads the modules of modules that nothing needs
        (directory / "go.mod").write_text(f"module bench\n\ngo {oldest}\n\nrequire {root} {version}\n")
        argv = [golang.go() or "go", "build", "-mod=mod", "-trimpath", "-o", self.program, package]
        environment = {**os.environ, "CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOWORK": "off"}
        try:
            subprocess.run(
                argv, check=True, capture_output=True, text=True, cwd=directory, env=environment, timeout=_BUILD
            )
        except subprocess.CalledProcessError as error:
            return f"{self.module} does not build: {error.stderr.strip()[-300:]}"
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"{self.module} does not build: {error}"
        return None


def _list(targets: Targets, directory: Path) -> str:
    path = directory / "targets.txt"
    path.write_text("".join(f"{address}:{port}\n" for address, port in targets))
    return str(path)


def _adhere(mode: str) -> Callable[[str, Targets, Path], list[Command]]:
    def commands(program: str, targets: Targets, directory: Path) -> list[Command]:
        report = f"json={directory / 'adhere.json'}"
        words = ["scan", "--targets", _list(targets, directory), "--mode", mode, "--profile", "intermediate"]
        return [[program, *words, "--quiet", "--format", report, "--fail-on", "never"]]

    return commands


def _sslscan(*options: str) -> Callable[[str, Targets, Path], list[Command]]:
    def commands(program: str, targets: Targets, directory: Path) -> list[Command]:
        # Without the tests for old bugs, which the other scanners do not run either.
        words = ["--no-colour", "--no-heartbleed", "--no-renegotiation", "--no-compression", "--no-fallback", *options]
        return [
            [program, *words, f"--xml={directory / f'sslscan-{address}.xml'}", f"{address}:{port}"]
            for address, port in targets
        ]

    return commands


def _addresses(targets: Targets, directory: Path) -> str:
    path = directory / "addresses.txt"
    path.write_text("".join(f"{address}\n" for address, _ in targets))
    return str(path)


def _nmap(program: str, targets: Targets, directory: Path) -> list[Command]:
    words = ["-n", "-Pn", "-T5", "--min-hostgroup", "256", "-p", str(targets[0][1])]
    words += ["-iL", _addresses(targets, directory), "-oX", str(directory / "nmap.xml")]
    return [[program, *words, "--script", "+ssl-enum-ciphers,+ssl-cert"]]


def _sslyze(program: str, targets: Targets, directory: Path) -> list[Command]:
    versions = ["--sslv2", "--sslv3", "--tlsv1", "--tlsv1_1", "--tlsv1_2", "--tlsv1_3"]
    words = [*versions, "--elliptic_curves", "--certinfo", "--mozilla_config", "disable"]
    return [[program, *words, "--targets_in", _list(targets, directory), "--json_out", str(directory / "sslyze.json")]]


def _tlsx(mode: str) -> Callable[[str, Targets, Path], list[Command]]:
    def commands(program: str, targets: Targets, directory: Path) -> list[Command]:
        words = [
            "-scan-mode",
            mode,
            "-version-enum",
            "-cipher-enum",
            "-json",
            "-silent",
            "-no-color",
            "-disable-update-check",
        ]
        return [[program, *words, "-list", _list(targets, directory), "-output", str(directory / "tlsx.json")]]

    return commands


def _zgrab2(program: str, targets: Targets, directory: Path) -> list[Command]:
    blocked = directory / "blocked.txt"
    blocked.touch()  # the default is a list of the user's
    words = ["--blocklist-file", str(blocked), "--input-file", _addresses(targets, directory)]
    return [[program, "tls", *words, "--port", str(targets[0][1]), "--output-file", str(directory / "zgrab2.json")]]


def _testssl(program: str, targets: Targets, directory: Path) -> list[Command]:
    # The same questions as the other scanners': protocols, each suite, forward secrecy (groups), certificate.
    words = ["--quiet", "--color", "0", "--warnings", "off", "--protocols", "--cipher-per-proto", "--fs"]
    words += ["--server-defaults", "--jsonfile", str(directory / "testssl.json")]
    return [[program, *words, f"{address}:{port}"] for address, port in targets]


_OURS = frozenset({0, 3})
_TLSX = "github.com/projectdiscovery/tlsx/cmd/tlsx@v1.2.2"
TOOLS = (
    Tool(name="adhere-verdict", program="adhere", commands=_adhere("verdict"), report=truth.adhere, fine=_OURS),
    Tool(name="adhere-inventory", program="adhere", commands=_adhere("inventory"), report=truth.adhere, fine=_OURS),
    Tool(name="sslscan", program="sslscan", commands=_sslscan("--no-groups"), report=truth.sslscan, at_once=16),
    Tool(name="sslscan-groups", program="sslscan", commands=_sslscan(), report=truth.sslscan, at_once=16),
    Tool(name="nmap", program="nmap", commands=_nmap, report=truth.nmap),
    Tool(name="sslyze", program="sslyze", commands=_sslyze, report=truth.sslyze),
    Tool(name="tlsx", program="tlsx", commands=_tlsx("ctls"), report=truth.tlsx, module=_TLSX),
    # Its default: three clients, of which one is a process for each connection.
    Tool(name="tlsx-auto", program="tlsx", commands=_tlsx("auto"), report=truth.tlsx, module=_TLSX, most=1),
    Tool(
        name="zgrab2",
        program="zgrab2",
        commands=_zgrab2,
        report=truth.zgrab2,
        module="github.com/zmap/zgrab2/cmd/zgrab2@v1.0.0",
    ),
    Tool(
        name="testssl.sh",
        program="testssl.sh",
        commands=_testssl,
        report=truth.testssl,
        fine=frozenset(range(200)),  # the number of findings; errors are above
        most=1,
    ),
)
