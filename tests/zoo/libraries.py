"""TLS libraries that ten programs do not show, each by one program: what makes them special stands beside each.

Suites are configured by their IANA names. Each of these servers was seen to refuse, for a reason of its own, offers
that hold what it accepts.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterable
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from tests.zoo import gnutls
from tests.zoo.build_cache import built
from tests.zoo.certificates import Pki
from tests.zoo.processes import Launch, program
from tests.zoo.truth import ELLIPTIC, GROUPS, OBSOLETE, SSL30, TLS10, TLS11, TLS12, TLS13, Key, Settings, Truth

SOURCES = Path(__file__).parent / "sources"

SUITES = {
    "TLS_RSA_WITH_3DES_EDE_CBC_SHA": (0x000A, SSL30),
    "TLS_RSA_WITH_AES_128_CBC_SHA": (0x002F, SSL30),
    "TLS_DHE_RSA_WITH_AES_128_CBC_SHA": (0x0033, SSL30),
    "TLS_RSA_WITH_AES_256_CBC_SHA": (0x0035, SSL30),
    "TLS_DHE_RSA_WITH_AES_256_CBC_SHA": (0x0039, SSL30),
    "TLS_RSA_WITH_AES_128_CBC_SHA256": (0x003C, TLS12),
    "TLS_RSA_WITH_AES_256_CBC_SHA256": (0x003D, TLS12),
    "TLS_DHE_RSA_WITH_AES_128_CBC_SHA256": (0x0067, TLS12),
    "TLS_DHE_RSA_WITH_AES_256_CBC_SHA256": (0x006B, TLS12),
    "TLS_PSK_WITH_AES_128_CBC_SHA": (0x008C, SSL30),
    "TLS_RSA_WITH_AES_128_GCM_SHA256": (0x009C, TLS12),
    "TLS_RSA_WITH_AES_256_GCM_SHA384": (0x009D, TLS12),
    "TLS_DHE_RSA_WITH_AES_128_GCM_SHA256": (0x009E, TLS12),
    "TLS_DHE_RSA_WITH_AES_256_GCM_SHA384": (0x009F, TLS12),
    "TLS_PSK_WITH_AES_128_GCM_SHA256": (0x00A8, TLS12),
    "TLS_ECDH_ECDSA_WITH_AES_128_CBC_SHA": (0xC004, TLS10),
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA": (0xC009, TLS10),
    "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA": (0xC00A, TLS10),
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA": (0xC013, TLS10),
    "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA": (0xC014, TLS10),
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256": (0xC023, TLS12),
    "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA384": (0xC024, TLS12),
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256": (0xC027, TLS12),
    "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA384": (0xC028, TLS12),
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256": (0xCCA9, TLS12),
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256": (0xC02B, TLS12),
    "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384": (0xC02C, TLS12),
    "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256": (0xC02F, TLS12),
    "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384": (0xC030, TLS12),
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256": (0xCCA8, TLS12),
    "TLS_AES_128_GCM_SHA256": (0x1301, TLS13),
    "TLS_AES_256_GCM_SHA384": (0x1302, TLS13),
    "TLS_CHACHA20_POLY1305_SHA256": (0x1303, TLS13),
    "TLS_AES_128_CCM_SHA256": (0x1304, TLS13),
}
"""Code and lowest version of what the cases name (IANA, "TLS Cipher Suites")."""


def names(settings: Settings) -> list[str]:
    """All suites of ``settings``, those of TLS 1.3 first; without them where the version is off."""
    parts = (settings.tls13 if TLS13 in settings.versions else "", settings.suites)
    return [name for part in parts for name in part.split(":") if name]


def keys(settings: Settings) -> tuple[Key, ...]:
    """The kinds of certificates that are served."""
    return (settings.key, *settings.also)


def truth(settings: Settings, *, by_version: bool = True) -> Truth:
    """Configured suites, for programs that do not start when one of its suites is not built in.

    ``by_version``: whether the program selects a suite only in the versions that have it.
    """
    suites: dict[int, frozenset[int]] = {}
    groups: dict[int, frozenset[int]] = {}
    known = frozenset(GROUPS[name] for name in settings.groups)
    for version in settings.versions:
        usable = [name for name in names(settings) if _fits(name, version, keys(settings), by_version=by_version)]
        if usable:
            suites[version] = frozenset(SUITES[name][0] for name in usable)
        if version == TLS13:
            groups[version] = known - OBSOLETE
        elif any("_ECDHE_" in name for name in usable):
            groups[version] = known & ELLIPTIC
    return Truth(
        suites=suites,
        groups=groups,
        preference=settings.preference,
        client_certificate=settings.client_certificate,
        credentialed=frozenset(SUITES[name][0] for name in names(settings) if "_PSK_" in name),
    )


def _fits(name: str, version: int, served: Iterable[Key], *, by_version: bool) -> bool:
    lowest = SUITES[name][1]
    if (lowest == TLS13) != (version == TLS13) or (by_version and lowest > version):
        return False
    if "_ECDH_" in name:
        return False
    return version == TLS13 or "_PSK_" in name or any(("_ECDSA_" in name) == (key != "rsa") for key in served)


def _openssl_name(name: str) -> str:
    """OpenSSL's name for an IANA name of the table (openssl-ciphers(1), "CIPHER SUITE NAMES")."""
    if SUITES[name][1] == TLS13:
        return name
    exchange, _, cipher = name.removeprefix("TLS_").partition("_WITH_")
    short = cipher.replace("AES_128", "AES128").replace("AES_256", "AES256").replace("_CBC", "").replace("_", "-")
    return short if exchange == "RSA" else f"{exchange.replace('_', '-')}-{short}"


