"""stunnel, in front of ``cat``."""

from __future__ import annotations

from pathlib import Path

from tests.zoo import openssl
from tests.zoo.certificates import Pki
from tests.zoo.processes import Launch, program
from tests.zoo.truth import TLS10, TLS11, TLS12, TLS13, Settings, Truth

_OPTION = {TLS10: "NO_TLSv1", TLS11: "NO_TLSv1_1", TLS12: "NO_TLSv1_2", TLS13: "NO_TLSv1_3"}
_VERIFY = {"none": [], "requested": ["verify = 1"], "required": ["verifyChain = yes", "requireCert = yes"]}


def truth(settings: Settings) -> Truth:
    """As OpenSSL, DHE included: stunnel carries parameters of its own."""
    return openssl.truth(settings)


def launch(settings: Settings, pki: Pki, address: str, port: int, directory: Path) -> Launch:
    """``sslVersionMin`` is set to the lowest first: it is TLS 1.2 by itself with OpenSSL 3."""
    lines = [
        "foreground = yes",
        "pid =",
        "[zoo]",
        f"accept = {address}:{port}",
        "exec = /bin/cat",
        "execArgs = cat",
        f"cert = {pki.certificate(settings.key)}",
        f"key = {pki.key(settings.key)}",
        f"CAfile = {pki.authority}",
        "sslVersionMin = TLSv1",
        f"ciphersuites = {settings.tls13}",
        f"curves = {':'.join(settings.groups)}",
        *(f"options = {option}" for version, option in _OPTION.items() if version not in settings.versions),
        *_VERIFY[settings.client_certificate],
    ]
    lines += [f"ciphers = {settings.suites}"] if settings.suites else []
    lines += ["options = CIPHER_SERVER_PREFERENCE"] if settings.preference == "server" else []
    configuration = directory / "stunnel.conf"
    configuration.write_text("\n".join(lines) + "\n")
    return Launch(argv=[program("stunnel4") or "stunnel4", str(configuration)], env=openssl.PLAIN)
