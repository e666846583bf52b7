"""The zoo: every program with every configuration that its build goes along with."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

from scanner.values import replace
from tests.zoo import gnutls, golang, haproxy, jsse, libraries, nginx, openssl, stunnel
from tests.zoo.certificates import Pki, make_pki
from tests.zoo.processes import Launch, free_address, program, serving
from tests.zoo.truth import SSL30, TLS10, TLS11, TLS12, TLS13, Settings, Truth


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """One server program: what it needs, how to start it, and what is true of it."""

    needs: tuple[str, ...]
    launch: Callable[[Settings, Pki, str, int, Path], Launch]
    truth: Callable[[Settings], Truth]
    lacks: Callable[[], str | None] = lambda: None
    """Reason why a dependency other than a program is missing, or None."""

    def missing(self) -> str | None:
        """Reason why it cannot run here, or None."""
        absent = [name for name in self.needs if not (golang.go() if name == _GO else program(name))]
        return f"not installed: {', '.join(absent)}" if absent else self.lacks()


_GO = f"go {'.'.join(map(str, golang.OLDEST))} or newer"

PROGRAMS = {
    "openssl": Program(needs=("openssl",), launch=openssl.launch, truth=openssl.truth),
    "nginx": Program(needs=("nginx", "openssl"), launch=nginx.launch, truth=nginx.truth),
    "haproxy": Program(needs=("haproxy", "openssl"), launch=haproxy.launch, truth=haproxy.truth),
    "stunnel": Program(needs=("stunnel4", "openssl"), launch=stunnel.launch, truth=stunnel.truth),
    "gnutls": Program(needs=("gnutls-serv", "gnutls-cli"), launch=gnutls.launch, truth=gnutls.truth),
    "go": Program(needs=(_GO,), launch=golang.launch, truth=golang.truth),
    "jsse": Program(needs=("java",), launch=jsse.launch, truth=libraries.truth),
    "tomcat": Program(
        needs=("java",), lacks=libraries.tomcat_missing, launch=libraries.launch_tomcat, truth=libraries.truth
    ),
    "wolfssl": Program(
        needs=("lighttpd",),
        lacks=partial(libraries.lighttpd_missing, "wolfssl"),
        launch=libraries.launch_wolfssl,
        truth=libraries.truth,
    ),
    "mbedtls": Program(
        needs=("lighttpd",),
        lacks=partial(libraries.lighttpd_missing, "mbedtls"),
        launch=libraries.launch_mbedtls,
        truth=libraries.truth,
    ),
    "inspircd": Program(needs=("inspircd", "gnutls-cli"), launch=libraries.launch_inspircd, truth=gnutls.truth),
    "erlang": Program(needs=("escript",), launch=libraries.launch_erlang, truth=libraries.truth),
    "forge": Program(needs=("node", "npm"), launch=libraries.launch_forge, truth=libraries.truth),
    "tlslite": Program(
        needs=(), lacks=libraries.tlslite_missing, launch=libraries.launch_tlslite, truth=libraries.truth
    ),
    # It selects suites of TLS 1.2 in older versions too, which was seen by asking for each alone.
    "s2n": Program(needs=("cargo",), launch=libraries.launch_s2n, truth=partial(libraries.truth, by_version=False)),
}


@dataclass(frozen=True, slots=True)
class Case:
    """One server of the zoo."""

    program: str
    name: str
    settings: Settings

    @property
    def id(self) -> str:
        """Name in tests."""
        return f"{self.program}-{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A server that answers."""

    address: str
    port: int
    server_name: str | None
    truth: Truth
    log: Path


@asynccontextmanager
async def running(case: Case) -> AsyncIterator[Running]:
    """Start the server of ``case``, stop it at the end. Check ``PROGRAMS[case.program].missing()`` before.

    Raises ``DidNotStartError`` with what the program wrote.
    """
    chosen = PROGRAMS[case.program]
    address, port = free_address()
    with tempfile.TemporaryDirectory(prefix="zoo-") as name:
        directory = Path(name)
        log = directory / "log"
        launch = chosen.launch(case.settings, pki(), address, port, directory)
        async with serving(launch, address, port, log):
            truth = chosen.truth(case.settings)
            yield Running(address=address, port=port, server_name=case.settings.server_name, truth=truth, log=log)


