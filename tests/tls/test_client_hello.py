"""ClientHello: ``assemble`` and ``encode`` agree; ``test_flight.py`` checks that real libraries accept it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scanner.tls.client_hello import ClientHello, Ssl2ClientHello, assemble
from scanner.tls.extensions import Extension, encode_extensions
from scanner.tls.wire import Malformed, u16s

code_points = st.integers(0, 0xFFFF)
extensions = st.lists(st.builds(Extension, code_points, st.binary(max_size=30)), max_size=8).map(tuple)
hellos = st.builds(
    ClientHello,
    version=code_points,
    random=st.binary(min_size=32, max_size=32),
    session_id=st.binary(max_size=32),
    suites=st.lists(code_points, max_size=400).map(tuple),
    compression=st.binary(max_size=5),
    extensions=st.none() | extensions,
)


@given(hellos)
def test_what_is_written_is_read(hello: ClientHello) -> None:
    assert ClientHello.decode(hello.encode()) == hello


@given(hellos)
def test_assembled_of_parts_it_is_the_same(hello: ClientHello) -> None:
    plain = ClientHello(
        version=hello.version,
        random=hello.random,
        session_id=hello.session_id,
        suites=hello.suites,
        extensions=hello.extensions or None,
    )
    parts = encode_extensions(hello.extensions or ())
    assert assemble(hello.version, hello.random, hello.session_id, u16s(hello.suites), parts) == plain.encode()


def test_a_long_session_id_is_malformed() -> None:
    hello = ClientHello(version=0x0303, random=bytes(32), session_id=bytes(33), suites=(1,))
    with pytest.raises(Malformed, match="session id of 33 bytes"):
        ClientHello.decode(hello.encode())


@given(st.lists(st.integers(0, 0xFFFFFF), max_size=50).map(tuple), st.binary(min_size=16, max_size=32))
def test_ssl2_is_read_as_written(suites: tuple[int, ...], challenge: bytes) -> None:
    hello = Ssl2ClientHello(suites=suites, challenge=challenge)
    assert Ssl2ClientHello.decode(hello.encode()) == hello


def test_half_an_ssl2_cipher_kind_is_malformed() -> None:
    with pytest.raises(Malformed, match="2 bytes of three-byte cipher kinds"):
        Ssl2ClientHello.decode(bytes.fromhex("800b 01 0002 0002 0000 0000 0102"))
