"""Each story by the product's own path: read from its directory, surveyed, with the endpoints that discovery finds."""

from __future__ import annotations

import shutil
from functools import cache
from tempfile import TemporaryDirectory

import pytest

from scanner.assessment import READS, Assessment, Viewpoint, assess
from scanner.cli.inputs import snapshots
from scanner.cli.shared_options import ClusterAsked
from scanner.expect import Expectations
from scanner.kube.maybe import Unknown
from scanner.model.endpoint import Endpoint
from scanner.model.expectation import Expectation
from scanner.values import replace
from tests.expect import stories

UNSAID = {"unreadable-apiserver", "unreadable-kinds", "unreadable-release"}
"""What could not be read stands in ``expected.yaml``: a directory of manifests cannot say it."""
STORIES = [name for name in stories.names() if name not in UNSAID]


@cache
def as_read(name: str) -> Assessment:
    """``adhere explain --snapshot`` of the story's objects alone."""
    with TemporaryDirectory() as directory:
        shutil.copy(stories.CLUSTERS / name / "cluster.yaml", directory)
        (snapshot,) = snapshots(ClusterAsked(snapshot=directory), READS)
    said = stories.expected(name)
    return assess(snapshot, Viewpoint(policy=stories.policy(said.get("policy", {})), **stories.wishes(said)))


@cache
def whole(name: str) -> Assessment:
    """The same, of a cluster that has nothing beside the story's objects."""
    read, told = as_read(name).snapshot, stories.load(name).snapshot
    said = stories.expected(name)
    complete = replace(read, unreadable={}, taken_at=told.taken_at, origin=told.origin)
    return assess(complete, Viewpoint(policy=stories.policy(said.get("policy", {})), **stories.wishes(said)))


@pytest.mark.parametrize("name", STORIES)
def test_the_distribution_is_found(name: str) -> None:
    wanted = stories.expected(name).get("distribution", "openshift")
    assert (as_read(name).facts.distribution, whole(name).facts.distribution) == (wanted, wanted)


@pytest.mark.parametrize("name", STORIES)
def test_the_storys_endpoints_owe_the_same_in_the_cluster_as_read(name: str) -> None:
    """By the distribution, catalogue and gaps that the product finds, not by those that the story's file says."""
    told, looked_at = stories.load(name), whole(name)
    said = stories.expected(name)
    expectations = Expectations(
        looked_at.snapshot,
        looked_at.catalogue,
        stories.policy(said.get("policy", {})),
        endpoints=told.endpoints.values(),
        **stories.wishes(said),
    )
    for key, endpoint in told.endpoints.items():
        assert summary(expectations.of(endpoint)) == summary(told.owed(key)), key


OWN_BACKENDS = {("routes-under-modern", "loop.apps.example"), ("routes-under-modern", "split.apps.example")}
"""Routes whose story is in the backends that its file writes down: what no discovery finds."""


def same(found: Endpoint, told: Endpoint) -> bool:
    """Whether discovery found what the story wrote down. A router without a pod is one by its name."""
    if found.server_name and found.subject and found.subject == told.subject:
        owner = found.owner.name in (told.owner.name, told.owner.name.removeprefix("router-"))
        return found.server_name == told.server_name and owner
    return found.owner == told.owner and found.port == told.port


def pairs(name: str) -> list[tuple[Endpoint, str]]:
    """Endpoints that discovery finds in a story's objects, each with its key in the story's file."""
    return [
        (found, key)
        for found in whole(name).discovery.endpoints
        for key, told in stories.load(name).endpoints.items()
        if same(found, told) and (name, found.server_name) not in OWN_BACKENDS
    ]


@pytest.mark.parametrize("name", STORIES)
def test_what_is_discovered_owes_what_the_story_says(name: str) -> None:
    for found, key in pairs(name):
        assert summary(whole(name).expectations.of(found))[:2] == summary(stories.load(name).owed(key))[:2], key


def test_discovery_finds_endpoints_of_the_stories() -> None:
    """Else the comparison would compare nothing."""
    found = [name for name in STORIES for _ in pairs(name)]
    assert {"kubeadm", "modern-strict", "routes-under-modern"} <= set(found)
    assert len(found) >= 10


def summary(owed: Expectation) -> tuple[object, ...]:
    profile = owed.profile.reason if isinstance(owed.profile, Unknown) else (owed.profile.name, owed.profile.suites)
    return profile, owed.binding, owed.standing, owed.adherence, owed.component
