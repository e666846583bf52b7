"""Java key stores, byte by byte, as OpenJDK's JavaKeyStore.engineStore writes them."""

from __future__ import annotations

from hashlib import sha1
from struct import pack


def certificate(der: bytes, *, version: int = 2) -> bytes:
    """Version 2 says first of what type it is."""
    return (text("X.509") if version == 2 else b"") + pack(">I", len(der)) + der


def text(word: str) -> bytes:
    """Two bytes of length, then UTF-8 in Java's variant."""
    return pack(">H", len(word)) + word.encode()


def trusted(alias: str, der: bytes, *, version: int = 2) -> bytes:
    """An entry of kind 2: alias, milliseconds since 1970, certificate."""
    return pack(">I", 2) + text(alias) + pack(">Q", 1_700_000_000_000) + certificate(der, version=version)


def keyed(alias: str, key: bytes, *chain: bytes, version: int = 2) -> bytes:
    """An entry of kind 1: alias, time, the encrypted key, and its chain."""
    head = pack(">I", 1) + text(alias) + pack(">Q", 1_700_000_000_000) + pack(">I", len(key)) + key
    return head + pack(">I", len(chain)) + b"".join(certificate(each, version=version) for each in chain)


def store(*entries: bytes, version: int = 2, magic: int = 0xFEEDFEED) -> bytes:
    """Magic, version, number of entries, the entries, and a SHA-1 that only the password could check."""
    body = pack(">III", magic, version, len(entries)) + b"".join(entries)
    return body + sha1(body).digest()
