"""HAProxy in the foreground with one TLS bind line."""

from __future__ import annotations

from pathlib import Path

from tests.zoo import openssl
from tests.zoo.certificates import Pki
from tests.zoo.processes import Launch, program
from tests.zoo.truth import TLS10, TLS11, TLS12, TLS13, Settings, Truth

_NAME = {TLS10: "TLSv1.0", TLS11: "TLSv1.1", TLS12: "TLSv1.2", TLS13: "TLSv1.3"}
_OFF = {TLS10: "no-tlsv10", TLS11: "no-tlsv11", TLS12: "no-tlsv12", TLS13: "no-tlsv13"}
_VERIFY = {"none": "none", "requested": "optional", "required": "required"}


def truth(settings: Settings) -> Truth:
    """As OpenSSL, DHE included: ``tune.ssl.default-dh-param`` gives it parameters."""
    return openssl.truth(settings)


def launch(settings: Settings, pki: Pki, address: str, port: int, directory: Path) -> Launch:
    """With settings for one name, those stand in a crt-list line and everything else on the bind line."""
    line = settings.scoped or settings
    certificates = f"crt {pki.bundle(line.key)}"
    if settings.scoped:
        listing = directory / "names.list"
        listing.write_text(
            f"{pki.bundle(line.key)}\n"
            f"{pki.bundle(settings.key)} [ciphers {settings.suites} ssl-min-ver {_NAME[min(settings.versions)]} "
            f"ssl-max-ver {_NAME[max(settings.versions)]}] {settings.server_name}\n"
        )
        certificates = f"crt-list {listing}"
    configuration = directory / "haproxy.cfg"
    configuration.write_text(
        "global\n  maxconn 256\n  nbthread 1\n  tune.ssl.default-dh-param 2048\n"
        "defaults\n  mode http\n  timeout client 10s\n  timeout server 10s\n  timeout connect 1s\n"
        f"frontend zoo\n  bind {address}:{port} ssl {certificates} {_bind(line, pki)}\n"
        "  http-request return status 204\n"
    )
    return Launch(argv=[program("haproxy") or "haproxy", "-db", "-f", str(configuration)], env=openssl.PLAIN)


def _bind(settings: Settings, pki: Pki) -> str:
    words = [
        f"ciphersuites {settings.tls13}",
        f"curves {':'.join(settings.groups)}",
        f"ca-file {pki.authority} verify {_VERIFY[settings.client_certificate]}",
        *_versions(settings.versions),
    ]
    words += [f"ciphers {settings.suites}"] if settings.suites else []
    words += ["prefer-client-ciphers"] if settings.preference == "client" else []
    return " ".join(words)


def _versions(versions: tuple[int, ...]) -> list[str]:
    """A range where it is one; a hole has to be cut out word by word."""
    lowest, highest = min(versions), max(versions)
    if len(versions) == highest - lowest + 1:
        return [f"ssl-min-ver {_NAME[lowest]} ssl-max-ver {_NAME[highest]}"]
    return [f"ssl-min-ver {_NAME[TLS10]}", *(word for version, word in _OFF.items() if version not in versions)]
