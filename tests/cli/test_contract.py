"""The contract that scripts rely on: exit codes, one clear line for bad input, reports that are whole and valid."""

from __future__ import annotations

import socket
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from scanner.report import FORMATS
from tests.cli.calling import Call, called, valid
from tests.cli.conftest import Farm
from tests.servers import closed_port, tls_listener
from tests.serving import serving

# --- exit codes -------------------------------------------------------------------------------------------------------

EXIT_CODES: list[tuple[int, str, str]] = [
    (0, "intermediate-rsa intermediate-pq modern smtp-starttls mtls-required-13", ""),
    (1, "intermediate-rsa tls10", ""),
    (1, "plaintext-http", ""),
    (1, "tls10 closed", ""),
    (1, "tls10", "--fail-on high"),
    (0, "tls10", "--fail-on critical"),
    (0, "tls10", "--fail-on never"),
    (3, "tls10 closed", "--fail-on never"),
    (1, "expiring", ""),
    (0, "expiring", "--fail-on high"),
    (0, "cbc", "--fail-on high"),
    (3, "intermediate-rsa closed", ""),
    *((3, name, "") for name in ("rejecting", "malformed", "hanging-up", "resetting", "name-required")),
    *((3, name, "--timeout 0.3") for name in ("silent", "filtered")),
]


@pytest.mark.parametrize(("code", "names", "options"), EXIT_CODES)
def test_exit_codes(call: Call, farm: Farm, code: int, names: str, options: str) -> None:
    if missing := set(names.split()) - set(farm.listeners):
        pytest.skip(f"this system cannot play {missing}")
    answer = call("scan", *farm.targets(*names.split()), "--mode", "verdict", "--ca", farm.ca, *options.split())
    assert answer.code == code, answer.out
    assert answer.err == ""


def test_nothing_scanned(call: Call, tmp_path: Path) -> None:
    empty = tmp_path / "targets.txt"
    empty.write_text("# nothing yet\n\n")
    answer = call("scan", "--targets", empty)
    assert answer.code == 4
    assert "Traceback" not in answer.err


