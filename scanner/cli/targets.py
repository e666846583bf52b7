"""Parse targets, files of targets and ``--ca`` strictly, so that nothing else is dialled by mistake."""

from __future__ import annotations

import io
import re
import ssl
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path
from typing import Final

import idna
from cryptography import x509
from msgspec import Struct

from scanner.errors import InputError, ResourceError, ScannerError
from scanner.kube.hostnames import parse_zoned_address
from scanner.model.endpoint import Target, Transport
from scanner.probe.starttls import DEFAULT_PORTS

TEXT_LIMIT: Final = 1024
"""Characters of one target; two names of 253, a scheme and a port fit several times."""
FILE_LIMIT: Final = 64 * 1024 * 1024
"""Bytes of a target file, more than a million targets."""


class _Scheme(Struct, frozen=True):
    transport: Transport
    port: int


_SCHEMES: Final[Mapping[str, _Scheme]] = {
    **{transport: _Scheme(transport, port) for transport, port in DEFAULT_PORTS.items()},
    "postgresql": _Scheme("postgres", DEFAULT_PORTS["postgres"]),
    "mariadb": _Scheme("mysql", DEFAULT_PORTS["mysql"]),
    # TLS from the first byte, on the port that IANA registered for it.
    "https": _Scheme("tls", 443),
    "wss": _Scheme("tls", 443),
    "smtps": _Scheme("tls", 465),
    "imaps": _Scheme("tls", 993),
    "pop3s": _Scheme("tls", 995),
    "ldaps": _Scheme("tls", 636),
    "ftps": _Scheme("tls", 990),
}

_PLAIN_SCHEMES: Final[Mapping[str, str]] = {"http": "https", "ws": "wss"}
"""Schemes without TLS, and their variants with TLS."""

_LABEL = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)", re.ASCII)
_ZONE = re.compile(r"[A-Za-z0-9_.-]{1,15}", re.ASCII)
_COMMENT = re.compile(r"(?:^|(?<=\s))#.*")


class _Wrong(Exception):
    """An error in a target, with a hint and a position (from 0)."""

    def __init__(self, message: str, hint: str = "", at: int = 0) -> None:
        super().__init__(message)
        self.message, self.hint, self.at = message, hint, at


def parse_target(text: str, origin: str) -> Target:
    """Parse a target: ``host:port``, ``host``, ``[v6]:port``, or with ``scheme://`` before and ``#server-name`` behind
    it.

    ``origin``: its place for messages, ``argument 2``. Raises ``InputError``.
    """
    try:
        return _parse(text, origin)
    except _Wrong as wrong:
        raise InputError(f"{origin}: {wrong.message}", hint=wrong.hint) from None


def parse_server_name(text: str, origin: str) -> str:
    """Parse a server name for SNI (RFC 6066 section 3). Raises ``InputError``."""
    try:
        return _server_name(text, 0)
    except _Wrong as wrong:
        raise InputError(f"{origin}: {wrong.message}", hint=wrong.hint) from None


def read_targets(path: str) -> Iterable[Target]:
    """Return the targets of a file, or of standard input for ``-``: UTF-8, one per line, ``#`` begins a comment.

    The file is read once, and its lines are parsed whenever the targets are iterated: a million of them would take
    much more memory than their lines. Both raise ``InputError``, which begins with ``file:line:column``.
    """
    name = "standard input" if path == "-" else shown(path)
    return _Lines(_content(path, name), name)


# --- files ------------------------------------------------------------------------------------------------------------


class _Lines(Struct, frozen=True):
    """The lines of a file, as targets."""

    content: bytes
    name: str

    def __iter__(self) -> Iterator[Target]:
        return _targets(self.content, self.name)


def _content(path: str, name: str) -> bytes:
    try:
        if path == "-":
            content = sys.stdin.buffer.read(FILE_LIMIT + 1)
        else:
            with Path(path).open("rb") as file:
                content = file.read(FILE_LIMIT + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"{name}: cannot be read: {reason}", hint="give a text file, one target per line") from None
    if len(content) > FILE_LIMIT:
        raise InputError(f"{name}: more than {FILE_LIMIT} bytes", hint="split the file and scan its parts")
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputError(f"{name}:1:1: UTF-16 text", hint="save the file as UTF-8")
    return content.removeprefix(b"\xef\xbb\xbf")


def _targets(content: bytes, name: str) -> Iterator[Target]:
    for number, line in enumerate(io.BytesIO(content), start=1):
        where = f"{name}:{number}"
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError as error:
            column = len(line[: error.start].decode("utf-8", "replace")) + 1
            raise InputError(f"{where}:{column}: not UTF-8", hint="save the file as UTF-8") from None
        words = _COMMENT.sub("", text.rstrip("\r\n"), count=1)
        if words.strip():
            yield _target_of_line(words, where)


