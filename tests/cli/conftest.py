"""The demo's listeners and its cluster for the tests of the command line."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import astuple, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from scanner.demo.outcomes import Listener, demo_listeners
from tests.cli.calling import PATIENT, Called, called, valid
from tests.serving import serving
from tests.shared import LiveDemo, Shared

FORMATS = ("junit", "sarif", "gitlab", "openreports", "csv")
"""In which the scan of the cluster is reported too."""


@dataclass(frozen=True, slots=True)
class Farm:
    """Listeners that are open now, and the CA that their clients trust."""

    listeners: dict[str, Listener]
    ca: Path

    def __getitem__(self, name: str) -> Listener:
        return self.listeners[name]

    def targets(self, *names: str) -> list[str]:
        """As on the command line."""
        return [self[name].target for name in names]


@pytest.fixture(scope="session")
def farm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Farm]:
    """The demo's listeners."""
    with serving(demo_listeners) as listeners:
        ca = tmp_path_factory.mktemp("farm") / "ca.pem"
        ca.write_bytes(x509.load_der_x509_certificate(listeners[0].anchor).public_bytes(Encoding.PEM))
        yield Farm({each.name: each for each in listeners}, ca)


@dataclass(frozen=True, slots=True)
class Place:
    """A cluster that is alive, and a scan of it that was kept. Tests copy what they change."""

    cluster: LiveDemo
    answer: Called
    directory: Path

    @property
    def kubeconfig(self) -> Path:
        return self.cluster.kubeconfig

    @property
    def kept(self) -> Path:
        return self.directory / "kept"

    @property
    def document(self) -> dict[str, Any]:
        """The report, which was valid against the schema when it was made."""
        return json.loads(self.answer.out)  # type: ignore[no-any-return]


def called_once(shared: Shared, name: str, command: Callable[[Path], Called]) -> tuple[Called, Path]:
    """The answer of a command that is called once for a run of the tests, in an empty directory; and the directory."""

    def call(directory: Path) -> None:
        (directory / "here").mkdir()
        (directory / "answer.json").write_text(json.dumps(astuple(command(directory / "here"))))

    directory = shared.once(name, call)
    return Called(*json.loads((directory / "answer.json").read_text())), directory / "here"


def scan_cluster(kubeconfig: Path, here: Path) -> Called:
    """Scan and save it, with a report in each format of ``FORMATS``."""
    formats = ("--format=json", *(f"--format={name}={name}" for name in FORMATS))
    answer = called("scan", "--cluster", "--kubeconfig", kubeconfig, "--save", "kept", *formats, *PATIENT, cwd=here)
    valid(answer.out)
    (here / "json").write_text(answer.out)
    return answer


@pytest.fixture(scope="session")
def scanned(shared: Shared, demo: LiveDemo) -> Place:
    return Place(demo, *called_once(shared, "scan", partial(scan_cluster, demo.kubeconfig)))


@pytest.fixture
def place(scanned: Place) -> Iterator[Place]:
    before = _files(scanned.directory)
    yield scanned
    assert _files(scanned.directory) == before, "this test changed files of all tests: copy them"


def _files(directory: Path) -> dict[Path, tuple[int, int]]:
    """Size and time of each file: permissions alone do not stop root."""
    return {path: (stat.st_size, stat.st_mtime_ns) for path in directory.rglob("*") for stat in [path.stat()]}


@pytest.fixture
def two(place: Place, tmp_path: Path) -> tuple[Path, str]:
    """A kubeconfig with a context ``NAME/second`` beside ``NAME``, both for the same cluster; and ``NAME``."""
    config = yaml.safe_load(place.kubeconfig.read_text())
    first = config["contexts"][0]["name"]
    config["contexts"].append({**config["contexts"][0], "name": f"{first}/second"})
    path = tmp_path / "two"
    path.write_text(json.dumps(config))
    return path, first
