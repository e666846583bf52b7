"""Messages and their bytes: each pair tests parsing and encoding, in ``test_messages.py`` for all of them.

The bytes are commented hex. Those marked as captured are from OpenSSL 3.0.19, in reply to a ClientHello of the scanner.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

from scanner.tls import extensions as ext
from scanner.tls.certificate import CertificateMessage
from scanner.tls.client_hello import ClientHello, Ssl2ClientHello
from scanner.tls.codepoints import TLS10, TLS12
from scanner.tls.extensions import Extension
from scanner.tls.flight import RETRY_RANDOM, CertificateRequest, ServerHello, ServerKeyExchange, Ssl2ServerHello
from tests.tls.hello_codecs import push_retry_group, push_selected_version, push_server_share


class Message(Protocol):
    """A message that can be encoded."""

    def encode(self) -> bytes:
        """The message as bytes."""


class Pair(NamedTuple):
    """A value, its bytes, and the function that parses them."""

    name: str
    value: Message
    data: bytes
    decode: Callable[[bytes], Message | None]


def commented(text: str) -> bytes:
    """Decode hexadecimal digits with ``#`` comments."""
    return bytes.fromhex("".join(line.split("#")[0] for line in text.splitlines()))


COUNTED = bytes(range(32))
"""A random that is easy to recognise in a dump."""


def key_exchange(kind: str) -> Callable[[bytes], Message | None]:
    return lambda data: ServerKeyExchange.decode(data, kind)


def certificate_request(version: int) -> Callable[[bytes], Message | None]:
    return lambda data: CertificateRequest.decode(data, version)


