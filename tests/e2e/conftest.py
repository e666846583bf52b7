"""One control plane for all tests of the lane: an empty one, and with the definitions and objects of a cluster."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from scanner.demo.certificates import Authority
from tests.e2e import assets
from tests.e2e.control_plane import ControlPlane, control_plane
from tests.e2e.definitions import CURRENT
from tests.e2e.writing import CRD, Object, Writer, documents

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything below this directory is of the lane."""
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.e2e)


@pytest.fixture(scope="session")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A running control plane; skips, with the reason, where its programs are not at hand."""
    try:
        programs = assets.programs()
    except assets.Missing as missing:
        pytest.skip(str(missing))
    with control_plane(programs, tmp_path_factory.mktemp("control-plane")) as running:
        yield running


@pytest.fixture(scope="session")
def definitions() -> list[Object]:
    """The real CustomResourceDefinitions; skips, with the reason, where nobody fetched them."""
    return definitions_of(CURRENT)


def definitions_of(which: str) -> list[Object]:
    """One of the sets; skips likewise."""
    try:
        directory = assets.definitions(which)
    except assets.Missing as missing:
        pytest.skip(str(missing))
    found = [each for path in sorted(directory.iterdir()) for each in documents(path)]
    return [each for each in found if (each["apiVersion"], each["kind"]) == CRD]


@pytest.fixture(scope="session")
def writer(plane: ControlPlane) -> Writer:
    """Writes as the administrator."""
    return Writer(plane.admin)


@pytest.fixture(scope="session")
def cluster(plane: ControlPlane, writer: Writer, definitions: list[Object]) -> ControlPlane:
    """The control plane with the definitions, and the objects of ``cluster.yaml``."""
    writer.define(definitions)
    for each in cluster_objects(plane):
        writer.create(each)
    return plane


def cluster_objects(plane: ControlPlane) -> list[Object]:
    """What ``cluster.yaml`` says, of the servers that run."""
    web = Authority("Shop CA").leaf(names=("shop.example",))
    values = {
        "API_ADDRESS": plane.api.address,
        "API_PORT": str(plane.api.port),
        "ETCD_ADDRESS": plane.etcd.address,
        "ETCD_PORT": str(plane.etcd.port),
        "WEB_CERTIFICATE": json.dumps(web.pem.decode())[1:-1],
        "WEB_KEY": json.dumps(web.key_pem.decode())[1:-1],
    }
    return list(documents(HERE / "cluster.yaml", values))
