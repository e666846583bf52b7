"""Accepted replies, and the comparison of endings."""

from __future__ import annotations

from typing import get_args

import pytest

from scanner.probe.offers import Ending, Reply
from scanner.tls.codepoints import SSL2, SSL3, TLS12, TLS13


@pytest.mark.parametrize("version", [SSL2, SSL3, TLS12])
def test_up_to_tls12_a_server_hello_alone_is_not_enough(version: int) -> None:
    assert not Reply("hello", version=version, suite=0x002F).accepted
    assert Reply("hello", version=version, suite=0x002F, done=True).accepted


def test_in_tls13_a_hello_is_enough() -> None:
    assert Reply("hello", version=TLS13, suite=0x1301).accepted


@pytest.mark.parametrize("ending", sorted(set(get_args(Ending)) - {"hello"}))
def test_nothing_else_is_accepted(ending: Ending) -> None:
    assert not Reply(ending, version=TLS13, done=True).accepted


def test_alerts_differ_by_their_description() -> None:
    assert Reply("alert", alert=40).ending_kind == "alert 40"
    assert Reply("alert", alert=70).ending_kind != Reply("alert", alert=40).ending_kind
    assert (Reply("fin").ending_kind, Reply("rst", seconds=1.5).ending_kind) == ("fin", "rst")
