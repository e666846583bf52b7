"""The scanners that are compared, and how each is asked to do its best at the same job."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.measure import Command

Targets = Sequence[tuple[str, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One way of running one scanner."""

    name: str
    program: str
    commands: Callable[[str, Targets, Path], list[Command]]
    """From the program's path, the targets and a directory for files."""
    at_once: int = 1
    """Processes at the same time, for scanners that take one target a process."""
    fine: frozenset[int] = frozenset({0})

    def path(self) -> str | None:
        """Path of the program: beside this Python, or on PATH."""
        beside = Path(sys.executable).with_name(self.program)
        return str(beside) if beside.exists() else shutil.which(self.program)


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
    def commands(program: str, targets: Targets, directory: Path) -> list[Command]:  # noqa: ARG001
        # Without the tests for old bugs, which the other scanners do not run either.
        words = ["--no-colour", "--no-heartbleed", "--no-renegotiation", "--no-compression", "--no-fallback", *options]
        return [[program, *words, f"{address}:{port}"] for address, port in targets]

    return commands


def _nmap(program: str, targets: Targets, directory: Path) -> list[Command]:
    path = directory / "addresses.txt"
    path.write_text("".join(f"{address}\n" for address, _ in targets))
    words = ["-n", "-Pn", "-T5", "--min-hostgroup", "256", "-p", str(targets[0][1]), "-iL", str(path)]
    return [[program, *words, "--script", "+ssl-enum-ciphers,+ssl-cert"]]


def _sslyze(program: str, targets: Targets, directory: Path) -> list[Command]:
    versions = ["--sslv2", "--sslv3", "--tlsv1", "--tlsv1_1", "--tlsv1_2", "--tlsv1_3"]
    words = [*versions, "--elliptic_curves", "--certinfo", "--mozilla_config", "disable"]
    return [[program, *words, "--targets_in", _list(targets, directory)]]


TOOLS = (
    Tool(name="adhere-verdict", program="adhere", commands=_adhere("verdict"), fine=frozenset({0, 3})),
    Tool(name="adhere-inventory", program="adhere", commands=_adhere("inventory"), fine=frozenset({0, 3})),
    Tool(name="sslscan", program="sslscan", commands=_sslscan("--no-groups"), at_once=16),
    Tool(name="sslscan-groups", program="sslscan", commands=_sslscan(), at_once=16),
    Tool(name="nmap", program="nmap", commands=_nmap),
    Tool(name="sslyze", program="sslyze", commands=_sslyze),
)
