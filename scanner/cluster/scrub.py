"""Private keys never stay: not in memory for longer than it takes to see them, and not in any file."""

from __future__ import annotations

import base64
import binascii
import re

REMOVED = "[private key removed]"
"""What stands where one was: that something was there is kept, and nothing else."""
WITHHELD = "[removed]"

_WORDS = "PRIVATE KEY"
_PEM = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----.*?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----|\Z)", re.DOTALL
)
"""A block without its end is one too: whoever cut it off kept the part that matters. RFC 7468, sections 10 and 11, and
the older forms of one algorithm."""
_BASE64_PEM = re.compile(r"LS0tLS1CRUdJTi[A-Za-z0-9+/\s\\]*={0,2}")
"""``-----BEGIN`` in base64, and on."""
_SHORTEST = 32
_TELLING = ("passw", "token", "secret", "key")
"""What is in every flag below: most arguments have none of it, and looking for words is faster than for a pattern."""
_TELLING_FLAG = r"--?[\w.-]*(?:password|passwd|token|secret|api-?key)"
_PASSWORDS = re.compile(rf"({_TELLING_FLAG}[= ])\S+", re.IGNORECASE)
_FLAG_ALONE = re.compile(rf"{_TELLING_FLAG}\Z", re.IGNORECASE)
_LONGEST_ARGUMENT = 8192


def scrubbed(text: str) -> str:
    """``text`` without private keys in PEM, plain or in base64."""
    if len(text) < _SHORTEST:
        return text
    if _WORDS in text:
        text = _PEM.sub(REMOVED, text)
    if "LS0tLS1CRUdJTi" in text:
        text = _BASE64_PEM.sub(_without_keys, text)
    return text


def _without_keys(match: re.Match[str]) -> str:
    data = re.sub(r"[^A-Za-z0-9+/]", "", match[0].replace("\\n", ""))
    try:
        decoded = base64.b64decode(data[: len(data) // 4 * 4])
    except (binascii.Error, ValueError):
        return REMOVED
    return REMOVED if _WORDS.encode() in decoded else match[0]


def arguments(items: list[str]) -> list[str]:
    """A command line, without the passwords that follow ``--token`` and its like; scripts are cut."""
    cut = [item[:_LONGEST_ARGUMENT] for item in items]
    if not _telling("\n".join(cut)):
        return [scrubbed(item) for item in cut]
    told = [scrubbed(_PASSWORDS.sub(rf"\1{WITHHELD}", item)) for item in cut]
    return [
        WITHHELD if before and _FLAG_ALONE.match(before) else item
        for before, item in zip(["", *told], told, strict=False)
    ]


def _telling(text: str) -> bool:
    # What is not ASCII may be a letter in disguise, which patterns take for the plain one when case does not matter.
    lower = text.lower()
    return not text.isascii() or any(word in lower for word in _TELLING)
