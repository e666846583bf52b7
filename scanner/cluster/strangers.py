"""Documents that cannot be read here and are no manifests either: a pipeline with tags, a compose file with anchors."""

from __future__ import annotations

import re
from typing import Final

from scanner.errors import InputError
from scanner.files.yaml_values import scalars

_WORDS: Final = frozenset({"apiversion", "kind"})
"""Without a key of either there is no object, whatever YAML makes of the rest. In whatever letters: a mistake in them
is no reason to look away."""
_SPELT: Final = re.compile(r"apiversion|kind|\\[xuU]", re.IGNORECASE)
"""The same in text that is neither YAML nor JSON, and what may spell them."""
_TEMPLATE: Final = "{{"
_NUL: Final = "\0"
"""Every other character of ASCII text in UTF-16."""


def is_stranger(document: bytes, *, is_json: bool = False) -> bool:
    """Whether a document that was refused is none that anybody applies.

    What is no YAML may be a manifest with a slip in it, so that only of files that call themselves JSON (``tsconfig``,
    settings of editors: JSON with comments) the text alone decides.
    """
    try:
        text = document.decode("utf-8-sig")
    except UnicodeDecodeError:
        return False
    if _TEMPLATE in text or _NUL in text:
        return False  # nobody knows what it renders, or in which encoding it is
    try:
        return not any(_may_be_said(value, tag) for value, tag in scalars(text))
    except InputError:
        return is_json and not _SPELT.search(text)


def _may_be_said(value: str, tag: str) -> bool:
    """One of the words, or a text in base64, which kubectl's reader takes apart (YAML 1.1, ``!!binary``)."""
    return value.casefold() in _WORDS or tag.endswith("binary")
