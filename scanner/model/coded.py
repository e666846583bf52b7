"""Bytes in JSON: base64, as API servers take it."""

from __future__ import annotations

import base64
from typing import Final

_BREAKS: Final = str.maketrans("", "", "\r\n")


def decoded(text: str) -> bytes:
    """The bytes that a field of type ``[]byte`` holds. Go's decoder (``encoding/base64``) passes over ends of lines and
    over nothing else: blanks, as YAML's ``>`` makes them of ends of lines, have the object refused. Raises
    ``ValueError``.
    """
    return base64.b64decode(text.translate(_BREAKS), validate=True)
