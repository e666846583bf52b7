"""Extensions of hellos, in the order of their numbers.

``push_*`` makes the ``Extension`` of a ClientHello, ``pull_*`` parses the data of a received one. An unknown extension
stays a number and bytes. Parsing raises ``Malformed``.
"""

from __future__ import annotations

from struct import Struct
from typing import NamedTuple

from scanner.tls import codepoints as c
from scanner.tls.wire import Malformed, Reader, u16, u16s, vec8, vec16

_HEAD = Struct(">HH")
ALPN_LENGTH = 255
"""Limit of a protocol name of ALPN in bytes (RFC 7301 section 3.1)."""


class Extension(NamedTuple):
    """An extension of a hello (RFC 8446 section 4.2)."""

    type: int
    data: bytes


def encode_extensions(extensions: tuple[Extension, ...]) -> bytes:
    """Encode extensions one after another, without the length of the block."""
    return b"".join([u16(extension.type) + vec16(extension.data) for extension in extensions])


def read_extensions(data: bytes) -> tuple[Extension, ...]:
    """Parse the extensions of a block, without its length. Uses offsets for speed. Raises ``Malformed``."""
    extensions, at = [], 0
    while at < len(data):
        start = at + _HEAD.size
        if start > len(data):
            raise Malformed(f"{len(data) - at} bytes where an extension begins")
        number, size = _HEAD.unpack_from(data, at)
        at = start + size
        if at > len(data):
            raise Malformed(f"extension {number} of {size} bytes, {len(data) - start} left")
        extensions.append(Extension(number, data[start:at]))
    return tuple(extensions)


def find(extensions: tuple[Extension, ...] | None, number: int) -> bytes | None:
    """The data of the first extension of this type; None if there is none."""
    for extension in extensions or ():
        if extension.type == number:
            return extension.data
    return None


def push_server_name(host: str) -> Extension:
    """server_name with one DNS name in ASCII (RFC 6066 section 3): IDNA A-labels, no trailing dot, no IP address.

    Raises ``ValueError`` when ``host`` is not ASCII or is empty. The caller checks that it is no IP address.
    """
    name = host.rstrip(".").encode("ascii")
    if not name:
        raise ValueError("an empty server name")
    return Extension(c.SERVER_NAME, vec16(b"\x00" + vec16(name)))


def pull_server_name(data: bytes) -> str | None:
    """The first DNS name; None if there is none. A server's answer is empty."""
    if not data:
        return None
    reader = Reader(data)
    names = reader.vec16()
    reader.done()
    found = None
    while names.left:
        kind, name = names.u8(), names.opaque16()
        if kind == 0 and found is None:
            found = name.decode("ascii", "backslashreplace")
    return found


def push_supported_groups(groups: tuple[int, ...]) -> Extension:
    """supported_groups (RFC 8446 section 4.2.7)."""
    return Extension(c.SUPPORTED_GROUPS, vec16(u16s(groups)))


def push_ec_point_formats(formats: bytes = b"\x00") -> Extension:
    """ec_point_formats (RFC 8422 section 5.1.2); uncompressed alone by default. 1 and 2 are the compressed ones of RFC
    4492."""
    return Extension(c.EC_POINT_FORMATS, vec8(formats))


def push_signature_algorithms(schemes: tuple[int, ...]) -> Extension:
    """signature_algorithms (RFC 8446 section 4.2.3)."""
    return Extension(c.SIGNATURE_ALGORITHMS, vec16(u16s(schemes)))


def push_status_request() -> Extension:
    """status_request (RFC 6066 section 8) for OCSP, without responders and extensions."""
    return Extension(c.STATUS_REQUEST, b"\x01" + vec16(b"") + vec16(b""))


def push_status_request_v2() -> Extension:
    """status_request_v2 (RFC 6961) for OCSP of the leaf and of the chain, as Java sends it."""
    return Extension(c.STATUS_REQUEST_V2, vec16(b"".join(kind + vec16(vec16(b"") * 2) for kind in (b"\x02", b"\x01"))))


