"""Java's JSSE, run from its one source file: the way to a real SSLv3 and 3DES on a machine of today."""

from __future__ import annotations

from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, load_pem_private_key, pkcs12

from tests.zoo.certificates import Pki, PrivateKey
from tests.zoo.processes import Launch, program
from tests.zoo.truth import GROUPS, SSL30, TLS10, TLS11, TLS12, TLS13, Settings, Truth

SOURCE = Path(__file__).parent / "javaserver" / "Server.java"
_NAME = {SSL30: "SSLv3", TLS10: "TLSv1", TLS11: "TLSv1.1", TLS12: "TLSv1.2", TLS13: "TLSv1.3"}
_PASSWORD = "only for this run"

SUITES = {
    "SSL_RSA_WITH_3DES_EDE_CBC_SHA": (0x000A, SSL30),
    "TLS_RSA_WITH_AES_128_CBC_SHA": (0x002F, SSL30),
    "TLS_RSA_WITH_AES_256_CBC_SHA": (0x0035, SSL30),
    "TLS_RSA_WITH_AES_128_CBC_SHA256": (0x003C, TLS12),
    "TLS_RSA_WITH_AES_128_GCM_SHA256": (0x009C, TLS12),
    "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256": (0xC02F, TLS12),
    "TLS_AES_128_GCM_SHA256": (0x1301, TLS13),
    "TLS_AES_256_GCM_SHA384": (0x1302, TLS13),
    "TLS_CHACHA20_POLY1305_SHA256": (0x1303, TLS13),
}
"""Code and lowest version of what the cases name, under Java's names (JDK 17, "JSSE Cipher Suite Names")."""


def _names(settings: Settings) -> list[str]:
    return [name for part in (settings.tls13, settings.suites) for name in part.split(":") if name]


def truth(settings: Settings) -> Truth:
    """The server ends at once when Java does not know a suite or protocol, so what is configured is built in."""
    rows = [SUITES[name] for name in _names(settings)]
    known = frozenset(GROUPS[name] for name in settings.groups)
    suites = {
        version: frozenset(
            code for code, lowest in rows if (lowest == TLS13) == (version == TLS13) and lowest <= version
        )
        for version in settings.versions
    }
    groups = {TLS13: known} if TLS13 in settings.versions else {}
    if 0xC02F in suites.get(TLS12, ()):
        groups[TLS12] = known
    return Truth(
        suites=suites,
        groups=groups,
        preference=settings.preference,
        client_certificate=settings.client_certificate,
    )


def launch(settings: Settings, pki: Pki, address: str, port: int, directory: Path) -> Launch:
    """``java Server.java`` compiles and runs in one go (JEP 330)."""
    certificate = x509.load_pem_x509_certificate(pki.certificate(settings.key).read_bytes())
    key = load_pem_private_key(pki.key(settings.key).read_bytes(), None)
    assert isinstance(key, PrivateKey)
    store = directory / "server.p12"
    encryption = BestAvailableEncryption(_PASSWORD.encode())
    store.write_bytes(pkcs12.serialize_key_and_certificates(b"zoo", key, certificate, None, encryption))
    properties = {
        "javax.net.ssl.keyStore": store,
        "javax.net.ssl.keyStorePassword": _PASSWORD,
        "javax.net.ssl.keyStoreType": "PKCS12",
        "jdk.tls.namedGroups": ",".join(_GROUP[name] for name in settings.groups),
    }
    argv = [program("java") or "java", "-Xshare:auto", "-XX:TieredStopAtLevel=1"]
    argv += [f"-D{name}={value}" for name, value in properties.items()]
    argv += [str(SOURCE), address, str(port), ",".join(_NAME[version] for version in settings.versions)]
    argv += [",".join(_names(settings)), settings.preference, settings.client_certificate]
    return Launch(argv=argv)


_GROUP = {"X25519": "x25519", "X448": "x448", "P-256": "secp256r1", "P-384": "secp384r1", "P-521": "secp521r1"}