@cache
def _pki_directory() -> tempfile.TemporaryDirectory[str]:
    """Removed when the interpreter ends."""
    return tempfile.TemporaryDirectory(prefix="zoo-pki-")


@cache
def pki() -> Pki:
    """The certificates of this run."""
    return make_pki(Path(_pki_directory().name))


# What the three names mean to a program that takes OpenSSL's spelling (OpenShift 4.23;
# openshift/api, config/v1/types_tlssecurityprofile.go).
_EVERYTHING = (TLS10, TLS11, TLS12, TLS13)
_INTERMEDIATE = (
    "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:"
    "ECDHE-RSA-AES256-GCM-SHA384:ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305"
)
_OLD = (
    f"{_INTERMEDIATE}:ECDHE-ECDSA-AES128-SHA256:ECDHE-RSA-AES128-SHA256:ECDHE-ECDSA-AES128-SHA:ECDHE-RSA-AES128-SHA:"
    "ECDHE-ECDSA-AES256-SHA384:ECDHE-RSA-AES256-SHA384:ECDHE-ECDSA-AES256-SHA:ECDHE-RSA-AES256-SHA:"
    "AES128-GCM-SHA256:AES256-GCM-SHA384:AES128-SHA256:AES256-SHA256:AES128-SHA:AES256-SHA:DES-CBC3-SHA:@SECLEVEL=0"
)
OPENSSL: dict[str, Settings] = {
    "old": Settings(versions=_EVERYTHING, suites=_OLD),
    "old-ecdsa": Settings(versions=_EVERYTHING, suites=_OLD, key="p256"),
    "intermediate": Settings(suites=_INTERMEDIATE),
    "intermediate-ecdsa": Settings(suites=_INTERMEDIATE, key="p256", groups=("X25519", "P-256")),
    "intermediate-client-order": Settings(suites=_INTERMEDIATE, preference="client"),
    "modern": Settings(versions=(TLS13,)),
    "cbc-only": Settings(versions=(TLS12,), suites="ECDHE-RSA-AES128-SHA:AES256-SHA:AES128-SHA256"),
    "hole": Settings(versions=(TLS10, TLS12), suites=_OLD),
    "tls10-only": Settings(versions=(TLS10,), suites=_OLD),
    "p384": Settings(suites=_INTERMEDIATE, key="p384"),
    "p521-groups": Settings(suites=_INTERMEDIATE, groups=("P-521",)),
    "old-versions-without-sha1": Settings(versions=_EVERYTHING, suites=_OLD.replace("@SECLEVEL=0", "@SECLEVEL=1")),
    "old-versions-without-suites": Settings(versions=_EVERYTHING, suites=f"{_INTERMEDIATE}:@SECLEVEL=0"),
    "dhe": Settings(versions=(TLS12,), suites="DHE-RSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256"),
    "tls13-one-suite": Settings(suites=_INTERMEDIATE, tls13="TLS_AES_256_GCM_SHA384"),
    "tls13-ccm": Settings(versions=(TLS13,), tls13="TLS_AES_128_GCM_SHA256:TLS_AES_128_CCM_SHA256"),
    "mtls12-requested": Settings(versions=(TLS12,), suites=_INTERMEDIATE, client_certificate="requested"),
    "mtls12-required": Settings(versions=(TLS12,), suites=_INTERMEDIATE, client_certificate="required"),
    "mtls13-requested": Settings(versions=(TLS13,), client_certificate="requested"),
    "mtls13-required": Settings(versions=(TLS13,), client_certificate="required"),
}
_WEAK = Settings(suites=f"{_INTERMEDIATE}:AES128-SHA:AES256-GCM-SHA384", server_name="weak.example")
_STRICT = Settings(suites=_INTERMEDIATE)

