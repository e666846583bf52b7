"""Owners of pods."""

from __future__ import annotations

from typing import Any

import pytest

from scanner.discover.workloads import Owners
from scanner.kube.kinds import POD
from scanner.kube.pod import Pod


@pytest.mark.parametrize(
    ("name", "metadata", "expected"),
    [
        ("a-7f-x", {"ownerReferences": [{"kind": "ReplicaSet", "name": "a-7f"}], "labels": {"pod-template-hash": "7f"}},
         "Deployment/a"),
        ("a-7f-x", {"ownerReferences": [{"kind": "ReplicaSet", "name": "a-7f"}]}, "ReplicaSet/a-7f"),
        ("a-x", {"ownerReferences": [{"kind": "ReplicaSet", "name": "a"}], "labels": {"pod-template-hash": "7f"}},
         "ReplicaSet/a"),
        ("a-7f-x", {"ownerReferences": [{"kind": "ReplicaSet", "name": "a-7f"}],
                    "labels": {"rollouts-pod-template-hash": "7f"}}, "Rollout/a"),
        ("a-0", {"ownerReferences": [{"kind": "StatefulSet", "name": "a"}]}, "StatefulSet/a"),
        ("a-x", {"ownerReferences": [{"kind": "DaemonSet", "name": "a"}]}, "DaemonSet/a"),
        ("a-29000000-x", {"ownerReferences": [{"kind": "Job", "name": "a-29000000"}]}, "CronJob/a"),
        ("a-x", {"ownerReferences": [{"kind": "Job", "name": "a"}]}, "Job/a"),
        ("a-3-x", {"ownerReferences": [{"kind": "ReplicationController", "name": "a-3"}],
                   "annotations": {"openshift.io/deployment-config.name": "a"}}, "DeploymentConfig/a"),
        ("a-3-x", {"ownerReferences": [{"kind": "ReplicationController", "name": "a-3"}]},
         "ReplicationController/a-3"),
        ("etcd-n0", {"ownerReferences": [{"kind": "Node", "name": "n0"}],
                     "annotations": {"kubernetes.io/config.mirror": "x"}}, "StaticPod/etcd"),
        ("bare", {}, "Pod/bare"),
        ("a", {"ownerReferences": [{"kind": "X", "name": "other"}, {"kind": "Y", "name": "real", "controller": True}]},
         "Y/real"),
        ("a", {"ownerReferences": [{"kind": "Bad\nKind", "name": "x"}]}, "Pod/a"),
        ("a", {"ownerReferences": [{"kind": "X", "name": "n" * 300}]}, "Pod/a"),
        ("a", {"ownerReferences": "nonsense"}, "Pod/a"),
    ],
)  # fmt: skip
def test_owner(name: str, metadata: dict[str, Any], expected: str) -> None:
    owner = Owners().of(Pod({"metadata": {"name": name, "namespace": "s"} | metadata}, POD), "n0")
    assert f"{owner.kind}/{owner.name}" == expected
    assert owner.namespace == "s"
