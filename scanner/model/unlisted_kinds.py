"""Kinds that no API lists: configuration of a node, which only a saved snapshot can hold beside the API's objects.

A snapshot that has them is judged by them; where they are missing, what depends on them says so.
"""

from __future__ import annotations

from dataclasses import replace

from scanner.kube.kinds import Kind
from scanner.kube.rbac import ACCESS_REVIEW
from scanner.kube.snapshot import Snapshot

INSTALL_CONFIG = Kind(group="", plural="", name="InstallConfig", namespaced=False)
"""The file that openshift-install reads; it has no kind of its own."""
MICROSHIFT_CONFIG = Kind(group="microshift", plural="config", name="MicroShiftConfig", namespaced=False)
"""What ``/etc/microshift/config.yaml`` says, below ``kind: MicroShiftConfig``: ``microshift show-config`` prints it."""

KUBELET_CONFIGZ = Kind(group="kubelet", plural="configz", name="KubeletConfigz", namespaced=False, opt_in="configz")
"""What ``/api/v1/nodes/NODE/proxy/configz`` answers, ``{"kubeletconfig": {...}}``, with the node's name as
``metadata.name``."""

LOCAL_KINDS: tuple[Kind, ...] = (MICROSHIFT_CONFIG, KUBELET_CONFIGZ, ACCESS_REVIEW)


def named_file(document: dict[str, object]) -> dict[str, object]:
    """A node's file as an object: it has a name, whether the file says one or not, and whatever its version is."""
    metadata = document.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    return {**document, "metadata": {"name": "config", **metadata}}


def with_local_files(snapshot: Snapshot) -> Snapshot:
    """A replayed snapshot with those that it has; where it has none, nothing is missing that the API could show."""
    missing = {kind for kind in LOCAL_KINDS if not snapshot.objects.get(kind)}
    return replace(
        snapshot,
        objects={kind: every for kind, every in snapshot.objects.items() if kind not in missing},
        unreadable={kind: gap for kind, gap in snapshot.unreadable.items() if kind not in missing},
    )