# The same by the names that Go and Java read. C024, C028 and 003D of Old are not in Go at all.
_GO_INTERMEDIATE = ":".join(
    f"TLS_ECDHE_{kind}_WITH_{cipher}"
    for kind in ("RSA", "ECDSA")
    for cipher in ("AES_128_GCM_SHA256", "AES_256_GCM_SHA384", "CHACHA20_POLY1305_SHA256")
)
_GO_OLD = f"{_GO_INTERMEDIATE}:" + ":".join(
    [f"TLS_ECDHE_{kind}_WITH_AES_{size}_CBC_SHA" for kind in ("RSA", "ECDSA") for size in (128, 256)]
    + [f"TLS_ECDHE_{kind}_WITH_AES_128_CBC_SHA256" for kind in ("RSA", "ECDSA")]
    + ["TLS_RSA_WITH_AES_128_GCM_SHA256", "TLS_RSA_WITH_AES_256_GCM_SHA384", "TLS_RSA_WITH_AES_128_CBC_SHA256"]
    + ["TLS_RSA_WITH_AES_128_CBC_SHA", "TLS_RSA_WITH_AES_256_CBC_SHA", "TLS_RSA_WITH_3DES_EDE_CBC_SHA"]
)
_PROFILE_GROUPS = ("X25519MLKEM768", "X25519", "P-256", "P-384")
GO: dict[str, Settings] = {
    "old": Settings(versions=_EVERYTHING, suites=_GO_OLD, groups=_PROFILE_GROUPS),
    "intermediate": Settings(suites=_GO_INTERMEDIATE, groups=_PROFILE_GROUPS),
    "intermediate-ecdsa": Settings(suites=_GO_INTERMEDIATE, groups=_PROFILE_GROUPS, key="p256"),
    "modern": Settings(versions=(TLS13,), groups=_PROFILE_GROUPS),
    "cbc-only": Settings(versions=(TLS12,), suites="TLS_RSA_WITH_AES_128_CBC_SHA:TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA"),
    "tls11-below": Settings(versions=(TLS10, TLS11), suites=_GO_OLD),
    "p384": Settings(suites=_GO_INTERMEDIATE, key="p384"),
    "p521-groups": Settings(suites=_GO_INTERMEDIATE, groups=("P-521",)),
    "hybrid-groups": Settings(
        versions=(TLS13,), groups=("X25519MLKEM768", "SecP256r1MLKEM768", "SecP384r1MLKEM1024", "P-521")
    ),
    "rc4": Settings(suites=f"{_GO_INTERMEDIATE}:TLS_RSA_WITH_RC4_128_SHA"),
    "mtls12-requested": Settings(versions=(TLS12,), suites=_GO_INTERMEDIATE, client_certificate="requested"),
    "mtls12-required": Settings(versions=(TLS12,), suites=_GO_INTERMEDIATE, client_certificate="required"),
    "mtls13-requested": Settings(versions=(TLS13,), client_certificate="requested"),
    "mtls13-required": Settings(versions=(TLS13,), client_certificate="required"),
}

_GNUTLS: dict[str, Settings] = {
    "old": Settings(versions=_EVERYTHING, suites="NORMAL:+3DES-CBC:+SHA256:+SHA384"),
    "intermediate": Settings(
        suites="NORMAL:-KX-ALL:+ECDHE-RSA:+ECDHE-ECDSA:-CIPHER-ALL:+AES-128-GCM:+AES-256-GCM:+CHACHA20-POLY1305"
    ),
    "modern": Settings(versions=(TLS13,), suites="NORMAL:-CIPHER-ALL:+AES-128-GCM:+AES-256-GCM:+CHACHA20-POLY1305"),
    "normal": Settings(suites="NORMAL", preference="client", groups=("P-256", "X25519", "P-521", "ffdhe2048")),
    "cbc-only": Settings(versions=(TLS12,), suites="NORMAL:-CIPHER-ALL:+AES-128-CBC:+3DES-CBC"),
    # CBC, and so TLS 1.0 and 1.1, only for clients with encrypt_then_mac.
    "force-etm": Settings(versions=_EVERYTHING, suites="NORMAL:%FORCE_ETM"),
    # DHE only for clients that name no group of RFC 7919.
    "own-field": Settings(versions=_EVERYTHING, suites="NORMAL:-KX-ALL:+DHE-RSA:+ECDHE-RSA", own_field=True),
    "mtls12-required": Settings(versions=(TLS12,), suites="NORMAL", client_certificate="required"),
    "mtls13-requested": Settings(versions=(TLS13,), suites="NORMAL", client_certificate="requested"),
    "mtls13-required": Settings(versions=(TLS13,), suites="NORMAL", client_certificate="required"),
}

