"""What gets installed: data files travel with a wheel, also with one made from the sdist, and are live if editable."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import venv
from pathlib import Path

import pytest

from tests.servers import tls_listener
from tests.serving import serving
from tests.shared import Shared

ROOT = Path(__file__).parent.parent
pytestmark = pytest.mark.slow


def run(*command: str | Path, cwd: Path) -> str:
    """Run and return standard output; a failure shows everything that was printed."""
    done = subprocess.run([str(part) for part in command], cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def build(kind: str, source: Path, into: Path) -> Path:
    """Build ``sdist`` or ``wheel`` of ``source``, without a network."""
    run(sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", into, cwd=source)
    (built,) = into.glob("*.whl" if kind == "wheel" else "*.tar.gz")
    return built


def install(what: str | Path, into: Path, *options: str) -> Path:
    """Install into a new environment that borrows this one's dependencies; returns its bin directory."""
    venv.create(into, with_pip=False)
    site = into / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    (site / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    pip: list[str | Path] = [sys.executable, "-m", "pip", "--python", into / "bin" / "python", "install", "--quiet"]
    run(*pip, "--no-deps", "--no-index", "--no-build-isolation", "--ignore-installed", *options, what, cwd=into)
    return into / "bin"


def where(binaries: Path, elsewhere: Path) -> str:
    """The directory from which the installed package reads its profiles."""
    return run(
        binaries / "python", "-c", "from scanner.data import data; print(data('profiles'))", cwd=elsewhere
    ).strip()


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """An empty working directory, so that nothing is found by accident."""
    empty = tmp_path / "elsewhere"
    empty.mkdir()
    return empty


def works(binaries: Path, elsewhere: Path) -> None:
    assert "openshift/4.23/intermediate" in run(binaries / "adhere", "profiles", cwd=elsewhere)
    assert run(binaries / "adhere", "--version", cwd=elsewhere).startswith("adhere ")
    assert "## How to fix" in run(binaries / "adhere", "rules", "show", "tls-version", cwd=elsewhere)


@pytest.fixture
def wheel(shared: Shared) -> Path:
    (built,) = shared.once("wheel", lambda directory: build("wheel", ROOT, directory)).glob("*.whl")
    return built


def test_wheel(wheel: Path, tmp_path: Path, elsewhere: Path) -> None:
    binaries = install(wheel, tmp_path / "env")
    works(binaries, elsewhere)
    (packaged,) = (tmp_path / "env").glob("lib/*/site-packages/scanner/_data/profiles")
    assert where(binaries, elsewhere) == str(packaged)


@pytest.mark.slow
def test_pip_installs_the_wheel_and_what_it_needs(
    wheel: Path, tmp_path: Path, elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a user does: in an empty environment, with dependencies from the package registry. The program judges a
    listener."""
    monkeypatch.delenv("PYTHONPATH", raising=False)
    venv.create(tmp_path / "env", with_pip=True)
    binaries = tmp_path / "env" / "bin"
    pip = [str(binaries / "pip"), "install", "--quiet", "--disable-pip-version-check", str(wheel)]
    done = subprocess.run(pip, cwd=elsewhere, capture_output=True, text=True, check=False)
    if done.returncode and not os.environ.get("CI") and re.search(r"Retrying|[Cc]onnection|[Pp]roxy", done.stderr):
        pytest.skip(f"the package registry cannot be reached: {done.stderr.strip().splitlines()[-1]}")
    assert done.returncode == 0, done.stderr
    works(binaries, elsewhere)
    with serving(tls_listener) as listener:
        target = f"{listener.address}:{listener.port}"
        report = json.loads(run(binaries / "adhere", "scan", target, "--format", "json", cwd=elsewhere))
    assert [row["verdict"] for row in report["endpoints"]] == ["pass"]
    assert report["summary"]["connections"] == listener.connections


def test_sdist_to_wheel(tmp_path: Path, elsewhere: Path) -> None:
    with tarfile.open(build("sdist", ROOT, tmp_path / "sdist")) as archive:
        archive.extractall(tmp_path / "unpacked", filter="data")
    (unpacked,) = (tmp_path / "unpacked").iterdir()
    binaries = install(build("wheel", unpacked, tmp_path / "dist"), tmp_path / "env")
    works(binaries, elsewhere)
    assert (next((tmp_path / "env").glob("lib/*/site-packages/scanner/_data/templates")) / "report.html.j2").is_file()


def test_editable_reads_the_live_files(tmp_path: Path, elsewhere: Path) -> None:
    binaries = install(ROOT, tmp_path / "env", "--editable")
    works(binaries, elsewhere)
    assert where(binaries, elsewhere) == str(ROOT / "profiles")
