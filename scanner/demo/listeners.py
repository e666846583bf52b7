"""The demo's listeners, started: every ``Role`` at a loopback address and free port of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta

import trio

from scanner.demo.certificates import Authority, Credential, Deviations
from scanner.demo.listening import Listening, Part, background, open_listening
from scanner.demo.roles import ROLES, Role
from scanner.demo.tls_server import tls_part
from scanner.model.endpoint import Transport
from scanner.model.finding import Verdict
from scanner.model.observation import Reach


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """What a scan with ``--profile intermediate`` and ``anchor`` must say of a listener."""

    verdict: Verdict
    reach: Reach
    breaks: tuple[str, ...]
    """Ids of rules that must fail, at least; the only ones that may where the verdict is pass."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listener:
    """A listener that is open now."""

    name: str
    """What it plays: ``intermediate-rsa``."""
    story: str
    """One sentence for the reader."""
    transport: Transport
    """How to ask it."""
    address: str
    port: int
    server_name: str | None
    """What to send as SNI and find in the certificate; None: send none."""
    anchor: bytes
    """DER of the demo's CA, the one that its clients trust; the same for all."""
    expected: Expected
    listening: Listening | None
    """None where nobody accepts."""

    @property
    def target(self) -> str:
        """As on the command line: ``tls://127.0.0.2:40123#expired.demo.example``."""
        fragment = f"#{self.server_name}" if self.server_name else ""
        return f"{self.transport}://{self.address}:{self.port}{fragment}"

    @property
    def connections(self) -> int:
        """Accepted so far."""
        return self.listening.connections if self.listening else 0


@asynccontextmanager
async def demo_listeners(*, now: datetime | None = None) -> AsyncIterator[tuple[Listener, ...]]:
    """Open every role until the block is left. Keys and certificates are new each time and stay in memory.

    Addresses are 127.0.0.2 and up (127.0.0.1 alone where the system has no more), so that a limit per host treats
    them as the different hosts that they play. A role that this system cannot play is left out. Raises ``OSError``.
    """
    authority = Authority("adhere demo CA", now=now)
    with ExitStack() as ports:
        async with background() as nursery:
            opened = [
                await _open(nursery, ports, role, authority, f"127.0.0.{host}") for host, role in enumerate(ROLES, 2)
            ]
            yield tuple(each for each in opened if each is not None)


async def _open(
    nursery: trio.Nursery, ports: ExitStack, role: Role, authority: Authority, address: str
) -> Listener | None:
    if role.port is None:
        listening = await open_listening(nursery, _part(role, authority), address=address)
        sockaddr: tuple[str, int] | None = listening.sockaddr
    else:
        listening = None
        sockaddr = ports.enter_context(role.port(address))
    if sockaddr is None:
        return None
    return Listener(
        name=role.name,
        story=role.story,
        transport=role.transport,
        address=sockaddr[0],
        port=sockaddr[1],
        server_name=role.server_name if role.asks_by_name else None,
        anchor=authority.der,
        expected=Expected(verdict=role.verdict, reach=role.reach, breaks=role.breaks),
        listening=listening,
    )


def _part(role: Role, authority: Authority) -> Part:
    if role.tls is None:
        if role.part is None:
            raise ValueError(f"the role {role.name} plays nothing")
        return role.part
    part = tls_part(role.tls(credential=_credential(role, authority), client_ca=authority.certificate))
    return part if role.behind is None else role.behind(part)


def _credential(role: Role, authority: Authority) -> Credential:
    deviations: Deviations = {**role.leaf}
    if role.valid_days is not None:
        first, last = role.valid_days
        deviations["not_before"] = authority.now + timedelta(days=first)
        deviations["not_after"] = authority.now + timedelta(days=last)
    names = (role.certificate_name or role.server_name,)
    issue = authority.self_signed if role.self_signed else authority.leaf
    return issue(names=names, **deviations)
