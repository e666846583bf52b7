"""One hello and its answer: exit codes, names, and that what a report tells to ask really shows it again."""

from __future__ import annotations

import shlex
import socket
from pathlib import Path

import pytest
import trio

from scanner.cli.commands.ask import describe, exit_code_of, offer_of
from scanner.demo.tls_server import TlsSettings, tls_handler
from scanner.errors import UsageError
from scanner.probe import candidates
from scanner.probe.offers import Reply
from scanner.tls.codepoints import SSL2, TLS12, TLS13
from tests.cli.calling import Call, valid
from tests.cli.conftest import Farm
from tests.servers import alert, closed_port, ordinary, say, scripted, tls_listener
from tests.serving import serving

pytestmark = pytest.mark.crypto

SINNERS = ("tls10", "tls10-only", "cbc", "rsa-key-exchange", "null-cipher")


def test_accepted(call: Call, farm: Farm) -> None:
    answer = call("ask", farm["intermediate-rsa"].target)
    assert (answer.code, answer.err) == (0, "")
    version, suite, group, last = answer.out.splitlines()
    assert version == "version  TLSv1.3"
    assert suite.startswith("suite    TLS_")
    assert group.startswith("group    ")
    assert last == "accepted"


@pytest.mark.parametrize("version", ["1.2", "TLSv1.2", "TLS1.2", "VersionTLS12"])
def test_versions_by_any_name(call: Call, farm: Farm, version: str) -> None:
    answer = call("ask", farm["tls10"].target, "--version", version)
    assert answer.code == 0
    assert "version  TLSv1.2\n" in answer.out
    assert "client certificate  not requested\n" in answer.out


@pytest.mark.parametrize("suite", ["TLS_RSA_WITH_AES_128_GCM_SHA256", "AES128-GCM-SHA256", "0x009C", "0x9c"])
def test_suites_by_any_name(call: Call, farm: Farm, suite: str) -> None:
    answer = call("ask", farm["rsa-key-exchange"].target, "--suites", suite)
    assert answer.code == 0
    assert "TLS_RSA_WITH_AES_128_GCM_SHA256 (AES128-GCM-SHA256, 0x009C)" in answer.out
    assert "version  TLSv1.2" in answer.out


@pytest.mark.parametrize("group", ["x25519", "X25519", "0x001D"])
def test_groups_by_any_name(call: Call, farm: Farm, group: str) -> None:
    answer = call("ask", farm["intermediate-rsa"].target, "--groups", group)
    assert answer.code == 0
    assert "0x001D" in answer.out


def test_refused(call: Call, farm: Farm) -> None:
    answer = call("ask", farm["modern"].target, "--version", "1.2")
    assert (answer.code, answer.out) == (1, "refused: alert 70 protocol_version\n")
    answer = call("ask", farm["intermediate-rsa"].target, "--suites", "AES128-SHA")
    assert (answer.code, answer.out) == (1, "refused: alert 40 handshake_failure\n")


def test_not_reached(call: Call) -> None:
    with closed_port() as (address, port):
        answer = call("ask", f"{address}:{port}")
    assert (answer.code, answer.out, answer.err) == (3, "no answer to the offer: closed\n", "")


def test_a_name_that_does_not_resolve(call: Call) -> None:
    answer = call("ask", "nonexistent.invalid")
    assert (answer.code, answer.out) == (3, "")
    assert answer.err.startswith("adhere: nonexistent.invalid: the name does not resolve")
    assert len(answer.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("name", "options", "code", "says"),
    [
        ("silent", "--timeout 0.5", 3, "no answer to the offer: silence"),
        ("malformed", "", 3, "no answer to the offer: malformed"),
        ("resetting", "", 3, "no answer to the offer: rst"),
        ("hanging-up", "", 3, "no answer to the offer: fin"),
        ("plaintext-http", "", 3, "no answer to the offer: plaintext HTTP/1.1 400"),
        ("rejecting", "", 1, "refused: alert 40"),
        ("mtls-required-12", "", 1, "refused: alert 70 protocol_version"),
        ("mtls-required-12", "--version 1.2", 0, "client certificate  requested"),
        ("smtp-starttls", "", 0, "accepted"),
    ],
)
def test_every_outcome(call: Call, farm: Farm, name: str, options: str, code: int, says: str) -> None:
    answer = call("ask", farm[name].target, *options.split())
    assert answer.code == code
    assert says in answer.out


def test_hostile_words_stay_words(call: Call) -> None:
    banner = b"\x1b[2J\x1b]0;owned\x07 220 hi\r\n::error title=x::owned ##vso[task.complete]\xff\xfe" + b"A" * 5000
    with serving(lambda: scripted(say(banner))) as server:
        answer = call("ask", f"127.0.0.1:{server.port}")
    assert answer.code == 3
    assert all(char.isprintable() or char == "\n" for char in answer.out)
    assert "::error title" not in answer.out
    assert "##vso[" not in answer.out
    assert len(answer.out) < 500


def test_an_unknown_alert_has_a_number(call: Call) -> None:
    with serving(lambda: scripted(say(alert(213)))) as server:
        answer = call("ask", f"127.0.0.1:{server.port}")
    assert answer.code == 1
    assert answer.out.startswith("refused: alert 213 ")


def test_the_server_name_is_the_one_asked_for(call: Call) -> None:
    settings = TlsSettings(credential=ordinary(), server_name="known.example")
    with serving(lambda: tls_listener(settings)) as server:
        target = f"tls://127.0.0.1:{server.port}"
        assert call("ask", f"{target}#known.example").code == 0
        assert call("ask", target, "--sni", "known.example").code == 0
        assert call("ask", f"{target}#other.example", "--sni", "known.example").code == 0
        assert call("ask", target).out == "refused: alert 112 unrecognized_name\n"
        assert call("ask", f"{target}#known.example", "--sni", "").code == 1