def test_an_internal_error_is_never_1(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    def bug(*_: object) -> None:
        raise RuntimeError("a bug, and\nits second line")

    monkeypatch.setattr("scanner.scan.judge", bug)
    monkeypatch.delenv("ADHERE_DEBUG", raising=False)
    with closed_port() as (address, port):
        answer = call("scan", f"{address}:{port}")
        assert answer.code == 70
        assert answer.err.startswith("adhere: internal error: ")
        assert len(answer.err.splitlines()) == 2
        monkeypatch.setenv("ADHERE_DEBUG", "1")
        assert "a bug, and" in call("scan", f"{address}:{port}").err


# --- bad input --------------------------------------------------------------------------------------------------------

BAD_INPUT: list[tuple[str, str, str]] = [
    ("scan", "no target", "HOST:PORT"),
    ("scan a:1 --profile intermidiate", "unknown profile 'intermidiate'", "did you mean intermediate"),
    ("scan a:1 --profile intermediate@x", "'x' is not a release", "intermediate@4.22"),
    ("scan a:1 --profile {tmp}/none.yaml", "none.yaml", ""),
    ("scan a:1 --profile {tmp}/bad.yaml", "bad.yaml:2:", ""),
    ("scan a:1 --profile {tmp}/tls13.yaml", "Cipher suites cannot be configured when minTLSVersion is", "VersionTLS12"),
    ("scan a:1 --config {tmp}/none.yaml", "'--config'", "scan --help"),
    ("scan a:1 --config {tmp}/bad.yaml", "bad.yaml:2:", ""),
    ("scan a:1 --config {tmp}/unknown.yaml", "unknown.yaml:1:1: profil: unknown field", "profile"),
    ("scan a:1 --config {tmp}/type.yaml", "type.yaml:2:10: timeout: must be a number", ""),
    ("scan a:1 --config {tmp}/sni.yaml", "sni.yaml: sni: ", "host:port"),
    ("scan --config {tmp}/targets.yaml", "targets.yaml: target 2: port 0", "host:port"),
    ("scan a:1 --config {tmp}", "'--config'", "scan --help"),
    ("scan a:0", "argument 1: port 0 is not a number from 1 to 65535", "host:port"),
    ("scan a:1 http://b", "argument 2: http:// is not TLS", "https://b"),
    ("scan 10.0.0.0/8", "10.0.0.0/8 has a range", "list each address"),
    ("scan --targets {tmp}/none.txt", "none.txt: cannot be read", "one target per line"),
    ("scan --targets {tmp}", "cannot be read: Is a directory", "one target per line"),
    ("scan --targets {tmp}/hosts.txt", "hosts.txt:2:3: port x", "host:port"),
    ("scan a:1 --format xml", "unknown format 'xml'", "text, json, junit, html"),
    ("scan a:1 --brief", "--brief is for --format json", "add --format json"),
    ("scan a:1 --format json=", "the path is missing", "json=FILE"),
    ("scan a:1 --format json --format text", "two formats write to standard output", "its own path"),
    ("scan a:1 --format json={tmp}/x --format html={tmp}/x", "two formats write to ", "its own path"),
    ("scan a:1 --format json={tmp}/none/x", "does not exist", "create it first"),
    ("scan a:1 --timeout 2 --deadline 1", "--timeout 2 is longer than --deadline 1", "lower --timeout"),
    ("scan a:1 --timeout 90", "--timeout 90 is longer than --deadline 60", "raise --deadline"),
    ("scan a:1 --timeout nan", "'nan' is not a number", "scan --help"),
    ("scan a:1 --timeout inf", "inf is not in the range", "scan --help"),
    ("scan a:1 --timeout soon", "'--timeout'", "scan --help"),
    ("scan a:1 --deadline 0", "'--deadline'", "scan --help"),
    ("scan a:1 --rate -1", "'--rate'", "scan --help"),
    ("scan a:1 --concurrency 0", "'--concurrency'", "scan --help"),
    ("scan a:1 --per-host 1000000000", "'--per-host'", "scan --help"),
    ("scan a:1 --fail-on always", "'--fail-on'", "scan --help"),
    ("scan a:1 --mode slow", "'--mode'", "scan --help"),
    ("scan a:1 --quiet --verbose", "cannot be combined", "remove one"),
    ("scan a:1 --sni a..b", "--sni: a..b is not a host name", "host:port"),
    ("scan a:1 --sni 127.0.0.1", "--sni: 127.0.0.1 is an address, not a server name", "RFC 6066"),
    ("scan a:1 --ca {tmp}/none.pem", "none.pem: cannot read the trust anchors", ""),
    ("scan a:1 --ca {tmp}/bad.yaml", "contains no certificate", "BEGIN CERTIFICATE"),
    ("scan a:1 --bogus", "--bogus", "scan --help"),
    ("scna", "'scna'", "adhere --help"),
    ("ask", "TARGET", "ask --help"),
    ("ask a:1 --version 1.4", "--version: unknown name '1.4'", "1.3, 1.2"),
    ("ask a:1 --suites TLS_NOTHING", "--suites: unknown name 'TLS_NOTHING'", "0xC02F"),
    ("ask a:1 --groups X25519,,P-256", "--groups: unknown name ''", "0xC02F"),
    ("ask a:1 --version SSLv2 --groups X25519", "SSLv2 has its own cipher suites", "remove --suites and --groups"),
    ("ask a:1 --sni a..b", "--sni: a..b is not a host name", "host:port"),
    ("ask a:1 --timeout nan", "'nan' is not a number", "ask --help"),
    ("demo --output {tmp}/bad.yaml", "cannot create this directory", ""),
    ("profiles show nothing", "unknown profile 'nothing'", ""),
    ("rules show nothing", "nothing", ""),
]

FILES = {
    "bad.yaml": "profile: old\n  mode: [verdict\n",
    "unknown.yaml": "profil: old\n",
    "type.yaml": "profile: old\ntimeout: fast\n",
    "sni.yaml": "sni: 'a b'\n",
    "targets.yaml": "targets: [127.0.0.1, 'a:0']\n",
    "hosts.txt": "127.0.0.1:1\na:x\n",
    "tls13.yaml": (
        "tlsSecurityProfile:\n  type: Custom\n  custom:\n    minTLSVersion: VersionTLS13\n"
        "    ciphers: [TLS_AES_128_GCM_SHA256]\n"
    ),
}


@pytest.mark.parametrize(("line", "says", "hints"), BAD_INPUT)
def test_bad_input_gets_one_clear_line(call: Call, tmp_path: Path, line: str, says: str, hints: str) -> None:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    answer = call(*line.format(tmp=tmp_path).split())
    first, *more = answer.err.splitlines()
    assert answer.code == 2
    assert answer.out == ""
    assert first.startswith("adhere: ")
    assert says in first
    assert len(more) <= 1
    assert hints in "".join(more)
    assert not (tmp_path / "x").exists()


def test_control_characters_of_an_argument_do_not_reach_the_terminal(call: Call, tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text('timeout: "\\e[31mred"\n')
    for arguments in (
        ["scan", "\x1b[31m:1"],
        ["scan", "a", "--config", tmp_path / "bad.yaml"],
        ["ask", "a", "--suites", "\x1b[31m"],
    ):
        answer = call(*arguments)
        assert answer.code == 2
        assert "\x1b" not in answer.err


# --- reports ----------------------------------------------------------------------------------------------------------


def test_every_format_at_once(call: Call, farm: Farm, tmp_path: Path) -> None:
    formats = [word for name in FORMATS for word in ("--format", f"{name}={tmp_path / FORMATS[name].file_name}")]
    targets = farm.targets("intermediate-rsa", "tls10", "closed")
    answer = call("scan", *targets, "--mode", "verdict", "--ca", farm.ca, *formats)
    assert (answer.code, answer.out) == (1, "")
    *wrote, last = answer.err.splitlines()
    assert wrote == [f"adhere: wrote {tmp_path / one.file_name}" for one in FORMATS.values()]
    assert last.startswith("exit 1: 2 findings at or above medium on 1 endpoint ")
    document = valid((tmp_path / "report.json").read_text())
    assert [row["verdict"] for row in document["endpoints"]] == ["pass", "fail", "inconclusive"]
    assert document["coverage"] == {
        "endpoints": 3, "judged": 2, "not_judged": 1, "interrupted": None, "complete": False, "discovery": None,
        "in_progress": 0, "not_started": {"total": 0, "by_namespace": {}, "without_namespace": 0},
    }  # fmt: skip
    cases = ET.parse(tmp_path / "report.xml").getroot()
    assert [suite.get("name") for suite in cases.findall("testsuite")] == ["adhere", *targets]
    assert cases.find(".//failure") is not None
    assert cases.find(".//error") is not None
    html = (tmp_path / "report.html").read_text()
    text = (tmp_path / "report.txt").read_text()
    for target in targets:
        assert target in html
        assert target in text
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(one.file_name for one in FORMATS.values())


@pytest.mark.parametrize("name", FORMATS)
def test_one_format_on_standard_output(call: Call, name: str) -> None:
    with closed_port() as (address, port):
        answer = call("scan", f"{address}:{port}", "--format", name)
    assert answer.code == 3
    shown = f"tls://{address}:{port}" in answer.out
    assert shown == FORMATS[name].every_endpoint, "set every_endpoint of the format in scanner/report/__init__.py"
    assert answer.err == ""


def test_a_directory_gets_the_usual_name(call: Call, tmp_path: Path) -> None:
    with closed_port() as (address, port):
        call("scan", f"{address}:{port}", "--format", f"json={tmp_path}", "--quiet")
    assert [path.name for path in tmp_path.iterdir()] == ["report.json"]


def test_rows_come_in_the_order_of_the_targets(call: Call, farm: Farm) -> None:
    """The first waits for its timeout, when the one that is closed has long been finished."""
    names = ("silent", "hanging-up", "closed", "modern", "intermediate-rsa")
    answer = call(
        "scan", *farm.targets(*names), "--timeout", "0.4", "--mode", "verdict", "--verbose", "--format", "json"
    )
    finished = [line.split()[1] for line in answer.err.splitlines()]
    assert finished.index(farm["closed"].target) < finished.index(farm["silent"].target)
    assert [row["id"] for row in answer.document["endpoints"]] == farm.targets(*names)


def test_a_report_can_be_compared_with_the_next(call: Call, farm: Farm) -> None:
    def told() -> list[tuple[object, ...]]:
        rows = call("scan", *farm.targets("tls10", "modern", "closed"), "--format", "json").document["endpoints"]
        return [(row["instance"], row["verdict"], row["findings"], row["observed"]["versions"]) for row in rows]

    assert told() == told()


# --- targets ----------------------------------------------------------------------------------------------------------


def test_a_name_that_does_not_resolve(call: Call) -> None:
    answer = call("scan", "nonexistent.invalid", "--format", "json")
    (row,) = answer.document["endpoints"]
    assert answer.code == 3
    assert (row["verdict"], row["status"], row["reach"]) == ("inconclusive", "unreachable", "unreachable")
    assert "does not resolve" in row["detail"]


def test_an_ipv6_target(call: Call) -> None:
    with serving(lambda: tls_listener(address="::1")) as server:
        if server.address != "::1":
            pytest.skip("this system has no ::1")
        answer = call("scan", f"[::1]:{server.port}", "--mode", "verdict", "--format", "json")
    (row,) = answer.document["endpoints"]
    assert answer.code == 0
    assert (row["address"], row["id"]) == ("::1", f"tls://[::1]:{server.port}")
    assert row["instance"] == f"tls://[::1]:{server.port} @ [::1]:{server.port}"


def test_a_name_is_asked_at_each_of_its_addresses(call: Call) -> None:
    with closed_port() as (_, port):
        rows = call("scan", f"localhost:{port}", "--format", "json").document["endpoints"]
    found = socket.getaddrinfo("localhost", port, type=socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG)
    assert [row["address"] for row in rows] == list(dict.fromkeys(str(entry[4][0]) for entry in found))
    assert {row["id"] for row in rows} == {f"tls://localhost:{port}"}
    assert len({row["instance"] for row in rows}) == len(rows)


# --- as a process -----------------------------------------------------------------------------------------------------


def test_the_command_line_is_in_the_report(farm: Farm, tmp_path: Path) -> None:
    arguments = ["scan", *farm.targets("modern"), "--mode", "verdict", "--format", "json"]
    answer = called(*arguments, cwd=tmp_path)
    assert answer.code == 0
    assert answer.document["scanner"]["arguments"] == arguments
    assert answer.err == ""
