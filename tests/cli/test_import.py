"""``adhere import tls-scanner``: its results become a saved scan, and nothing passes by silence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from scanner.model.saved_scan import ROWS
from scanner.report.stream import read_rows
from tests.cli.calling import Call
from tests.cli.conftest import Farm


def port(number: int, **members: object) -> dict[str, Any]:
    return {"port": number, "protocol": "tcp", "state": "open", "status": "OK", **members}


def document(*ports: dict[str, Any]) -> dict[str, Any]:
    """As tls-scanner writes it (its releases of 2026)."""
    host = {"ip": "10.128.0.7", "pod": {"Name": "dns-0", "Namespace": "openshift-dns"}, "port_results": list(ports)}
    return {"timestamp": "2026-06-01T10:00:00Z", "total_ips": 1, "scanned_ips": 1, "ip_results": [host]}


OLD = port(
    9154,
    tls_versions=["TLSv1.0", "TLSv1.2", "TLSv1.3"],
    tls_ciphers=["AES128-SHA", "ECDHE-RSA-AES128-GCM-SHA256", "TLS_AES_128_GCM_SHA256"],
    tls_key_exchange={"groups": ["x25519"], "forward_secrecy": {"supported": True, "kems": ["No", "X25519MLKEM768"]}},
)


def saved(call: Call, tmp_path: Path, what: object, *options: object) -> tuple[int, str, str]:
    results = tmp_path / "results.json"
    results.write_text(json.dumps(what))
    answer = call("import", "tls-scanner", results, tmp_path / "saved", *options)
    return answer.code, answer.out, answer.err


def test_what_is_listed_is_judged_and_the_rest_is_inconclusive(call: Call, tmp_path: Path) -> None:
    modern = port(8443, tls_versions=["TLSv1.3"], tls_ciphers=["TLS_AES_128_GCM_SHA256"])
    none = port(9999, status="NO_TLS", reason="Port open but no TLS detected")
    local = port(1, status="LOCALHOST_ONLY")
    code, out, err = saved(call, tmp_path, document(OLD, modern, none, local))
    assert (code, out) == (0, f"exit 0: 3 ports saved in {tmp_path / 'saved'}; 2 inconclusive\n")
    assert "1 name of no version, suite or group left out: No" in err
    rows = {row["id"]: row for row in read_rows(tmp_path / "saved" / ROWS)}
    assert {name: row["verdict"] for name, row in rows.items()} == {
        "tls://10.128.0.7:9154": "fail",
        "tls://10.128.0.7:8443": "inconclusive",
        "tls://10.128.0.7:9999": "inconclusive",
    }
    (version,) = [each for each in rows["tls://10.128.0.7:9154"]["findings"] if each["rule"] == "tls-version"]
    assert [text.split(" ")[0] for text in version["observed"]] == ["TLSv1"]
    assert rows["tls://10.128.0.7:9154"]["observed"]["groups"] == ["x25519", "X25519MLKEM768"]
    assert "NO_TLS" in rows["tls://10.128.0.7:9999"]["findings"][0]["message"]
    passed = {each["rule"] for row in rows.values() for each in row["findings"] if each["verdict"] == "pass"}
    assert passed == {"tls-reach"}  # shown by what is accepted


def test_it_is_judged_again_and_compared_with_the_next(call: Call, tmp_path: Path) -> None:
    saved(call, tmp_path, document(OLD), "--profile", "old")
    again = call("whatif", tmp_path / "saved", "--profile", "modern")
    assert again.code == 1
    assert "tls-version" in again.out
    mended = {**OLD, "tls_versions": ["TLSv1.3"], "tls_ciphers": ["TLS_AES_128_GCM_SHA256"]}
    (tmp_path / "new").mkdir()
    saved(call, tmp_path / "new", document(mended), "--profile", "modern")
    saved(call, tmp_path, document(OLD), "--profile", "modern")
    compared = call("diff", tmp_path / "saved", tmp_path / "new/saved")
    assert compared.code == 0
    assert "tls-version" in compared.out


def test_what_adhere_writes_for_tls_scanner_is_read(call: Call, farm: Farm, tmp_path: Path) -> None:
    call("scan", farm["tls10"].target, "--compat", f"tls-scanner={tmp_path}")
    assert call("import", "tls-scanner", tmp_path / "results.json", tmp_path / "saved").code == 0
    (row,) = read_rows(tmp_path / "saved" / ROWS)
    assert row["verdict"] == "fail"


@pytest.mark.parametrize(
    ("what", "complaint"),
    [
        ([], "no JSON object"),
        ({}, "timestamp"),
        ({"timestamp": "2026-06-01T10:00:00Z"}, "no port"),
        ({**document(OLD), "ip_results": [{"ip": "a", "port_results": [OLD]}]}, "ip_results[0].ip"),
        (document(port(70000)), "1 to 65535"),
        (document({**OLD, "port": True}), "1 to 65535"),
        (document({**OLD, "tls_versions": "TLSv1.2", "tls_ciphers": {}, "tls_key_exchange": []}), ""),
        (document({**OLD, "tls_versions": ["\x1b[31m"] * 3, "status": ["OK"]}), ""),
    ],
)
def test_a_damaged_or_hostile_file(call: Call, tmp_path: Path, what: object, complaint: str) -> None:
    code, out, err = saved(call, tmp_path, what)
    if complaint:
        assert code == 2
        assert complaint in err
    else:
        assert code == 0
        (row,) = read_rows(tmp_path / "saved" / ROWS)
        assert row["verdict"] == "inconclusive"
    assert "\x1b" not in out + err


def test_what_tls_scanner_lost_makes_it_incomplete(call: Call, tmp_path: Path) -> None:
    modern = port(8443, tls_versions=["TLSv1.3"])
    for lost in (
        {"scan_errors": [{"ip": "10.0.0.1", "port": 443, "error_type": "timeout"}]},
        {"total_ips": 2},
        {"ip_results": [{"ip": "10.0.0.2", "status": "error"}, *document(OLD)["ip_results"]]},
    ):
        code, _, err = saved(call, tmp_path, {**document(OLD, modern), **lost})
        assert code == 0
        assert "adhere: not complete: tls-scanner did not scan 1 host or port" in err
        assert call("baseline", tmp_path / "saved", "-").code == 2


def test_one_port_that_fails_and_has_open_questions_is_not_complete(call: Call, tmp_path: Path) -> None:
    saved(call, tmp_path, document(OLD))
    refused = call("baseline", tmp_path / "saved", "-")
    assert (refused.code, refused.out) == (2, "")


def test_a_time_that_cannot_be_utc_is_refused(call: Call, tmp_path: Path) -> None:
    code, _, err = saved(call, tmp_path, {**document(OLD), "timestamp": "9999-12-31T23:59:59-14:00"})
    assert code == 2
    assert "timestamp" in err


def test_its_option_can_be_set_in_the_environment(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADHERE_IMPORT_TLS_SCANNER_PROFILE", "gone")
    code, _, err = saved(call, tmp_path, document(OLD))
    assert code == 2
    assert "gone" in err
