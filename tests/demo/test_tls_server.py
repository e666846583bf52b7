"""The in-process TLS server does as it is configured, and outlives its clients."""

from __future__ import annotations

import random
import socket
import struct
from functools import partial

import pytest
import trio
from cryptography.hazmat.primitives.serialization import Encoding
from OpenSSL import SSL

from scanner.demo.behaviours import alert
from scanner.demo.certificates import Authority, private_key
from scanner.demo.tls_server import TlsSettings, can_choose_groups, tls_handler
from scanner.errors import ResourceError
from scanner.values import replace
from tests.demo.client import shake_hands
from tests.servers import PATIENCE, ordinary, tls_listener

pytestmark = pytest.mark.crypto

settings = partial(TlsSettings, credential=ordinary())

VERSION_NAMES = {0x0301: "TLSv1", 0x0302: "TLSv1.1", 0x0303: "TLSv1.2", 0x0304: "TLSv1.3"}


@pytest.mark.parametrize("version", VERSION_NAMES)
async def test_speaks_the_one_version_that_it_is_told(version: int) -> None:
    wanted = settings(min_version=version, max_version=version, ciphers="ECDHE+AES:@SECLEVEL=0")
    async with tls_listener(wanted) as server:
        seen = await shake_hands(server.sockaddr)
        assert (seen.completed, seen.version) == (True, VERSION_NAMES[version])
        assert seen.said.startswith(b"HTTP/1.1 200")
        for other in VERSION_NAMES.keys() - {version}:
            refused = await shake_hands(server.sockaddr, versions=(other, other))
            # Up to TLS 1.2 a server answers a newer client with its own version, and it is the client who refuses
            # (RFC 5246 appendix E.1); in all other cases it says protocol_version.
            answered_lower = version < other < 0x0304
            assert (refused.completed, refused.alerts) == (False, [] if answered_lower else [70])


@pytest.mark.parametrize("cipher", ["ECDHE-RSA-AES128-GCM-SHA256", "AES128-SHA", "NULL-SHA256", "ECDHE-RSA-NULL-SHA"])
async def test_speaks_the_one_suite_that_it_is_told(cipher: str) -> None:
    rsa = Authority("Any CA").leaf(names=("localhost",), key="rsa1024")
    wanted = settings(credential=rsa, max_version=0x0303, ciphers=f"{cipher}:@SECLEVEL=0")
    async with tls_listener(wanted) as server:
        assert (await shake_hands(server.sockaddr)).cipher == cipher
        refused = await shake_hands(server.sockaddr, ciphers=f"ALL:!{cipher}:@SECLEVEL=0")
        assert (refused.completed, refused.alerts) == (False, [40])  # handshake_failure


async def test_server_preference() -> None:
    ours, theirs = "ECDHE-ECDSA-AES256-GCM-SHA384", "ECDHE-ECDSA-AES128-GCM-SHA256"
    for prefers, cipher in ((True, ours), (False, theirs)):
        wanted = settings(max_version=0x0303, ciphers=f"{ours}:{theirs}", server_preference=prefers)
        async with tls_listener(wanted) as server:
            assert (await shake_hands(server.sockaddr, ciphers=f"{theirs}:{ours}")).cipher == cipher


async def test_tls13_suites() -> None:
    async with tls_listener(settings(tls13_suites="TLS_CHACHA20_POLY1305_SHA256")) as server:
        assert (await shake_hands(server.sockaddr)).cipher == "TLS_CHACHA20_POLY1305_SHA256"


@pytest.mark.parametrize("groups", ["P-256", "P-384", "X25519", "X25519MLKEM768", "SecP384r1MLKEM1024"])
async def test_groups(groups: str) -> None:
    if not can_choose_groups() and not groups.startswith("P-"):
        with pytest.raises(ResourceError, match="cannot limit"):
            tls_handler(settings(groups=groups))
        return
    async with tls_listener(settings(groups=groups)) as server:
        seen = await shake_hands(server.sockaddr)
    known = {"P-256": "secp256r1", "P-384": "secp384r1", "X25519": "x25519", "X25519MLKEM768": "X25519MLKEM768"}
    assert seen.group == known.get(groups), "the client's own list has no SecP384r1MLKEM1024"
    assert seen.completed == (groups in known)


@pytest.mark.parametrize(("version", "refusal"), [(0x0303, 40), (0x0304, 116)])
async def test_client_certificates(version: int, refusal: int) -> None:
    ours, theirs = Authority("Client CA"), Authority("Another CA")
    ask = partial(settings, min_version=version, max_version=version, client_ca=ours.certificate)
    good = ours.leaf(names=("client",), eku=("clientAuth",))
    async with tls_listener(ask()) as server:
        assert not (await shake_hands(server.sockaddr)).certificate_requested
    async with tls_listener(ask(client_certificate="requested")) as server:
        seen = await shake_hands(server.sockaddr)
        assert (seen.certificate_requested, seen.alerts) == (True, [0])  # close_notify
        assert seen.said
    async with tls_listener(ask(client_certificate="required")) as server:
        without = await shake_hands(server.sockaddr)
        assert without.certificate_requested
        assert (without.completed, without.said, without.alerts) == (version == 0x0304, b"", [refusal])
        assert (await shake_hands(server.sockaddr, credential=good)).said
        assert not (await shake_hands(server.sockaddr, credential=theirs.leaf(names=("client",)))).said


async def test_only_the_leaf_and_its_intermediates_are_sent() -> None:
    root = Authority("Root")
    leaf = Authority("Issuing", issuer=root).leaf(names=("localhost",))
    wanted = settings(credential=leaf, client_certificate="requested", client_ca=root.certificate)
    async with tls_listener(wanted) as server:
        seen = await shake_hands(server.sockaddr)
    assert seen.chain == [leaf.der, *(each.public_bytes(Encoding.DER) for each in leaf.issuers)]


