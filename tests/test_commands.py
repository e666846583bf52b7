"""The commands in README and docs are run, in this process and against the demo's cluster; the others are listed."""

from __future__ import annotations

import io
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import chdir
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import click
import pytest
import yaml

from scanner.cli import adhere
from scanner.model.report import EXIT_INTERNAL, EXIT_USAGE
from tests.cli.calling import Call, context
from tests.shared import LiveDemo, Shared

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PROGRAM = re.compile(r"(?:adhere|jq|kustomize|helm|docker|kubectl|oc|cd|make|git|pip|uv) |\.venv/bin/")
NOT_RUN = {
    r"make |\.venv/bin/python -m benchmarks": "sets up a development environment, or takes minutes",
    r"docker ": "needs Docker",
    r"adhere serve ": "runs until it is stopped: tests/serve/test_exporter.py runs it",
    r"kubectl |cd deploy/kustomize": "changes a real cluster, or files of the checkout",
    r"(\.venv/bin/)?adhere demo --stay": "ends with Ctrl-C: tests/cli/test_demo.py runs it",
}
"""Commands, as regular expressions at their beginning, and the reason why they are only parsed."""
UNSCOPED = {"jq.md"}
"""Pages that scan the complete cluster of the demo, with an endpoint that cannot be judged."""
SLOW = {"ci.md", "formats.md", "index.md", "jq.md", "migrate-tls-scanner.md", "scan.md", "support.md"}
"""Pages whose commands take more than a second."""
SILENT = {"MLKEM"}
"""Parts of queries that find nothing in the demo."""
STAND_INS = {"kustomize": ("cat", "manifests/gateway.yaml"), "helm": ("cat", "manifests/gateway.yaml")}
"""Programs that print manifests."""
SCOPE = """
apiVersion: adhere/v1
kind: ScanPolicy
userWorkloads: enforced
scope:
  include: [{components: [metrics-server]}, {namespaces: [shop]}]
  acceptUnreadable: [networkpolicies.networking.k8s.io]
"""
"""Part of the demo's cluster that can be judged completely, as ``adhere baseline`` requires."""
TLS_SCANNER = """{"timestamp": "2026-06-01T10:00:00Z", "ip_results": [{"ip": "127.0.0.1", "port_results": [
{"port": 8443, "status": "OK", "tls_versions": ["TLSv1.2"], "tls_ciphers": ["ECDHE-RSA-AES128-GCM-SHA256"]}]}]}"""
MANIFESTS = """
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: web, namespace: shop}
spec:
  gatewayClassName: contour
  listeners:
  - {name: https, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: web-tls}]}}
  - {name: other, port: 444, protocol: HTTPS}
"""


class Command(NamedTuple):
    """A command line of a page."""

    page: Path
    line: str

    @property
    def unrun(self) -> str | None:
        """The pattern in ``NOT_RUN`` that it matches."""
        return next((each for each in NOT_RUN if re.match(each, self.line)), None)


def blocks(page: Path) -> Iterator[Command]:
    """The commands in code blocks: after ``$`` in a console, or indented. Three spaces end a command."""
    console, joined = False, ""
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.lstrip().startswith("```"):
            console = line.strip() == "```console"
        text = line.strip()
        if joined or (console and text.startswith("$ ")) or (line.startswith("    ") and PROGRAM.match(text)):
            joined += re.split(r"\s{3,}", text.removeprefix("$ "))[0]
            if joined.endswith("\\"):
                joined = joined[:-1]
                continue
            yield Command(page, joined)
            joined = ""


def inline(page: Path) -> Iterator[Command]:
    """The commands of adhere in the text of a page."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    yield from (Command(page, " ".join(each.split())) for each in re.findall(r"`(adhere [^`]+)`", text))


BLOCKS = [command for page in PAGES for command in blocks(page)]
TABLE = [each for each in inline(ROOT / "README.md") if re.search(r"[./:]| --", each.line.split(maxsplit=1)[1])]
"""The commands in the README's tables that have real arguments."""
RUN = {
    page: [each for each in commands if each.unrun is None]
    for page, commands in groupby(
        sorted([*BLOCKS, *TABLE], key=lambda each: PAGES.index(each.page)), lambda each: each.page
    )
}


def parsed(line: str) -> Iterator[tuple[click.Command, list[str]]]:
    """Each call of adhere in a command line: the command, and its words."""
    for part in re.split(r" (?:\||&&) ", line.replace("(", " ").replace(")", " ")):
        words = part.split()
        if words[0] == "docker" and "adhere" in words:  # the name of the image
            words = words[words.index("adhere") :]
        if words[0] != "adhere":
            continue
        words = words[1:]
        command: click.Command = adhere
        while isinstance(command, click.Group) and words and (found := command.get_command(context(), words[0])):
            command, words = found, words[1:]
        yield command, words


def exists(command: click.Command, words: list[str]) -> bool:
    """True if it is a command, with options that it has."""
    known = {name for option in command.params for name in (*option.opts, *option.secondary_opts)} | {"--help"}
    used = {word.partition("=")[0] for word in words if re.match(r"--\w", word)}
    return used <= known and (command is not adhere or not words or words[0].startswith("-") or words[0].isupper())


