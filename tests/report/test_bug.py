"""Hostile text in Markdown stays text, as a parser of CommonMark sees it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from scanner.report.bug import block, code

HOSTILE = (
    "<img src=x onerror=alert(1)>",
    "[click](https://evil.example)",
    "![](https://evil.example/pixel)",
    "`` ` ```",
    "`",
    " padded ",
    "a\n\n# Heading\n```\n<b>",
    "@everyone #1 https://evil.example",
    "\x1b[31m\u202egnp",
    "trailing\\",
    "```sh",
    "~~~",
)


def tokens(text: str) -> Iterator[Token]:
    for token in MarkdownIt("commonmark").parse(text):
        yield token
        yield from token.children or ()


@pytest.mark.parametrize("text", HOSTILE)
def test_in_a_line_it_is_one_code_span(text: str) -> None:
    found = [token.type for token in tokens(f"* before {code(text)} after")]
    assert found.count("code_inline") == 1
    assert {"html_inline", "html_block", "link_open", "image", "heading_open", "fence"}.isdisjoint(found)


@pytest.mark.parametrize("text", HOSTILE)
def test_a_block_ends_where_it_should(text: str) -> None:
    found = [token for token in tokens("\n".join([*block([text, "next"], "sh"), "", "after"])) if token.nesting == 0]
    assert [token.type for token in found] == ["fence", "inline", "text"]
    assert found[0].content.endswith("next\n")


def test_the_text_is_what_it_was() -> None:
    (span,) = [token for token in tokens(code("a ``b`` `c`")) if token.type == "code_inline"]
    assert span.content == "a ``b`` `c`"
    assert code("") == code("  ") == "(empty)"
    assert code("x" * 400).count("x") == 299
