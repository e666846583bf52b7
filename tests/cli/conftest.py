"""The demo's listeners for the tests of the command line, open until the last of them has run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from scanner.demo.listeners import Listener, demo_listeners
from tests.cli.calling import Call
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