def test_every_option_exists() -> None:
    """Also in commands with placeholders, and in those that are not run."""
    lines = [each for page in PAGES for each in (*blocks(page), *inline(page))]
    assert [each for each in lines if not all(exists(*call) for call in parsed(each.line))] == []


def test_the_list_of_commands_that_are_not_run_is_short_and_used() -> None:
    assert set(NOT_RUN) == {each.unrun for each in (*BLOCKS, *TABLE)} - {None}


@pytest.fixture
def scanned(shared: Shared, demo: LiveDemo, call: Call, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with the files that the commands read, a kubeconfig of the demo's cluster, and the results that one
    page has from another."""

    def prepare(directory: Path) -> None:
        config = yaml.safe_load(demo.kubeconfig.read_text())
        config["contexts"][0]["name"] = config["current-context"] = "prod"
        (directory / "kubeconfig").write_text(yaml.safe_dump(config))
        (directory / "kubeconfig").chmod(0o600)
        shutil.copy(directory / "kubeconfig", directory / "admin.kubeconfig")
        (directory / "scope.yaml").write_text(SCOPE)
        (directory / "adhere.yaml").write_text(SCOPE)
        (directory / "targets.txt").write_text("127.0.0.1:1\n")
        (directory / "results.json").write_text(TLS_SCANNER)
        (directory / "policy.yaml").write_text("rules: [{namespace: openshift-e2e-loki, profile: exempt}]")
        (directory / "manifests").mkdir()
        (directory / "manifests/gateway.yaml").write_text(MANIFESTS)
        monkeypatch.setenv("KUBECONFIG", str(directory / "kubeconfig"))
        with chdir(directory):
            first = ["scan", "--cluster", "--save", "results", "--format", "json=report.json"]
            assert call(*_here(first)).code == 1
            assert call("snapshot", "save", "DIR").code == 0
            for name in ("yesterday.json", "today.json"):
                shutil.copy("report.json", name)
            assert call("baseline", "report.json", "adhere-baseline.json").code == 0
            shutil.copy("adhere-baseline.json", "known.json")
            for name in ("EARLIER", "must-gather"):
                shutil.copytree("DIR", name)

    directory = shared.once("commands", prepare)
    monkeypatch.setenv("KUBECONFIG", str(directory / "kubeconfig"))
    return directory


class Shell:
    """Runs the command lines of a page: calls of adhere in this process, pipes, and files for their output."""

    def __init__(self, call: Call, patch: pytest.MonkeyPatch, *, scope: bool) -> None:
        self._call, self._patch, self._scope = call, patch, scope

    def run(self, line: str) -> str:
        """Run it; returns the output. A code that means usage or a bug is a failure."""
        lexer = shlex.shlex(line, posix=True, punctuation_chars="|>")
        lexer.whitespace_split = True
        words, out = list(lexer), ""
        *_, target = words if ">" in words else (None,)
        if target is not None:
            words = words[: words.index(">")]
        for pipe, part in groupby(words, lambda word: word == "|"):
            if not pipe:
                out = self._part(list(part), out)
        if target is not None:
            Path(target).write_text(out)
        return out

    def _part(self, words: list[str], stdin: str) -> str:
        program, *arguments = words
        if program != "adhere":
            done = subprocess.run(
                STAND_INS.get(program, words),
                input=stdin,
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.stderr == ""
            assert program != "jq" or done.returncode in (0, 1), done.returncode
            return done.stdout
        self._patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        called = self._call(*_here(arguments, scope=self._scope))
        assert called.code not in (EXIT_USAGE, EXIT_INTERNAL), called.err
        return called.out


def _here(arguments: list[str], *, scope: bool = True) -> list[str]:
    """The arguments, for the demo's cluster on loopback, or a part of it, and for any day."""
    soon = (datetime.now(UTC) + timedelta(days=30)).date().isoformat()
    arguments = [soon if re.fullmatch(r"\d{4}-\d\d-\d\d", each) else each for each in arguments]
    arguments = ["manifests" if each.startswith("/etc/") else each for each in arguments]
    store = f"{'file://' if find_spec('fsspec') else ''}{Path.cwd()}"  # the extra may not be installed
    arguments = [each.replace("s3:/", store) for each in arguments]
    if arguments[0] == "scan":
        arguments += ["--timeout", "3", "--quiet"]
        if "--cluster" in arguments:
            arguments += ["--allow-loopback", *(("--policy", "scope.yaml") if scope else ())]
    return arguments


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=pytest.mark.slow if page.name in SLOW else (), id=str(page.relative_to(ROOT)))
        for page, commands in RUN.items()
        if commands
    ],
)
def test_every_command_runs(
    page: Path, scanned: Path, tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    if page.name == "jq.md" and shutil.which("jq") is None:
        pytest.skip("jq is not installed")
    here = shutil.copytree(scanned, tmp_path / "here")
    shell = Shell(call, monkeypatch, scope=page.name not in UNSCOPED)
    with chdir(here):
        for command in RUN[page]:
            out = shell.run(command.line)
            if command.line.startswith("jq"):
                assert bool(out) is not any(each in command.line for each in SILENT), command.line
