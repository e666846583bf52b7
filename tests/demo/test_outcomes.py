"""Every listener of the demo plays its spec, seen by a client that is not adhere's probe."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
import trio
from cryptography import x509

from scanner.demo.outcomes import LISTENERS, Listener, demo_listeners
from scanner.model.observation import JUDGEABLE, Reach
from tests.demo.client import Seen, shake_hands
from tests.serving import serving

pytestmark = pytest.mark.crypto

NOT_PLAYED = {Reach.UNREACHABLE, Reach.INTERRUPTED}


async def ask(listener: Listener, *, versions: tuple[int, int] = (0x0301, 0x0304), ciphers: str = "DEFAULT") -> Seen:
    return await shake_hands(
        (listener.address, listener.port),
        server_name=listener.server_name,
        versions=versions,
        ciphers=f"{ciphers}:@SECLEVEL=0",
        before=b"STARTTLS\r\n" if listener.spec.transport == "smtp" else b"",
    )


def test_the_table_is_complete() -> None:
    assert len(LISTENERS) >= 16
    assert {spec.reach for spec in LISTENERS} == set(Reach) - NOT_PLAYED
    assert len({spec.name for spec in LISTENERS}) == len(LISTENERS)
    for spec in LISTENERS:
        assert [spec.tls, spec.handler, spec.port].count(None) == 2, spec.name
        assert bool(spec.failing_rules) == (spec.verdict == "fail"), spec.name
        assert spec.reach in JUDGEABLE or spec.verdict != "pass", spec.name


async def test_targets_are_distinct_and_on_loopback() -> None:
    async with demo_listeners() as listeners:
        assert len({each.target for each in listeners}) == len(listeners)
        assert all(each.address.startswith("127.") for each in listeners)
        assert len({each.anchor for each in listeners}) == 1
        named = next(each for each in listeners if each.name == "expired")
        assert named.target == f"tls://{named.address}:{named.port}#expired.demo.example"
        unnamed = next(each for each in listeners if each.name == "name-required")
        assert unnamed.target == f"tls://{unnamed.address}:{unnamed.port}"
        assert {each.connections for each in listeners} == {0}


@pytest.fixture(scope="module")
def listeners() -> Iterator[tuple[Listener, ...]]:
    with serving(demo_listeners) as open_now:
        yield open_now


@pytest.fixture
def by_name(listeners: tuple[Listener, ...]) -> dict[str, Listener]:
    return {each.name: each for each in listeners}


async def test_each_handshakes_or_not_as_it_says(listeners: tuple[Listener, ...]) -> None:
    for each in listeners:
        if each.spec.reach is Reach.TLS:
            before = each.connections
            seen = await ask(each)
            assert seen.completed, each.name
            assert seen.said.startswith(b"HTTP/1.1 200"), each.name
            assert each.connections == before + 1
        elif each.spec.reach is Reach.CLIENT_CERTIFICATE_REQUIRED:
            seen = await ask(each)
            assert (seen.said, seen.certificate_requested) == (b"", True), each.name


ALERTS = {"name-required": 112, "rejecting": 40}
BANNERS = {"plaintext-http": b"HTTP/1.1 400", "smtp-without-starttls": b"220 ", "malformed": b"\x16\x03\x03"}


async def test_those_that_speak_no_tls(by_name: dict[str, Listener]) -> None:
    for name, alert in ALERTS.items():
        assert (await ask(by_name[name])).alerts == [alert], name
    for name, banner in BANNERS.items():
        each = by_name[name]
        async with await trio.open_tcp_stream(each.address, each.port) as stream:
            await stream.send_all(b"\x16\x03\x01\x00\x04\x01\x00\x00\x00")
            assert (await stream.receive_some()).startswith(banner), name


SINS = (
    ("tls10", (0x0301, 0x0301), "DEFAULT"),
    ("tls10", (0x0302, 0x0302), "DEFAULT"),
    ("tls10", (0x0304, 0x0304), "DEFAULT"),
    ("tls10-only", (0x0301, 0x0301), "DEFAULT"),
    ("tls10-only", (0x0302, 0x0302), "DEFAULT"),
    ("cbc", (0x0303, 0x0303), "ECDHE-ECDSA-AES128-SHA256"),
    ("cbc", (0x0303, 0x0303), "ECDHE-ECDSA-AES256-SHA"),
    ("rsa-key-exchange", (0x0303, 0x0303), "AES128-GCM-SHA256"),
    ("null-cipher", (0x0303, 0x0303), "NULL-SHA256"),
)
"""Listeners, with versions and a cipher list that only a violation accepts (or that the third must accept too)."""


async def test_the_sins_are_committed(by_name: dict[str, Listener]) -> None:
    for name, versions, ciphers in SINS:
        assert (await ask(by_name[name], versions=versions, ciphers=ciphers)).completed, (name, versions, ciphers)


FORBIDDEN = "ALL:eNULL:!ECDHE+AESGCM:!ECDHE+CHACHA20"


async def test_the_compliant_are_compliant(listeners: tuple[Listener, ...]) -> None:
    for each in listeners:
        if each.spec.verdict != "pass":
            continue
        if each.name != "modern" and "13" not in each.name:
            assert not (await ask(each, versions=(0x0303, 0x0303), ciphers=FORBIDDEN)).completed, each.name
        for old in (0x0301, 0x0302):
            assert not (await ask(each, versions=(old, old))).completed, each.name


async def test_post_quantum_key_exchange_is_used_where_promised(by_name: dict[str, Listener]) -> None:
    assert (await ask(by_name["intermediate-pq"])).group == "X25519MLKEM768"


async def test_certificates_sin_as_they_say() -> None:
    now = datetime(2031, 5, 6, tzinfo=UTC)
    served: dict[str, x509.Certificate] = {}
    async with demo_listeners(now=now) as listeners:
        for each in listeners:
            if each.spec.reach is Reach.TLS:
                seen = await ask(each)
                assert len(seen.chain) == 1, each.name
                served[each.name] = x509.load_der_x509_certificate(seen.chain[0])
        anchor = x509.load_der_x509_certificate(listeners[0].anchor)
    assert served["expired"].not_valid_after_utc < now
    assert now < served["expiring"].not_valid_after_utc < now + timedelta(days=30)
    assert served["not-yet-valid"].not_valid_before_utc > now
    assert "elsewhere" in served["wrong-name"].subject.rfc4514_string()
    assert getattr(served["rsa-1024"].public_key(), "key_size", None) == 1024
    assert served["ca-as-leaf"].extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    assert served["self-signed"].issuer == served["self-signed"].subject
    for name in served.keys() - {"self-signed"}:
        served[name].verify_directly_issued_by(anchor)


async def test_an_exception_of_the_block_arrives_as_it_is() -> None:
    with pytest.raises(KeyError, match="mine"):
        async with demo_listeners():
            raise KeyError("mine")
