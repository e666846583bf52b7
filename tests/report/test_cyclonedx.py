"""CycloneDX: valid by its own library, the same for the same observations, and without what is unknown."""

from __future__ import annotations

import json
from io import StringIO
from typing import Any

import pytest

from scanner.model.report import Report
from scanner.report.formats import cyclonedx
from scanner.values import replace
from tests.report import cluster_samples, samples

REPORTS = {"targets": samples.report(), "cluster": cluster_samples.report(), "nothing": samples.report([])}


def written(report: Report) -> str:
    out = StringIO()
    cyclonedx.write(report, out)
    return out.getvalue()


def valid(text: str) -> bool:
    from cyclonedx.schema import SchemaVersion  # imports jsonschema, which takes seconds
    from cyclonedx.validation.json import JsonStrictValidator

    return JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None


def assets(report: Report, kind: str) -> dict[str, dict[str, Any]]:
    found = json.loads(written(report))["components"]
    return {each["name"]: each for each in found if each["cryptoProperties"]["assetType"] == kind}


@pytest.mark.parametrize("report", REPORTS.values(), ids=REPORTS)
def test_it_is_valid_and_every_reference_is_unique(report: Report) -> None:
    text = written(report)
    assert valid(text)
    refs = [each["bom-ref"] for each in json.loads(text)["components"]]
    assert len(set(refs)) == len(refs)


def test_the_library_refuses_what_it_is_not() -> None:
    wrong = written(samples.report()).replace("cryptographic-asset", "cryptography")
    assert not valid(wrong)


def test_the_same_observations_give_the_same_document() -> None:
    first, second = samples.report(), replace(samples.report(), finished="2026-12-01T00:00:00Z")
    one, two = json.loads(written(first)), json.loads(written(second))
    assert one["metadata"].pop("timestamp") != two["metadata"].pop("timestamp")
    assert one == two
    fewer = samples.report([next(first.rows())])
    assert json.loads(written(fewer))["serialNumber"] != one["serialNumber"]


def test_every_protocol_has_its_suites_with_their_code_points() -> None:
    found = assets(samples.report(), "protocol")
    assert set(found) == {"TLSv1", "TLSv1.1", "TLSv1.2", "TLSv1.3"}
    suites = {each["name"]: each for each in found["TLSv1.3"]["cryptoProperties"]["protocolProperties"]["cipherSuites"]}
    assert suites["TLS_AES_128_GCM_SHA256"]["identifiers"] == ["0x13", "0x01"]
    seen = [row["observed"]["versions"] or {} for row in samples.report().rows()]
    accepted = {name for each in seen for name in (each.get("TLSv1.2") or {"suites": []})["suites"] or ()}
    listed = found["TLSv1.2"]["cryptoProperties"]["protocolProperties"]["cipherSuites"]
    assert {each["name"] for each in listed} == accepted


def test_groups_and_certificates() -> None:
    report = samples.report()
    groups = assets(report, "algorithm")
    assert groups["X25519MLKEM768"]["cryptoProperties"]["algorithmProperties"]["primitive"] == "combiner"
    assert groups["secp256r1"]["cryptoProperties"]["algorithmProperties"]["curve"] == "secp256r1"
    chains = {each["sha256"] for row in report.rows() for each in row["observed"]["chain"] or ()}
    found = json.loads(written(report))["components"]
    assert {each["bom-ref"] for each in found if each["bom-ref"].startswith("certificate/")} == {
        f"certificate/{digest}" for digest in chains
    }


def test_what_is_unknown_is_counted() -> None:
    document = json.loads(written(samples.report()))
    said = {each["name"]: each["value"] for each in document["metadata"]["properties"]}
    assert int(said["adhere:endpoints-not-determined"]) > 0
    assert said["adhere:complete"] == "false"
    (partial,) = [each for each in document["components"] if each["name"] == "TLSv1.2"]
    assert {"name": "adhere:suites-not-enumerated", "value": "1"} in partial["properties"]
