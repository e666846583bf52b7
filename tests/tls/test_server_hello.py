"""ServerHello: selected version and group."""

from __future__ import annotations

from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scanner.tls.codepoints import KEY_SHARE, SUPPORTED_VERSIONS, TLS11, TLS12, TLS13
from scanner.tls.extensions import Extension
from scanner.tls.flight import RETRY_RANDOM, ServerHello, Ssl2ServerHello
from scanner.tls.wire import Malformed
from tests.tls.hello_codecs import push_retry_group, push_selected_version, push_server_share

harmless = st.integers(0, 0xFFFF).filter(lambda number: number not in (SUPPORTED_VERSIONS, KEY_SHARE))
hellos = st.builds(
    ServerHello,
    version=st.integers(0x0300, 0x03FF),
    random=st.binary(min_size=32, max_size=32) | st.just(RETRY_RANDOM),
    session_id=st.binary(max_size=32),
    suite=st.integers(0, 0xFFFF),
    compression=st.integers(0, 255),
    extensions=st.none() | st.lists(st.builds(Extension, harmless, st.binary(max_size=20)), max_size=6).map(tuple),
)


def hello(*extensions: Extension, random: bytes = bytes(32), version: int = TLS12) -> ServerHello:
    return ServerHello(version=version, random=random, suite=0x1301, extensions=extensions)


@given(hellos)
def test_what_is_written_is_read(value: ServerHello) -> None:
    assert ServerHello.decode(value.encode()) == value


def test_the_retry_random_is_the_hash_that_the_standard_says() -> None:
    assert sha256(b"HelloRetryRequest").digest() == RETRY_RANDOM


def test_version_and_group_of_tls13() -> None:
    chosen = hello(push_selected_version(TLS13), push_server_share(0x11EC, b"k"))
    assert (chosen.selected_version, chosen.selected_group) == (TLS13, 0x11EC)
    assert not chosen.is_hello_retry_request


def test_version_and_group_of_a_retry() -> None:
    chosen = hello(push_selected_version(TLS13), push_retry_group(0x0017), random=RETRY_RANDOM)
    assert (chosen.selected_version, chosen.selected_group) == (TLS13, 0x0017)
    assert chosen.is_hello_retry_request


def test_a_retry_may_name_no_group() -> None:
    """It then only contains a cookie (RFC 8446 section 4.1.4)."""
    assert hello(push_selected_version(TLS13), random=RETRY_RANDOM).selected_group is None


def test_version_without_the_extension() -> None:
    assert (hello(version=TLS11).selected_version, hello().selected_group) == (TLS11, None)


@pytest.mark.parametrize(
    "odd",
    [
        Extension(SUPPORTED_VERSIONS, b"\x02\x03\x04"),
        Extension(SUPPORTED_VERSIONS, b""),
        Extension(KEY_SHARE, b"\x00\x1d"),
        Extension(KEY_SHARE, b"\x00\x1d\x00\x02\x09"),
    ],
)
def test_a_bad_choice_is_malformed_at_once(odd: Extension) -> None:
    """The properties never raise on a parsed hello."""
    with pytest.raises(Malformed):
        ServerHello.decode(hello(odd).encode())


@pytest.mark.parametrize("version", [0x0002, 0x0200, 0x0403, 0xFEFD])
def test_other_protocols_versions_are_malformed(version: int) -> None:
    with pytest.raises(Malformed, match=f"ServerHello of version 0x{version:04X}"):
        ServerHello.decode(hello(version=version).encode())


def test_a_long_session_id_is_malformed() -> None:
    value = ServerHello(version=TLS12, random=bytes(32), session_id=bytes(33), suite=1)
    with pytest.raises(Malformed, match="session id of 33 bytes"):
        ServerHello.decode(value.encode())


def test_half_an_ssl2_cipher_kind_is_malformed() -> None:
    with pytest.raises(Malformed, match="1 bytes of three-byte cipher kinds"):
        Ssl2ServerHello.decode(bytes.fromhex("04 00 01 0002 0000 0001 0000 01"))
