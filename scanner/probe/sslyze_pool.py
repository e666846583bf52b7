"""Confirm findings with sslyze, in child processes that can be killed at any time.

sslyze 6.3 supports no post-quantum group, always sends a server name, and makes hundreds of connections where adhere
makes eight. But it is written by others and uses other TLS libraries, so it is independent evidence.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from pathlib import Path
from subprocess import DEVNULL, PIPE
from types import TracebackType
from typing import Any, Final

import trio

from scanner.errors import ResourceError
from scanner.kube.maybe import Known, Unknown
from scanner.model.endpoint import Endpoint, Transport
from scanner.model.observation import Answers, ClientCertificate, Flaw, Inquiry, Opinion
from scanner.probe.starttls import shown
from scanner.tls.codepoints import SSL2, SSL2_CIPHERS, SSL3, TLS10, TLS11, TLS12, TLS13
from scanner.tls.names import group_code, suite_code

WORKER: Final = (sys.executable, "-P", str(Path(__file__).with_name("sslyze_worker.py")))
"""``-P``: do not import modules from the script's directory."""

ANSWER_LIMIT: Final = 1 << 20
"""Size limit of one answer in bytes; 700 suites in six versions are a tenth of that."""

_CHUNK: Final = 1 << 16
RECYCLE: Final = 50
"""Requests after which a child is replaced, so that its leaks end."""

SUITE_COMMANDS: Final[Mapping[str, int]] = {
    "ssl_2_0_cipher_suites": SSL2,
    "ssl_3_0_cipher_suites": SSL3,
    "tls_1_0_cipher_suites": TLS10,
    "tls_1_1_cipher_suites": TLS11,
    "tls_1_2_cipher_suites": TLS12,
    "tls_1_3_cipher_suites": TLS13,
}

FLAW_COMMANDS: Final[Mapping[str, tuple[Flaw, ...]]] = {
    "heartbleed": ("heartbleed",),
    "robot": ("robot",),
    "openssl_ccs_injection": ("ccs-injection",),
    "session_renegotiation": ("insecure-renegotiation", "client-renegotiation"),
    "tls_compression": ("compression",),
    "tls_fallback_scsv": ("no-fallback-scsv",),
}

STARTTLS: Final[Mapping[Transport, str]] = {
    "tls": "",
    "smtp": "SMTP",
    "imap": "IMAP",
    "pop3": "POP3",
    "ldap": "LDAP",
    "ftp": "FTP",
    "xmpp": "XMPP",
    "postgres": "POSTGRES",
}
"""Transports that sslyze supports; MySQL is not one of them."""

_CLIENT_AUTH: Final[Mapping[str, ClientCertificate]] = {
    "DISABLED": "none",
    "OPTIONAL": "requested",
    "REQUIRED": "required",
}
_ROBOT: Final[Mapping[str, bool]] = {
    "VULNERABLE_WEAK_ORACLE": True,
    "VULNERABLE_STRONG_ORACLE": True,
    "NOT_VULNERABLE_NO_ORACLE": False,
    "NOT_VULNERABLE_RSA_NOT_SUPPORTED": False,
}
_SSL2_CODES: Final = {cipher.name: cipher.code for cipher in SSL2_CIPHERS}


def available() -> str | None:
    """The installed version of sslyze; None without the extra ``adhere[sslyze]``."""
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 - it imports email and zipfile

    try:
        return version("sslyze")
    except PackageNotFoundError:
        return None


class SslyzePool:
    """At most ``processes`` child processes with sslyze, started when needed and killed at the end.

    ``async with SslyzePool() as pool: opinion = await pool.ask(endpoint, Inquiry(certificate=True))``
    """

    def __init__(
        self,
        *,
        processes: int = 2,
        timeout: float = 60.0,
        network_timeout: float = 5.0,
        connections: int = 4,
        command: Iterable[str] = WORKER,
    ) -> None:
        """``timeout`` in seconds is for one endpoint, ``network_timeout`` for one of sslyze's connections. sslyze has
        at most ``connections`` open at once."""
        self.timeout = timeout
        self._asked = {"timeout": max(1, round(network_timeout)), "connections": connections}
        self._command = tuple(command)
        self._seats = trio.Semaphore(processes)
        self._idle: list[_Child] = []

    async def __aenter__(self) -> SslyzePool:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        while self._idle:
            await self._idle.pop().kill()

    @cached_property
    def _program(self) -> str:
        """Name and version of sslyze, looked up at first use."""
        return f"sslyze {available() or '(not installed)'}"

    async def ask(self, endpoint: Endpoint, inquiry: Inquiry) -> Opinion:
        """Get sslyze's results for ``endpoint`` within ``timeout`` seconds after a child is free.

        Never raises for what the endpoint or the child does: then the result has a ``failure``. A child that is late,
        dies or answers nonsense is killed, also on cancellation. Raises ``ResourceError`` if no process can be started.
        """
        starttls = STARTTLS.get(endpoint.transport)
        if starttls is None:
            return self._nothing(f"sslyze does not support {endpoint.transport}")
        request = {
            "address": endpoint.address,
            "port": endpoint.port,
            "name": endpoint.server_name or endpoint.host or endpoint.address,
            "starttls": starttls,
            "commands": _commands(inquiry),
            **self._asked,
        }
        async with self._seats:
            answer = await self._exchange(json.dumps(request).encode() + b"\n")
        if isinstance(answer, Unknown):
            return self._nothing(answer.reason)
        try:
            return _opinion(json.loads(answer), self._program)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            return self._nothing(f"invalid answer of sslyze ({type(error).__name__})")

    async def _exchange(self, request: bytes) -> Known[bytes]:
        child = self._idle.pop() if self._idle else await _Child.start(self._command)
        answer: Known[bytes] = Unknown(f"no answer within {self.timeout:g} s")
        usable = False
        try:
            with trio.move_on_after(self.timeout):
                answer = await child.exchange(request)
            usable = not isinstance(answer, Unknown) and child.answered < RECYCLE
        finally:
            if usable:
                self._idle.append(child)
            else:
                await child.kill()
        return answer

    def _nothing(self, reason: str) -> Opinion:
        return Opinion(witness=self._program, failure=reason)


