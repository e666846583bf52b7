"""Java key stores (JKS, and JCEKS as far as its entries are alike), read without a password.

There is no standard; the layout is that of OpenJDK's ``sun.security.provider.JavaKeyStore.engineLoad``. Certificates in
them are not encrypted. Keys are stepped over, and the digest at the end, which a password would check, is not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from struct import Struct

from scanner.tls.wire import Malformed, Reader

MAGICS = (b"\xfe\xed\xfe\xed", b"\xce\xce\xce\xce")
"""JKS and JCEKS."""
_DIGEST = 20
"""Bytes of SHA-1 behind the entries."""
_KEY, _TRUSTED = 1, 2
"""Kinds of entries. JCEKS has 3 too, a serialized Java object, of which nothing tells the length."""
_LONGEST_CHAIN = 100
_U32 = Struct(">I")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One entry: the chain of a key, its own certificate first, or one trusted certificate."""

    alias: str
    keyed: bool
    chain: tuple[bytes, ...]
    """DER."""


def entries(content: bytes) -> Iterator[Entry]:
    """The entries, until the first that is not as it should be: there ``Malformed`` is raised."""
    reader = Reader(content)
    if reader.take(4) not in MAGICS:
        raise Malformed("no Java key store")
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
