"""The benchmark reads each scanner's own report, and compares it with what the listeners are configured to do."""

from __future__ import annotations

import json
import socket
import ssl
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from benchmarks import truth
from benchmarks.farm import farm, listeners
from benchmarks.tools import TOOLS
from tests.zoo import golang
from tests.zoo.cases import GO, pki
from tests.zoo.truth import TLS12, TLS13

_SHA256 = "20aa0d26a42c71faf84ca5dc5db066a076a124fcf0503d841f9c87c1bd4ab4ad"
_RSA, _OLD_SUITE, _GCM = 0x002F, (0x0302, 0x002F), (TLS12, 0xC02F)


def _pem() -> str:
    return pki().certificate("rsa").read_text()


def _adhere(directory: Path) -> None:
    leaf = {"key": {"algorithm": "RSA", "size": 2048}, "sha256": _SHA256}
    versions = {
        "TLSv1": {"suites": []},
        "TLSv1.1": {"suites": ["TLS_RSA_WITH_AES_128_CBC_SHA"]},
        "TLSv1.2": {"suites": ["TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"]},
    }
    observed = {"versions": versions, "groups": ["x25519"], "chain": [leaf]}
    report = {"endpoints": [{"address": "127.0.0.1", "observed": observed}]}
    (directory / "adhere.json").write_text(json.dumps(report))


def _sslscan(directory: Path) -> None:
    (directory / "sslscan-127.0.0.1.xml").write_text(
        """<document><ssltest host="127.0.0.1">
        <protocol type="ssl" version="3" enabled="0"/><protocol type="tls" version="1.0" enabled="0"/>
        <protocol type="tls" version="1.1" enabled="1"/><protocol type="tls" version="1.2" enabled="1"/>
        <cipher sslversion="TLSv1.1" id="0x002F"/><cipher sslversion="TLSv1.2" id="0xC02F"/>
        <group sslversion="TLSv1.2" id="0x001d"/>
        <certificates><certificate><pk type="EC" curve_name="prime256v1" bits="128"/></certificate></certificates>
        </ssltest></document>"""
    )


def _nmap(directory: Path) -> None:
    table = '<table key="{}"><table key="ciphers"><table><elem key="name">{}</elem></table></table></table>'
    (directory / "nmap.xml").write_text(
        '<nmaprun><host><address addr="127.0.0.1"/><ports><port>'
        f'<script id="ssl-cert"><elem key="pem">{_pem()}</elem></script><script id="ssl-enum-ciphers">'
        + table.format("TLSv1.1", "TLS_RSA_WITH_AES_128_CBC_SHA")
        + table.format("TLSv1.3", "TLS_AKE_WITH_AES_128_GCM_SHA256")
        + "</script></port></ports></host></nmaprun>"
    )


