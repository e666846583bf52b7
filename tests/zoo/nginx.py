"""nginx, one worker, with a stream of its own configuration."""

from __future__ import annotations

from pathlib import Path

from scanner.values import replace
from tests.zoo import openssl
from tests.zoo.certificates import Pki
from tests.zoo.processes import Launch, program
from tests.zoo.truth import TLS10, TLS11, TLS12, TLS13, Settings, Truth

_PROTOCOL = {TLS10: "TLSv1", TLS11: "TLSv1.1", TLS12: "TLSv1.2", TLS13: "TLSv1.3"}
_VERIFY = {"none": "off", "requested": "optional", "required": "on"}


def truth(settings: Settings) -> Truth:
    """As OpenSSL, without DHE: nginx has no parameters unless ``ssl_dhparam`` names some (since 1.11.0).

    TLS never requires a client certificate here: nginx completes the handshake and answers 400 to the HTTP request.
    """
    told = openssl.truth(settings, dhe=False)
    return replace(told, client_certificate="none" if told.client_certificate == "none" else "requested")


def launch(settings: Settings, pki: Pki, address: str, port: int, directory: Path) -> Launch:
    """The first server block answers every name that no other block has."""
    blocks = [_server(part, pki, address, port) for part in (settings.scoped, settings) if part]
    return configured(blocks, directory)


def configured(blocks: list[str], directory: Path) -> Launch:
    """With these server blocks."""
    configuration = directory / "nginx.conf"
    configuration.write_text(
        f"daemon off; worker_processes 1; pid {directory}/nginx.pid; error_log stderr;\n"
        "events { worker_connections 256; }\n"
        "http { access_log off;\n"
        + "".join(f"  {kind}_temp_path {directory}/{kind};\n" for kind in _TEMPORARY)
        + "\n".join(blocks)
        + "\n}\n"
    )
    argv = [program("nginx") or "nginx", "-e", "stderr", "-p", str(directory), "-c", str(configuration)]
    return Launch(argv=argv, env=openssl.PLAIN)


_TEMPORARY = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")


def _server(settings: Settings, pki: Pki, address: str, port: int) -> str:
    directives = {
        "listen": f"{address}:{port} ssl",
        "server_name": settings.server_name or "_",
        "ssl_certificate": pki.certificate(settings.key),
        "ssl_certificate_key": pki.key(settings.key),
        "ssl_protocols": " ".join(_PROTOCOL[version] for version in settings.versions),
        "ssl_ciphers": settings.suites or "DEFAULT",
        "ssl_conf_command": f"Ciphersuites {settings.tls13}",
        "ssl_ecdh_curve": ":".join(settings.groups),
        "ssl_prefer_server_ciphers": "on" if settings.preference == "server" else "off",
        "ssl_client_certificate": pki.authority,
        "ssl_verify_client": _VERIFY[settings.client_certificate],
        "return": "204",
    }
    return "  server { " + " ".join(f"{name} {value};" for name, value in directives.items()) + " }"
