"""DER, and DER that is odd."""

from __future__ import annotations

from scanner.tls.certificate import CertificateFacts, parse_certificate


def element(tag: int, *content: bytes) -> bytes:
    """A DER element (X.690 section 8.1)."""
    inside = b"".join(content)
    size = len(inside)
    length = bytes((size,)) if size < 0x80 else b"\x83" + size.to_bytes(3, "big")
    if 0x80 <= size < 1 << 16:
        length = b"\x82" + size.to_bytes(2, "big")
    return bytes((tag,)) + length + inside


def attribute(kind: str, tag: int, value: bytes) -> bytes:
    """A relative distinguished name of one attribute, ``550403`` for the common name."""
    return element(0x31, element(0x30, element(6, bytes.fromhex(kind)), element(tag, value)))


CN, COUNTRY = "550403", "550406"
RSA_NUMBER = (1 << 2047) | 1
RSA_KEY = element(
    0x30,
    element(0x30, bytes.fromhex("06092a864886f70d010101"), element(5)),
    element(3, b"\x00", element(0x30, element(2, RSA_NUMBER.to_bytes(257, "big")), element(2, b"\x01\x00\x01"))),
)
SHA256_RSA = element(0x30, bytes.fromhex("06092a864886f70d01010b"), element(5))


def odd(
    *,
    version: bytes = element(0xA0, element(2, b"\x02")),
    serial: bytes = b"\x07",
    issuer: bytes = attribute(CN, 12, b"ca"),
    times: tuple[bytes, bytes] = (element(23, b"260101000000Z"), element(23, b"270101000000Z")),
    subject: bytes = attribute(CN, 12, b"a"),
    key: bytes = RSA_KEY,
    algorithm: bytes = SHA256_RSA,
    extensions: bytes = b"",
    behind: bytes = b"",
) -> CertificateFacts:
    """Fields of a certificate that is built element by element."""
    validity = element(0x30, *times)
    parts = (version, element(2, serial), algorithm, element(0x30, issuer), validity, element(0x30, subject), key)
    tbs = element(0x30, *parts, element(0xA3, element(0x30, extensions)) if extensions else b"")
    return parse_certificate(element(0x30, tbs, algorithm, element(3, b"\x00" * 257)) + behind)