def push_signed_certificate_timestamp() -> Extension:
    """signed_certificate_timestamp (RFC 6962 section 3.3.1), empty."""
    return Extension(c.SIGNED_CERTIFICATE_TIMESTAMP, b"")


def push_alpn(protocols: tuple[str, ...]) -> Extension:
    """application_layer_protocol_negotiation (RFC 7301 section 3.1). Raises ``ValueError`` for a name that is not
    ASCII or not of 1 to 255 bytes."""
    names = [name.encode("ascii") for name in protocols]
    if not names or not all(0 < len(name) <= ALPN_LENGTH for name in names):
        raise ValueError(f"protocols of 1 to {ALPN_LENGTH} bytes are needed")
    return Extension(c.ALPN, vec16(b"".join(map(vec8, names))))


def push_encrypt_then_mac() -> Extension:
    """encrypt_then_mac (RFC 7366), empty on both sides."""
    return Extension(c.ENCRYPT_THEN_MAC, b"")


def push_record_size_limit(size: int = 1 << 14) -> Extension:
    """record_size_limit (RFC 8449) up to TLS 1.2; 2^14 is the protocol's own limit."""
    return Extension(c.RECORD_SIZE_LIMIT, u16(size))


def push_signature_algorithms_cert(schemes: tuple[int, ...]) -> Extension:
    """signature_algorithms_cert (RFC 8446 section 4.2.3)."""
    return Extension(c.SIGNATURE_ALGORITHMS_CERT, vec16(u16s(schemes)))


def push_padding(size: int) -> Extension:
    """Padding with ``size`` zero bytes (RFC 7685); the extension itself is four bytes longer."""
    return Extension(c.PADDING, bytes(size))


def push_extended_master_secret() -> Extension:
    """extended_master_secret (RFC 7627), empty on both sides."""
    return Extension(c.EXTENDED_MASTER_SECRET, b"")


def push_session_ticket(ticket: bytes = b"") -> Extension:
    """session_ticket (RFC 5077 section 3.2); empty asks for one."""
    return Extension(c.SESSION_TICKET, ticket)


def push_supported_versions(versions: tuple[int, ...]) -> Extension:
    """supported_versions of a ClientHello (RFC 8446 section 4.2.1)."""
    return Extension(c.SUPPORTED_VERSIONS, vec8(u16s(versions)))


def pull_selected_version(data: bytes) -> int:
    """supported_versions of a ServerHello: the selected version."""
    return _one_u16(data)


def _one_u16(data: bytes) -> int:
    if len(data) != 2:
        raise Malformed(f"{len(data)} bytes where a two-byte value is alone")
    return int.from_bytes(data, "big")


def push_psk_key_exchange_modes(modes: bytes = b"\x01") -> Extension:
    """psk_key_exchange_modes (RFC 8446 section 4.2.9); psk_dhe_ke alone by default."""
    return Extension(c.PSK_KEY_EXCHANGE_MODES, vec8(modes))


def push_key_share(shares: tuple[tuple[int, bytes], ...] = ()) -> Extension:
    """key_share of a ClientHello (RFC 8446 section 4.2.8); empty asks for a HelloRetryRequest."""
    return Extension(c.KEY_SHARE, vec16(b"".join(u16(group) + vec16(key) for group, key in shares)))


def pull_server_share(data: bytes) -> tuple[int, bytes]:
    """key_share of a ServerHello: group and key."""
    reader = Reader(data)
    group, size = reader.unpack(_HEAD)
    key = reader.take(size)
    reader.done()
    return group, key


def pull_retry_group(data: bytes) -> int:
    """key_share of a HelloRetryRequest: the requested group."""
    return _one_u16(data)


def push_renegotiation_info(connection: bytes = b"") -> Extension:
    """renegotiation_info (RFC 5746 section 3.2); empty in a first handshake."""
    return Extension(c.RENEGOTIATION_INFO, vec8(connection))
