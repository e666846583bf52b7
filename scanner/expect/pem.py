"""Certificates in PEM text (RFC 7468), as objects hold them."""

from __future__ import annotations

import re
from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Iterator

_CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----([A-Za-z0-9+/=\s]{1,20000})-----END CERTIFICATE-----")
_MOST = 300
"""Certificates of a bundle: twice the number of public roots, which a bundle with somebody's own CA behind them has."""
LONGEST = 1_000_000
"""Characters of a bundle."""


def certificates(bundle: str) -> Iterator[bytes]:
    """The DER of each certificate in PEM text (RFC 7468); what is none is left out."""
    for number, match in enumerate(_CERTIFICATE.finditer(bundle[:LONGEST])):
        if number == _MOST:
            return
        try:
            yield b64decode("".join(match[1].split()), validate=True)
        except (NotBase64, ValueError):
            continue


def decoded(encoded: str) -> str:
    """The text of a field of type ``[]byte``; "" where it is not base64."""
    try:
        return b64decode(encoded[: 2 * LONGEST], validate=False).decode("ascii", "replace")
    except (NotBase64, ValueError):
        return ""
