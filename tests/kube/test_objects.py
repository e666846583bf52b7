"""Metadata that the API server writes, on objects with arbitrary contents."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from scanner.kube.kinds import POD
from scanner.kube.objects import KubeObject


def pod(**metadata: object) -> KubeObject:
    return KubeObject({"metadata": metadata}, POD)


def test_metadata() -> None:
    found = pod(uid="u", generation=3, creationTimestamp="2026-01-02T03:04:05Z", deletionTimestamp="now")
    assert (found.uid, found.generation, found.is_deleted) == ("u", 3, True)
    assert found.creation_timestamp == "2026-01-02T03:04:05Z"
    assert found.created == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def test_a_file_has_no_metadata_of_the_api_server() -> None:
    found = pod()
    assert (found.uid, found.generation, found.is_deleted) == ("", None, False)
    assert (found.creation_timestamp, found.created, found.owner_references) == ("", None, ())


def test_owners() -> None:
    made = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-1", "controller": True}
    found = pod(ownerReferences=["no owner", made, {"apiVersion": "v1", "kind": "Node"}]).owner_references
    assert [(each.group, each.kind, each.name, each.is_controller) for each in found] == [
        ("apps", "ReplicaSet", "web-1", True),
        ("", "Node", "", False),
    ]


def test_managers_own_fields() -> None:
    entry = {"time": "2026-01-02T03:04:05Z", "fieldsV1": {"f:spec": {"f:a": {}}, "f:metadata": {"f:labels": {}}}}
    (found,) = pod(managedFields=[entry, 3]).managed_fields
    assert found.time == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert found.subresource == ""
    assert found.owns("spec", "a")
    assert not found.owns("spec", "b")
    assert found.owned("metadata") == {"labels"}
    assert found.owned("spec") == {"a"}


_JSON = st.recursive(
    st.none() | st.integers() | st.text(max_size=3),
    lambda each: (
        st.lists(each, max_size=2)
        | st.dictionaries(
            st.sampled_from(["uid", "ownerReferences", "managedFields", "fieldsV1", "time", "f:spec"]), each
        )
    ),
    max_leaves=8,
)


@given(_JSON)
def test_no_metadata_can_fail(metadata: object) -> None:
    found = KubeObject({"metadata": metadata}, POD)
    assert isinstance(found.uid, str)
    assert found.created is None
    assert all(each.kind == "" for each in found.owner_references)
    assert all(isinstance(each.owns("spec"), bool) and each.owned() is not None for each in found.managed_fields)
