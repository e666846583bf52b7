"""Every message of ``messages.py``: encoded, parsed, truncated, and damaged."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scanner.tls.wire import Malformed
from tests.tls.messages import PAIRS, Pair

pytestmark = pytest.mark.crypto

every_pair = pytest.mark.parametrize("pair", PAIRS, ids=[pair.name for pair in PAIRS])


@every_pair
def test_is_written_as_its_bytes(pair: Pair) -> None:
    assert pair.value.encode().hex(" ") == pair.data.hex(" ")


@every_pair
def test_is_read_from_its_bytes(pair: Pair) -> None:
    assert pair.decode(pair.data) == pair.value


@every_pair
def test_cut_short_is_malformed(pair: Pair) -> None:
    for size in range(len(pair.data)):
        with pytest.raises(Malformed):
            pair.decode(pair.data[:size])


@every_pair
def test_a_byte_too_many_is_malformed(pair: Pair) -> None:
    with pytest.raises(Malformed):
        pair.decode(pair.data + b"\x00")


@given(st.sampled_from(PAIRS), st.data())
def test_damaged_is_malformed_or_another_message(pair: Pair, data: st.DataObject) -> None:
    """Every message that can be parsed is encoded as the same bytes."""
    at = data.draw(st.integers(0, len(pair.data) - 1))
    damaged = pair.data[:at] + data.draw(st.binary(min_size=1, max_size=3)) + pair.data[at + 1 :]
    with suppress(Malformed):
        message = pair.decode(damaged)
        assert message is not None
        assert message.encode() == damaged


@given(st.sampled_from(PAIRS), st.binary(max_size=200))
def test_noise_behind_a_good_start_is_malformed_or_a_message(pair: Pair, noise: bytes) -> None:
    body = pair.data[:6] + noise
    framed = body[:1] + (len(body) - 4).to_bytes(3, "big") + body[4:] if len(body) >= 4 else body
    for candidate in (noise, body, framed):
        with suppress(Malformed):
            pair.decode(candidate)
