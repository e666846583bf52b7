"""The header of an answer in HTTP/1.1, without the informational ones before it (RFC 9110, section 15.2)."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import Final

from scanner.probe.dial import Broken

LIMIT: Final = 16384
"""Bytes of an answer that are looked at: as much header as most servers and clients take."""
HEADER_END: Final = b"\r\n\r\n"
_INTERIM: Final = re.compile(rb"HTTP/1\.[01] 1(?!01)\d\d[ \r\n]")
"""Not 101, after which another protocol is spoken: whoever says it says no more."""
_ALONE: Final = "informational answers, and no other"


async def header(receive: Callable[[], Awaitable[bytes]], seen: bytearray) -> bool:
    """Read into ``seen`` until the header is whole; False where it is longer than anybody looks at.

    Raises what ``receive`` raises, ``Broken`` with ``fin`` for its empty bytes, and ``Broken`` with ``malformed`` where
    only informational answers came.
    """
    left, dropped = LIMIT, False
    try:
        while left > 0 and HEADER_END not in seen:
            data = await receive()
            if not data:
                raise Broken("fin")
            left -= len(data)
            seen += data
            while _INTERIM.match(seen) and (end := seen.find(HEADER_END)) >= 0:
                del seen[: end + len(HEADER_END)]
                dropped = True
    except Broken:
        if dropped and not seen:
            raise Broken("malformed", _ALONE) from None
        raise
    if HEADER_END not in seen and (not seen or _INTERIM.match(seen)):
        raise Broken("malformed", _ALONE)
    return HEADER_END in seen