def test_more_than_a_record_can_hold(call: Call, farm: Farm) -> None:
    """A hello of several records is an offer like any other; what the listener makes of it is its own affair."""
    many = ",".join(f"0x{code:04X}" for code in range(0x5000, 0x5000 + 9000))
    assert call("ask", farm["intermediate-rsa"].target, "--suites", many).code == 1


# --- what a report tells to ask ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def commands(farm: Farm, tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, str]]:
    """Rule and ``reproduce`` of every failing finding of the demo's protocol sins."""
    from scanner.cli import run

    report = tmp_path_factory.mktemp("ask") / "report.json"
    assert run(["scan", *farm.targets(*SINNERS), "--quiet", "--format", f"json={report}"]) == 1
    return [
        (finding["rule"], finding["reproduce"])
        for row in valid(report.read_text())["endpoints"]
        for finding in row["findings"]
        if finding["verdict"] == "fail"
    ]


def test_every_violation_is_shown_again(call: Call, commands: list[tuple[str, str]]) -> None:
    asked = [(rule, shlex.split(command)) for rule, command in commands if command.startswith("adhere ask")]
    assert {rule for rule, _ in asked} == {"tls-version", "tls-cipher-suite"}
    assert len(asked) >= len(SINNERS)
    for rule, words in asked:
        answer = call(*words[1:])
        assert answer.code == 0, (words, answer.out)
        shown = dict(line.split(None, 1) for line in answer.out.splitlines() if " " in line)
        if rule == "tls-version":
            assert shown["version"] in {"TLSv1", "TLSv1.1"}
        else:
            assert shown["suite"].split()[0] in words[words.index("--suites") + 1].split(",")


@pytest.mark.parametrize(("name", "code"), [("plaintext-http", 3), ("smtp-without-starttls", 3), ("rejecting", 1)])
def test_what_is_not_tls_is_shown_again(call: Call, farm: Farm, tmp_path: Path, name: str, code: int) -> None:
    answer = call("scan", farm[name].target, "--format", "json", "--timeout", "2")
    (finding,) = [each for each in answer.document["endpoints"][0]["findings"] if each["verdict"] != "pass"]
    assert call(*shlex.split(finding["reproduce"])[1:]).code == code


# --- values -----------------------------------------------------------------------------------------------------------


def test_what_is_not_given_is_everything() -> None:
    offer = offer_of(None, None, None)
    assert offer.version == TLS13
    assert offer.suites == candidates.suites(TLS13)
    assert offer.groups == candidates.groups(TLS13)
    assert offer_of("1.2", None, None).suites == candidates.suites(TLS12)


def test_the_suites_choose_the_version() -> None:
    assert offer_of(None, "TLS_AES_128_GCM_SHA256", None).version == TLS13
    assert offer_of(None, "AES128-SHA,TLS_AES_128_GCM_SHA256", None).version == TLS13
    assert offer_of(None, "AES128-SHA, AES256-SHA", None).suites == (0x2F, 0x35)
    assert offer_of(None, "AES128-SHA", None).version == TLS12
    assert offer_of("SSLv2", None, None).version == SSL2


@pytest.mark.parametrize("name", ["", "0x", "0x12345", "tls", "-1", "\x1b[31m", "x" * 10_000])
def test_nobody_knows_that_name(name: str) -> None:
    with pytest.raises(UsageError) as raised:
        offer_of(None, f"AES128-SHA,{name}", None)
    assert raised.value.message.isprintable()
    assert len(raised.value.message) < 150


@pytest.mark.parametrize("options", [("1.2", "h2,,x"), ("1.2", ""), ("1.3", "x" * 256), ("1.2", "ü"), ("SSLv3", "h2")])
def test_protocols_that_cannot_be_sent(options: tuple[str, str]) -> None:
    with pytest.raises(UsageError, match=r"ALPN|--alpn"):
        offer_of(options[0], None, None, options[1])


def test_protocols_are_sent_in_their_order() -> None:
    assert offer_of("1.2", None, None, "http/1.1, h2").alpn == ("http/1.1", "h2")
    assert offer_of("1.2", None, None).alpn == ()


def test_what_was_accepted_with_other_extensions_is_asked_for_so(call: Call) -> None:
    """A server that takes TLS 1.2 only from clients with ALPN and without groups of RFC 7919."""
    whole = tls_handler(TlsSettings(credential=ordinary(), max_version=TLS12))

    async def choosy(stream: trio.SocketStream) -> None:
        start = await stream.socket.recv(65536, socket.MSG_PEEK)
        if b"http/1.1" in start and bytes.fromhex("0100 0101 0102 0103 0104") not in start:
            await whole(stream)
        else:
            await stream.receive_some(65536)
            await stream.send_all(alert(40))

    with serving(lambda: scripted(choosy, reads_hello=False)) as server:
        place = ("ask", f"127.0.0.1:{server.sockaddr[1]}", "--version", "1.2")
        assert call(*place).code == 1
        assert call(*place, "--extensions", "other").code == 1
        assert call(*place, "--alpn", "h2,http/1.1").code == 1
        assert call(*place, "--extensions", "other", "--alpn", "h2,http/1.1").code == 0


def test_a_selection_that_does_not_go_on_proves_nothing() -> None:
    half = Reply("hello", version=TLS12, suite=0x2F, done=False)
    assert exit_code_of(half) == 3
    assert describe(half)[-1].endswith("this proves nothing")
