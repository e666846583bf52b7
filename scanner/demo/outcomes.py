"""The listeners of ``adhere demo --outcomes``: every outcome that loopback can show, each at a free port.

Not here: 3DES, RC4 and SSLv3, which the OpenSSL of cryptography's wheels is built without; ``unreachable``, which
needs a name that does not resolve or a network without a route; ``interrupted``, which no listener causes. ``verdict``
is what ``--profile intermediate`` with the demo's CA as anchor reports, ``failing_rules`` the rules that fail.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, ExitStack, asynccontextmanager
from datetime import datetime, timedelta
from functools import partial

import trio
from msgspec import Struct, field

from scanner.demo import behaviours
from scanner.demo.certificates import Authority, Credential, Deviations
from scanner.demo.listening import Handler, Listening, background, closed_port, filtered_port, open_listening
from scanner.demo.tls_server import TlsSettings, can_choose_groups, tls_handler
from scanner.model.endpoint import Transport
from scanner.model.finding import Verdict
from scanner.model.observation import Reach

DOMAIN = "demo.example"

_GROUPS = "X25519MLKEM768:X25519:P-256:P-384" if can_choose_groups() else None
_CLASSICAL = "X25519:P-256:P-384" if can_choose_groups() else None
_TLS = partial(TlsSettings, groups=_GROUPS)

UnservedPort = Callable[[str], AbstractContextManager[tuple[str, int] | None]]


class ListenerSpec(Struct, frozen=True, kw_only=True):
    """One listener of the demo. Exactly one of ``tls``, ``handler`` and ``port`` is set."""

    name: str
    description: str
    """One sentence for the reader of the report."""
    verdict: Verdict
    reach: Reach = Reach.TLS
    failing_rules: tuple[str, ...] = ()
    """Ids of rules that must fail, at least; the only ones that may if the verdict is pass."""
    tls: Callable[..., TlsSettings] | None = None
    """Called with ``credential`` and ``client_ca``."""
    handler: Handler | None = None
    port: UnservedPort | None = None
    behind: Callable[[Handler], Handler] | None = None
    """The protocol before TLS, as a wrapper of the TLS handler."""
    transport: Transport = "tls"
    """Transport of the demo's target."""
    sends_name: bool = True
    """True if the demo's target has a server name."""
    certificate_name: str | None = None
    """Name in the certificate, if it is not ``server_name``."""
    leaf: Deviations = field(default_factory=Deviations)
    valid_days: tuple[int, int] | None = None
    """First and last day of validity, from today; None: the default."""
    self_signed: bool = False

    @property
    def server_name(self) -> str:
        """Its server name, ``expired.demo.example``."""
        return f"{self.name}.{DOMAIN}"


_COMPLIANT = (
    ListenerSpec(
        name="intermediate-rsa",
        description="TLS 1.2 and 1.3, an RSA-2048 certificate and forward secrecy only, as Intermediate requires.",
        verdict="pass",
        tls=partial(TlsSettings, groups=_CLASSICAL),
        leaf={"key": "rsa2048"},
    ),
    ListenerSpec(
        name="intermediate-pq",
        description="The same with an ECDSA certificate, and X25519MLKEM768 against later decryption of recorded data.",
        verdict="pass",
        tls=_TLS,
    ),
    ListenerSpec(
        name="modern",
        description="TLS 1.3 only: stricter than Intermediate, and no violation.",
        verdict="pass",
        tls=partial(_TLS, min_version=0x0304),
    ),
    ListenerSpec(
        name="smtp-starttls",
        description="A mail server, scanned as smtp://: TLS begins after STARTTLS.",
        verdict="pass",
        tls=_TLS,
        behind=behaviours.smtp,
        transport="smtp",
    ),
)

_CLIENT_CERTIFICATES = (
    ListenerSpec(
        name="mtls-requested-12",
        description="Requests a client certificate and does not require it (TLS 1.2).",
        verdict="pass",
        tls=partial(_TLS, max_version=0x0303, client_certificate="requested"),
    ),
    ListenerSpec(
        name="mtls-required-12",
        description="Ends the handshake without a client certificate (TLS 1.2); all else is visible before that.",
        verdict="pass",
        reach=Reach.CLIENT_CERTIFICATE_REQUIRED,
        tls=partial(_TLS, max_version=0x0303, client_certificate="required"),
    ),
    ListenerSpec(
        name="mtls-requested-13",
        description="Requests a client certificate and does not require it (TLS 1.3).",
        verdict="pass",
        tls=partial(_TLS, min_version=0x0304, client_certificate="requested"),
    ),
    ListenerSpec(
        name="mtls-required-13",
        description="Completes the handshake, then refuses with certificate_required (TLS 1.3).",
        verdict="pass",
        reach=Reach.CLIENT_CERTIFICATE_REQUIRED,
        tls=partial(_TLS, min_version=0x0304, client_certificate="required"),
    ),
)

