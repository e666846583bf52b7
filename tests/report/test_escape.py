"""What is dangerous becomes visible, and everything else stays as it is."""

from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scanner.report.escape import plain, visible, width
from scanner.report.stream import dumps
from tests.report.samples import HOSTILE


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain ASCII, Zürich, 例え, 👍", "plain ASCII, Zürich, 例え, 👍"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("\x9b2J", "\\x9b2J"),
        ("a\r\n\tb", "a\\r\\n\\tb"),
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("zero\u200bwidth\ufeff", "zero\\u200bwidth\\ufeff"),
        ("lone \ud83d", "lone \\ud83d"),
        ("tag \U000e0041", "tag \\U000e0041"),
    ],
)
def test_visible(text: str, shown: str) -> None:
    assert visible(text) == shown


@given(st.text(st.characters(), max_size=60))
def test_nothing_that_a_terminal_obeys_is_left(text: str) -> None:
    """Controls, format characters of bidirectional text, surrogates and line separators; UTF-8 can carry the rest."""
    shown = plain(text)
    shown.encode()
    assert not [c for c in shown if unicodedata.category(c) in {"Cc", "Cs", "Zl", "Zp"}]
    assert not [
        c
        for c in shown
        if unicodedata.bidirectional(c) in {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
    ]


@pytest.mark.parametrize(
    "command",
    ["::error file=a::owned", "::set-output name=x::y", "##vso[task.complete]", "##[group]x", "##teamcity[x]", "###[x"],
)
def test_commands_of_ci_systems_are_defused(command: str) -> None:
    """A runner looks for these two marks, the first only at the start of a line."""
    shown = plain(command)
    assert not shown.startswith("::")
    assert "##[" not in shown
    assert "##vso[" not in shown
    assert "##teamcity[" not in shown


@pytest.mark.parametrize("address", ["[::1]:443", "::1", "fe80::1", "::ffff:192.0.2.1", "2001:db8::a"])
def test_addresses_are_no_commands(address: str) -> None:
    assert plain(address) == address


def test_a_limit_is_said() -> None:
    assert plain("abcdef", 4) == "abc…"
    assert plain("abcd", 4) == "abcd"


@pytest.mark.parametrize(("text", "columns"), [("abc", 3), ("例え", 4), ("e\u0301", 1), ("", 0)])
def test_width(text: str, columns: int) -> None:
    assert width(text) == columns


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=60))
def test_json_gives_back_what_was_put_in(text: str) -> None:
    assert json.loads(dumps([text, {text: 1}])) == [text, {text: 1}]


def test_json_is_safe_to_print_and_strict() -> None:
    encoded = dumps(HOSTILE)
    assert visible(encoded) == encoded
    assert "##" not in encoded
    assert "\ufffd" in json.loads(encoded)
    json.loads(encoded).encode()
