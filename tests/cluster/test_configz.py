"""The kubelets' configurations, read through the API server, and the kept fields."""

from __future__ import annotations

import json

import pytest

from scanner.cluster import load, read, save
from scanner.kube.kinds import KUBELET_CONFIGZ, LOCAL_KINDS, NODE
from scanner.kube.snapshot import with_local_files
from tests.cluster.api import LIMITS, Answer, Api, Asked, named, running

pytestmark = pytest.mark.crypto

TOLD = {"tlsMinVersion": "VersionTLS13", "tlsCipherSuites": ["TLS_AES_128_GCM_SHA256"], "staticPodURL": "http://x"}


def api_with_nodes() -> Api:
    api = Api()
    api.add(NODE, named("good"), named("gone"))

    def answer(asked: Asked) -> Answer | None:
        if asked.path == "/api/v1/nodes/good/proxy/configz":
            return Answer(200, json.dumps({"kubeletconfig": TOLD}).encode())
        if asked.path == "/api/v1/nodes/gone/proxy/configz":
            return Answer(404, b"{}")
        return None

    api.script = answer
    return api


async def test_it_is_asked_for_only_with_permission() -> None:
    api = api_with_nodes()
    async with running(api):
        found = await read(api.access, [NODE], limits=LIMITS)
    assert KUBELET_CONFIGZ not in found.objects
    assert not [each for each in api.asked if "configz" in each.path]


async def test_what_matters_of_it_is_kept_and_who_did_not_answer_is_said() -> None:
    api = api_with_nodes()
    async with running(api):
        found = await read(api.access, [NODE], permitted=["configz"], limits=LIMITS)
    (good,) = found.every(KUBELET_CONFIGZ)
    assert good.name == "good"
    assert set(good.fields("kubeletconfig").raw) == {"tlsMinVersion", "tlsCipherSuites"}
    assert "gone" in (found.gap(KUBELET_CONFIGZ) or "")


async def test_it_is_kept_with_a_snapshot_and_missed_in_none(tmp_path: object) -> None:
    api = api_with_nodes()
    async with running(api):
        with_it = await read(api.access, [NODE], permitted=["configz"], limits=LIMITS)
        without = await read(api.access, [NODE], limits=LIMITS)
    for name, found, kept in (("a", with_it, 1), ("b", without, 0)):
        save(found, f"{tmp_path}/{name}")
        again = with_local_files(load(f"{tmp_path}/{name}", (NODE, *LOCAL_KINDS)))
        assert len(again.objects.get(KUBELET_CONFIGZ, ())) == kept
        assert set(again.unreadable) <= {KUBELET_CONFIGZ}