# --- Tomcat: takes the certificate for the first suite of the client that its cipher string names --------------------

_JARS = tuple(
    Path("/usr/share/java", f"tomcat10-{name}.jar")
    for name in ("embed-core", "annotations-api", "servlet-api", "jaspic-api")
)
_TOMCAT = Path(__file__).parent / "javaserver" / "TomcatServer.java"
JAVA_GROUP = {"X25519": "x25519", "X448": "x448", "P-256": "secp256r1", "P-384": "secp384r1", "P-521": "secp521r1"}


def tomcat_missing() -> str | None:
    """Reason why Tomcat cannot run here, or None."""
    if not program("java"):
        return "not installed: java"
    return None if all(path.exists() for path in _JARS) else "not installed: libtomcat10-embed-java"


def launch_tomcat(settings: Settings, pki: Pki, address: str, port: int, directory: Path) -> Launch:
    """One connector with a certificate of each kind."""
    protocols = "+".join({TLS12: "TLSv1.2", TLS13: "TLSv1.3"}[version] for version in settings.versions)
    argv = [*java(_TOMCAT, *_JARS), f"-Duser.dir={directory}"]
    argv += [f"-Djdk.tls.namedGroups={','.join(JAVA_GROUP[name] for name in settings.groups)}"]
    argv += [_TOMCAT.stem, address, str(port), protocols]
    argv += [":".join(map(_openssl_name, names(settings))), settings.preference]
    argv += [str(path) for key in keys(settings) for path in (pki.certificate(key), pki.key(key))]
    return Launch(argv=argv)


@cache
def java(source: Path, *jars: Path) -> tuple[str, ...]:
    """Command that runs the class of ``source``, but for its properties and its name. It is compiled on first use.

    Raises ``subprocess.CalledProcessError`` with the compiler's words when it does not compile.
    """
    runtime = program("java") or "java"

    def build(directory: Path) -> None:
        argv = [runtime, "--module", "jdk.compiler/com.sun.tools.javac.Main", "-d", str(directory)]
        subprocess.run([*argv, "-cp", _class_path(directory, *jars), str(source)], check=True, capture_output=True)

    version = subprocess.run([runtime, "--version"], capture_output=True, text=True, check=True).stdout
    classes = built(f"java-{source.stem}", [source, *jars], build, version)
    return (runtime, "-Xshare:auto", "-XX:TieredStopAtLevel=1", "-cp", _class_path(classes, *jars))


def _class_path(*places: Path) -> str:
    return ":".join(map(str, places))


# --- lighttpd: wolfSSL (reads few signature schemes), mbedTLS 2.28 (reads the first eleven curves that it knows) -----

_LIGHTTPD_VERSION = {TLS10: "TLSv1", TLS11: "TLSv1.1", TLS12: "TLSv1.2", TLS13: "TLSv1.3"}


def lighttpd_missing(module: str) -> str | None:
    """Reason why lighttpd with this module cannot run here, or None."""
    if not program("lighttpd"):
        return "not installed: lighttpd"
    return None if Path(f"/usr/lib/lighttpd/mod_{module}.so").exists() else f"not installed: lighttpd-mod-{module}"


