"""What is concluded about servers with one quirk each, and at what cost.

``tests/golden/quirks.txt`` has what each server accepts, what is proved to be refused, and what stays unknown and why.
A refusal less would make a compliant listener inconclusive; one too many could hide a violation. After a change that is
meant: ``ADHERE_GOLDEN=write .venv/bin/pytest tests/probe/test_quirks.py``, then read the difference.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import pytest

from scanner.model.observation import Answers
from scanner.probe.session import Question
from scanner.tls.codepoints import EXTENDED_MASTER_SECRET, SIGNATURE_ALGORITHMS, SSL2, SSL3, TLS10, TLS11, TLS12, TLS13
from scanner.tls.names import version_name
from tests.probe.model_server import (
    DECODE_ERROR,
    FIN,
    HANDSHAKE_FAILURE,
    ILLEGAL_PARAMETER,
    INSUFFICIENT_SECURITY,
    INTERNAL_ERROR,
    PROTOCOL_VERSION,
    RST,
    SECP256R1,
    SILENCE,
    X25519,
    ModelServer,
    handshake_bytes,
    interview,
)

GOLDEN: Final = Path(__file__).parents[1] / "golden" / "quirks.txt"
TODAY: Final = {TLS13: (0x1301, 0x1302, 0x1303), TLS12: (0xC02F, 0xC030, 0xCCA8)}
OLD: Final = {TLS12: (0xC02F, 0xC013, 0x009C, 0x002F, 0x009E), TLS11: (0xC013, 0x002F), TLS10: (0xC013, 0x002F, 0x000A)}
ALONE: Final = {TLS13: (0x1301, 0x1302)}
TWO: Final = {TLS12: (0xC02B, 0xC02F, 0xC02C, 0xC030)}
FINITE: Final = {TLS12: (0x009E, 0x009F, 0xC02F)}
SECRETS: Final = {TLS12: (0xC02F, 0x008C, 0x00AE, 0xC01D), TLS10: (0xC01D, 0x008C)}
GROUPS: Final = (0x11EC, X25519, SECP256R1, 0x0018)
SERVERS: Final[Mapping[str, ModelServer]] = {
    "of today": ModelServer(suites=TODAY, groups=GROUPS),
    "of today, in the client's order": ModelServer(suites=TODAY, groups=GROUPS, order="client"),
    "of today without a name": ModelServer(suites=TODAY, groups=GROUPS, name=None),
    "old": ModelServer(suites=OLD),
    "old, in the client's order": ModelServer(suites=OLD, order="client"),
    "TLS 1.3 alone": ModelServer(suites=ALONE, groups=GROUPS),
    "TLS 1.1 without TLS 1.2": ModelServer(suites={TLS11: (0xC013, 0x002F)}),
    "SSLv3 alone": ModelServer(suites={SSL3: (0x000A, 0x0005)}),
    "SSLv3 below others": ModelServer(suites={**OLD, SSL3: (0x000A,)}),
    "SSLv2 below others": ModelServer(suites={**OLD, SSL2: ()}),
    "TLS 1.2 that has no suite": ModelServer(suites={TLS12: (), TLS11: (0x002F,)}),
    "nothing": ModelServer(suites={}),
    "anonymous": ModelServer(suites={TLS12: (0xC019, 0x00A6, 0x0034), TLS10: (0x0034,)}),
    "ECDSA": ModelServer(suites={TLS12: (0xC02B, 0xC02C)}, curves={"ECDSA": 0x0018}),
    "two certificates": ModelServer(suites=TWO, curves={"ECDSA": SECP256R1}),
    "two certificates, and the first suite decides": ModelServer(
        suites=TWO, curves={"ECDSA": SECP256R1}, named=frozenset(TWO[TLS12])
    ),
    "ECDSA with an unlikely curve": ModelServer(
        suites={TLS12: (0xC02B,)}, curves={"ECDSA": 0x001A}, groups=(0x001A, X25519)
    ),
    "finite fields": ModelServer(suites=FINITE, groups=(X25519, 0x0100, 0x0101)),
    "finite fields by name": ModelServer(suites=FINITE, groups=(X25519, 0x0100), finite_fields=True),
    "suites with credentials": ModelServer(suites=SECRETS),
    "suites with credentials, and SRP anywhere ends": ModelServer(suites=SECRETS, srp="anywhere"),
    "suites with credentials, and its PSK ends": ModelServer(suites=SECRETS, psk_fails=True),
    **{
        f"refuses with {reply.ending_kind}": ModelServer(suites=TODAY, groups=GROUPS, refusal=reply)
        for reply in (INSUFFICIENT_SECURITY, INTERNAL_ERROR, PROTOCOL_VERSION, FIN, RST, SILENCE)
    },
    **{
        f"refuses versions with {reply.ending_kind}": ModelServer(suites=TODAY, groups=GROUPS, version_refusal=reply)
        for reply in (HANDSHAKE_FAILURE, INTERNAL_ERROR, FIN, RST, SILENCE)
    },
    **{
        f"old, and refuses versions with {reply.ending_kind}": ModelServer(suites=OLD, version_refusal=reply)
        for reply in (HANDSHAKE_FAILURE, INTERNAL_ERROR, FIN)
    },
    **{
        f"TLS 1.3 alone, and refuses versions with {reply.ending_kind}": ModelServer(
            suites=ALONE, version_refusal=reply
        )
        for reply in (HANDSHAKE_FAILURE, FIN)
    },
    **{f"reads {reads} suites": ModelServer(suites=OLD, reads=reads) for reads in (32, 64, 128)},
    **{
        f"more than {most} suites end in {reply.ending_kind}": ModelServer(suites=OLD, most=most, too_many=reply)
        for most, reply in (
            (16, RST),
            (32, FIN),
            (64, PROTOCOL_VERSION),
            (128, INTERNAL_ERROR),
            (128, HANDSHAKE_FAILURE),
        )
    },
    **{
        f"of today, and more than {most} suites end in {reply.ending_kind}": ModelServer(
            suites=TODAY, groups=GROUPS, most=most, too_many=reply, version_refusal=FIN
        )
        for most, reply in ((3, INTERNAL_ERROR), (16, SILENCE), (32, RST))
    },
    **{f"at most {length} bytes": ModelServer(suites=OLD, longest=length) for length in (230, 300, 512, 900)},
    "hangs at 256 to 511 bytes": ModelServer(suites=OLD, hangs=True),
    "needs the extended master secret": ModelServer(suites=TODAY, needs=frozenset({EXTENDED_MASTER_SECRET})),
    "needs signature algorithms": ModelServer(suites=OLD, needs=frozenset({SIGNATURE_ALGORITHMS})),
    "no retry for an empty key share": ModelServer(suites=TODAY, groups=GROUPS, no_retry="empty"),
    "no retry ever": ModelServer(suites=TODAY, groups=GROUPS, no_retry="ever", no_retry_ending=DECODE_ERROR),
    "dead ends": ModelServer(suites=OLD, dead_ends=frozenset({0xC02F, 0x009C})),
    "dead ends alone": ModelServer(suites={TLS12: (0xC02F,)}, dead_ends=frozenset({0xC02F})),
    "intolerant of TLS 1.3": ModelServer(suites=OLD, tolerates=TLS12, intolerance=FIN),
    "intolerant of TLS 1.2": ModelServer(suites={TLS11: (0x002F,), TLS10: (0x002F,)}, tolerates=TLS11, intolerance=RST),
    "chokes on a group": ModelServer(suites=TODAY, groups=GROUPS, chokes=frozenset({0x001B})),
    "chokes on a group of TLS 1.2": ModelServer(suites=OLD, chokes=frozenset({0x0009})),
    "closes at hybrids": ModelServer(suites=TODAY, groups=GROUPS, hybrids_close=True),
    "reads 11 curves": ModelServer(suites=OLD, curves_read=11),
    "reads 16 signature algorithms": ModelServer(suites=TODAY, groups=GROUPS, schemes_read=16),
    "strict": ModelServer(suites=TODAY, groups=GROUPS, strict=True),
    "every second connection fails": ModelServer(
        suites=TODAY, groups=GROUPS, alternates="even", accident=ILLEGAL_PARAMETER
    ),
}
INTERMEDIATE: Final = frozenset({*TODAY[TLS13], *TODAY[TLS12], 0xC02B, 0xC02C, 0xCCA9, 0x009E, 0x009F})
QUESTIONS: Final = {
    "inventory": Question(mode="inventory"),
    "verdict": Question(mode="verdict", allowed=INTERMEDIATE, min_version=TLS12, groups=frozenset(GROUPS)),
}


def concluded(name: str, question: str) -> Iterator[str]:
    server = SERVERS[name]
    server.connections = 0
    asked = interview(server, QUESTIONS[question])
    seen = asked.evidence.conclude("model", datetime(2026, 1, 2, tzinfo=UTC))
    size = sum(handshake_bytes(offer, server.name) for offer, _ in asked.asked if offer.version != SSL2)
    yield f"{name}: {question} in {asked.connections} hellos of {size} bytes"
    yield f"  versions: {_answers(seen.versions, version_name)}"
    for what, found in (("suites", seen.suites), ("groups", seen.groups)):
        yield from (f"  {version_name(version)} {what}: {_answers(each, _code)}" for version, each in found.items())


def _code(code: int) -> str:
    return f"{code:04X}"


def _answers(answers: Answers, named: Callable[[int], str]) -> str:
    refused = sorted(answers.refused)
    few = " ".join(map(named, refused)) if len(refused) < 8 else f"{len(refused)} (sum {sum(refused):X})"
    parts = {"accepted": " ".join(map(named, answers.accepted)), "refused": few, "unknown": answers.unasked}
    return "; ".join(f"{title} {text}" for title, text in parts.items() if text) or "nothing"


def expected() -> dict[str, str]:
    return {
        block.partition("\n")[0].rpartition(" in ")[0]: block for block in GOLDEN.read_text().rstrip().split("\n\n")
    }


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("name", SERVERS)
def test_this_is_concluded_of_a_server(name: str, question: str) -> None:
    found = "\n".join(concluded(name, question))
    if os.environ.get("ADHERE_GOLDEN") == "write":
        GOLDEN.write_text("\n\n".join({**expected(), f"{name}: {question}": found}.values()) + "\n")
    assert found == expected()[f"{name}: {question}"]


def test_no_server_is_expected_that_is_not_asked() -> None:
    assert list(expected()) == [f"{name}: {question}" for name in SERVERS for question in QUESTIONS]
