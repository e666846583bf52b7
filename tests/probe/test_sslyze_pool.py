"""sslyze in a child process: what it sees of real servers, and that nothing it does can hold us up."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from hashlib import sha256
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from subprocess import DEVNULL, PIPE
from time import monotonic
from types import SimpleNamespace
from typing import Any, get_args

import pytest
import trio
from trio.testing import MockClock

from scanner.demo.tls_server import TlsSettings, can_choose_groups
from scanner.kube.maybe import Unknown
from scanner.model.endpoint import Endpoint, Owner, Transport
from scanner.model.observation import Flaw, Inquiry, Opinion
from scanner.probe import sslyze_pool
from scanner.probe.sslyze_pool import ANSWER_LIMIT, RECYCLE, STARTTLS, SUITE_COMMANDS, WORKER, SslyzePool, available
from scanner.probe.sslyze_worker import MEMORY, _answer
from scanner.tls.codepoints import SSL2, SSL3, TLS10, TLS11, TLS12, TLS13
from scanner.values import replace
from tests.servers import listening, ordinary, silent, smtp, tls_handler, tls_listener

pytestmark = pytest.mark.crypto

real = pytest.mark.skipif(available() is None, reason="sslyze is not installed: pip install 'adhere[sslyze]'")

ENDPOINT = Endpoint(
    id="x",
    instance="x",
    address="127.0.0.1",
    port=9,
    server_name="localhost",
    host="localhost",
    owner=Owner(kind="Target", name="x"),
)


def at(sockaddr: tuple[str, int], **fields: Any) -> Endpoint:  # noqa: ANN401 - fields of several types
    return replace(ENDPOINT, address=sockaddr[0], port=sockaddr[1], **fields)


# --- real sslyze ------------------------------------------------------------------------------------------------------


@real
async def test_it_sees_what_a_server_is_set_to() -> None:
    settings = TlsSettings(
        credential=ordinary(),
        max_version=TLS12,
        ciphers="ECDHE-ECDSA-AES128-GCM-SHA256",
        client_certificate="requested",
    )
    async with tls_listener(settings) as server, SslyzePool() as bench:
        opinion = await bench.ask(
            at(server.sockaddr),
            Inquiry(versions=frozenset({TLS12, TLS13}), groups=True, certificate=True, flaws=True),
        )
    assert opinion.failure is None
    assert opinion.witness == f"sslyze {available()}"
    assert opinion.highest == TLS12
    assert set(opinion.suites) == {TLS12, TLS13}
    assert opinion.suites[TLS12].accepted == (0xC02B,)
    assert opinion.suites[TLS12].state(0xC02C) == "refused"
    assert opinion.suites[TLS13].accepted == ()
    assert opinion.suites[TLS13].state(0x1301) == "refused"
    assert opinion.groups.state(0x0017) == "accepted"
    assert opinion.groups.state(0x11EC) == "unknown"
    assert opinion.client_certificate == "requested"
    assert opinion.certificates == frozenset({sha256(ordinary().der).hexdigest()})
    assert set(opinion.flaws) == set(get_args(Flaw))
    assert opinion.flaws["heartbleed"] is False
    assert opinion.flaws["robot"] is False


@real
async def test_it_asks_no_more_than_it_is_asked() -> None:
    async with tls_listener() as server, SslyzePool() as bench:
        opinion = await bench.ask(at(server.sockaddr), Inquiry())
        assert server.connections < 10
    assert opinion.highest == TLS13
    assert opinion.client_certificate == "none"
    assert (opinion.suites, opinion.flaws) == ({}, {})
    assert isinstance(opinion.certificates, Unknown)


@real
async def test_it_upgrades_by_starttls() -> None:
    mail = smtp(tls_handler(TlsSettings(credential=ordinary())))
    async with listening(mail) as server, SslyzePool() as bench:
        opinion = await bench.ask(at(server.sockaddr, transport="smtp"), Inquiry(versions=frozenset({TLS13})))
    assert opinion.failure is None
    assert opinion.suites[TLS13].state(0x1301) == "accepted"


@pytest.mark.skipif(not can_choose_groups(), reason="this build of cryptography cannot choose groups")
@real
async def test_a_server_that_it_is_blind_to_has_no_opinion_on_it_and_its_reason() -> None:
    settings = TlsSettings(credential=ordinary(), min_version=TLS13, groups="X25519MLKEM768")
    async with tls_listener(settings) as server, SslyzePool() as bench:
        opinion = await bench.ask(at(server.sockaddr), Inquiry(versions=frozenset({TLS13})))
    assert opinion.failure
    assert opinion.suites == {}


@real
async def test_a_tarpit_is_left_on_time_and_its_seat_is_free_again() -> None:
    async with listening(silent) as tarpit, tls_listener() as server, SslyzePool(processes=1, timeout=2.0) as bench:
        started = monotonic()
        opinion = await bench.ask(at(tarpit.sockaddr), Inquiry(flaws=True))
        assert monotonic() - started < 15
        assert opinion.failure
        bench.timeout = 60
        assert (await bench.ask(at(server.sockaddr), Inquiry())).failure is None


@real
async def test_a_closed_port_is_a_failure_of_the_witness_and_not_of_the_endpoint() -> None:
    async with SslyzePool() as bench:
        opinion = await bench.ask(ENDPOINT, Inquiry(flaws=True))
    assert opinion.failure
    assert opinion.flaws == {}


@real
def test_every_transport_that_it_speaks_is_called_as_it_calls_it() -> None:
    from sslyze import ProtocolWithOpportunisticTlsEnum, ScanCommand

    assert {name for name in STARTTLS.values() if name} <= set(ProtocolWithOpportunisticTlsEnum.__members__)
    assert set(STARTTLS) == set(get_args(Transport)) - {"mysql"}
    assert {*SUITE_COMMANDS, *sslyze_pool.FLAW_COMMANDS} <= {command.value for command in ScanCommand}
    assert list(SUITE_COMMANDS.values()) == [SSL2, SSL3, TLS10, TLS11, TLS12, TLS13]


async def opinion_of(**answer: object) -> Opinion:
    async with SslyzePool(command=child(f"print(json.dumps({ANSWER | answer}))")) as bench:
        return await bench.ask(ENDPOINT, Inquiry(flaws=True))


@pytest.mark.parametrize(
    ("spelled", "known"),
    [
        ("DISABLED", "none"),
        ("OPTIONAL", "requested"),
        ("REQUIRED", "required"),
        ("NEW", Unknown("sslyze could not determine it")),
    ],
)
async def test_what_is_asked_of_clients(spelled: str, known: object) -> None:
    assert (await opinion_of(client_auth=spelled)).client_certificate == known


@pytest.mark.parametrize("version", ["SSL_2_0", "SSL_3_0", "TLS_1_0", "TLS_1_1", "TLS_1_2", "TLS_1_3"])
async def test_the_highest_version(version: str) -> None:
    assert (await opinion_of(highest=version)).highest == SUITE_COMMANDS[f"{version.lower()}_cipher_suites"]


@pytest.mark.parametrize(
    ("spelled", "known"),
    [
        ("VULNERABLE_WEAK_ORACLE", True),
        ("VULNERABLE_STRONG_ORACLE", True),
        ("NOT_VULNERABLE_NO_ORACLE", False),
        ("NOT_VULNERABLE_RSA_NOT_SUPPORTED", False),
    ],
)
async def test_robot(spelled: str, *, known: bool) -> None:
    assert (await opinion_of(seen={"robot": {"robot": spelled}})).flaws == {"robot": known}


async def test_what_was_not_asked_or_failed_says_so() -> None:
    silent = await opinion_of()
    assert (silent.groups.unasked, silent.certificates) == ("not asked", Unknown("not asked"))
    failed = await opinion_of(failed={"elliptic_curves": "A", "certificate_info": "B"})
    assert (failed.groups.unasked, failed.certificates) == ("A", Unknown("B"))
    seen = await opinion_of(seen={"certificate_info": ["ab"], "ssl_2_0_cipher_suites": SSL2_SEEN})
    assert (seen.certificates, seen.suites[SSL2].accepted) == (frozenset({"ab"}), (0x010080,))


SSL2_SEEN = {"accepted": ["SSL_CK_RC4_128_WITH_MD5"], "refused": ["SSL_CK_RC4_128_WITH_MD5"]}
EVERYTHING = Inquiry(versions=frozenset({SSL2, TLS12}), groups=True, certificate=True, flaws=True)


@pytest.mark.parametrize(
    ("inquiry", "commands"),
    [
        (Inquiry(), []),
        (Inquiry(groups=True), ["elliptic_curves"]),
        (Inquiry(certificate=True), ["certificate_info"]),
        (
            EVERYTHING,
            [
                *("ssl_2_0_cipher_suites", "tls_1_2_cipher_suites", "elliptic_curves", "certificate_info"),
                *sslyze_pool.FLAW_COMMANDS,
            ],
        ),
    ],
)
async def test_the_request(inquiry: Inquiry, commands: list[str], tmp_path: Path) -> None:
    asked = tmp_path / "asked"
    script = f"open({str(asked)!r}, 'w').write(line)\nprint(json.dumps({ANSWER}))"
    for fields, name in (
        ({}, "localhost"),
        ({"server_name": "a.example"}, "a.example"),
        ({"server_name": None, "host": "b.example"}, "b.example"),
        ({"server_name": None, "host": ""}, "127.0.0.1"),
    ):
        async with SslyzePool(command=child(script), network_timeout=0.2, connections=3) as bench:
            await bench.ask(replace(ENDPOINT, transport="smtp", **fields), inquiry)
        assert json.loads(asked.read_text()) == {
            "address": "127.0.0.1",
            "port": 9,
            "name": name,
            "starttls": "SMTP",
            "commands": commands,
            "timeout": 1,
            "connections": 3,
        }


# --- children that misbehave ------------------------------------------------------------------------------------------

READ = "import sys, os, json\nline = sys.stdin.readline()\n"
ANSWER = {"highest": "TLS_1_2", "client_auth": "DISABLED", "seen": {}, "failed": {}}


def child(script: str) -> tuple[str, ...]:
    return (sys.executable, "-c", READ + script)


MISBEHAVING = [
    ("sys.exit(1)", "ended without an answer"),
    ("os.kill(os.getpid(), 9)", "ended without an answer"),
    ("sys.stdin.close(); os.close(1)\nimport time\ntime.sleep(100)", "ended without an answer"),
    ("print('half an answer', end='', flush=True)\nsys.stdin.read()", "no answer within"),
    ("print('{')\nsys.stdin.read()", "invalid answer"),
    ("print('[]')", "invalid answer"),
    ("print('null')", "invalid answer"),
    ("print('[' * 100000)", "invalid answer"),
    ("print(json.dumps({'highest': 7}))", "invalid answer"),
    (f"print(json.dumps({ANSWER | {'highest': 'TLS_9'}}))", "invalid answer"),
    (f"print(json.dumps({ANSWER | {'seen': {'tls_1_2_cipher_suites': 5}}}))", "invalid answer"),
    (f"print(json.dumps({ANSWER | {'seen': {'heartbleed': {}}}}))", "invalid answer"),
    (f"print('x' * {ANSWER_LIMIT + 1})", "longer than"),
    ("print(json.dumps({'failure': '\\x1b[2J' + 'y' * 9999}))", r"\\x1b\[2Jy"),
]


@pytest.mark.parametrize(("script", "reason"), MISBEHAVING)
async def test_a_child_that_misbehaves_gives_no_opinion(script: str, reason: str) -> None:
    async with SslyzePool(command=child(script), timeout=0.5 if "within" in reason else 20) as bench:
        opinion = await bench.ask(ENDPOINT, Inquiry(flaws=True))
    assert opinion.failure is not None
    assert re.search(reason, opinion.failure)
    assert opinion.failure.isprintable()
    assert len(opinion.failure) < 500


async def test_names_that_nobody_knows_are_left_out() -> None:
    suites = {"accepted": ["TLS_RSA_WITH_AES_128_CBC_SHA", "TLS_NEW"], "refused": ["AES256-SHA", "", "0x"]}
    groups = {"accepted": ["prime256v1", "kyber"], "refused": ["X25519"]}
    seen = {
        "tls_1_2_cipher_suites": suites,
        "elliptic_curves": groups,
        "robot": {"robot": "UNKNOWN_INCONSISTENT_RESULTS"},
    }
    failed = {"heartbleed": "BUG_IN_SSLYZE\x1b"}
    async with SslyzePool(command=child(f"print(json.dumps({ANSWER | {'seen': seen, 'failed': failed}}))")) as bench:
        opinion = await bench.ask(ENDPOINT, Inquiry(flaws=True))
    assert opinion.suites[TLS12].accepted == (0x002F,)
    assert opinion.suites[TLS12].refused == {0x0035}
    assert opinion.groups.accepted == (0x0017,)
    assert opinion.groups.refused == {0x001D}
    assert opinion.flaws["robot"] == Unknown("sslyze got inconsistent answers")
    assert opinion.flaws["heartbleed"] == Unknown("sslyze failed (BUG_IN_SSLYZE\\x1b)")
    assert "compression" not in opinion.flaws


ECHO_PID = (
    "import time\n"
    "while line:\n"
    f"    print(json.dumps({ANSWER} | {{'failure': str(os.getpid())}}), flush=True)\n"
    "    line = sys.stdin.readline()\n"
)


async def test_a_child_serves_many_and_is_replaced_before_it_grows_old() -> None:
    async with SslyzePool(command=child(ECHO_PID), processes=1) as bench:
        pids = [(await bench.ask(ENDPOINT, Inquiry())).failure for _ in range(RECYCLE + 1)]
    assert len(set(pids[:RECYCLE])) == 1
    assert pids[RECYCLE] != pids[0]
    assert not any(alive(pid) for pid in pids)


async def test_no_more_children_than_seats() -> None:
    async with SslyzePool(command=child(ECHO_PID), processes=2) as bench:
        pids: list[str | None] = []

        async def ask() -> None:
            pids.append((await bench.ask(ENDPOINT, Inquiry())).failure)

        async with trio.open_nursery() as nursery:
            for _ in range(8):
                nursery.start_soon(ask)
    assert len(pids) == 8
    assert len(set(pids)) <= 2


@dataclass(slots=True)
class Stuck:
    """A child that says who it is and then nothing more."""

    command: tuple[str, ...]
    known: trio.Event
    pid: str = ""


@asynccontextmanager
async def stuck() -> AsyncIterator[Stuck]:
    async def part(stream: trio.SocketStream) -> None:
        there.pid = (await stream.receive_some(64)).decode()
        there.known.set()

    async with listening(part) as server:
        call = f"import socket\nsocket.create_connection({server.sockaddr!r}).sendall(str(os.getpid()).encode())\n"
        there = Stuck(child(call + "sys.stdin.read()"), trio.Event())
        yield there


def alive(pid: str | None) -> bool:
    """True if a child with this id exists, even as a zombie."""
    return pid is not None and Path("/proc", pid).exists()


async def test_cancelling_kills_the_child_and_waits_for_its_end() -> None:
    async with stuck() as there, SslyzePool(command=there.command) as bench:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(bench.ask, ENDPOINT, Inquiry())
            await there.known.wait()
            assert alive(there.pid)
            nursery.cancel_scope.cancel()
        assert not alive(there.pid)


async def test_a_child_that_is_stuck_is_killed_when_its_time_is_up(mock_clock: MockClock) -> None:
    """The clock stands until the child has said who it is."""
    async with (
        stuck() as there,
        SslyzePool(command=there.command, timeout=2.0) as bench,
        trio.open_nursery() as nursery,
    ):

        async def pass_time() -> None:
            await there.known.wait()
            mock_clock.jump(2)

        nursery.start_soon(pass_time)
        opinion = await bench.ask(ENDPOINT, Inquiry())
        assert opinion.failure == "no answer within 2 s"
        assert not alive(there.pid)


async def test_what_it_does_not_speak_is_not_asked() -> None:
    async with SslyzePool(command=("/no/such/program",)) as bench:
        opinion = await bench.ask(replace(ENDPOINT, transport="mysql"), Inquiry(flaws=True))
    assert opinion.failure == "sslyze does not support mysql"


async def test_a_machine_that_cannot_start_it_says_so() -> None:
    from scanner.errors import ResourceError

    async with SslyzePool(command=("/no/such/program",)) as bench:
        with pytest.raises(ResourceError, match="cannot be started: No such file"):
            await bench.ask(ENDPOINT, Inquiry())


def limits_of(pid: int) -> str:
    return Path("/proc", str(pid), "limits").read_text()


@real
async def test_the_worker_ends_with_its_parent_in_the_middle_of_a_scan() -> None:
    asked = trio.Event()

    async def tarpit(stream: trio.SocketStream) -> None:
        asked.set()
        await silent(stream)

    async with listening(tarpit) as server:
        request = {"address": server.address, "port": server.port, "name": "localhost", "starttls": "", "commands": []}
        worker = await trio.lowlevel.open_process([*WORKER], stdin=PIPE, stdout=PIPE, stderr=DEVNULL)
        assert worker.stdin is not None
        assert worker.stdout is not None
        await worker.stdin.send_all(json.dumps(request | {"timeout": 60, "connections": 1}).encode() + b"\n")
        await asked.wait()
        limits = limits_of(worker.pid)
        assert re.search(rf"Max address space +{MEMORY} +{MEMORY} ", limits)
        assert re.search(r"Max core file size +0 +0 ", limits)
        await worker.stdin.aclose()
        with trio.fail_after(20):
            assert await worker.wait() == 0
            assert await worker.stdout.receive_some() == b""
        await worker.stdout.aclose()


@real
async def test_a_request_that_it_cannot_carry_out_is_answered_all_the_same() -> None:
    async with SslyzePool(connections=0) as bench:
        opinion = await bench.ask(replace(ENDPOINT, server_name="a" * 64), Inquiry(flaws=True))
    assert opinion.failure is not None
    assert opinion.failure.startswith("UnicodeError")


def test_what_is_installed_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else no scan has a second opinion, and the other tests are skipped."""
    monkeypatch.setattr("importlib.metadata.version", lambda name: f"{name} 6.0")
    assert available() == "sslyze 6.0"