async def test_alpn_and_staple() -> None:
    async with tls_listener(settings(alpn=(b"h2", b"http/1.1"), ocsp_response=b"\x30\x03\x0a\x01\x06")) as server:
        seen = await shake_hands(server.sockaddr, alpn=(b"http/1.1", b"h2"))
        assert (seen.alpn, seen.staple) == (b"h2", b"\x30\x03\x0a\x01\x06")
        nothing_in_common = await shake_hands(server.sockaddr, alpn=(b"imap",))
        assert (nothing_in_common.completed, nothing_in_common.alpn) == (True, b"")


@pytest.mark.parametrize("version", [0x0301, 0x0303, 0x0304])
async def test_another_server_name_is_refused(version: int) -> None:
    wanted = settings(server_name="right.example", min_version=0x0301, ciphers="ECDHE+AES:@SECLEVEL=0")
    async with tls_listener(wanted) as server:
        for name in (None, "wrong.example", "RIGHT.example.evil"):
            refused = await shake_hands(server.sockaddr, server_name=name, versions=(version, version))
            assert (refused.completed, refused.alerts) == (False, [112])
        assert (await shake_hands(server.sockaddr, server_name="right.example", versions=(version, version))).said


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"\x16",
        b"GET / HTTP/1.1\r\n\r\n",
        bytes(70_000),
        b"\x16\x03\x01\xff\xff" + b"A" * 70_000,
        b"\x80\x2e\x01\x00\x02",
    ],
    ids=["nothing", "one byte", "HTTP", "zeros", "oversized record", "SSLv2"],
)
@pytest.mark.parametrize("ending", ["fin", "rst", "half-close"])
async def test_a_client_that_talks_nonsense_or_vanishes_leaves_nothing_behind(sent: bytes, ending: str) -> None:
    async with tls_listener() as server:
        stream = await trio.open_tcp_stream(*server.sockaddr)
        await stream.send_all(sent)
        if ending == "rst":
            stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        elif ending == "half-close":
            await stream.send_eof()
            with trio.fail_after(PATIENCE):
                while await _more(stream):
                    pass
        await stream.aclose()
        assert (await shake_hands(server.sockaddr)).completed
        with trio.fail_after(PATIENCE):
            while server.open:
                await trio.lowlevel.checkpoint()
        assert server.connections == 2


async def test_damaged_hellos_never_end_the_server() -> None:
    """Three hundred hellos with bytes changed, lost or doubled; the last client is served like the first."""
    damage = random.Random(8446)
    whole = client_hello()
    async with tls_listener(settings(server_name="right.example", client_certificate="required")) as server:
        for _ in range(300):
            hello = bytearray(whole)
            for _ in range(damage.randrange(1, 5)):
                hello[damage.randrange(5, len(hello))] = damage.randrange(256)
            start = damage.randrange(5, len(hello))
            kept = damage.choice([len(hello), start, damage.randrange(start, len(hello) + 1)])
            async with await trio.open_tcp_stream(*server.sockaddr) as stream:
                await stream.send_all(bytes(hello[:kept]) + bytes(hello[start:]))
                await stream.send_eof()
                with trio.fail_after(PATIENCE):
                    while await _more(stream):
                        pass
        refused = await shake_hands(server.sockaddr, server_name="right.example")
        assert refused.alerts == [116]  # certificate_required
    assert server.connections == 301


def client_hello() -> bytes:
    """A real one, as OpenSSL sends it."""
    connection = SSL.Connection(SSL.Context(SSL.TLS_CLIENT_METHOD), None)
    connection.set_connect_state()
    connection.set_tlsext_host_name(b"right.example")
    with pytest.raises(SSL.WantReadError):
        connection.do_handshake()
    return connection.bio_read(65536)


RETRY = bytes.fromhex("cf21ad74e59a6111be1d8c021e65b891")
"""First half of the random of a HelloRetryRequest (RFC 8446 section 4.1.3)."""


@pytest.mark.parametrize(("name", "retries"), [("right.example", True), ("other.example", False)])
async def test_the_name_is_refused_before_a_hello_retry_request(name: str, retries: bool) -> None:
    wanted = settings(server_name=name, groups="P-256")  # for which the client sends no share
    async with tls_listener(wanted) as server, await trio.open_tcp_stream(*server.sockaddr) as stream:
        await stream.send_all(client_hello())
        answer = await stream.receive_some()
    assert (RETRY in answer) is retries
    assert (answer == alert(112)) is not retries


async def _more(stream: trio.SocketStream) -> bytes | bytearray:
    try:
        return await stream.receive_some()
    except trio.BrokenResourceError:
        return b""


async def test_leaving_ends_open_conversations() -> None:
    async with tls_listener() as server:
        stream = await trio.open_tcp_stream(*server.sockaddr)
        with trio.fail_after(PATIENCE):
            while not server.open:
                await trio.lowlevel.checkpoint()
    assert server.open == 0
    with trio.fail_after(PATIENCE):
        assert not await _more(stream)
    await stream.aclose()


@pytest.mark.parametrize(
    "changes",
    [partial(settings, ciphers="NO-SUCH-SUITE"), partial(settings, groups="P-256:no-such-group")],
    ids=["suite", "group"],
)
def test_settings_that_openssl_refuses(changes: partial[TlsSettings]) -> None:
    with pytest.raises(ResourceError):
        tls_handler(changes())


def test_a_key_that_is_not_the_certificates() -> None:
    with pytest.raises(ResourceError, match="refuses"):
        tls_handler(settings(credential=replace(ordinary(), key=private_key("p256"))))
