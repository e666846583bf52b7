"""Meshes: where a sidecar or a node's proxy takes a pod's connections, the mesh may answer, not the workload.

A pod's annotation or a container's name is all that says so, and whoever writes the pod chooses both. So it is worth a
remark, and lifts nothing: who really answers is seen when it is asked.
"""

from __future__ import annotations

from scanner.expect.draft import Draft
from scanner.expect.facts import Facts

COMPONENT = "mesh"
"""What discovery calls the component of such a listener."""
_BOUND = "its pod says that it is in a service mesh: that lifts nothing from a part of the platform"
_MAY = "its pod is in a service mesh, whose proxy may answer here by a configuration of its own"


def resolve(_: Facts, draft: Draft) -> Draft:
    """What is owed stays; the reader is told who may be answering."""
    if draft.endpoint.component != COMPONENT:
        return draft
    return draft.remark(_BOUND if draft.standing == "platform" else _MAY)