_PROTOCOL_VIOLATIONS = (
    ListenerSpec(
        name="tls10",
        description="Still accepts TLS 1.0 and 1.1, besides newer versions.",
        verdict="fail",
        failing_rules=("tls-version",),
        tls=partial(_TLS, min_version=0x0301, ciphers="ECDHE+AESGCM:ECDHE+AES:@SECLEVEL=0"),
    ),
    ListenerSpec(
        name="tls10-only",
        description="Supports no version after TLS 1.1, so it accepts no allowed offer.",
        verdict="fail",
        failing_rules=("tls-version",),
        tls=partial(_TLS, min_version=0x0301, max_version=0x0302, ciphers="ECDHE+AES:@SECLEVEL=0"),
    ),
    ListenerSpec(
        name="cbc",
        description="Accepts CBC suites in TLS 1.2.",
        verdict="fail",
        failing_rules=("tls-cipher-suite",),
        tls=partial(_TLS, ciphers="ECDHE+AESGCM:ECDHE-ECDSA-AES128-SHA256:ECDHE-ECDSA-AES256-SHA"),
    ),
    ListenerSpec(
        name="rsa-key-exchange",
        description="Accepts RSA key exchange: a leaked key decrypts recorded connections.",
        verdict="fail",
        failing_rules=("tls-cipher-suite",),
        tls=partial(_TLS, ciphers="ECDHE+AESGCM:AES128-GCM-SHA256"),
        leaf={"key": "rsa2048"},
    ),
    ListenerSpec(
        name="null-cipher",
        description="Accepts a suite without encryption.",
        verdict="fail",
        failing_rules=("tls-cipher-suite",),
        tls=partial(_TLS, ciphers="ECDHE+AESGCM:NULL-SHA256:@SECLEVEL=0"),
        leaf={"key": "rsa2048"},
    ),
)

_CERTIFICATE_VIOLATIONS = (
    ListenerSpec(
        name="expired",
        description="Its certificate expired yesterday.",
        verdict="fail",
        failing_rules=("cert-expired",),
        tls=_TLS,
        valid_days=(-91, -1),
    ),
    ListenerSpec(
        name="expiring",
        description="Its certificate expires in ten days.",
        verdict="fail",
        failing_rules=("cert-expiring",),
        tls=_TLS,
        valid_days=(-80, 10),
    ),
    ListenerSpec(
        name="not-yet-valid",
        description="Its certificate is valid from the day after tomorrow.",
        verdict="fail",
        failing_rules=("cert-not-yet-valid",),
        tls=_TLS,
        valid_days=(2, 90),
    ),
    ListenerSpec(
        name="wrong-name",
        description="Its certificate is for another host.",
        verdict="fail",
        failing_rules=("cert-name",),
        tls=_TLS,
        certificate_name=f"elsewhere.{DOMAIN}",
    ),
    ListenerSpec(
        name="rsa-1024",
        description="Its certificate has an RSA key of 1024 bits.",
        verdict="fail",
        failing_rules=("cert-key-size",),
        tls=partial(_TLS, ciphers="ECDHE+AESGCM:@SECLEVEL=0"),
        leaf={"key": "rsa1024"},
    ),
    ListenerSpec(
        name="ca-as-leaf",
        description="Serves a CA certificate as its leaf.",
        verdict="fail",
        failing_rules=("cert-ca-as-leaf",),
        tls=_TLS,
        leaf={"ca": True},
    ),
    ListenerSpec(
        name="self-signed",
        description="Serves a self-signed certificate.",
        verdict="fail",
        failing_rules=("cert-chain",),
        tls=_TLS,
        self_signed=True,
    ),
)

_NOT_TLS = (
    ListenerSpec(
        name="plaintext-http",
        description="A web server without TLS.",
        verdict="fail",
        reach=Reach.PLAINTEXT,
        failing_rules=("tls-reach",),
        handler=behaviours.plaintext_http,
    ),
    ListenerSpec(
        name="smtp-without-starttls",
        description="The mail server, scanned without STARTTLS: the target must be smtp://.",
        verdict="fail",
        reach=Reach.STARTTLS_NEEDED,
        failing_rules=("tls-reach",),
        tls=_TLS,
        behind=behaviours.smtp,
    ),
)

