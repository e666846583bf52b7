"""``whatif --pki``: what another PKI object would ask of the keys that are there, and of those to come."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from scanner.cluster import save
from scanner.kube.kinds import CONFIG_MAP
from scanner.kube.objects import KubeObject
from tests.certs import Authority
from tests.cli.calling import Call, assert_refused
from tests.cli.test_shared_options import day, snapshot

pytestmark = pytest.mark.crypto


@cache
def unrenewed() -> Authority:
    """A signer that nothing renews."""
    return Authority("openshift-kube-apiserver-operator_loadbalancer-serving-signer@1", key="rsa2048", now=day(5))


def asked(directory: Path, size: int) -> Path:
    key = {"algorithm": "RSA", "rsa": {"keySize": size}}
    path = directory / f"{size}.yaml"
    path.write_text(
        yaml.safe_dump({"kind": "PKI", "metadata": {"name": "cluster"}, "spec": {"defaults": {"key": key}}})
    )
    return path


def scanned(call: Call, directory: Path, size: int, *, forever: bool) -> Path:
    """A saved scan of a cluster with RSA keys of ``size`` configured before its signer was made."""
    found = snapshot(100, size=size, since=1)
    metadata = {"name": "loadbalancer-serving-ca", "namespace": "openshift-kube-apiserver-operator"}
    bundle = {"kind": "ConfigMap", "metadata": metadata, "data": {"ca-bundle.crt": unrenewed().pem.decode()}}
    more = (KubeObject(bundle, CONFIG_MAP),) if forever else ()
    objects = {**found.objects, CONFIG_MAP: (*found.objects[CONFIG_MAP], *more)}
    save(type(found)(taken_at=found.taken_at, origin=found.origin, objects=objects), directory / "cluster")
    call("scan", "--snapshot", directory / "cluster", "--save", directory / "kept", "--format", "json")
    return directory / "kept"


def told(call: Call, kept: Path, pki: Path) -> tuple[int, dict[str, Any]]:
    answer = call("whatif", kept, "--pki", pki, "--format", "json")
    findings = json.loads(answer.out)["findings"]
    keys = {name: [each for each in some if each["rule"] == "pki-key"] for name, some in findings.items()}
    return answer.code, keys


def test_what_operators_renew_would_wait_and_break_nothing(call: Call, tmp_path: Path) -> None:
    code, keys = told(call, scanned(call, tmp_path, 2048, forever=False), asked(tmp_path, 4096))
    assert (code, keys) == (0, {"failing": [], "undecided": [], "mended": []})


def test_what_nothing_renews_would_newly_fail(call: Call, tmp_path: Path) -> None:
    code, keys = told(call, scanned(call, tmp_path, 2048, forever=True), asked(tmp_path, 4096))
    (finding,) = keys["failing"]
    assert (code, finding["status"]) == (1, "needs-forced-rotation")
    assert finding["evidence"][-1] == "when it was issued, RSA 2048 was required (the snapshot of 2026-04-11)"


def test_what_would_wait_and_what_nothing_renews_is_counted_with_its_dates(call: Call, tmp_path: Path) -> None:
    kept, configured = scanned(call, tmp_path, 2048, forever=True), asked(tmp_path, 4096)
    counted = json.loads(call("whatif", kept, "--pki", configured, "--format", "json").out)["certificates"]
    assert (counted["pending"], counted["forced"]) == (1, 1)
    (forced, pending) = counted["rows"]
    assert forced["names"] == ["kube-apiserver-lb-signer"]
    assert (forced["status"], forced["by"]) == ("needs-forced-rotation", None)
    assert counted["first"] == counted["last"] == pending["by"]
    lines = call("whatif", kept, "--pki", configured).out.splitlines()
    (said,) = [line for line in lines if line.startswith("  pending")]
    assert f"1 certificate to be renewed by operators, the first by {pending['by'][:10]}" in said
    (said,) = [line for line in lines if line.startswith("  forced")]
    assert f"kube-apiserver-lb-signer (expires {forced['not_after'][:10]})" in said
    same = json.loads(call("whatif", kept, "--pki", asked(tmp_path, 2048), "--format", "json").out)["certificates"]
    assert (same["pending"], same["forced"], same["rows"]) == (0, 0, [])
    without = json.loads(call("whatif", kept, "--format", "json").out)
    assert without["certificates"] is None


def test_a_violation_would_be_mended_by_asking_for_less(call: Call, tmp_path: Path) -> None:
    _, keys = told(call, scanned(call, tmp_path, 4096, forever=False), asked(tmp_path, 2048))
    assert (len(keys["mended"]), keys["failing"]) == (1, [])  # that RSA 2048 is short is another rule's business


@pytest.mark.parametrize(("text", "complaint"), [("kind: Pod\n", "no PKI object in this file"), ("[", "yaml:2:1:")])
def test_a_file_that_is_none_is_refused(call: Call, tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / "pki.yaml"
    path.write_text(text)
    assert_refused(call("whatif", scanned(call, tmp_path, 2048, forever=False), "--pki", path), complaint)
