"""Chains of certificates in one file."""

from __future__ import annotations

import pytest

from scanner.pki.containers import chain_first, chain_of
from scanner.values import replace
from tests.pki.subjects import LEAF

pytestmark = pytest.mark.crypto

CHAIN = [
    replace(LEAF, subject=f"CN={number}", issuer=f"CN={number + 1}", sha256=f"{number:064}") for number in range(13)
]


def test_a_chain_goes_on_as_long_as_each_issued_the_one_before_and_has_ten_at_most() -> None:
    leaf, *behind = CHAIN
    assert chain_of(leaf, behind[:10]) == tuple(behind[:10])
    assert chain_of(leaf, behind) == tuple(behind[:10])
    assert chain_of(leaf, [*behind[:2], behind[4], behind[2]]) == tuple(behind[:2])


def test_a_chain_is_put_in_order_up_to_ten_behind_the_first_and_the_rest_stays_as_it_is() -> None:
    leaf, *behind = CHAIN
    assert chain_first([leaf, *behind[9::-1]]) == CHAIN[:11]
    assert chain_first([leaf, *behind[::-1]]) == [*CHAIN[:11], CHAIN[12], CHAIN[11]]