def _commands(inquiry: Inquiry) -> list[str]:
    """The sslyze commands of an inquiry."""
    return [
        *(command for command, number in SUITE_COMMANDS.items() if number in inquiry.versions),
        *(["elliptic_curves"] if inquiry.groups else []),
        *(["certificate_info"] if inquiry.certificate else []),
        *(FLAW_COMMANDS if inquiry.flaws else []),
    ]


class _Child:
    """One child process."""

    def __init__(self, process: trio.Process) -> None:
        self._process = process
        self.answered = 0

    @classmethod
    async def start(cls, command: tuple[str, ...]) -> _Child:
        """Start it in a separate session, so that Ctrl-C does not reach it. Raises ``ResourceError``."""
        try:
            process = await trio.lowlevel.open_process(
                command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, start_new_session=True
            )
        except OSError as error:
            raise ResourceError(
                f"sslyze cannot be started: {error.strerror or error}", hint="omit --confirm and --deep"
            ) from None
        return cls(process)

    async def exchange(self, request: bytes) -> Known[bytes]:
        """Send one line and read one; unknown if the child ends or sends too much instead."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None  # noqa: S101 - both were asked for as pipes
        assert stdout is not None  # noqa: S101
        answer = bytearray()
        try:
            await stdin.send_all(request)
            while not answer.endswith(b"\n"):
                received = await stdout.receive_some(_CHUNK)
                if not received:
                    return Unknown("sslyze ended without an answer")
                answer += received
                if len(answer) > ANSWER_LIMIT:
                    return Unknown(f"sslyze's answer is longer than {ANSWER_LIMIT} bytes")
        except (trio.BrokenResourceError, OSError):
            return Unknown("sslyze ended without an answer")
        self.answered += 1
        return bytes(answer)

    async def kill(self) -> None:
        """Kill it and wait until it has exited, also while being cancelled."""
        with trio.CancelScope(shield=True):
            self._process.kill()
            await self._process.wait()
            for stream in (self._process.stdin, self._process.stdout):
                if stream is not None:
                    await stream.aclose()


# --- the answer -------------------------------------------------------------------------------------------------------


def _opinion(answer: Mapping[str, Any], program: str) -> Opinion:
    """Parse the child's answer. Raises ``KeyError`` and others if it is not what the worker writes."""
    if "failure" in answer:
        return Opinion(witness=program, failure=shown(str(answer["failure"]).encode()) or "no reason stated")
    seen, failed = dict(answer["seen"]), {str(k): shown(str(v).encode()) for k, v in answer["failed"].items()}
    return Opinion(
        witness=program,
        highest=SUITE_COMMANDS[f"{str(answer['highest']).lower()}_cipher_suites"],
        suites={
            number: _answers(seen[command], _SSL2_CODES.__getitem__ if number == SSL2 else suite_code)
            for command, number in SUITE_COMMANDS.items()
            if command in seen
        },
        groups=_groups(seen, failed),
        client_certificate=_CLIENT_AUTH.get(answer["client_auth"], Unknown("sslyze could not determine it")),
        certificates=_certificates(seen, failed),
        flaws=dict(_flaws(seen, failed)),
    )


def _answers(answer: Mapping[str, list[str]], code: Callable[[str], int]) -> Answers:
    accepted, refused = _codes(answer["accepted"], code), _codes(answer["refused"], code)
    return Answers(
        accepted=accepted,
        refused=frozenset(refused) - frozenset(accepted),
        unasked="sslyze does not support it, or got no answer",
    )


def _codes(spelled: list[str], code: Callable[[str], int]) -> tuple[int, ...]:
    """Code points; unknown names are omitted."""
    known = []
    for name in spelled:
        try:
            known.append(code(name))
        except KeyError:
            continue
    return tuple(known)


def _groups(seen: Mapping[str, Any], failed: Mapping[str, str]) -> Answers:
    if "elliptic_curves" in seen:
        return _answers(seen["elliptic_curves"], group_code)
    return Answers(unasked=failed.get("elliptic_curves", "not asked"))


def _certificates(seen: Mapping[str, Any], failed: Mapping[str, str]) -> Known[frozenset[str]]:
    if "certificate_info" in seen:
        return frozenset(str(each) for each in seen["certificate_info"])
    return Unknown(failed.get("certificate_info", "not asked"))


def _flaws(seen: Mapping[str, Any], failed: Mapping[str, str]) -> Iterable[tuple[Flaw, Known[bool]]]:
    for command, flaws in FLAW_COMMANDS.items():
        for flaw in flaws:
            if command in seen:
                yield flaw, _flaw(seen[command][flaw])
            elif command in failed:
                yield flaw, Unknown(f"sslyze failed ({failed[command]})")


def _flaw(answer: object) -> Known[bool]:
    if isinstance(answer, bool):
        return answer
    return _ROBOT.get(str(answer), Unknown("sslyze got inconsistent answers"))
