"""HAProxy configured as OpenShift's router does it, with the pods behind it in the same process.

One TCP front looks at the server name: names in the map of what is passed through go straight to their pod, other names
to a TLS front with a certificate for each, and clients without one to a front with the default one (openshift/router,
``images/router/haproxy/conf/haproxy-config.template``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from tests.certs import Credential
from tests.zoo import openssl
from tests.zoo.processes import Launch, program

_TLS = "ssl-min-ver TLSv1.2 no-tls-tickets"
_SUITES = ":".join(
    f"ECDHE-{kind}-AES{size}" for kind in ("ECDSA", "RSA") for size in ("128-GCM-SHA256", "256-GCM-SHA384")
)


@dataclass(frozen=True, kw_only=True)
class Router:
    """Configuration of the router, which may differ from the cluster's objects."""

    default: Credential
    certificates: Mapping[str, Credential] = field(default_factory=dict)
    """By the host."""
    passed: Mapping[str, str] = field(default_factory=dict)
    """Backends of passthrough hosts: ``address:port``."""
    reencrypted: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """By the host: ``address:port``, and what the router verifies."""
    pods: Mapping[str, Credential] = field(default_factory=dict)
    """By ``address:port``."""
    plain: str = ""
    """``address:port`` for requests without TLS; empty: none."""
    insecure: Mapping[str, Literal["Allow", "Redirect"]] = field(default_factory=dict)
    """Contents of hosts; all others get 503."""
    first: Credential | None = None
    """Certificate for names that are not in ``certificates``; None: ``default``."""
    strict: bool = False
    """True if such names are rejected."""
    h2: frozenset[str] = frozenset()
    """Hosts with whose certificates HTTP/2 is spoken; "": with the default one."""
    verify: str = ""
    """On both TLS fronts: ``ca-file FILE verify required``."""


def launch(router: Router, where: str, directory: Path) -> Launch:
    """``where`` is ``address:port``."""
    listing = directory / "certs.list"
    served = {"": router.first or router.default, **router.certificates}
    alpn = dict.fromkeys(router.h2, " [alpn h2,http/1.1]")
    lines = [f"{_bundle(each, directory)}{alpn.get(host, '')} {host}" for host, each in served.items()]
    listing.write_text("\n".join(lines) + "\n")
    configuration = directory / "haproxy.cfg"
    configuration.write_text(
        "\n".join([*_fronts(router, where, listing, directory), *_backends(router, directory)]) + "\n"
    )
    return Launch(argv=[program("haproxy") or "haproxy", "-db", "-f", str(configuration)], env=openssl.PLAIN)


def _fronts(router: Router, where: str, listing: Path, directory: Path) -> list[str]:
    named, unnamed = (f"unix@{directory}/{each}.sock" for each in ("sni", "no-sni"))
    hosts = [f"  use_backend pass_{number} if {{ req.ssl_sni -i {host} }}" for number, host in enumerate(router.passed)]
    again = [
        f"  use_backend again_{number} if {{ hdr(host) -i {host} }}" for number, host in enumerate(router.reencrypted)
    ]
    answer = [*again, "  default_backend nothing"]
    strict = "strict-sni" if router.strict else ""
    return [
        "global",
        "  maxconn 256",
        "  nbthread 1",
        f"  ssl-default-bind-ciphers {_SUITES}",
        "defaults",
        *(f"  timeout {each} 10s" for each in ("client", "server", "connect")),
        "frontend public_ssl",
        "  mode tcp",
        f"  bind {where}",
        "  tcp-request inspect-delay 5s",
        "  tcp-request content accept if { req.ssl_hello_type 1 }",
        *hosts,
        "  use_backend be_sni if { req.ssl_sni -m found }",
        "  default_backend be_no_sni",
        *(
            line
            for name, path in (("be_sni", named), ("be_no_sni", unnamed))
            for line in (f"backend {name}", "  mode tcp", f"  server front {path} send-proxy-v2")
        ),
        "frontend fe_sni",
        "  mode http",
        f"  bind {named} accept-proxy ssl crt-list {listing} {_TLS} {strict} {router.verify}",
        *answer,
        "frontend fe_no_sni",
        "  mode http",
        f"  bind {unnamed} accept-proxy ssl crt {_bundle(router.default, directory)} {_TLS} {router.verify}",
        *answer,
        *(_plain(router) if router.plain else ()),
    ]


def _plain(router: Router) -> list[str]:
    lines = ["frontend public", "  mode http", f"  bind {router.plain}"]
    for host, policy in router.insecure.items():
        what = "redirect scheme https code 302" if policy == "Redirect" else "return status 200"
        lines.append(f"  http-request {what} if {{ hdr(host) -i {host} }}")
    return [*lines, "  default_backend nothing"]


def _backends(router: Router, directory: Path) -> list[str]:
    lines = ["backend nothing", "  mode http", "  http-request return status 503"]
    for number, place in enumerate(router.passed.values()):
        lines += [f"backend pass_{number}", "  mode tcp", f"  server pod {place}"]
    for number, (place, verified) in enumerate(router.reencrypted.values()):
        lines += [f"backend again_{number}", "  mode http", f"  server pod {place} ssl {verified}"]
    for number, (place, each) in enumerate(router.pods.items()):
        bind = f"  bind {place} ssl crt {_bundle(each, directory)} {_TLS}"
        lines += [f"frontend pod_{number}", "  mode http", bind, "  http-request return status 200"]
    return lines


def _bundle(credential: Credential, directory: Path) -> str:
    """Certificate and key in one file."""
    path = directory / f"{credential.certificate.serial_number:x}.pem"
    path.write_bytes(credential.pem + credential.key_pem)
    return str(path)