def _sslyze(directory: Path) -> None:
    def version(name: str, *suites: str) -> dict[str, object]:
        accepted = [{"cipher_suite": {"name": suite}} for suite in suites]
        said = {"tls_version_used": name, "is_tls_version_supported": bool(suites), "accepted_cipher_suites": accepted}
        return {"result": said}

    scanned = {
        "ssl_3_0_cipher_suites": version("SSL_3_0"),
        "tls_1_1_cipher_suites": version("TLS_1_1", "TLS_RSA_WITH_AES_128_CBC_SHA"),
        "tls_1_2_cipher_suites": version("TLS_1_2", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"),
        "tls_1_3_cipher_suites": {"result": None},
        "elliptic_curves": {"result": {"supported_curves": [{"name": "prime256v1"}]}},
        "certificate_info": {
            "result": {"certificate_deployments": [{"received_certificate_chain": [{"as_pem": _pem()}]}]}
        },
    }
    server = {"server_location": {"ip_address": "127.0.0.1"}, "scan_result": scanned}
    (directory / "sslyze.json").write_text(json.dumps({"server_scan_results": [server]}))


def _tlsx(directory: Path) -> None:
    suites = [
        {"version": "tls11", "ciphers": {"weak": ["AES128-SHA", "TLS_RSA_WITH_AES_128_CBC_SHA"]}},
        {"version": "tls12", "ciphers": {"secure": ["ECDHE-RSA-AES128-GCM-SHA256"]}},
        {"version": "tls13", "ciphers": {}},
    ]
    row = {"ip": "127.0.0.1", "version_enum": ["tls13", "tls11", "tls12"], "cipher_enum": suites}
    (directory / "tlsx.json").write_text(json.dumps({**row, "fingerprint_hash": {"sha256": _SHA256}}) + "\n")


def _zgrab2(directory: Path) -> None:
    raw = "".join(_pem().splitlines()[1:-1])
    hello = {
        "version": {"value": TLS12},
        "supported_versions": {"selected_version": {"value": TLS13}},
        "cipher_suite": {"value": 0x1303},
    }
    log = {"server_hello": hello, "server_certificates": {"certificate": {"raw": raw}}}
    row = {"ip": "127.0.0.1", "data": {"tls": {"result": {"handshake_log": log}}}}
    (directory / "zgrab2.json").write_text(json.dumps(row) + "\n")


def _testssl(directory: Path) -> None:
    rows = [("/", "service", "unknown"), ("/127.0.0.1", "TLS1", "not offered"), ("/127.0.0.1", "TLS1_1", "offered")]
    more = {
        "TLS1_2": "offered",
        "cipher-tls1_1_x2f": "TLS 1.1",
        "cipher-tls1_2_xc02f": "TLS 1.2",
        "FS_ECDHE_curves": "X25519",
        "cert_keySize": "RSA 2048 bits",
        "cert_fingerprintSHA256": _SHA256.upper(),
    }
    rows += [("/127.0.0.1", *one) for one in more.items()]
    written = [{"ip": address, "id": name, "finding": text} for address, name, text in rows]
    (directory / "testssl.json").write_text(json.dumps(written))


_BOTH: dict[str, set[object]] = {"versions": {0x0302, TLS12}, "suites": {_OLD_SUITE, _GCM}, "forbidden": {0x0302}}
_REPORTS: dict[str, tuple[Callable[[Path], None], dict[str, set[object]]]] = {
    "adhere": (_adhere, {**_BOTH, "groups": {29}, "key": {("rsa", 2048)}, "certificate": {_SHA256}}),
    "sslscan": (_sslscan, {**_BOTH, "groups": {29}, "key": {("ec", 256)}}),
    "nmap": (
        _nmap,
        {"versions": {0x0302, TLS13}, "suites": {_OLD_SUITE, (TLS13, 0x1301)}, "forbidden": {0x0302}, "key": set()},
    ),
    "sslyze": (_sslyze, {**_BOTH, "groups": {23}, "key": set()}),
    "tlsx": (_tlsx, {**_BOTH, "versions": {0x0302, TLS12, TLS13}, "certificate": {_SHA256}}),
    "zgrab2": (_zgrab2, {"versions": {TLS13}, "suites": {(TLS13, 0x1303)}, "forbidden": set(), "key": set()}),
    "testssl.sh": (_testssl, {**_BOTH, "groups": {29}, "key": {("rsa", 2048)}, "certificate": {_SHA256}}),
}


@pytest.mark.parametrize("program", sorted({tool.program for tool in TOOLS}))
def test_reads_the_report_of_each_scanner(program: str, tmp_path: Path) -> None:
    write, expected = _REPORTS[program]
    write(tmp_path)
    (tool, *_) = [tool for tool in TOOLS if tool.program == program]
    ((address, facts),) = tool.report(tmp_path)
    assert address == "127.0.0.1"
    if expected.get("key") == set():  # a certificate of this run
        real = truth.configured(GO["intermediate"])
        expected = {**expected, "key": {*real["key"]}, "certificate": {*real["certificate"]}}
    assert facts == expected


def test_counts_what_is_right_missing_wrong_and_not_asked() -> None:
    real = {
        "one": {kind: frozenset({1, 2}) for kind in truth.KINDS},
        "two": {kind: frozenset({3}) for kind in truth.KINDS},
    }
    said = {"one": {"versions": frozenset({1, 7}), "groups": frozenset[object]()}}
    assert truth.found(said, real) == {
        "versions": truth.Share(right=1, configured=3, wrong=1),
        "groups": truth.Share(right=0, configured=3, wrong=0),
    }


def test_names_why_a_tool_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda _: None)
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(golang, "go", lambda: "go")

    def fails(*_: object, **__: object) -> SimpleNamespace:
        raise FileNotFoundError("go")

    monkeypatch.setattr("subprocess.run", fails)
    reasons = {tool.name: tool.missing() for tool in TOOLS}
    assert reasons["nmap"] == "nmap is not installed"
    assert reasons["zgrab2"] == "github.com/zmap/zgrab2/cmd/zgrab2@v1.0.0 does not build: go"


@pytest.mark.zoo
@pytest.mark.skipif(golang.go() is None, reason="no go")
@pytest.mark.parametrize("kind", ["intermediate", "intermediate-ecdsa"])
def test_the_listeners_count_signatures(kind: str, tmp_path: Path) -> None:
    context = ssl.create_default_context(cafile=str(pki().authority))
    with farm(listeners([GO[kind]]), tmp_path, 0) as served:
        address = (served.addresses[0], served.port)
        socket.create_connection(address).close()
        for _ in range(2):
            with socket.create_connection(address) as one, context.wrap_socket(one, server_hostname="localhost"):
                pass
        counts = served.counts()
    assert (counts.connections, counts.signatures) == (3, 2)