def _target_of_line(words: str, where: str) -> Target:
    start = len(words) - len(words.lstrip())
    text = words.strip()
    try:
        _one_word(text)
        return _parse(text, where)
    except _Wrong as wrong:
        raise InputError(f"{where}:{start + wrong.at + 1}: {wrong.message}", hint=wrong.hint) from None


def _one_word(text: str) -> None:
    gap = re.search(r"\s+", text)
    if gap is not None:
        raise _Wrong(f"the line has more than one word: {shown(text)}", "write one target per line", gap.end())


# --- one target -------------------------------------------------------------------------------------------------------


def _parse(text: str, origin: str) -> Target:
    if len(text) > TEXT_LIMIT:
        raise _Wrong(f"the target has {len(text)} characters: {shown(text)}", f"at most {TEXT_LIMIT} are allowed")
    if not text.isprintable() or " " in text:
        at = next(i for i, char in enumerate(text) if not char.isprintable() or char == " ")
        raise _Wrong(f"{shown(text)} has a space or control character", "write host:port", at)
    scheme, start = _scheme(text)
    rest, mark, fragment = text[start:].partition("#")
    host, port = _authority(_without_path(rest, start), scheme, start)
    name = _server_name(fragment, start + len(rest) + 1) if mark else None
    return Target(
        host=host,
        port=port,
        transport=scheme.transport,
        server_name=name or (None if parse_zoned_address(host) else host),
        origin=origin,
    )


def _scheme(text: str) -> tuple[_Scheme, int]:
    """Return the scheme, and the position after it."""
    name, separator, rest = text.partition("://")
    if not separator:
        return _SCHEMES["tls"], 0
    scheme = _SCHEMES.get(name.lower())
    if scheme is not None:
        return scheme, len(name) + len(separator)
    if instead := _PLAIN_SCHEMES.get(name.lower()):
        raise _Wrong(f"{name.lower()}:// is not TLS", f"write {instead}://{shown(rest)} for its TLS listener")
    raise _Wrong(f"unknown scheme {shown(name)}", f"schemes: {', '.join(_SCHEMES)}")


def _without_path(rest: str, start: int) -> str:
    """Remove one slash at the end; refuse user names, queries, paths and ranges."""
    for char, what, hint in (
        ("@", "a user name", "remove it: adhere does not log in"),
        ("?", "a query", "remove it: a target is a host and a port"),
    ):
        if (at := rest.find(char)) >= 0:
            raise _Wrong(f"{shown(rest)} has {what}", hint, start + at)
    host, slash, path = rest.partition("/")
    if slash and path:
        hint = "list each address" if path.isdecimal() else "remove it: a target is a host and a port"
        raise _Wrong(f"{shown(rest)} has a {'range' if path.isdecimal() else 'path'}", hint, start + len(host))
    return host


def _authority(text: str, scheme: _Scheme, start: int) -> tuple[str, int]:
    """Parse ``host[:port]``."""
    if text.startswith("["):
        inside, bracket, after = text[1:].partition("]")
        if not bracket or (after and not after.startswith(":")):
            raise _Wrong(f"{shown(text)} has invalid brackets", "write [2001:db8::1]:443", start)
        return _v6(inside, start + 1), _port(after, scheme, start + len(inside) + 2)
    if text.count(":") > 1:
        return _bare_v6(text, start), scheme.port
    host, colon, port = text.partition(":")
    return _host(host, start), _port(colon + port, scheme, start + len(host))


def _port(text: str, scheme: _Scheme, start: int) -> int:
    """Parse ``:443``; without text the scheme's port."""
    if not text:
        return scheme.port
    digits = text[1:]
    if digits.isascii() and digits.isdecimal() and len(digits) <= 5 and 1 <= int(digits) <= 65535:
        return int(digits)
    if not digits:
        raise _Wrong("the port after the colon is missing", "write host:port, or only host", start)
    raise _Wrong(f"port {shown(digits)} is not a number from 1 to 65535", "write host:port", start + 1)


def _v6(text: str, at: int) -> str:
    address, percent, zone = text.partition("%")
    if percent and not _ZONE.fullmatch(zone):
        raise _Wrong(f"{shown(zone)} is not the name of a network interface", "write fe80::1%eth0", at)
    try:
        return f"{IPv6Address(address)}{percent}{zone}"
    except ValueError:
        raise _Wrong(f"{shown(text)} is not an IPv6 address", "brackets are for IPv6 addresses only", at) from None


