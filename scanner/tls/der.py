"""X.509 certificates read by DER elements (X.690, RFC 5280 section 4.1), where ``cryptography`` refuses them.

It refuses the entire certificate for one detail: trailing bytes, a serial number with a superfluous zero, version 4, a
time without seconds. Names, times and keys of such a certificate are read here. Extensions are not: clients that verify
names refuse such a certificate too.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import sha256
from typing import Final

from msgspec import Struct

from scanner.tls.oids import CURVES, KEY_ALGORITHMS, SIGNATURES
from scanner.tls.wire import Malformed, Reader

INTEGER, BIT_STRING, NULL, OBJECT_IDENTIFIER, SEQUENCE = 2, 3, 5, 6, 0x30
_UTC_TIME, _GENERALIZED_TIME, _VERSION = 23, 24, 0xA0
_LONGEST: Final = 2000
"""Longest attribute value of a name, in characters."""
_MOST: Final = 100
"""Limit of attributes in a name."""
_LONGEST_IDENTIFIER: Final = 64
"""Longest object identifier in bytes; ``cryptography`` takes 63. The arcs of a longer one may be numbers of a million
bits, which take minutes to convert to decimal."""
_ENCODINGS: Final = {
    12: "utf-8",
    18: "ascii",
    19: "ascii",
    20: "latin-1",
    22: "ascii",
    28: "utf-32-be",
    30: "utf-16-be",
}
"""UTF8String, NumericString, PrintableString, TeletexString, IA5String, UniversalString, BMPString."""
_TIME: Final = re.compile(r"([0-9]{2}|[0-9]{4})([0-9]{2})([0-9]{2})([0-9]{2})([0-9]{2})([0-9]{2})?(?:\.[0-9]{1,9})?Z\Z")


def element(reader: Reader) -> tuple[int, Reader]:
    """Read tag and content of the next DER element (X.690 section 8.1). Raises ``Malformed``."""
    tag, size = reader.u8(), reader.u8()
    if size & 0x80:
        size = int.from_bytes(reader.take(size & 0x7F), "big")
    return tag, Reader(reader.take(size))


def _bounds(content: bytes, at: int) -> tuple[int, int]:
    """Start and end of the content of the element at ``at``. Faster than a ``Reader``: a dozen elements are skipped in
    every certificate. Raises ``Malformed``."""
    start = at + 2
    if start > len(content):
        raise Malformed(f"no element at offset {at}")
    size = content[at + 1]
    if size & 0x80:
        begin, start = start, start + (size & 0x7F)
        size = int.from_bytes(content[begin:start], "big")
    if start + size > len(content):
        raise Malformed(f"{size} bytes expected at offset {start}, {len(content) - start} left")
    return start, start + size


@lru_cache(maxsize=64)  # nearly all certificates have the same few
def dotted(encoded: bytes) -> str:
    """Format an object identifier in dots (X.690 section 8.19). Raises ``Malformed`` if it is too long."""
    if len(encoded) > _LONGEST_IDENTIFIER:
        raise Malformed(f"object identifier of {len(encoded)} bytes, {_LONGEST_IDENTIFIER} allowed")
    arcs, value = [], 0
    for byte in encoded:
        value = value << 7 | byte & 0x7F
        if not byte & 0x80:
            arcs.append(value)
            value = 0
    first = min(arcs[0] // 40, 2) if arcs else 0
    return ".".join(str(arc) for arc in (first, arcs[0] - 40 * first, *arcs[1:])) if arcs else ""


@lru_cache(maxsize=64)  # nearly all certificates have the same few
def _identifiers(encoded: bytes) -> tuple[str, int, bytes]:
    """Object identifier of an AlgorithmIdentifier, and tag and content of its parameters, NULL if there are none (RFC
    5280 section 4.1.1.2). Raises ``Malformed``."""
    _, identifiers = element(Reader(encoded))
    _, algorithm = element(identifiers)
    tag, parameters = element(identifiers) if identifiers.left else (NULL, Reader(b""))
    return dotted(algorithm.rest()), tag, parameters.rest()


_TAGS: Final = (INTEGER, SEQUENCE, SEQUENCE, SEQUENCE, SEQUENCE, SEQUENCE)


class Parts(Struct, frozen=True):
    """The DER elements of a certificate."""

    serial: bytes
    signature: bytes
    issuer: bytes
    validity: bytes
    subject: bytes
    key_info: bytes


@lru_cache(maxsize=2)  # called for every field of a certificate
def parts(der: bytes) -> Parts:
    """Split a certificate into its elements. Raises ``Malformed``."""
    tbs, _ = _bounds(der, 0)
    at, end = _bounds(der, tbs)
    if der[at : at + 1] == bytes((_VERSION,)):
        _, at = _bounds(der, at)
    found = []
    for _ in _TAGS:
        _, after = _bounds(der, at)
        found.append(der[at:after])
        at = after
    if at > end or (der[0], der[tbs], *(each[0] for each in found)) != (SEQUENCE, SEQUENCE, *_TAGS):
        raise Malformed("not the elements of a certificate")
    return Parts(*found)


def _serial(der: bytes) -> int:
    return int.from_bytes(element(Reader(parts(der).serial))[1].rest(), "big", signed=True)


def name(der: bytes) -> list[list[tuple[str, str]]]:
    """The relative distinguished names of a Name (RFC 5280 section 4.1.2.4): pairs of object identifier and value.
    Raises ``Malformed``."""
    found: list[list[tuple[str, str]]] = []
    _, sequence = element(Reader(der))
    while sequence.left:
        _, group = element(sequence)
        found.append([])
        while group.left:
            found[-1].append(_attribute(element(group)[1]))
            if sum(map(len, found)) > _MOST:
                raise Malformed(f"more than {_MOST} attributes in a name")
    return found


def _attribute(pair: Reader) -> tuple[str, str]:
    _, kind = element(pair)
    tag, value = element(pair)
    encoding = _ENCODINGS.get(tag)
    if encoding is None:
        raise Malformed(f"unknown string type {tag} in a name")
    try:
        text = value.rest().decode(encoding)
    except UnicodeDecodeError as error:
        raise Malformed(f"a value in a name is not {encoding}") from error
    if len(text) > _LONGEST:
        raise Malformed(f"a value in a name is longer than {_LONGEST} characters")
    return dotted(kind.rest()), text


def _time(der: bytes, number: int) -> datetime:
    _, both = element(Reader(parts(der).validity))
    for _ in range(number):
        element(both)
    tag, content = element(both)
    match = _TIME.match(content.rest().decode("ascii", "replace"))
    if match is None or len(match[1]) != {_UTC_TIME: 2, _GENERALIZED_TIME: 4}.get(tag):
        raise Malformed("not a time in UTC")
    year, *rest = (int(each or 0) for each in match.groups())
    if tag == _UTC_TIME:  # RFC 5280 section 4.1.2.5.1
        year += 1900 if year >= 50 else 2000
    try:
        return datetime(year, *rest, tzinfo=UTC)  # type: ignore[arg-type, misc] # month to second
    except ValueError as error:
        raise Malformed("not a valid date") from error


def _key_identifiers(der: bytes) -> tuple[str, int, bytes]:
    key_info = parts(der).key_info
    start, _ = _bounds(key_info, 0)
    return _identifiers(key_info[start : _bounds(key_info, start)[1]])


def _key_algorithm(der: bytes) -> str:
    oid = _key_identifiers(der)[0]
    return KEY_ALGORITHMS.get(oid, oid)


def _curve_oid(der: bytes) -> str:
    """namedCurve of an EC key (RFC 5480 section 2.1.1)."""
    _, tag, parameters = _key_identifiers(der)
    if tag != OBJECT_IDENTIFIER:
        raise Malformed("the key has no named curve")
    return dotted(parameters)


def _curve(der: bytes) -> str | None:
    if _key_algorithm(der) != "ECDSA":
        return None
    oid = _curve_oid(der)
    return CURVES[oid][0] if oid in CURVES else oid


def _key_size(der: bytes) -> int | None:
    match _key_algorithm(der):
        case "ECDSA":
            return CURVES.get(_curve_oid(der), ("", None))[1]
        case "RSA" | "RSA-PSS":
            return _modulus(parts(der).key_info)
        case "DSA":  # p is the first of the parameters (RFC 3279 section 2.3.2)
            return _bits(Reader(_key_identifiers(der)[2]))
    return None


def _modulus(key_info: bytes) -> int:
    """Bits of the modulus of an RSAPublicKey in its BIT STRING (RFC 8017 appendix A.1.1)."""
    _, key = element(Reader(key_info))
    element(key)
    tag, bits = element(key)
    if tag != BIT_STRING or bits.u8() != 0:
        raise Malformed("not an RSA public key")
    return _bits(element(Reader(bits.rest()))[1])


def _bits(numbers: Reader) -> int:
    """Size of the next number. Raises ``Malformed``."""
    tag, content = element(numbers)
    number = int.from_bytes(content.rest(), "big", signed=True)
    if tag != INTEGER or number <= 0:
        raise Malformed("not a positive INTEGER")
    return number.bit_length()


def _signature(der: bytes) -> str:
    oid = _identifiers(parts(der).signature)[0]
    return SIGNATURES[oid][0] if oid in SIGNATURES else oid


def _signature_hash(der: bytes) -> str | None:
    oid = _identifiers(parts(der).signature)[0]
    if oid not in SIGNATURES or SIGNATURES[oid][1] == "parameters":
        raise Malformed("unknown hash of this signature algorithm")
    return SIGNATURES[oid][1]


FIELDS: Final[dict[str, Callable[[bytes], object]]] = {
    "serial": _serial,
    "not_before": lambda der: _time(der, 0),
    "not_after": lambda der: _time(der, 1),
    "key_algorithm": _key_algorithm,
    "key_size": _key_size,
    "curve": _curve,
    "key_sha256": lambda der: sha256(parts(der).key_info).hexdigest(),
    "signature": _signature,
    "signature_hash": _signature_hash,
}
"""Readers of certificate fields, beside its names. Each raises ``Malformed``."""
