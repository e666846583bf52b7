"""Certificates element by element (X.690, RFC 5280 section 4.1), for those that ``cryptography`` does not take.

It refuses a certificate as a whole for one odd detail: trailing bytes, a serial number with a superfluous zero, version
4, a time without seconds. What such a certificate has of names, times and keys is there all the same. Extensions are
not read here: whoever verifies by names refuses such a certificate, and so nothing is concluded from them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import sha256
from typing import Final

from scanner.tls.oids import CURVES, KEY_ALGORITHMS, SIGNATURES
from scanner.tls.wire import Malformed, Reader

INTEGER, BIT_STRING, NULL, OBJECT_IDENTIFIER, SEQUENCE = 2, 3, 5, 6, 0x30
"""DER tags."""
_UTC_TIME, _GENERALIZED_TIME, _VERSION = 23, 24, 0xA0
_LONGEST: Final = 2000
"""Characters of one value of a name."""
_MOST: Final = 100
"""Attributes of a name."""
_LONGEST_IDENTIFIER: Final = 64
"""Bytes of an object identifier; ``cryptography`` takes 63. The arcs of a longer one may be numbers of a million bits,
which take minutes to write in decimal."""
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
    """Tag and content of the next DER element (X.690 section 8.1). Raises ``Malformed``."""
    tag, size = reader.u8(), reader.u8()
    if size & 0x80:
        size = int.from_bytes(reader.take(size & 0x7F), "big")
    return tag, Reader(reader.take(size))


def _bounds(content: bytes, at: int) -> tuple[int, int]:
    """Where the content of the element at ``at`` begins, and where it ends: of every certificate a dozen elements are
    stepped over, for which a reader each is too much. Raises ``Malformed``."""
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
    """An object identifier in dots (X.690 section 8.19). Raises ``Malformed`` for one that is too long."""
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


def key_identifiers(key_info: bytes) -> tuple[bytes, int, bytes]:
    """The algorithm of a subjectPublicKeyInfo, and tag and content of its parameters, NULL's where there are none (RFC
    5280 section 4.1.2.7). Raises ``Malformed``."""
    start, _ = _bounds(key_info, 0)
    return _identifiers(key_info[start : _bounds(key_info, start)[1]])


@lru_cache(maxsize=64)  # nearly all certificates have the same few
def _identifiers(encoded: bytes) -> tuple[bytes, int, bytes]:
    _, identifiers = element(Reader(encoded))
    _, algorithm = element(identifiers)
    tag, parameters = element(identifiers) if identifiers.left else (NULL, Reader(b""))
    return algorithm.rest(), tag, parameters.rest()


def key_info_of(tbs_certificate: bytes, before: int) -> bytes:
    """The DER of subjectPublicKeyInfo, behind ``before`` elements of a TBSCertificate. Raises ``Malformed``."""
    at, end = _bounds(tbs_certificate, 0)
    for _ in range(before):
        _, at = _bounds(tbs_certificate, at)
    _, behind = _bounds(tbs_certificate, at)
    if behind > end:
        raise Malformed("an element ends behind the one that it is in")
    return tbs_certificate[at:behind]


def _whole(content: bytes, reader: Reader) -> bytes:
    """The next element with tag and length."""
    start = len(content) - reader.left
    element(reader)
    return content[start : len(content) - reader.left]


_TAGS: Final = (INTEGER, SEQUENCE, SEQUENCE, SEQUENCE, SEQUENCE, SEQUENCE)


@dataclass(frozen=True, slots=True)
class Parts:
    """The elements of a certificate, as DER each."""

    serial: bytes
    signature: bytes
    issuer: bytes
    validity: bytes
    subject: bytes
    key_info: bytes


@lru_cache(maxsize=2)  # every field of a certificate asks
def parts(der: bytes) -> Parts:
    """What a certificate is made of. Raises ``Malformed``."""
    tag, certificate = element(Reader(der))
    inner, tbs = element(certificate)
    content = tbs.rest()
    reader = Reader(content)
    if content[:1] == bytes((_VERSION,)):
        element(reader)
    found = [_whole(content, reader) for _ in _TAGS]
    if (tag, inner) != (SEQUENCE, SEQUENCE) or [each[0] for each in found] != list(_TAGS):
        raise Malformed("not the elements of a certificate")
    return Parts(*found)


def _serial(der: bytes) -> int:
    return int.from_bytes(element(Reader(parts(der).serial))[1].rest(), "big", signed=True)


def name(der: bytes) -> list[list[tuple[str, str]]]:
    """The relative distinguished names of a Name (RFC 5280 section 4.1.2.4), each its object identifiers with their
    values. Raises ``Malformed``."""
    found: list[list[tuple[str, str]]] = []
    _, sequence = element(Reader(der))
    while sequence.left:
        _, group = element(sequence)
        found.append([])
        while group.left:
            found[-1].append(_attribute(element(group)[1]))
            if sum(map(len, found)) > _MOST:
                raise Malformed(f"more than {_MOST} attributes of a name")
    return found


def _attribute(pair: Reader) -> tuple[str, str]:
    _, kind = element(pair)
    tag, value = element(pair)
    encoding = _ENCODINGS.get(tag)
    if encoding is None:
        raise Malformed(f"a value of a name has the tag {tag}")
    try:
        text = value.rest().decode(encoding)
    except UnicodeDecodeError as error:
        raise Malformed(f"a value of a name is not {encoding}") from error
    if len(text) > _LONGEST:
        raise Malformed(f"a value of a name is longer than {_LONGEST} characters")
    return dotted(kind.rest()), text


def _time(der: bytes, number: int) -> datetime:
    _, both = element(Reader(parts(der).validity))
    for _ in range(number):
        element(both)
    tag, content = element(both)
    match = _TIME.match(content.rest().decode("ascii", "replace"))
    if match is None or len(match[1]) != {_UTC_TIME: 2, _GENERALIZED_TIME: 4}.get(tag):
        raise Malformed("no time in UTC")
    year, *rest = (int(each or 0) for each in match.groups())
    if tag == _UTC_TIME:  # RFC 5280 section 4.1.2.5.1
        year += 1900 if year >= 50 else 2000
    try:
        return datetime(year, *rest, tzinfo=UTC)  # type: ignore[arg-type, misc] # month to second
    except ValueError as error:
        raise Malformed("no day of the calendar") from error


def _key_algorithm(der: bytes) -> str:
    oid = dotted(key_identifiers(parts(der).key_info)[0])
    return KEY_ALGORITHMS.get(oid, oid)


def curve_oid(key_info: bytes) -> str:
    """namedCurve of the key (RFC 5480 section 2.1.1). Raises ``Malformed``."""
    _, tag, parameters = key_identifiers(key_info)
    if tag != OBJECT_IDENTIFIER:
        raise Malformed("no named curve but explicit parameters, or none")
    return dotted(parameters)


def _curve(der: bytes) -> str | None:
    if _key_algorithm(der) != "ECDSA":
        return None
    oid = curve_oid(parts(der).key_info)
    return CURVES[oid][0] if oid in CURVES else oid


def _key_size(der: bytes) -> int | None:
    algorithm, key_info = _key_algorithm(der), parts(der).key_info
    if algorithm == "ECDSA":
        return CURVES.get(curve_oid(key_info), ("", None))[1]
    return _modulus(key_info).bit_length() if algorithm in ("RSA", "RSA-PSS") else None


def _modulus(key_info: bytes) -> int:
    """Of an RSAPublicKey in its BIT STRING (RFC 8017 appendix A.1.1)."""
    _, key = element(Reader(key_info))
    element(key)
    tag, bits = element(key)
    if tag != BIT_STRING or bits.u8() != 0:
        raise Malformed("no RSA key of whole bytes")
    _, numbers = element(Reader(bits.rest()))
    tag, modulus = element(numbers)
    number = int.from_bytes(modulus.rest(), "big", signed=True)
    if tag != INTEGER or number <= 0:
        raise Malformed("the modulus is no positive INTEGER")
    return number


def _signature_oid(der: bytes) -> str:
    _, identifiers = element(Reader(parts(der).signature))
    return dotted(element(identifiers)[1].rest())


def _signature(der: bytes) -> str:
    oid = _signature_oid(der)
    return SIGNATURES[oid][0] if oid in SIGNATURES else oid


def _signature_hash(der: bytes) -> str | None:
    oid = _signature_oid(der)
    if oid not in SIGNATURES or SIGNATURES[oid][1] == "parameters":
        raise Malformed("the hash of this signature algorithm is not known")
    return SIGNATURES[oid][1]


READERS: Final[dict[str, Callable[[bytes], object]]] = {
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
"""Fields of a certificate that are read in this way, beside its names. Each raises ``Malformed``."""
