"""Extensions: encoding and parsing are inverse, and hostile data raises only Malformed."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scanner.tls import extensions as ext
from scanner.tls.extensions import Extension
from scanner.tls.wire import Malformed
from tests.tls.hello_codecs import (
    pull_ec_point_formats,
    pull_key_share,
    pull_psk_key_exchange_modes,
    pull_renegotiation_info,
    pull_signature_algorithms,
    pull_supported_groups,
    pull_supported_versions,
    push_retry_group,
    push_selected_version,
    push_server_share,
)

Pull = Callable[[bytes], object]

PAIRS: dict[str, tuple[Extension, str, Pull, object]] = {
    "server_name": (ext.push_server_name("a.b"), "0000 0008 0006 00 0003 612e62", ext.pull_server_name, "a.b"),
    "supported_groups": (
        ext.push_supported_groups((0x001D, 0x11EC)),
        "000a 0006 0004 001d 11ec",
        pull_supported_groups,
        (0x001D, 0x11EC),
    ),
    "ec_point_formats": (ext.push_ec_point_formats(), "000b 0002 01 00", pull_ec_point_formats, b"\x00"),
    "signature_algorithms": (
        ext.push_signature_algorithms((0x0403,)),
        "000d 0004 0002 0403",
        pull_signature_algorithms,
        (0x0403,),
    ),
    "padding": (ext.push_padding(3), "0015 0003 000000", bytes, bytes(3)),
    "extended_master_secret": (ext.push_extended_master_secret(), "0017 0000", bytes, b""),
    "session_ticket": (ext.push_session_ticket(b"\x01"), "0023 0001 01", bytes, b"\x01"),
    "supported_versions": (
        ext.push_supported_versions((0x0304, 0x0303)),
        "002b 0005 04 0304 0303",
        pull_supported_versions,
        (0x0304, 0x0303),
    ),
    "supported_versions of a server": (
        push_selected_version(0x0304),
        "002b 0002 0304",
        ext.pull_selected_version,
        0x0304,
    ),
    "psk_key_exchange_modes": (
        ext.push_psk_key_exchange_modes(),
        "002d 0002 01 01",
        pull_psk_key_exchange_modes,
        b"\x01",
    ),
    "key_share, empty": (ext.push_key_share(), "0033 0002 0000", pull_key_share, ()),
    "key_share": (
        ext.push_key_share(((0x001D, b"\x09"),)),
        "0033 0007 0005 001d 0001 09",
        pull_key_share,
        ((0x001D, b"\x09"),),
    ),
    "key_share of a server": (
        push_server_share(0x001D, b"\x09"),
        "0033 0005 001d 0001 09",
        ext.pull_server_share,
        (0x001D, b"\x09"),
    ),
    "key_share of a retry": (push_retry_group(0x11EC), "0033 0002 11ec", ext.pull_retry_group, 0x11EC),
    "renegotiation_info": (ext.push_renegotiation_info(), "ff01 0001 00", pull_renegotiation_info, b""),
}

PULLS = (
    ext.pull_server_name,
    pull_supported_groups,
    pull_ec_point_formats,
    pull_supported_versions,
    ext.pull_selected_version,
    pull_psk_key_exchange_modes,
    pull_key_share,
    ext.pull_server_share,
    pull_renegotiation_info,
)


@pytest.mark.parametrize("name", PAIRS)
def test_both_ways(name: str) -> None:
    extension, written, pull, value = PAIRS[name]
    assert ext.encode_extensions((extension,)) == bytes.fromhex(written)
    assert ext.read_extensions(bytes.fromhex(written)) == (extension,)
    assert pull(extension.data) == value


@pytest.mark.parametrize("name", [name for name, pair in PAIRS.items() if pair[2] in PULLS])
def test_a_byte_more_or_less_is_malformed(name: str) -> None:
    extension, _, pull, _ = PAIRS[name]
    for data in (extension.data[:-1], extension.data + b"\x00"):
        if data:
            with pytest.raises(Malformed):
                pull(data)


@given(st.sampled_from(PULLS), st.binary(max_size=40))
def test_noise_is_malformed_or_read(pull: Pull, noise: bytes) -> None:
    with suppress(Malformed):
        pull(noise)


@given(st.lists(st.builds(Extension, st.integers(0, 0xFFFF), st.binary(max_size=30))).map(tuple))
def test_unknown_extensions_survive(extensions: tuple[Extension, ...]) -> None:
    assert ext.read_extensions(ext.encode_extensions(extensions)) == extensions


def test_the_first_of_a_type_is_found() -> None:
    two = (Extension(5, b"a"), Extension(5, b"b"))
    assert ext.find(two, 5) == b"a"
    assert ext.find(two, 6) is None
    assert ext.find(None, 5) is None


def test_a_trailing_dot_is_no_part_of_a_server_name() -> None:
    assert ext.push_server_name("a.example.") == ext.push_server_name("a.example")


@pytest.mark.parametrize("host", ["", ".", "bücher.example"])
def test_what_is_no_server_name(host: str) -> None:
    with pytest.raises(ValueError, match=r"empty server name|ascii"):
        ext.push_server_name(host)


def test_a_servers_empty_answer_says_nothing() -> None:
    assert ext.pull_server_name(b"") is None


def test_names_of_other_kinds_and_bytes_outside_ascii_do_not_hurt() -> None:
    assert ext.pull_server_name(bytes.fromhex("0008 01 0001 ff 00 0001 e9")) == "\\xe9"