def launch_wolfssl(settings: Settings, pki: Pki, address: str, port: int, directory: Path) -> Launch:
    """Its cipher string has OpenSSL's names; those of TLS 1.3 are all on."""
    suites = [_openssl_name(name) for name in settings.suites.split(":") if name]
    return _lighttpd("wolfssl", suites, settings, pki, f"{address}:{port}", directory)


def launch_mbedtls(settings: Settings, pki: Pki, address: str, port: int, directory: Path) -> Launch:
    """Its cipher string has mbedTLS' own names."""
    suites = [name.replace("_", "-") for name in settings.suites.split(":") if name]
    return _lighttpd("mbedtls", suites, settings, pki, f"{address}:{port}", directory)


def _lighttpd(module: str, suites: Iterable[str], settings: Settings, pki: Pki, place: str, directory: Path) -> Launch:
    commands = {
        "MinProtocol": _LIGHTTPD_VERSION[min(settings.versions)],
        "MaxProtocol": _LIGHTTPD_VERSION[max(settings.versions)],
        "CipherString": ":".join(suites),
        # mod_wolfssl takes one name at most: without it all are on.
        "Curves": ":".join(JAVA_GROUP[name] for name in settings.groups) if module == "mbedtls" else "",
    }
    address, _, port = place.partition(":")
    said = ", ".join(f'"{name}" => "{value}"' for name, value in commands.items() if value)
    configuration = directory / "lighttpd.conf"
    configuration.write_text(
        f'''
        server.modules = ( "mod_{module}" )
        server.document-root = "{directory}"
        server.bind = "{address}"
        server.port = {port}
        ssl.engine = "enable"
        ssl.pemfile = "{pki.certificate(settings.key)}"
        ssl.privkey = "{pki.key(settings.key)}"
        ssl.openssl.ssl-conf-cmd = ( {said} )
        '''
    )
    return Launch(argv=[program("lighttpd") or "lighttpd", "-D", "-f", str(configuration)])


# --- InspIRCd: GnuTLS without parameters for DH, which then needs a group of RFC 7919 in the hello -------------------


def launch_inspircd(settings: Settings, pki: Pki, address: str, port: int, directory: Path) -> Launch:
    """The same priority strings as for ``gnutls-serv``."""
    configuration = directory / "inspircd.conf"
    configuration.write_text(
        f'''
        <server name="irc.example" description="zoo" network="zoo">
        <admin name="zoo" nick="zoo" email="zoo@example">
        <path configdir="{directory}" datadir="{directory}" logdir="{directory}" runtimedir="{directory}">
        <pid file="{directory}/pid">
        <module name="ssl_gnutls">
        <sslprofile name="zoo" provider="gnutls" certfile="{pki.certificate(settings.key)}"
                    keyfile="{pki.key(settings.key)}" priority="{gnutls.priority(settings)}">
        <bind address="{address}" port="{port}" type="clients" sslprofile="zoo">
        <connect name="main" allow="*" port="{port}" localmax="1000" globalmax="1000" limit="5000" threshold="0">
        '''
    )
    argv = [program("inspircd") or "inspircd", "--runasroot", "--nofork", "--nolog", "--config", str(configuration)]
    return Launch(argv=argv)


# --- Erlang's ssl: ends with alert 80 what it would take a PSK suite for, without any key --------------

_ERLANG = SOURCES / "erlang.escript"
_ERLANG_VERSION = {TLS10: "tlsv1", TLS11: "tlsv1.1", TLS12: "tlsv1.2", TLS13: "tlsv1.3"}


def launch_erlang(settings: Settings, pki: Pki, address: str, port: int, directory: Path) -> Launch:
    """An escript, which Erlang compiles as it starts."""
    argv = [program("escript") or "escript", str(_ERLANG), address, str(port)]
    argv += [",".join(_ERLANG_VERSION[version] for version in settings.versions), ",".join(names(settings))]
    argv += [",".join(JAVA_GROUP[name] for name in settings.groups), settings.preference]
    return Launch(argv=[*argv, str(pki.certificate(settings.key)), str(pki.key(settings.key))])


# --- node-forge: TLS 1.0 and two suites; answers a hello of SSLv3 with TLS 1.0 ---------------------------------------

_FORGE = SOURCES / "forge"


