"""``deploy/ci/tls-scan.sh`` as a job runs it, on the demo's cluster through port-forwards."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
import yaml

from tests.cli.calling import PATIENCE, program
from tests.cli.conftest import Place

CI = Path(__file__).parents[2] / "deploy" / "ci"
FILES = {"results.json", "results.csv", "junit_tls_scan.xml", "scan.log", "report.html", "adhere.json"}


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str


def ran(tmp_path: Path, *arguments: str, **environment: str) -> Ran:
    """The script, with ``adhere`` from this tree on its PATH."""
    given = {
        "PATH": f"{program(tmp_path / 'bin').parent}:{os.environ['PATH']}",
        "ARTIFACT_DIR": str(tmp_path / "artifacts"),
        **environment,
    }
    script = subprocess.run(
        [str(CI / "tls-scan.sh"), *arguments], env=given, capture_output=True, text=True, check=False, timeout=PATIENCE
    )
    return Ran(script.returncode, script.stdout, script.stderr)


def test_the_artifacts_of_one_namespace_and_the_exit_code(place: Place, tmp_path: Path) -> None:
    answer = ran(
        tmp_path,
        "--allow-loopback",
        KUBECONFIG=str(place.kubeconfig),
        SCAN_NAMESPACE="openshift-etcd,openshift-monitoring",
    )
    artifacts = tmp_path / "artifacts"
    document = json.loads((artifacts / "tls-scanner" / "adhere.json").read_text())
    assert answer.code == document["exit"]["code"] == 1, answer.err
    assert {each.name for each in (artifacts / "tls-scanner").iterdir()} == FILES
    results = json.loads((artifacts / "tls-scanner" / "results.json").read_text())
    assert {each["pod"]["Namespace"] for each in results["ip_results"] if "pod" in each} == {
        "openshift-etcd",
        "openshift-monitoring",
    }
    suite = ET.parse(artifacts / "junit_tls_scan.xml").getroot()
    failed = [case.get("name", "") for case in suite if case.find("failure") is not None]
    assert any("ns/openshift-monitoring deployment/metrics-server port/10250" in name for name in failed)
    assert not any("should be PQC ready" in case.get("name", "") for case in suite)
    assert (artifacts / "tls-scanner" / "scan.log").read_text() == answer.out


@pytest.mark.slow
def test_ml_kem_and_a_profile_can_be_required(place: Place, tmp_path: Path) -> None:
    """With Old nothing of these components fails by its profile."""
    shared = tmp_path / "shared"
    shared.mkdir()
    shutil.copy(place.kubeconfig, shared / "nested_kubeconfig")
    environment = {"SHARED_DIR": str(shared), "TLS_SCANNER_CLUSTER_LABEL": "guest", "SCAN_LIMIT_IPS": "5"}
    answer = ran(
        tmp_path,
        "--allow-loopback",
        **environment,
        SCAN_NAMESPACE="openshift-monitoring",
        PQC_CHECK="true",
        TLS_PROFILE_TYPE="Old",
    )
    assert "SCAN_LIMIT_IPS=5 is not used" in answer.err
    suite = ET.parse(tmp_path / "artifacts" / "junit_tls_scan_guest.xml").getroot()
    results: dict[str, str] = {case.get("name", ""): next((each.tag for each in case), "pass") for case in suite}
    assert any("should be PQC ready" in name for name in results)
    profile = {result for name, result in results.items() if "should comply" in name}
    assert profile == {"pass"}
    document: dict[str, Any] = json.loads((tmp_path / "artifacts/tls-scanner/guest/adhere.json").read_text())
    assert {row["expected"]["profile"] for row in document["endpoints"]} == {"openshift/4.22/old"}


@pytest.mark.parametrize("name", ["TLS_SCANNER_CLUSTER_LABEL", "TLS_PROFILE_TYPE"])
def test_a_wrong_value_is_a_usage_error(tmp_path: Path, name: str) -> None:
    answer = ran(tmp_path, **{name: "modern "})
    assert answer.code == 2
    assert f"{name}=modern : write " in answer.err
    assert not (tmp_path / "artifacts").exists()


def test_the_step_has_the_variables_that_the_script_reads() -> None:
    step = yaml.safe_load((CI / "tls-scan-ref.yaml").read_text())["ref"]
    script = (CI / "tls-scan.sh").read_text()
    assert all(f"${{{each['name']}:-" in script for each in step["env"])
