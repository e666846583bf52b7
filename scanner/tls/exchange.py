"""What a server sends in clear up to TLS 1.2 besides hello and certificate (RFC 5246 sections 7.4.3 and 7.4.4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from scanner.tls.codepoints import TLS12
from scanner.tls.wire import Malformed, Reader, read_message, u16, u16s, vec8, vec16, vec24

SERVER_KEY_EXCHANGE: Final = 12
CERTIFICATE_REQUEST: Final = 13

Kind = Literal["ecdhe", "dhe", "rsa"]
_KINDS: dict[str, Kind] = {
    "ECDHE": "ecdhe",
    "ECDH_anon": "ecdhe",
    "DHE": "dhe",
    "DH_anon": "dhe",
    "RSA": "rsa",  # only the export suites send one (RFC 2246 section 7.4.3)
}
"""By ``names.key_exchange``: those whose message we read."""

_EXPLICIT_PRIME, _EXPLICIT_CHAR2, _NAMED_CURVE = 1, 2, 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerKeyExchange:
    """The server's half of the key exchange. Numbers as sent; the signature is not checked."""

    kind: Kind
    group: int | None = None
    """ECDHE on a named curve."""
    curve: bytes = b""
    """ECDHE on explicit curve parameters: these, curve type included (RFC 4492 section 5.4)."""
    public: bytes = b""
    """The server's point or number."""
    prime: bytes = b""
    """DHE: p. RSA: the modulus."""
    generator: bytes = b""
    """DHE: g. RSA: the exponent."""
    signed: bytes = b""
    """Signature scheme (TLS 1.2) and signature; empty from an anonymous server."""

    @property
    def bits(self) -> int | None:
        """Size of the DHE prime or RSA modulus, None for ECDHE."""
        return None if self.kind == "ecdhe" else int.from_bytes(self.prime, "big").bit_length()

    def encode(self) -> bytes:
        """The handshake message with its four-byte header."""
        if self.kind == "ecdhe":
            curve = self.curve if self.group is None else bytes((_NAMED_CURVE,)) + u16(self.group)
            params = curve + vec8(self.public)
        else:
            params = vec16(self.prime) + vec16(self.generator)
            params += vec16(self.public) if self.kind == "dhe" else b""
        return bytes((SERVER_KEY_EXCHANGE,)) + vec24(params + self.signed)

    @classmethod
    def decode(cls, message: bytes, key_exchange: str) -> ServerKeyExchange | None:
        """Of a whole handshake message; ``key_exchange`` as in ``names``. None for one that we do not read (PSK, SRP).

        Raises ``Malformed``.
        """
        body = read_message(message, SERVER_KEY_EXCHANGE, "ServerKeyExchange")
        kind = _KINDS.get(key_exchange)
        if kind is None:
            return None
        if kind == "ecdhe":
            group, curve = _read_curve(body)
            return cls(kind=kind, group=group, curve=curve, public=body.opaque8(), signed=body.rest())
        prime, generator = body.opaque16(), body.opaque16()
        public = body.opaque16() if kind == "dhe" else b""
        return cls(kind=kind, prime=prime, generator=generator, public=public, signed=body.rest())


def _read_curve(body: Reader) -> tuple[int | None, bytes]:
    """ECParameters: the named group, or the bytes of an explicit curve (RFC 4492 section 5.4)."""
    kind = body.u8()
    if kind == _NAMED_CURVE:
        return body.u16(), b""
    if kind == _EXPLICIT_PRIME:
        head = vec8(body.opaque8())
    elif kind == _EXPLICIT_CHAR2:
        head = body.take(2) + _read_basis(body)
    else:
        raise Malformed(f"elliptic curve type {kind}")
    fields = b"".join([vec8(body.opaque8()) for _ in ("a", "b", "base", "order", "cofactor")])
    return None, bytes((kind,)) + head + fields


def _read_basis(body: Reader) -> bytes:
    """Basis type and its one (trinomial) or three (pentanomial) exponents."""
    basis = body.u8()
    if basis not in (1, 2):
        raise Malformed(f"characteristic-2 basis {basis}")
    return bytes((basis,)) + b"".join([vec8(body.opaque8()) for _ in range(1 if basis == 1 else 3)])


@dataclass(frozen=True, slots=True, kw_only=True)
class CertificateRequest:
    """The server wants a client certificate (RFC 5246 section 7.4.4; without schemes before TLS 1.2)."""

    types: bytes
    """ClientCertificateType values, one byte each."""
    schemes: tuple[int, ...] | None = None
    """TLS 1.2: signature schemes."""
    authorities: tuple[bytes, ...] = ()
    """Distinguished names in DER."""

    def encode(self) -> bytes:
        """The handshake message with its four-byte header."""
        schemes = b"" if self.schemes is None else vec16(u16s(self.schemes))
        names = vec16(b"".join(vec16(name) for name in self.authorities))
        return bytes((CERTIFICATE_REQUEST,)) + vec24(vec8(self.types) + schemes + names)

    @classmethod
    def decode(cls, message: bytes, version: int) -> CertificateRequest:
        """Of a whole handshake message of SSLv3 to TLS 1.2. Raises ``Malformed``."""
        body = read_message(message, CERTIFICATE_REQUEST, "CertificateRequest")
        types = body.opaque8()
        schemes = body.vec16().u16s() if version >= TLS12 else None
        names = body.vec16()
        body.done()
        authorities = []
        while names.left:
            authorities.append(names.opaque16())
        return cls(types=types, schemes=schemes, authorities=tuple(authorities))
