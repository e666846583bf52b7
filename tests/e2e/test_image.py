"""The steps of the Dockerfile, run in a directory of their own: no image can be built where the tests run."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path

import pytest

from tests.test_deploy import DOCKERFILE, ROOT, stages

pytestmark = pytest.mark.e2e
PLACES = {"/opt/adhere": "opt/adhere", "/src": "src", "/tmp/": "tmp/"}
"""Absolute paths of the Dockerfile, and where they are here."""


class Stage:
    """Runs the instructions of a build stage as Docker does: a variable holds from its line on, a copy must be sent to
    the builder."""

    def __init__(self, root: Path, name: str, environment: dict[str, str]) -> None:
        self.root = root
        self.work = root / "src" if (root / "src").is_dir() else root  # a stage begins where the one before it ended
        self.environment = environment
        joined = re.sub(r"\\\n", " ", re.sub(r"^#.*\n", "", stages()[name], flags=re.MULTILINE))
        for line in filter(None, map(str.strip, joined.splitlines())):
            instruction, _, rest = line.partition(" ")
            getattr(self, f"_{instruction.lower()}")(self._here(rest))

    def _here(self, text: str) -> str:
        return re.sub("|".join(PLACES), lambda found: f"{self.root}/{PLACES[found[0]]}", text)

    def _arg(self, rest: str) -> None:
        self._env(rest)

    def _env(self, rest: str) -> None:
        for name, value in re.findall(r"(\w+)=(\S+)", rest):
            self.environment[name] = os.path.expandvars(value.replace("$PATH", self.environment["PATH"]))

    def _workdir(self, rest: str) -> None:
        self.work = Path(rest)
        self.work.mkdir(parents=True, exist_ok=True)

    def _copy(self, rest: str) -> None:
        *sources, target = rest.split()
        allowed = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
        for source in sources:
            assert any(fnmatch(source, each) for each in allowed), f"{source} is not sent to the builder"
            if (ROOT / source).is_dir():
                ignored = shutil.ignore_patterns("__pycache__")
                shutil.copytree(ROOT / source, self.work / target, ignore=ignored, dirs_exist_ok=True)
            else:
                shutil.copy(ROOT / source, self.work / target)

    def _run(self, rest: str) -> None:
        done = subprocess.run(
            ["/bin/sh", "-euc", rest],
            cwd=self.work,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        assert done.returncode == 0, f"{rest}\n{done.stderr[-2000:]}"


def test_the_steps_of_the_image_make_a_program_that_scans(tmp_path: Path) -> None:
    assert "FROM python:${PYTHON} AS build" in DOCKERFILE
    for each in ("opt", "tmp", "home"):
        (tmp_path / each).mkdir()
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "base"], check=True)
    own = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "UV_", "SSL_"))}
    environment = {**own, "PATH": f"{tmp_path}/base/bin:/usr/bin:/bin", "HOME": f"{tmp_path}/home"}
    environment.pop("UV_PROJECT_ENVIRONMENT", None)
    Stage(tmp_path, "build", environment)
    program = tmp_path / "opt" / "adhere" / "bin" / "adhere"
    bare = {"PATH": "/usr/bin:/bin", "HOME": f"{tmp_path}/home", "TMPDIR": f"{tmp_path}/tmp"}

    def adhere(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [program, *words], cwd=tmp_path, env=bare, capture_output=True, text=True, timeout=60, check=False
        )

    assert adhere("rules", "show", "tls-version").returncode == 0  # pages of rules, templates and profiles are in it
    scanned = adhere("scan", "127.0.0.1:1", "--format", "html=report.html", "--format", "text")
    assert scanned.returncode == 3, scanned.stderr
    assert "port is closed" in scanned.stdout
    assert "<html" in (tmp_path / "report.html").read_text()
    assert adhere("scan", "127.0.0.1:1", "--deep").returncode == 2  # sslyze is in the other stage
    Stage(tmp_path, "build-sslyze", environment)
    assert adhere("scan", "127.0.0.1:1", "--deep", "--quiet").returncode == 3
