"""The listeners of ``adhere demo --outcomes``: every outcome that loopback can show, each at a free port.

Not here: 3DES, RC4 and SSLv3, which the OpenSSL of cryptography's wheels is built without; ``unreachable``, which
needs a name that does not resolve or a network without a route; ``interrupted``, which no listener causes. ``verdict``
is what ``--profile intermediate`` with the demo's CA as anchor reports, ``breaks`` the rules that fail.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial

import trio

from scanner.demo import behaviours
from scanner.demo.certificates import Authority, Credential, Deviations
from scanner.demo.listening import Listening, Part, background, closed_port, filtered_port, open_listening
from scanner.demo.tls_server import TlsSettings, can_choose_groups, tls_part
from scanner.model.endpoint import Transport
from scanner.model.finding import Verdict
from scanner.model.observation import Reach

DOMAIN = "demo.example"

_GROUPS = "X25519MLKEM768:X25519:P-256:P-384" if can_choose_groups() else None
_CLASSICAL = "X25519:P-256:P-384" if can_choose_groups() else None
_TLS = partial(TlsSettings, groups=_GROUPS)

Unanswered = Callable[[str], AbstractContextManager[tuple[str, int] | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Role:
    """One listener of the demo. Exactly one of ``tls``, ``part`` and ``port`` is given."""

    name: str
    story: str
    """One sentence for the reader of the report."""
    verdict: Verdict
    reach: Reach = Reach.TLS
    breaks: tuple[str, ...] = ()
    """Rules that must fail, at least."""
    tls: Callable[..., TlsSettings] | None = None
    """Called with ``credential`` and ``client_ca``."""
    part: Part | None = None
    port: Unanswered | None = None
    behind: Callable[[Part], Part] | None = None
    """What comes before TLS."""
    transport: Transport = "tls"
    """How the demo asks."""
    asks_by_name: bool = True
    """Whether the demo sends a server name."""
    certificate_name: str | None = None
    """Other than ``server_name``."""
    leaf: Deviations = field(default_factory=Deviations)
    valid_days: tuple[int, int] | None = None
    """First and last day, counted from today; None: as long as any."""
    self_signed: bool = False

    @property
    def server_name(self) -> str:
        """Its own name, ``expired.demo.example``."""
        return f"{self.name}.{DOMAIN}"


_COMPLIANT = (
    Role(
        name="intermediate-rsa",
        story="TLS 1.2 and 1.3 with an RSA-2048 certificate and forward secrecy only: what Intermediate asks for.",
        verdict="pass",
        tls=partial(TlsSettings, groups=_CLASSICAL),
        leaf={"key": "rsa2048"},
    ),
    Role(
        name="intermediate-pq",
        story="The same with an ECDSA certificate, and X25519MLKEM768 against recording now and decrypting later.",
        verdict="pass",
        tls=_TLS,
    ),
    Role(
        name="modern",
        story="TLS 1.3 alone: stricter than Intermediate asks, and no violation.",
        verdict="pass",
        tls=partial(_TLS, min_version=0x0304),
    ),
    Role(
        name="smtp-starttls",
        story="A mail server, asked as smtp://: TLS begins after STARTTLS.",
        verdict="pass",
        tls=_TLS,
        behind=behaviours.smtp,
        transport="smtp",
    ),
)

_CLIENT_CERTIFICATES = (
    Role(
        name="mtls-requested-12",
        story="Asks for a client certificate and does without (TLS 1.2).",
        verdict="pass",
        tls=partial(_TLS, max_version=0x0303, client_certificate="requested"),
    ),
    Role(
        name="mtls-required-12",
        story="Ends the handshake where no client certificate comes (TLS 1.2); all else is seen before that.",
        verdict="pass",
        reach=Reach.CLIENT_CERTIFICATE_REQUIRED,
        tls=partial(_TLS, max_version=0x0303, client_certificate="required"),
    ),
    Role(
        name="mtls-requested-13",
        story="Asks for a client certificate and does without (TLS 1.3).",
        verdict="pass",
        tls=partial(_TLS, min_version=0x0304, client_certificate="requested"),
    ),
    Role(
        name="mtls-required-13",
        story="Completes the handshake and only then refuses, with certificate_required (TLS 1.3).",
        verdict="pass",
        reach=Reach.CLIENT_CERTIFICATE_REQUIRED,
        tls=partial(_TLS, min_version=0x0304, client_certificate="required"),
    ),
)

_PROTOCOL_SINS = (
    Role(
        name="tls10",
        story="Still accepts TLS 1.0 and 1.1 beside the newer versions.",
        verdict="fail",
        breaks=("tls-version",),
        tls=partial(_TLS, min_version=0x0301, ciphers="ECDHE+AESGCM:ECDHE+AES:@SECLEVEL=0"),
    ),
    Role(
        name="tls10-only",
        story="Speaks nothing newer than TLS 1.1, so no allowed offer is ever accepted.",
        verdict="fail",
        breaks=("tls-version",),
        tls=partial(_TLS, min_version=0x0301, max_version=0x0302, ciphers="ECDHE+AES:@SECLEVEL=0"),
    ),
    Role(
        name="cbc",
        story="Accepts CBC suites in TLS 1.2.",
        verdict="fail",
        breaks=("tls-cipher-suite",),
        tls=partial(_TLS, ciphers="ECDHE+AESGCM:ECDHE-ECDSA-AES128-SHA256:ECDHE-ECDSA-AES256-SHA"),
    ),
    Role(
        name="rsa-key-exchange",
        story="Accepts RSA key exchange: a key that leaks later decrypts recorded connections.",
        verdict="fail",
        breaks=("tls-cipher-suite",),
        tls=partial(_TLS, ciphers="ECDHE+AESGCM:AES128-GCM-SHA256"),
        leaf={"key": "rsa2048"},
    ),
    Role(
        name="null-cipher",
        story="Accepts a suite that encrypts nothing.",
        verdict="fail",
        breaks=("tls-cipher-suite",),
        tls=partial(_TLS, ciphers="ECDHE+AESGCM:NULL-SHA256:@SECLEVEL=0"),
        leaf={"key": "rsa2048"},
    ),
)

_CERTIFICATE_SINS = (
    Role(
        name="expired",
        story="Its certificate ended yesterday.",
        verdict="fail",
        breaks=("cert-expired",),
        tls=_TLS,
        valid_days=(-91, -1),
    ),
    Role(
        name="expiring",
        story="Its certificate ends in ten days.",
        verdict="fail",
        breaks=("cert-expiring",),
        tls=_TLS,
        valid_days=(-80, 10),
    ),
    Role(
        name="not-yet-valid",
        story="Its certificate begins the day after tomorrow.",
        verdict="fail",
        breaks=("cert-not-yet-valid",),
        tls=_TLS,
        valid_days=(2, 90),
    ),
    Role(
        name="wrong-name",
        story="Its certificate is another host's.",
        verdict="fail",
        breaks=("cert-name",),
        tls=_TLS,
        certificate_name=f"elsewhere.{DOMAIN}",
    ),
    Role(
        name="rsa-1024",
        story="Its key is RSA with 1024 bits.",
        verdict="fail",
        breaks=("cert-key-size",),
        tls=partial(_TLS, ciphers="ECDHE+AESGCM:@SECLEVEL=0"),
        leaf={"key": "rsa1024"},
    ),
    Role(
        name="ca-as-leaf",
        story="Serves a certificate that may itself issue certificates.",
        verdict="fail",
        breaks=("cert-ca-as-leaf",),
        tls=_TLS,
        leaf={"ca": True},
    ),
    Role(
        name="self-signed",
        story="Serves a self-signed certificate.",
        verdict="fail",
        breaks=("cert-chain",),
        tls=_TLS,
        self_signed=True,
    ),
)

_NOT_TLS = (
    Role(
        name="plaintext-http",
        story="A web server without TLS.",
        verdict="fail",
        reach=Reach.PLAINTEXT,
        breaks=("tls-reach",),
        part=behaviours.plaintext_http,
    ),
    Role(
        name="smtp-without-starttls",
        story="The mail server again, asked for TLS at once: it wants STARTTLS first, so ask it as smtp://.",
        verdict="fail",
        reach=Reach.STARTTLS_NEEDED,
        breaks=("tls-reach",),
        tls=_TLS,
        behind=behaviours.smtp,
    ),
)

_NO_ANSWER = (
    Role(
        name="name-required",
        story="Knows one server name and rejects a ClientHello without SNI.",
        verdict="inconclusive",
        reach=Reach.NAME_REQUIRED,
        tls=partial(_TLS, server_name=f"name-required.{DOMAIN}"),
        asks_by_name=False,
    ),
    Role(
        name="rejecting",
        story="Answers every offer with a handshake_failure alert.",
        verdict="inconclusive",
        reach=Reach.REJECTED,
        part=behaviours.rejecting,
    ),
    Role(
        name="malformed",
        story="Answers with bytes that are neither TLS nor any protocol.",
        verdict="inconclusive",
        reach=Reach.MALFORMED,
        part=behaviours.malformed,
    ),
    Role(
        name="silent",
        story="Accepts the connection and says nothing.",
        verdict="inconclusive",
        reach=Reach.SILENT,
        part=behaviours.silent,
    ),
    Role(
        name="hanging-up",
        story="Closes without a word.",
        verdict="inconclusive",
        reach=Reach.HUNG_UP,
        part=behaviours.hang_up,
    ),
    Role(
        name="resetting",
        story="Resets the connection as soon as it is spoken to.",
        verdict="inconclusive",
        reach=Reach.RESET,
        part=behaviours.reset,
    ),
    Role(
        name="closed",
        story="The port is closed.",
        verdict="inconclusive",
        reach=Reach.CLOSED,
        port=closed_port,
    ),
    Role(
        name="filtered",
        story="Every SYN is dropped, as by a firewall.",
        verdict="inconclusive",
        reach=Reach.FILTERED,
        port=filtered_port,
    ),
)

ROLES = (*_COMPLIANT, *_CLIENT_CERTIFICATES, *_PROTOCOL_SINS, *_CERTIFICATE_SINS, *_NOT_TLS, *_NO_ANSWER)
"""In the order in which the demo tells them."""


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
