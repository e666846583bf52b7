"""The objects of the demo's cluster are such as a real API server takes, by its own validation and the real schemas."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from scanner.demo.layout import BLOCKS, Layout, lay_out
from scanner.demo.objects import RESOURCES, objects
from scanner.kube import kinds
from scanner.kube.kinds import Kind
from tests.e2e import assets
from tests.e2e.control_plane import ControlPlane, control_plane
from tests.e2e.writing import Object, RefusedError, Writer

LEFT_OUT = {
    kinds.CLUSTER_SERVICE_VERSION,  # no definition of it is fetched
    kinds.CUSTOM_RESOURCE_DEFINITION, kinds.API_SERVICE,  # the cluster's own are there
}  # fmt: skip
ONLY_TRIED = {kinds.VALIDATING_WEBHOOK, kinds.MUTATING_WEBHOOK}
"""They would be called for whatever is created after them."""

TIME = "2026-01-01T00:00:00Z"
LEFT_UNSAID: dict[str, Object] = {
    "conditions": {"lastTransitionTime": TIME, "message": "", "reason": "AsExpected"},
    "ownerReferences": {"uid": "00000000-0000-4000-8000-000000000000"},
    "history": {"startedTime": TIME, "completionTime": TIME},
}
"""In lists of these names: what every item must have, and the demo leaves out where nobody reads it."""
CLUSTER_VERSION: Object = {"availableUpdates": None, "observedGeneration": 1, "versionHash": "demo"}
"""The like, of the status of a ClusterVersion."""


@pytest.fixture(scope="module")
def layout() -> Layout:
    return lay_out(BLOCKS[0], datetime.now(UTC))


@pytest.fixture(scope="module")
def empty(
    plane: ControlPlane, definitions: list[Object], layout: Layout, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Writer]:
    """A control plane of its own: the demo's cluster has the same names as the one of the other tests."""
    directory = tmp_path_factory.mktemp("demo-objects")
    with control_plane(assets.programs(), directory, service_network=layout.addresses.service_network) as running:
        writer = Writer(running.admin)
        writer.define(definitions)
        yield writer


def test_a_real_api_server_takes_them(empty: Writer, layout: Layout) -> None:
    taken, refused = 0, {}
    for kind, item in in_order(layout):
        try:
            empty.create(item, dry_run=kind in ONLY_TRIED)
            taken += 1
        except RefusedError as error:
            if not explained(error):
                refused[f"{kind.name}/{item['metadata'].get('namespace', '')}/{item['metadata']['name']}"] = str(error)
    assert refused == {}
    assert taken > 100


def in_order(layout: Layout) -> Iterator[tuple[Kind, Object]]:
    """Every namespace that is named anywhere, then the objects."""
    found = {kind: list(several) for kind, several in objects(layout).items() if kind not in LEFT_OUT}
    metadata = [each["metadata"] for several in found.values() for each in several]
    for name in sorted({each["namespace"] for each in metadata if "namespace" in each}):
        yield kinds.NAMESPACE, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    for resource in RESOURCES:
        for each in found.get(resource.kind, ()):
            item = resource.with_type(resource.versions[0], each)
            if resource.kind == kinds.CLUSTER_VERSION:
                item["status"] = CLUSTER_VERSION | item["status"]
            yield resource.kind, filled(item)


def filled(value: Any) -> Any:  # noqa: ANN401 - JSON
    """``value`` with what is ``LEFT_UNSAID``."""
    if isinstance(value, list):
        return [filled(each) for each in value]
    if not isinstance(value, dict):
        return value
    found = {key: filled(each) for key, each in value.items()}
    for key in LEFT_UNSAID.keys() & found.keys():
        if isinstance(found[key], list):  # an endpoint has ``conditions`` that are no list
            found[key] = [LEFT_UNSAID[key] | each for each in found[key]]
    return found


def explained(error: RefusedError) -> bool:
    """Whether it is there already, as it is in every cluster, or names loopback addresses, where all the demo is."""
    status = error.response.json()
    if status["reason"] == "AlreadyExists":
        return True
    if "provided IP is already allocated" in status["message"]:
        return True  # the first of the service network: the API server made that Service before us
    causes = status.get("details", {}).get("causes", [])
    return bool(causes) and all("may not be in the loopback range" in each["message"] for each in causes)
