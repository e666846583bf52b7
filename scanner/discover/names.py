"""Names and numbers out of objects: what is no DNS name, address or port is not sent anywhere."""

from __future__ import annotations

import re
from ipaddress import IPv4Address
from urllib.parse import quote

from scanner.kube.hostnames import MAX_NAME, PROBE_LABEL, parsed, server_name

__all__ = ["MAX_NAME", "MAX_NAMES", "PROBE_LABEL", "address", "parsed", "part", "port", "server_name", "sound"]

MAX_NAMES = 100
"""Server names that one object may give one listener. A certificate has seldom more."""
_PRINTABLE = re.compile(r"[^\x00-\x20\x7f-\xa0\u200b-\u200f\u2028-\u202f\u2060-\u206f\ud800-\udfff\ufeff]{1,253}\Z")


def address(text: str) -> str | None:
    """An IP address in its canonical text, or None."""
    found = parsed(text)
    return text if isinstance(found, IPv4Address) else str(found) if found else None  # IPv4 has one text only


def port(number: object) -> int | None:
    """A port that can be dialled, or None; text of digits counts, as in an IntOrString that was quoted."""
    if isinstance(number, str) and number.isascii() and number.isdigit() and len(number) < 6:
        number = int(number)
    return number if isinstance(number, int) and not isinstance(number, bool) and 0 < number < 65536 else None


def sound(*texts: str) -> bool:
    """Whether these are names that an API server would have let through."""
    return all(map(_PRINTABLE.match, texts))


def part(text: str) -> str:
    """A name inside of an id: what separates the parts of an id cannot be in it."""
    return text if text.replace("-", "").isalnum() and text.isascii() else quote(text, safe="-._~ ()")