@pytest.mark.parametrize("missing", ["scan_result", "connectivity_result"])
def test_a_server_that_sslyze_does_not_reach_or_finish_is_a_failure(missing: str) -> None:
    result: Any = SimpleNamespace(scan_result=object(), connectivity_result=object(), connectivity_error_trace=None)
    setattr(result, missing, None)
    assert _answer(result, []) == {"failure": "no connection"}


def test_each_command_is_read_or_says_why_not() -> None:
    def attempt(result: object = None, **fields: object) -> SimpleNamespace:
        return SimpleNamespace(result=result, **{"status": "NOT_SCHEDULED", "error_reason": None, **fields})

    suite = SimpleNamespace(cipher_suite=SimpleNamespace(name="A"), error_message="refused")
    late = SimpleNamespace(cipher_suite=SimpleNamespace(name="B"), error_message="timed out")
    suites = SimpleNamespace(accepted_cipher_suites=[suite], rejected_cipher_suites=[suite, late])
    found = SimpleNamespace(
        tls_1_2_cipher_suites=attempt(suites),
        elliptic_curves=attempt(SimpleNamespace(supported_curves=None, rejected_curves=None)),
        heartbleed=attempt(error_reason=SimpleNamespace(name="BUG_IN_SSLYZE")),
        robot=attempt(),
    )
    reached = SimpleNamespace(
        highest_tls_version_supported=SimpleNamespace(name="TLS_1_2"),
        client_auth_requirement=SimpleNamespace(name="DISABLED"),
    )
    result: Any = SimpleNamespace(scan_result=found, connectivity_result=reached)
    assert _answer(result, ["tls_1_2_cipher_suites", "elliptic_curves", "heartbleed", "robot"]) == {
        "highest": "TLS_1_2",
        "client_auth": "DISABLED",
        "seen": {
            "tls_1_2_cipher_suites": {"accepted": ["A"], "refused": ["A"]},
            "elliptic_curves": {"accepted": [], "refused": []},
        },
        "failed": {"heartbleed": "BUG_IN_SSLYZE", "robot": "NOT_SCHEDULED"},
    }


def test_of_a_trace_the_last_line_is_the_reason() -> None:
    trace = SimpleNamespace(format_exception_only=lambda: ["while handling\n", "OSError:  no\nroute\n"])
    result: Any = SimpleNamespace(scan_result=None, connectivity_result=None, connectivity_error_trace=trace)
    assert _answer(result, []) == {"failure": "OSError: no route"}


def test_the_extra_may_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr("importlib.metadata.version", missing)
    assert available() is None
