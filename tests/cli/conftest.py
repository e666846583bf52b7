"""The demo's listeners and its cluster for the tests of the command line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from scanner.demo.cluster import DemoCluster, demo_cluster
from scanner.demo.outcomes import Listener, demo_listeners
from tests.cli.calling import PATIENT, Call, Called, called
from tests.serving import serving


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


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Call:
    """Calls the command line in this process."""
    return Call(capsys)


@dataclass(frozen=True, slots=True)
class Place:
    """A cluster that is alive, the kubeconfig that leads there, and a scan of it that was kept."""

    cluster: DemoCluster
    kubeconfig: Path
    kept: Path
    answer: Called

    @property
    def document(self) -> dict[str, Any]:
        return self.answer.document


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    directory = tmp_path_factory.mktemp("cluster")
    with serving(demo_cluster) as cluster:
        kubeconfig = cluster.kubeconfig(directory / "kubeconfig")
        kept = directory / "kept"
        arguments = ("scan", "--cluster", "--kubeconfig", kubeconfig, "--save", kept, "--format", "json", *PATIENT)
        yield Place(cluster, kubeconfig, kept, called(*arguments))


@pytest.fixture
def two(place: Place, tmp_path: Path) -> tuple[Path, str]:
    """A kubeconfig with a context ``NAME/second`` beside ``NAME``, both for the same cluster; and ``NAME``."""
    config = yaml.safe_load(place.kubeconfig.read_text())
    first = config["contexts"][0]["name"]
    config["contexts"].append({**config["contexts"][0], "name": f"{first}/second"})
    path = tmp_path / "two"
    path.write_text(json.dumps(config))
    return path, first