def _bare_v6(text: str, at: int) -> str:
    """Parse an IPv6 address without brackets, unless its last group could be a port."""
    shorter, _, last = text.rpartition(":")
    if last.isdecimal() and parse_zoned_address(shorter) and parse_zoned_address(text):
        hint = f"write [{shorter}]:{last} or [{text}]"
        raise _Wrong(f"{shown(text)} can be an address, or an address with a port", hint, at)
    try:
        return _v6(text, at)
    except _Wrong:
        raise _Wrong(f"{shown(text)} is neither host:port nor an IPv6 address", "write [2001:db8::1]:443", at) from None


def _host(text: str, at: int) -> str:
    try:
        return str(IPv4Address(text))
    except ValueError:
        return _dns_name(text, at)


def _server_name(text: str, at: int) -> str:
    if not text:
        raise _Wrong("the server name is empty", "write a DNS name after #, or remove the #", at)
    try:
        IPv4Address(text)
    except ValueError:
        return _dns_name(text, at)
    raise _Wrong(f"{text} is an address, not a server name", "SNI carries DNS names only (RFC 6066, section 3)", at)


def _dns_name(text: str, at: int) -> str:
    """Return a DNS name as it is looked up and sent: A-labels, lower case, no dot at the end.

    Underscores are allowed, because service names have them. A last label of digits (``10.0.0``) is refused, because
    some resolvers read it as an address.
    """
    if not text:
        raise _Wrong("the host is missing", "write host:port", at)
    name = _a_labels(text.removesuffix("."), at)
    labels = name.split(".")
    for label in labels:
        if not _LABEL.fullmatch(label):
            raise _Wrong(
                f"{shown(text)} is not a host name: label {shown(label)}", "write each target alone: host:port", at
            )
    if len(name) > 253:
        raise _Wrong(f"the host name has {len(name)} characters", "a DNS name has at most 253", at)
    if re.fullmatch(r"\d+|0x[0-9a-f]*", labels[-1]):
        raise _Wrong(f"{shown(text)} is neither an address nor a host name", "write all four numbers", at)
    return name


def _a_labels(text: str, at: int) -> str:
    """Encode by IDNA 2008 (RFC 5891) with the mapping of UTS 46, as browsers do."""
    if text.isascii():
        return text.lower()
    try:
        return idna.encode(text, uts46=True).decode("ascii")
    except (idna.IDNAError, UnicodeError) as error:
        raise _Wrong(f"{shown(text)} is not a host name: {shown(str(error))}", "write its xn-- form", at) from None


def shown(text: str) -> str:
    """Shorten ``text`` for a message, with unprintable characters made visible."""
    clean = "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text[:120])
    return f"{clean[:80]}..." if len(text) > 80 else clean


LIMIT = 16 * 1024 * 1024
"""Bytes of a bundle; the bundle of all public roots is a hundredth of that."""

BEGIN = b"-----BEGIN CERTIFICATE-----"


def load_anchors(name: str) -> tuple[tuple[bytes, ...], str]:
    """Load the certificates of the PEM file ``name``, or of the system's bundle, as DER, with the path.

    Raises ``InputError`` for a file that cannot be read or has no certificate, and ``ResourceError`` without a system
    bundle.
    """
    path = _system_bundle() if name == "system" else Path(name)
    try:
        with path.open("rb") as source:
            text = source.read(LIMIT + 1)
    except OSError as error:
        raise InputError(f"{path}: cannot read the trust anchors: {error.strerror}") from error
    if len(text) > LIMIT:
        raise InputError(f"{path}: larger than {LIMIT} bytes", hint="--ca needs a PEM bundle of certificates")
    anchors = tuple(_certificates(path, text, tolerant=name == "system"))
    if not anchors:
        raise InputError(f"{path}: contains no certificate", hint="--ca needs PEM: -----BEGIN CERTIFICATE-----")
    return anchors, str(path)


def public_anchors() -> tuple[bytes, ...]:
    """Return the system's public roots, or none."""
    with suppress(ScannerError):
        return load_anchors("system")[0]
    return ()


def _certificates(path: Path, text: bytes, *, tolerant: bool) -> list[bytes]:
    """Return each certificate as DER. ``tolerant``: skip unreadable ones, which a user cannot repair in the system's
    bundle."""
    from cryptography.hazmat.primitives.serialization import Encoding  # noqa: PLC0415 - few scans need its modules

    parts = text.split(BEGIN)[1:]
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # public roots with a serial number of 0, which cryptography still accepts
        for number, part in enumerate(parts, start=1):
            try:
                found.append(x509.load_pem_x509_certificate(BEGIN + part).public_bytes(Encoding.DER))
            except ValueError as error:
                if tolerant:
                    continue
                raise InputError(f"{path}: certificate {number} cannot be read: {error}") from error
    return found


def _system_bundle() -> Path:
    place = ssl.get_default_verify_paths().cafile
    if place is None:
        raise ResourceError("this system has no bundle of trusted CAs", hint="set a file: --ca FILE")
    return Path(place)
