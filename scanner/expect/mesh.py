"""Meshes: where a sidecar or a node's proxy takes a pod's connections, the mesh answers, not the workload."""

from __future__ import annotations

from dataclasses import replace

from scanner.expect.draft import Draft
from scanner.expect.facts import Facts

COMPONENT = "mesh"
"""What discovery calls the component of such a listener."""


def resolve(_: Facts, draft: Draft) -> Draft:
    """The mesh has a configuration of its own, in which nothing asks for the cluster's profile."""
    if draft.endpoint.component != COMPONENT:
        return draft
    said = "the mesh's proxy answers, by a configuration of its own: nothing holds it to the cluster's profile"
    kept = replace(draft, binding="not-enforced", implementation="other", entry=None)
    return kept.says("the mesh", "", said)