_NO_ANSWER = (
    ListenerSpec(
        name="name-required",
        description="Accepts one server name and rejects a ClientHello without SNI.",
        verdict="inconclusive",
        reach=Reach.NAME_REQUIRED,
        tls=partial(_TLS, server_name=f"name-required.{DOMAIN}"),
        sends_name=False,
    ),
    ListenerSpec(
        name="rejecting",
        description="Answers every offer with a handshake_failure alert.",
        verdict="inconclusive",
        reach=Reach.REJECTED,
        handler=behaviours.rejecting,
    ),
    ListenerSpec(
        name="malformed",
        description="Answers with bytes that are neither TLS nor any protocol.",
        verdict="inconclusive",
        reach=Reach.MALFORMED,
        handler=behaviours.malformed,
    ),
    ListenerSpec(
        name="silent",
        description="Accepts the connection and sends nothing.",
        verdict="inconclusive",
        reach=Reach.SILENT,
        handler=behaviours.silent,
    ),
    ListenerSpec(
        name="hanging-up",
        description="Closes without sending a byte.",
        verdict="inconclusive",
        reach=Reach.HUNG_UP,
        handler=behaviours.hang_up,
    ),
    ListenerSpec(
        name="resetting",
        description="Resets the connection at the ClientHello.",
        verdict="inconclusive",
        reach=Reach.RESET,
        handler=behaviours.reset,
    ),
    ListenerSpec(
        name="closed", description="The port is closed.", verdict="inconclusive", reach=Reach.CLOSED, port=closed_port
    ),
    ListenerSpec(
        name="filtered",
        description="Drops every SYN, like a firewall.",
        verdict="inconclusive",
        reach=Reach.FILTERED,
        port=filtered_port,
    ),
)

LISTENERS = (
    *_COMPLIANT,
    *_CLIENT_CERTIFICATES,
    *_PROTOCOL_VIOLATIONS,
    *_CERTIFICATE_VIOLATIONS,
    *_NOT_TLS,
    *_NO_ANSWER,
)
"""In the order in which the demo lists them."""


class Listener(Struct, frozen=True, kw_only=True):
    """An open listener."""

    spec: ListenerSpec
    address: str
    port: int
    anchor: bytes
    """DER of the demo's CA, which its clients trust; the same for all."""
    listening: Listening | None
    """None for closed and filtered ports."""

    @property
    def name(self) -> str:
        """Name of its spec: ``intermediate-rsa``."""
        return self.spec.name

    @property
    def server_name(self) -> str | None:
        """Name to send as SNI and to expect in the certificate; None: no SNI."""
        return self.spec.server_name if self.spec.sends_name else None

    @property
    def target(self) -> str:
        """The target in the syntax of the command line: ``tls://127.0.0.2:40123#expired.demo.example``."""
        fragment = f"#{self.server_name}" if self.server_name else ""
        return f"{self.spec.transport}://{self.address}:{self.port}{fragment}"

    @property
    def connections(self) -> int:
        """Number of accepted connections."""
        return self.listening.connections if self.listening else 0


@asynccontextmanager
async def demo_listeners(*, now: datetime | None = None) -> AsyncIterator[tuple[Listener, ...]]:
    """Open all listeners until the block is left. Keys and certificates are new each time and stay in memory.

    Addresses are 127.0.0.2 and up (127.0.0.1 alone where the system has no more), so that a limit per host treats
    them as different hosts. The filtered port is left out on systems without one. Raises ``OSError``.
    """
    authority = Authority("adhere demo CA", now=now)
    with ExitStack() as ports:
        async with background() as nursery:
            opened = [
                await _open(nursery, ports, spec, authority, f"127.0.0.{host}")
                for host, spec in enumerate(LISTENERS, 2)
            ]
            yield tuple(each for each in opened if each is not None)


async def _open(
    nursery: trio.Nursery, ports: ExitStack, spec: ListenerSpec, authority: Authority, address: str
) -> Listener | None:
    if spec.port is None:
        listening = await open_listening(nursery, _handler(spec, authority), address=address)
        sockaddr: tuple[str, int] | None = listening.sockaddr
    else:
        listening = None
        sockaddr = ports.enter_context(spec.port(address))
    if sockaddr is None:
        return None
    return Listener(spec=spec, address=sockaddr[0], port=sockaddr[1], anchor=authority.der, listening=listening)


def _handler(spec: ListenerSpec, authority: Authority) -> Handler:
    if spec.tls is None:
        if spec.handler is None:
            raise ValueError(f"{spec.name} has neither TLS settings nor a handler")
        return spec.handler
    handler = tls_handler(spec.tls(credential=_credential(spec, authority), client_ca=authority.certificate))
    return handler if spec.behind is None else spec.behind(handler)


def _credential(spec: ListenerSpec, authority: Authority) -> Credential:
    deviations: Deviations = {**spec.leaf}
    if spec.valid_days is not None:
        first, last = spec.valid_days
        deviations["not_before"] = authority.now + timedelta(days=first)
        deviations["not_after"] = authority.now + timedelta(days=last)
    names = (spec.certificate_name or spec.server_name,)
    issue = authority.self_signed if spec.self_signed else authority.leaf
    return issue(names=names, **deviations)