PAIRS = (
    Pair(
        "ClientHello of TLS 1.3",
        ClientHello(
            version=TLS12,
            random=COUNTED,
            session_id=b"\xaa\xbb",
            suites=(0x1301, 0x1302),
            extensions=(
                ext.push_server_name("a.example"),
                ext.push_supported_versions((0x0304, 0x0303)),
                ext.push_key_share(),
                Extension(0x1A1A, b""),
            ),
        ),
        commented("""
            01 000054                    # client_hello, 84 bytes
            0303                         # legacy_version TLS 1.2
            000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f
            02 aabb                      # session id
            0004 1301 1302               # suites
            01 00                        # null compression
            0025                         # extensions
              0000 000e                  # server_name
                000c 00 0009 612e6578616d706c65
              002b 0005 04 0304 0303     # supported_versions
              0033 0002 0000             # key_share, empty
              1a1a 0000                  # GREASE
        """),
        ClientHello.decode,
    ),
    Pair(
        "ClientHello of SSLv3, without extensions",
        ClientHello(version=0x0300, random=COUNTED, suites=(0x002F, 0x00FF), compression=b"\x01\x00"),
        commented("""
            01 00002c 0300               # client_hello, 44 bytes, SSLv3
            000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f
            00                           # no session
            0004 002f 00ff               # one suite and a signal
            02 01 00                     # DEFLATE or null compression
        """),
        ClientHello.decode,
    ),
    Pair(
        "CLIENT-HELLO of SSLv2",
        Ssl2ClientHello(suites=(0x010080, 0x0700C0), challenge=COUNTED[:16]),
        commented("""
            801f                         # two-byte header, 31 bytes
            01 0002                      # CLIENT-HELLO, SSLv2
            0006 0000 0010               # bytes of cipher kinds, session id, challenge
            010080 0700c0
            000102030405060708090a0b0c0d0e0f
        """),
        Ssl2ClientHello.decode,
    ),
    Pair(
        "HelloRetryRequest (captured)",
        ServerHello(
            version=TLS12,
            random=RETRY_RANDOM,
            session_id=COUNTED,
            suite=0x1301,
            extensions=(push_selected_version(0x0304), push_retry_group(0x001D)),
        ),
        commented("""
            02 000054 0303               # server_hello, 84 bytes
            cf21ad74e59a6111be1d8c021e65b891c2a211167abb8c5e079e09e2c8a8339c
            20 000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f
            1301 00
            000c
              002b 0002 0304             # supported_versions: TLS 1.3
              0033 0002 001d             # key_share: requests x25519
        """),
        ServerHello.decode,
    ),
    Pair(
        "ServerHello of TLS 1.3",
        ServerHello(
            version=TLS12,
            random=COUNTED,
            suite=0x1303,
            extensions=(push_server_share(0x0017, b"\x04\x05"), push_selected_version(0x0304)),
        ),
        commented("""
            02 000038 0303               # server_hello, 56 bytes
            000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f
            00 1303 00
            0010
              0033 0006 0017 0002 0405   # key_share: a point on secp256r1, too short but not ours to check
              002b 0002 0304
        """),
        ServerHello.decode,
    ),
    Pair(
        "ServerHello of TLS 1.2 (captured)",
        ServerHello(
            version=TLS12,
            random=bytes.fromhex("97e60959313c78e3cc1d8fede3752fcb1e7c78e9413b1175444f574e47524401"),
            session_id=bytes.fromhex("6a52a7a93137c7375e604d683e4090b7aed7ad285e28635cac01c3b0dbbe2be1"),
            suite=0xC018,
            extensions=(
                ext.push_renegotiation_info(),
                ext.push_ec_point_formats(b"\x00\x01\x02"),
                ext.push_extended_master_secret(),
            ),
        ),
        commented("""
            02 000059 0303
            97e60959313c78e3cc1d8fede3752fcb1e7c78e9413b1175
            444f574e47524401             # "DOWNGRD" 1: this server knows TLS 1.3
            20 6a52a7a93137c7375e604d683e4090b7aed7ad285e28635cac01c3b0dbbe2be1
            c018 00                      # TLS_ECDH_anon_WITH_AES_128_CBC_SHA
            0011
              ff01 0001 00               # renegotiation_info
              000b 0004 03 000102        # ec_point_formats
              0017 0000                  # extended_master_secret
        """),
        ServerHello.decode,
    ),
    Pair(
        "ServerHello of SSLv3, without extensions",
        ServerHello(version=0x0300, random=COUNTED, suite=0x000A, compression=1),
        commented("""
            02 000026 0300
            000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f
            00 000a 01                   # 3DES, DEFLATE
        """),
        ServerHello.decode,
    ),
    Pair(
        "ServerHello with an empty block of extensions",
        ServerHello(version=TLS10, random=COUNTED, suite=0x002F, extensions=()),
        commented("""
            02 000028 0301
            000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f
            00 002f 00 0000
        """),
        ServerHello.decode,
    ),
    Pair(
        "SERVER-HELLO of SSLv2",
        Ssl2ServerHello(version=0x0002, certificate=b"\x30\x00", suites=(0x010080,), connection_id=b"\x01\x02"),
        commented("""
            04 00 01 0002                # SERVER-HELLO, no session, X.509, SSLv2
            0002 0003 0002               # bytes of certificate, cipher kinds, connection id
            3000 010080 0102
        """),
        Ssl2ServerHello.decode,
    ),
    Pair(
        "Certificate",
        CertificateMessage(chain=(b"\x30\x00", b"\x30\x01\x05")),
        commented("""
            0b 00000e 00000b             # certificate
              000002 3000
              000003 300105
        """),
        CertificateMessage.decode,
    ),
    Pair("Certificate, empty", CertificateMessage(chain=()), commented("0b 000003 000000"), CertificateMessage.decode),
    Pair(
        "ServerKeyExchange, anonymous ECDHE (captured)",
        ServerKeyExchange(
            kind="ecdhe",
            group=0x001D,
            public=bytes.fromhex("eadbb0e53eff5a8ca4d62d30934f0cdd16e1c3dfe43d2136dd02558e31493828"),
        ),
        commented("""
            0c 000024
            03 001d                      # named_curve x25519
            20 eadbb0e53eff5a8ca4d62d30934f0cdd16e1c3dfe43d2136dd02558e31493828
        """),
        key_exchange("ECDH_anon"),
    ),
    Pair(
        "ServerKeyExchange, ECDHE on an explicit prime curve",
        ServerKeyExchange(
            kind="ecdhe",
            explicit=commented("01 01 17  01 01  01 01  03 040506  01 0d  01 01  02 0409  0403 0001 ff"),
        ),
        commented("""
            0c 000017
            01                           # explicit_prime
              01 17  01 01  01 01        # p, a, b
              03 040506  01 0d  01 01    # base, order, cofactor
            02 0409                      # the point
            0403 0001 ff                 # scheme and signature
        """),
        key_exchange("ECDHE"),
    ),
    Pair(
        "ServerKeyExchange, ECDHE on an explicit binary curve",
        ServerKeyExchange(
            kind="ecdhe",
            explicit=commented("02 0007 02 01 01 01 02 01 03  01 01  01 01  01 04  01 0d  01 01  01 04"),
        ),
        commented("""
            0c 000016
            02 0007                      # explicit_char2, m = 7
              02 01 01 01 02 01 03       # pentanomial, k1 to k3
              01 01  01 01               # a, b
              01 04  01 0d  01 01        # base, order, cofactor
            01 04
        """),
        key_exchange("ECDHE"),
    ),
    Pair(
        "ServerKeyExchange, DHE",
        ServerKeyExchange(
            kind="dhe", prime=b"\x00\x17", generator=b"\x05", public=b"\x08", signed=bytes.fromhex("08040000")
        ),
        commented("""
            0c 00000e
            0002 0017                    # p with a leading zero
            0001 05                      # g
            0001 08                      # Ys
            0804 0000                    # scheme and an empty signature
        """),
        key_exchange("DHE"),
    ),
    Pair(
        "ServerKeyExchange, RSA of an export suite",
        ServerKeyExchange(kind="rsa", prime=b"\xff\x01", generator=b"\x03", signed=b"\x00\x01\x09"),
        commented("""
            0c 00000a
            0002 ff01                    # modulus
            0001 03                      # exponent
            0001 09                      # signature
        """),
        key_exchange("RSA"),
    ),
    Pair(
        "CertificateRequest of TLS 1.2",
        CertificateRequest(types=b"\x01\x40", schemes=(0x0403, 0x0804), authorities=(b"\x30\x00",)),
        commented("""
            0d 00000f
            02 01 40                     # rsa_sign, ecdsa_sign
            0004 0403 0804
            0004 0002 3000               # one empty name
        """),
        certificate_request(0x0303),
    ),
    Pair(
        "CertificateRequest of TLS 1.0",
        CertificateRequest(types=b"\x01", authorities=()),
        commented("0d 000004  01 01  0000"),
        certificate_request(0x0301),
    ),
)

ANONYMOUS_FLIGHT = commented("""
    16 0303 005d                         # captured: each message in a record of its own
      02 000059 0303 97e60959313c78e3cc1d8fede3752fcb1e7c78e9413b1175444f574e47524401
      20 6a52a7a93137c7375e604d683e4090b7aed7ad285e28635cac01c3b0dbbe2be1
      c018 00 0011 ff01000100 000b000403000102 00170000
    16 0303 0028
      0c 000024 03001d20 eadbb0e53eff5a8ca4d62d30934f0cdd16e1c3dfe43d2136dd02558e31493828
    16 0303 0004
      0e 000000                          # server_hello_done
""")
