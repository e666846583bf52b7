"""Markdown as its readers parse it."""

from __future__ import annotations

from markdown_it import MarkdownIt
from markdown_it.token import Token

PARSER = MarkdownIt("commonmark", {"linkify": False}).enable("table")


def tokens(text: str) -> list[Token]:
    return [each for block in PARSER.parse(text) for each in (block, *(block.children or ()))]


def cells(text: str) -> list[list[str]]:
    """The rows of all tables, as text."""
    rows: list[list[str]] = []
    inside = False
    for each in tokens(text):
        if each.type == "tr_open":
            rows.append([])
        elif each.type in ("th_open", "td_open", "th_close", "td_close"):
            inside = each.nesting == 1
            rows[-1] += [""] if inside else []
        elif inside and each.type in ("text", "code_inline"):
            rows[-1][-1] += each.content
    return rows
