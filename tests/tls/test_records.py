"""Records: cut out of a stream, whatever the pieces."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scanner.tls import records
from scanner.tls.records import HANDSHAKE, Record, RecordReader, encode_records
from scanner.tls.wire import Malformed


@st.composite
def streams(draw: st.DrawFn) -> list[Record]:
    fields = st.tuples(st.sampled_from([20, 21, 22, 23, 24]), st.integers(0x0300, 0x03FF), st.binary(min_size=1))
    return [Record(*each) for each in draw(st.lists(fields, max_size=5))]


@given(streams(), st.data())
def test_pieces_do_not_matter(wanted: list[Record], data: st.DataObject) -> None:
    stream = b"".join(encode_records(*record) for record in wanted)
    reader = RecordReader()
    found: list[Record] = []
    while stream:
        size = data.draw(st.integers(1, len(stream)))
        found += reader.feed(stream[:size])
        stream = stream[size:]
    assert found == wanted


def test_byte_by_byte_is_as_at_once() -> None:
    stream = encode_records(HANDSHAKE, 0x0303, b"abc") + encode_records(21, 0x0301, b"\x02\x28")
    reader = RecordReader()
    found = [record for at in range(len(stream)) for record in reader.feed(stream[at : at + 1])]
    assert found == list(RecordReader().feed(stream)) == [(22, 0x0303, b"abc"), (21, 0x0301, b"\x02\x28")]


def test_what_was_not_asked_for_stays() -> None:
    reader = RecordReader()
    first = next(reader.feed(encode_records(22, 0x0303, b"a") + encode_records(22, 0x0303, b"b")))
    assert (first.fragment, [record.fragment for record in reader.feed(b"")]) == (b"a", [b"b"])


@pytest.mark.parametrize("size", [0, 1, 2**14, 2**14 + 1, 2**15 + 7])
def test_long_payloads_are_split_and_come_together_again(size: int) -> None:
    payload = bytes(size)
    stream = encode_records(23, 0x0303, payload)
    found = list(RecordReader().feed(stream))
    assert b"".join(record.fragment for record in found) == payload
    assert [len(record.fragment) for record in found[:-1]] == [2**14] * (len(found) - 1)
    assert len(stream) == size + 5 * max(1, -(-size // 2**14))


@pytest.mark.parametrize(
    ("stream", "why"),
    [
        ("48", "no TLS record: 48"),
        ("1600", "no TLS record: 16 00"),
        ("16fe", "no TLS record: 16 fe"),
        ("1603034801", "record of 18433 bytes, 18432 allowed"),
        ("1603030000", "empty record of content type 22"),
        ("1503030000", "empty record of content type 21"),
    ],
)
def test_what_no_peer_sends(stream: str, why: str) -> None:
    with pytest.raises(Malformed, match=why):
        list(RecordReader().feed(bytes.fromhex(stream)))


def test_the_longest_record_is_read() -> None:
    assert len(next(RecordReader().feed(bytes.fromhex("1703034800") + bytes(18432))).fragment) == 18432


@pytest.mark.parametrize("start", ["", "14", "15", "16", "17", "18", "1603", "160303"])
def test_starts_of_records(start: str) -> None:
    assert records.starts_record(bytes.fromhex(start))


@pytest.mark.parametrize("start", ["13", "19", "48", "80", "1602", "16fe"])
def test_what_is_no_start_of_a_record(start: str) -> None:
    assert not records.starts_record(bytes.fromhex(start))


@pytest.mark.parametrize("start", ["", "80", "8003", "800300", "800b04", "ffff04"])
def test_starts_of_ssl2(start: str) -> None:
    assert records.starts_ssl2(bytes.fromhex(start))


@pytest.mark.parametrize("start", ["16", "7f", "800a04", "800400", "800001", "fffd18"])
def test_what_is_no_start_of_ssl2(start: str) -> None:
    assert not records.starts_ssl2(bytes.fromhex(start))


def test_an_ssl2_message_arrives_in_pieces() -> None:
    stream = bytes.fromhex("8003 00 0001")
    assert [records.ssl2_message(stream[:size]) for size in range(1, 6)] == [None, None, None, None, b"\x00\x00\x01"]
    assert records.ssl2_message(bytes.fromhex("8000")) is None
    with pytest.raises(Malformed, match="no SSLv2 record: 80 03 09"):
        records.ssl2_message(bytes.fromhex("800309"))
