"""Certificates in PKCS #12 files (RFC 7292) and Java key stores (JKS, JCEKS). Keys in them are dropped unseen.

There is no standard for the latter; the layout is that of OpenJDK's ``sun.security.provider.JavaKeyStore.engineLoad``.
Certificates in them are not encrypted. Keys are stepped over, and the digest at the end, which a password would check,
is not read.
"""

from __future__ import annotations

import struct
import warnings
from collections.abc import Iterable, Iterator, Sequence

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.hazmat.primitives.serialization.pkcs12 import PKCS12Certificate, PKCS12KeyAndCertificates, load_pkcs12
from msgspec import Struct

from scanner.tls.wire import Malformed, Reader

MOST_ROUNDS = 10_000_000
"""Most rounds of all key derivations from a password: some seconds. The file sets their number, and 2^31 would take an
hour. Those inside an encrypted part cannot be counted before it is decrypted."""
_MOST_ELEMENTS = 200_000
_DEEPEST = 24
_LONGEST_NUMBER = 64
_LONGEST_REASON = 160
_INTEGER, _OCTETS, _CONSTRUCTED = 0x02, 0x04, 0x20


class Bag(Struct, frozen=True, kw_only=True):
    """One certificate of the file."""

    der: bytes
    alias: str
    keyed: bool
    """True if the file contains its private key."""


def pkcs12_bags(content: bytes, passwords: Sequence[bytes] = ()) -> tuple[Bag, ...]:
    """The certificates, that of the key first. Tries no password, the empty one, and ``passwords``. Raises
    ``Malformed`` with what to do."""
    _check_rounds(content)
    reason = ""
    for password in (None, b"", *passwords):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return tuple(_of(load_pkcs12(content, password)))
        except (ValueError, TypeError, UnsupportedAlgorithm) as error:
            reason = " ".join(str(error).split())[:_LONGEST_REASON]
    if "password" in reason.lower():
        tried = f"none of {len(passwords)} passwords opens it" if passwords else "it needs its password"
        raise Malformed(f"PKCS #12: {tried} (--password-file), or it is damaged")
    raise Malformed(f"PKCS #12: {reason or 'it cannot be read'}")


def _of(found: PKCS12KeyAndCertificates) -> Iterator[Bag]:
    if found.cert is not None:
        yield _bag(found.cert, keyed=found.key is not None)
    yield from (_bag(each, keyed=False) for each in found.additional_certs)


def _bag(each: PKCS12Certificate, *, keyed: bool) -> Bag:
    alias = (each.friendly_name or b"").decode("utf-8", "replace")
    return Bag(der=each.certificate.public_bytes(Encoding.DER), alias=alias, keyed=keyed)


def _check_rounds(content: bytes) -> None:
    if sum(_rounds(_Walk().elements(Reader(content), 0))) > MOST_ROUNDS:
        raise Malformed(f"PKCS #12: more than {MOST_ROUNDS} rounds of key derivation: no valid file needs that")


def _rounds(elements: Iterable[tuple[int, bytes]]) -> Iterator[int]:
    """Every number that follows octets, as the rounds follow the salt (RFC 7292 section 4, RFC 8018 A.2 and A.3)."""
    before = 0
    for tag, number in elements:
        if tag == _INTEGER and before == _OCTETS:
            yield abs(int.from_bytes(number[:_LONGEST_NUMBER], "big", signed=True))
        before = tag


class _Walk:
    """Walks DER depth first, and into octets that are DER themselves. Gives the tag of each element, with the content
    of numbers."""

    def __init__(self) -> None:
        self._count = 0

    def elements(self, reader: Reader, depth: int) -> Iterator[tuple[int, bytes]]:
        """Raises ``Malformed``, also for indefinite lengths, which DER does not allow."""
        while reader.left:
            tag, content = _element(reader)
            self._count += 1
            if self._count > _MOST_ELEMENTS or depth > _DEEPEST:
                raise Malformed("PKCS #12: it is nested too deep, or has too many parts")
            if tag & _CONSTRUCTED:
                yield from self.elements(Reader(content), depth + 1)
            elif tag == _OCTETS:
                yield from self._inside(content, depth + 1)
                yield tag, b""
            else:
                yield tag, content if tag == _INTEGER else b""

    def _inside(self, content: bytes, depth: int) -> Iterator[tuple[int, bytes]]:
        """Most octets are no DER: then there is nothing in them to walk."""
        if not content or not content[0] & _CONSTRUCTED:
            return
        try:
            yield from self.elements(Reader(content), depth)
        except Malformed:
            return


def _element(reader: Reader) -> tuple[int, bytes]:
    tag, size = reader.u8(), reader.u8()
    if size == 0x80:
        raise Malformed("PKCS #12: it is BER, not DER; 'convert it with 'openssl pkcs12'")
    if size & 0x80:
        size = int.from_bytes(reader.take(size & 0x7F), "big")
    return tag, reader.take(size)


JKS_MAGICS = (b"\xfe\xed\xfe\xed", b"\xce\xce\xce\xce")
"""JKS and JCEKS."""
_DIGEST = 20
"""Bytes of SHA-1 behind the entries."""
_KEY, _TRUSTED = 1, 2
"""Kinds of entries. JCEKS also has 3, a serialized Java object without a length."""
_LONGEST_CHAIN = 100
_U32 = struct.Struct(">I")


class Entry(Struct, frozen=True, kw_only=True):
    """One entry: the chain of a key, its own certificate first, or one trusted certificate."""

    alias: str
    keyed: bool
    chain: tuple[bytes, ...]
    """DER."""


def jks_entries(content: bytes) -> Iterator[Entry]:
    """The entries, until the first that is not as it should be: there ``Malformed`` is raised."""
    reader = Reader(content)
    reader.take(4)  # one of JKS_MAGICS
    version, count = _u32(reader), _u32(reader)
    if version not in (1, 2):
        raise Malformed(f"a Java key store of version {version}; 1 and 2 are known")
    for number in range(count):
        try:
            yield _entry(reader, typed=version == 2)
        except Malformed as error:
            raise Malformed(f"entry {number + 1} of {count} of the Java key store: {error}") from None
    if reader.left != _DIGEST:
        raise Malformed(f"{reader.left} bytes instead of {_DIGEST} behind the Java key store's entries")


def _entry(reader: Reader, *, typed: bool) -> Entry:
    kind = _u32(reader)
    if kind not in (_KEY, _TRUSTED):
        raise Malformed("a secret key, behind which nothing can be found" if kind == 3 else f"unknown kind {kind}")
    alias = reader.opaque16().decode("utf-8", "replace")  # Java's own UTF-8, which differs for NUL and emoji
    reader.take(8)  # when it was made
    if kind == _TRUSTED:
        return Entry(alias=alias, keyed=False, chain=(_certificate(reader, typed=typed),))
    reader.take(_u32(reader))  # the key, encrypted; dropped at once
    length = _u32(reader)
    if length > _LONGEST_CHAIN:
        raise Malformed(f"a chain of {length} certificates")
    return Entry(alias=alias, keyed=True, chain=tuple(_certificate(reader, typed=typed) for _ in range(length)))


def _certificate(reader: Reader, *, typed: bool) -> bytes:
    if typed:
        reader.opaque16()  # "X.509"
    return reader.take(_u32(reader))


def _u32(reader: Reader) -> int:
    return int(reader.unpack(_U32)[0])
