"""What is concluded about servers with one quirk each, and at what cost.

``tests/golden/quirks.txt`` has what each server accepts, what is proved to be refused, and what stays unknown and why.
A refusal less would make a compliant listener inconclusive; one too many could hide a violation. After a change that is
meant: ``ADHERE_GOLDEN=write .venv/bin/pytest tests/probe/test_quirks.py``, then read the difference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Final

from scanner.kube.maybe import Known, Unknown
from scanner.model.observation import Answers
from scanner.probe.session import Question
from scanner.tls.codepoints import (
    EXTENDED_MASTER_SECRET,
    SERVER_NAME,
    SIGNATURE_ALGORITHMS,
    SSL2,
    SSL3,
    TLS10,
    TLS11,
    TLS12,
    TLS13,
)
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
from tests.report.golden import assert_golden

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
    "Camellia in SSLv3 and TLS 1.2, intolerant, and hangs": ModelServer(
        suites={SSL2: (), SSL3: (0xC01A, 0xC0AA), TLS12: (0xC01A, 0xC0AA)},
        groups=(0x0018, X25519, 0x001C),
        curves={"ECDSA": X25519},
        refusal=INSUFFICIENT_SECURITY,
        version_refusal=RST,
        hangs=True,
        needs=frozenset({SIGNATURE_ALGORITHMS}),
        tolerates=TLS12,
        intolerance=ILLEGAL_PARAMETER,
        hybrids_close=True,
        curves_read=11,
    ),
    "SSLv3 of ECDSA, and more than 32 suites end": ModelServer(
        suites={SSL3: (0xC02B, 0x008E, 0xC066, 0xC002, 0x000C)},
        groups=(0x0023, 0x0015, 0x0102),
        curves={"ECDSA": 0x0023},
        version_refusal=HANDSHAKE_FAILURE,
        most=32,
        too_many=FIN,
    ),
    "never says no, chokes, and takes 42 suites": ModelServer(
        suites={
            SSL2: (),
            TLS10: (0xCCAE, 0x009E, 0xC03B),
            TLS11: (0x009C, 0x00AF, 0xC05A, 0xC0A5, 0xC03B, 0xC02C, 0xC0AE),
            TLS12: (0xCCAA, 0xC013),
        },
        groups=(0x0013,),
        order="client",
        curves={"ECDSA": 0x0016},
        refusal=SILENCE,
        version_refusal=ILLEGAL_PARAMETER,
        most=42,
        too_many=FIN,
        srp="anywhere",
        needs=frozenset({SERVER_NAME, SIGNATURE_ALGORITHMS, EXTENDED_MASTER_SECRET}),
        dead_ends=frozenset({0xC05A}),
        psk_fails=True,
        chokes=frozenset({0x11E9, 0x11EE}),
        hybrids_close=True,
        curves_read=11,
        schemes_read=16,
    ),
    "a PSK suite in TLS 1.0 alone, and chokes on a group": ModelServer(
        suites={SSL2: (), TLS10: (0xC035,), TLS12: (), TLS13: (0x006E, 0x006F)},
        groups=(0x0202, 0x0102, 0x0014),
        version_refusal=HANDSHAKE_FAILURE,
        intolerance=HANDSHAKE_FAILURE,
        chokes=frozenset({0x0001}),
        finite_fields=True,
    ),
    "TLS 1.0 that takes 32 suites and chokes on groups": ModelServer(
        suites={SSL2: (), TLS10: (0x000A,)},
        groups=(0x11EE, 0x0018, 0x000C, 0x0202, 0x0022, 0x0104),
        refusal=PROTOCOL_VERSION,
        version_refusal=HANDSHAKE_FAILURE,
        most=32,
        tolerates=TLS12,
        chokes=frozenset({0x0001, 0x0003}),
        schemes_read=16,
    ),
    "TLS 1.0 that resets, by names of suites, in 456 bytes": ModelServer(
        suites={TLS10: (0x0033, 0xCCA9, 0xC009)},
        groups=(0x0202, 0x0016, 0x0013, 0x0019, 0x11E9, X25519),
        curves={"ECDSA": 0x0019},
        refusal=RST,
        version_refusal=RST,
        longest=456,
        named=frozenset({0x0063, 0xC023, 0xCCA9, 0xC009, 0x0033, 0x0015}),
        psk_fails=True,
        hybrids_close=True,
        curves_read=11,
        strict=True,
    ),
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
    if seen.preference:
        yield f"  order: {', '.join(f'{version_name(v)} {_order(each)}' for v, each in seen.preference.items())}"
    for what, found in (("suites", seen.suites), ("groups", seen.groups)):
        yield from (f"  {version_name(version)} {what}: {_answers(each, _code)}" for version, each in found.items())


def _order(preference: Known[str]) -> str:
    return f"unknown ({preference.reason})" if isinstance(preference, Unknown) else f"the {preference}'s"


def _code(code: int) -> str:
    return f"{code:04X}"


def _answers(answers: Answers, named: Callable[[int], str]) -> str:
    refused = sorted(answers.refused)
    few = " ".join(map(named, refused)) if len(refused) < 8 else f"{len(refused)} (sum {sum(refused):X})"
    parts = {"accepted": " ".join(map(named, answers.accepted)), "refused": few, "unknown": answers.unasked}
    return "; ".join(f"{title} {text}" for title, text in parts.items() if text) or "nothing"


def test_this_is_concluded_of_each_server() -> None:
    every = ("\n".join(concluded(name, question)) for name in SERVERS for question in QUESTIONS)
    assert_golden("quirks.txt", "\n\n".join(every) + "\n")