_JSSE: dict[str, Settings] = {
    "sslv3-3des": Settings(
        versions=(SSL30, TLS10, TLS11, TLS12),
        suites="TLS_RSA_WITH_AES_128_CBC_SHA:TLS_RSA_WITH_3DES_EDE_CBC_SHA",
    ),
    "intermediate": Settings(suites="TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", preference="client"),
    "mtls13-required": Settings(versions=(TLS13,), client_certificate="required"),
}


_ECDHE_CBC = ":".join(f"TLS_ECDHE_{kind}_WITH_AES_{size}_CBC_SHA" for kind in ("ECDSA", "RSA") for size in (128, 256))
_ECDHE_GCM = ":".join(
    f"TLS_ECDHE_{kind}_WITH_{cipher}"
    for kind in ("ECDSA", "RSA")
    for cipher in ("AES_128_GCM_SHA256", "AES_256_GCM_SHA384")
)
_RSA_GCM = "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256:TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"
_ECDSA_GCM = _RSA_GCM.replace("_RSA_", "_ECDSA_")
_TWO = "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384"
_TOMCAT = Settings(
    suites=f"TLS_ECDH_ECDSA_WITH_AES_128_CBC_SHA:{_ECDHE_CBC}:{_ECDHE_GCM}", also=("p256",), preference="client"
)
# Two of the library's own policies (s2n_security_policies.c, s2n_cipher_preferences.c).
_S2N_GROUPS = ("P-256", "X25519", "P-384", "P-521")
_S2N = ":".join(
    f"TLS_ECDHE_RSA_WITH_{cipher}"
    for cipher in (
        "AES_128_GCM_SHA256",
        "AES_256_GCM_SHA384",
        "CHACHA20_POLY1305_SHA256",
        "AES_256_CBC_SHA384",
        "AES_128_CBC_SHA256",
    )
)
_S2N_CIPHERS = ("AES_128_CBC_SHA", "AES_128_GCM_SHA256", "AES_256_GCM_SHA384", "AES_128_CBC_SHA256", "AES_256_CBC_SHA")
_S2N_OLD = ":".join(
    [f"TLS_{exchange}_WITH_{cipher}" for exchange in ("ECDHE_RSA", "RSA") for cipher in _S2N_CIPHERS]
    + ["TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA384", "TLS_RSA_WITH_AES_256_CBC_SHA256", "TLS_RSA_WITH_3DES_EDE_CBC_SHA"]
)
_WOLFSSL_GROUPS = (
    *("P-256", "P-384", "P-521", "X25519", "X448", "ffdhe2048", "ffdhe3072"),
    *("secp256k1", "brainpoolP256r1", "brainpoolP384r1", "brainpoolP512r1"),
)
_LIBRARIES: dict[str, dict[str, Settings]] = {
    "tomcat": {
        "two-certificates": _TOMCAT,
        "two-certificates-compliant": replace(_TOMCAT, suites=f"TLS_ECDH_ECDSA_WITH_AES_128_CBC_SHA:{_ECDHE_GCM}"),
        "two-certificates-server-order": replace(_TOMCAT, versions=(TLS12,), preference="server"),
    },
    "wolfssl": {
        "intermediate": Settings(
            suites=_RSA_GCM, tls13=f"{Settings().tls13}:TLS_AES_128_CCM_SHA256", groups=_WOLFSSL_GROUPS
        ),
        "cbc": Settings(
            versions=(TLS12,), suites=f"{_RSA_GCM}:TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA", groups=_WOLFSSL_GROUPS
        ),
    },
    "mbedtls": {
        "rsa": Settings(versions=(TLS12,), suites=f"{_RSA_GCM}:TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA"),
        "ecdsa": Settings(versions=(TLS12,), suites=_ECDSA_GCM, key="p256"),
    },
    "inspircd": {
        "normal": Settings(suites="NORMAL", groups=("P-256", "X25519", "ffdhe2048"), client_certificate="requested"),
        # OpenSSL names no group of RFC 7919 below TLS 1.3, without which this listener takes no DHE suite.
        "dhe-only": Settings(
            versions=(TLS12,),
            suites="NORMAL:-KX-ALL:+DHE-RSA",
            groups=("ffdhe2048", "P-256"),
            client_certificate="requested",
            handshake=False,
        ),
    },
    "erlang": {
        "intermediate": Settings(suites=_RSA_GCM, tls13=_TWO, groups=("P-256", "P-384")),
        "psk": Settings(
            versions=(TLS12,),
            groups=("P-256", "P-384"),
            suites=f"{_RSA_GCM}:TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA:TLS_RSA_WITH_AES_128_CBC_SHA:"
            "TLS_PSK_WITH_AES_128_GCM_SHA256:TLS_PSK_WITH_AES_128_CBC_SHA",
        ),
    },
    "forge": {
        "all": Settings(
            versions=(TLS10,), suites="TLS_RSA_WITH_AES_128_CBC_SHA:TLS_RSA_WITH_AES_256_CBC_SHA", preference="client"
        )
    },
    "tlslite": {
        "intermediate": Settings(suites=_RSA_GCM, tls13=_TWO),
        "modern": Settings(versions=(TLS13,), tls13=_TWO),
        "old": Settings(
            versions=_EVERYTHING,
            suites=f"{_RSA_GCM}:TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA:TLS_RSA_WITH_AES_128_CBC_SHA:"
            "TLS_RSA_WITH_AES_128_GCM_SHA256:TLS_RSA_WITH_AES_256_GCM_SHA384",
            tls13=_TWO,
        ),
    },
    "s2n": {
        "default": Settings(suites=_S2N, groups=_S2N_GROUPS),
        "two-certificates": Settings(
            suites=f"{_S2N}:{_S2N.replace('_RSA_', '_ECDSA_')}", groups=_S2N_GROUPS, also=("p256",)
        ),
        "requested": Settings(suites=_S2N, groups=_S2N_GROUPS, client_certificate="requested"),
        "old": Settings(versions=(TLS10, TLS11, TLS12), suites=_S2N_OLD, groups=("P-256", "P-384")),
    },
}
"""Suites by IANA names (``libraries``), but for InspIRCd, which reads GnuTLS' priority strings."""


