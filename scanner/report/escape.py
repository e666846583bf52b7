"""Escape texts of servers, objects and files for terminals, logs, XML and JSON.

The owner of a listener chooses its certificate names and banners. A terminal executes control characters and reorders
by bidirectional overrides, XML 1.0 cannot carry most control characters (section 2.2), and CI systems read commands
from log lines. Dangerous characters are made visible instead of removed, because they are evidence: an ESC becomes the
four characters ``\\x1b``.
"""

from __future__ import annotations

import re
import unicodedata

_DANGEROUS = re.compile(
    "["
    "\x00-\x1f\x7f-\x9f"  # C0 and C1: ESC, BEL, CSI, line feeds
    "\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"  # invisible, line ends, bidi overrides
    "\ud800-\udfff\ufffe\uffff"  # no characters at all: neither UTF-8 nor XML can carry them
    "\U000e0000-\U000e0fff"  # tags: invisible text
    "]"
)

_SURROGATE = re.compile("[\ud800-\udfff]")

# GitHub: a line that starts with "::name params::" (it trims the line first). Azure Pipelines and GitHub's older form:
# "##vso[" and "##[" anywhere in a line; TeamCity: "##teamcity[". An address like ::1 has no second "::" and is kept.
_COLON_COMMAND = re.compile(r"::(?=[A-Za-z][\w-]*(?:[ \t][^\n]*?)?::)")
_HASH_COMMAND = re.compile(r"##(?=[\w-]*\[)")


def visible(text: str) -> str:
    """Return ``text`` on one line, with every control, invisible or reordering character as its Python escape."""
    return _DANGEROUS.sub(_escape, text)


def plain(text: str, limit: int | None = None) -> str:
    """Escape ``text`` for terminals and XML: ``visible``, without commands for CI systems, cut to ``limit`` characters
    (with an ellipsis)."""
    shown = _HASH_COMMAND.sub("# #", _COLON_COMMAND.sub(": :", visible(text)))
    if limit is not None and len(shown) > limit:
        return shown[: max(limit - 1, 0)] + "…"
    return shown


def json_text(encoded: str) -> str:
    """Make the result of ``json.dumps(ensure_ascii=False)`` safe to print.

    Dangerous characters become ``\\uXXXX`` (RFC 8259, section 7), which a parser reads back unchanged. Lone surrogates
    become U+FFFD, because strict parsers refuse a document with one (RFC 8259, section 8.2). ``encoded`` must have no
    line breaks between values: then such characters only occur inside strings.
    """
    if not encoded.isascii() or "\x7f" in encoded:  # json.dumps has escaped every other ASCII control character
        encoded = _DANGEROUS.sub(_json_escape, _SURROGATE.sub("\ufffd", encoded))
    return encoded.replace("##", "#\\u0023")


def width(text: str) -> int:
    """Count the columns of ``text`` on a terminal (Unicode Annex 11: wide and fullwidth take two, combining none)."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text
    )


def _escape(match: re.Match[str]) -> str:
    code = ord(match.group())
    named = {0x09: "\\t", 0x0A: "\\n", 0x0D: "\\r"}.get(code)
    if named:
        return named
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _json_escape(match: re.Match[str]) -> str:
    return "".join(f"\\u{unit:04x}" for unit in memoryview(match.group().encode("utf-16-le")).cast("H"))