@cache
def forge() -> Path:
    """The directory with the server and its module, which npm downloads on first use.

    Raises ``subprocess.CalledProcessError`` with npm's words when it cannot.
    """

    def build(directory: Path) -> None:
        shutil.copytree(_FORGE, directory, dirs_exist_ok=True)
        argv = [program("npm") or "npm", "install", "--no-package-lock", "--ignore-scripts", "--no-audit", "--no-fund"]
        subprocess.run(argv, check=True, capture_output=True, cwd=directory)

    return built("forge", _FORGE.iterdir(), build)  # the version of the module is in package.json, whatever npm's is


def launch_forge(settings: Settings, pki: Pki, address: str, port: int, directory: Path) -> Launch:
    """Its settings are in its source."""
    argv = [program("node") or "node", str(forge() / "server.js"), address, str(port)]
    return Launch(argv=[*argv, str(pki.certificate(settings.key)), str(pki.key(settings.key))])


# --- tlslite-ng: holds a TLS 1.3 hello to RFC 8446, 4.2.7 and 4.2.8 --------------------------------------------------

_TLSLITE = SOURCES / "tlslite_server.py"
_PAIR = {TLS10: [3, 1], TLS11: [3, 2], TLS12: [3, 3], TLS13: [3, 4]}
_TLSLITE_GROUP = {"X25519": "x25519", "X448": "x448", "P-256": "secp256r1", "P-384": "secp384r1"}


def tlslite_missing() -> str | None:
    """Reason why tlslite-ng cannot run here, or None."""
    return None if find_spec("tlslite") else "not installed: tlslite-ng"


def launch_tlslite(settings: Settings, pki: Pki, address: str, port: int, directory: Path) -> Launch:
    """It puts suites together from ciphers, MACs and key exchanges."""
    asked = " ".join(names(settings))
    chosen = {
        "minVersion": _PAIR[min(settings.versions)],
        "maxVersion": _PAIR[max(settings.versions)],
        "cipherNames": [
            ours
            for word, ours in {
                "AES_128_GCM": "aes128gcm",
                "AES_256_GCM": "aes256gcm",
                "CHACHA20": "chacha20-poly1305",
                "AES_128_CBC": "aes128",
                "AES_256_CBC": "aes256",
            }.items()
            if word in asked
        ],
        "macNames": ["sha", "aead"] if "CBC" in asked else ["aead"],
        "keyExchangeNames": [
            ours for word, ours in {"TLS_RSA_": "rsa", "TLS_ECDHE_RSA_": "ecdhe_rsa"}.items() if word in asked
        ],
        "eccCurves": [_TLSLITE_GROUP[name] for name in settings.groups],
        "dhGroups": [],
        "keyShares": [_TLSLITE_GROUP[settings.groups[0]]],
    }
    argv = [sys.executable, str(_TLSLITE), address, str(port), json.dumps(chosen)]
    return Launch(argv=[*argv, str(pki.certificate(settings.key)), str(pki.key(settings.key))])


# --- s2n-tls: closes on a hello for TLS 1.2 that names a hybrid group ------------------------------------------------

_S2N = SOURCES / "s2n"
S2N_POLICY = {TLS10: "20190214", TLS12: "20240503"}
"""Security policy by lowest version (s2n_security_policies.c): what they hold is spelled in the cases."""


@cache
def s2n() -> Path:
    """The server, built on first use in some two minutes.

    Raises ``subprocess.CalledProcessError`` with the compiler's words when it does not build.
    """
    cargo = program("cargo") or "cargo"

    def build(directory: Path) -> None:
        shutil.copytree(_S2N, directory, dirs_exist_ok=True)
        target = directory / "target"
        argv = [cargo, "build", "--quiet", "--release", "--target-dir", str(target)]
        subprocess.run(argv, check=True, capture_output=True, cwd=directory)
        (target / "release" / "zoo-s2n").rename(directory / "zoo-s2n")
        shutil.rmtree(target)

    version = subprocess.run([cargo, "--version"], capture_output=True, text=True, check=True).stdout
    return built("s2n", _S2N.rglob("*"), build, version) / "zoo-s2n"


def launch_s2n(settings: Settings, pki: Pki, address: str, port: int, directory: Path) -> Launch:
    """One of the library's own policies."""
    argv = [str(s2n()), f"{address}:{port}", S2N_POLICY[min(settings.versions)], settings.client_certificate]
    argv += [str(path) for key in keys(settings) for path in (pki.certificate(key), pki.key(key))]
    return Launch(argv=argv)