_IMPOSSIBLE = {("haproxy", "hole")}
"""HAProxy takes one range of versions and fills a hole in it."""


def _scoped(name: str) -> list[Case]:
    """One server, asked by the name that has settings of its own and by another."""
    other = replace(_STRICT, scoped=_WEAK)
    return [
        Case(name, "sni-weak", replace(_WEAK, scoped=_STRICT)),
        Case(name, "sni-other", replace(other, server_name="strict.example")),
    ]


def _cases() -> list[Case]:
    cases = [Case("openssl", name, settings) for name, settings in OPENSSL.items()]
    srp = Settings(versions=(TLS10, TLS11, TLS12), suites="ECDHE+AESGCM:SRP:AES128-SHA:@SECLEVEL=0", srp=True)
    cases.append(Case("openssl", "srp", srp))
    cases.append(Case("openssl", "many-groups", replace(_STRICT, groups=("X448", "P-521", "X25519", "ffdhe3072"))))
    tables = {"gnutls": _GNUTLS, "go": GO, "jsse": _JSSE, "nginx": OPENSSL, "haproxy": OPENSSL, "stunnel": OPENSSL}
    cases += [
        Case(name, configuration, settings)
        for name, table in tables.items()
        for configuration, settings in table.items()
        if (name, configuration) not in _IMPOSSIBLE
    ]
    cases += [
        Case(name, configuration, settings)
        for name, table in _LIBRARIES.items()
        for configuration, settings in table.items()
    ]
    return [*cases, *_scoped("nginx"), *_scoped("haproxy")]


CASES = tuple(_cases())
