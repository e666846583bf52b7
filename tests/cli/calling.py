"""Call the command line, in this process or as a process of its own."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import pytest

from scanner.cli import adhere, run

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator

ROOT = Path(__file__).parents[2]
COMMAND = (sys.executable, "-m", "scanner")
PATIENCE = 600
"""Seconds after which a process of ours is stuck, also on a loaded machine."""
PATIENT = ("--timeout", "3", "--allow-loopback", "--quiet")
"""With which the demo's cluster is scanned."""
POLICY = "apiVersion: adhere/v1\nkind: ScanPolicy\n"
"""How every policy file begins."""


@dataclass(frozen=True, slots=True)
class Called:
    """What a command answered."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        """Standard output as a report, valid against the schema."""
        return valid(self.out)


def assert_refused(answer: Called, *complaints: str) -> None:
    """A usage error: nothing on standard output, and each of these on standard error."""
    assert (answer.code, answer.out) == (2, ""), answer.err
    for each in complaints:
        assert each in answer.err


class Call:
    """Calls ``adhere`` in this process: half a second less than a new one."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: object) -> Called:
        self._capsys.readouterr()
        code = run([str(argument) for argument in arguments])
        return Called(code, *self._capsys.readouterr())


def context() -> click.Context:
    """Of ``adhere`` itself, for contexts of its commands: click keeps the help options that the first one allows."""
    return click.Context(adhere, info_name="adhere", **adhere.context_settings)


def environment() -> dict[str, str]:
    """This process's, with the package to import wherever the child runs."""
    return {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "error", "PYTHONUNBUFFERED": "1"}


def program(directory: Path) -> Path:
    """``adhere`` of this tree, as a program in a directory."""
    directory.mkdir(exist_ok=True)
    path = directory / "adhere"
    path.write_text(f'#!/bin/sh\nPYTHONPATH={shlex.quote(str(ROOT))} exec {shlex.join(COMMAND)} "$@"\n')
    path.chmod(0o755)
    return path


def called(*arguments: object, cwd: Path | None = None, stdin: bytes = b"") -> Called:
    """Call ``adhere`` as its users do. A warning of Python's in it is an internal error."""
    ended = subprocess.run(
        [*COMMAND, *map(str, arguments)],
        input=stdin, capture_output=True, cwd=cwd, env=environment(), timeout=PATIENCE, check=False,
    )  # fmt: skip
    return Called(ended.returncode, ended.stdout.decode(), ended.stderr.decode())


def valid(text: str, schema: str = "scan-v1") -> dict[str, Any]:
    """A JSON report that is what its schema says."""
    document: dict[str, Any] = json.loads(text)
    assert [error.message for error in _validator(schema).iter_errors(document)] == []
    return document


@cache
def _validator(schema: str) -> Draft202012Validator:
    from jsonschema import Draft202012Validator  # its format checkers take seconds to import
    from referencing import Registry, Resource

    scan, own = (json.loads((ROOT / f"docs/schema/{name}.json").read_text()) for name in ("scan-v1", schema))
    registry: Registry[Any] = Registry().with_resource(scan["$id"], Resource.from_contents(scan))
    return Draft202012Validator(own, registry=registry, format_checker=Draft202012Validator.FORMAT_CHECKER)
