"""Java's JSSE: the way to a real SSLv3 and 3DES on a machine of today."""

from __future__ import annotations

from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, load_pem_private_key, pkcs12

from tests.zoo.certificates import Pki, PrivateKey
from tests.zoo.libraries import JAVA_GROUP, java, names
from tests.zoo.processes import Launch
from tests.zoo.truth import SSL30, TLS10, TLS11, TLS12, TLS13, Settings

SOURCE = Path(__file__).parent / "javaserver" / "Server.java"
_NAME = {SSL30: "SSLv3", TLS10: "TLSv1", TLS11: "TLSv1.1", TLS12: "TLSv1.2", TLS13: "TLSv1.3"}
_PASSWORD = "only for this run"


def _java(name: str) -> str:
    """Java's name of a suite, which for those of SSL 3.0 is the former one (JDK 17, "JSSE Cipher Suite Names")."""
    return name.replace("TLS_RSA_WITH_3DES", "SSL_RSA_WITH_3DES")


def launch(settings: Settings, pki: Pki, address: str, port: int, directory: Path) -> Launch:
    """Its key is in a file of its own, with a password."""
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
        "jdk.tls.namedGroups": ",".join(JAVA_GROUP[name] for name in settings.groups),
    }
    argv = [*java(SOURCE), *(f"-D{name}={value}" for name, value in properties.items())]
    argv += [SOURCE.stem, address, str(port), ",".join(_NAME[version] for version in settings.versions)]
    argv += [",".join(map(_java, names(settings))), settings.preference, settings.client_certificate]
    return Launch(argv=argv)
