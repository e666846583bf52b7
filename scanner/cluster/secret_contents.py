"""Removal of private keys and passwords from texts: they stay in no file, and in memory only while they are searched
for.

Known forms: PEM (RFC 7468, sections 10 and 11, and older forms), OpenPGP and PuTTY, JWK (RFC 7517), and any of them, or
a key in DER, in base64, in up to three layers. Each text is searched once; the cost grows with its length.
"""

from __future__ import annotations

import base64
import binascii
import re
import warnings
from base64 import b64encode
from collections.abc import Iterator
from itertools import islice, pairwise
from typing import Final

from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509 import CertificateRevocationList, load_pem_x509_crl

from scanner.model.pem import CONTAINER, REMOVED, WITHHELD
from scanner.tls.revocation import LONGEST

_WORDS = ("PRIVATE KEY", "PuTTY-User-Key-File", "openssh-key-v1")
"""Words in every text with a private key."""
_PEM = re.compile(
    r"-{4,5} ?BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}.*?"
    r"(?:-{4,5} ?END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}|\Z)",
    re.DOTALL,
)
"""Also a block without its end: a truncated key is still a key."""
_BODY = re.compile(r"[A-Za-z0-9+/]{32}")
"""Base64 of a key, which a placeholder, or a script that searches for keys, does not have."""
_PUTTY = re.compile(r"PuTTY-User-Key-File-.*?(?:Private-(?:MAC|Hash): ?[0-9a-fA-F]*|\Z)", re.DOTALL)
_JWK = re.compile(r'(\\*"(?:d|p|q|dp|dq|qi|k)\\*"\s{0,9}:\s{0,9}\\*")[A-Za-z0-9_+/=-]{8,}')
"""Private members of a JSON Web Key (RFC 7518, sections 6.2.2, 6.3.2 and 6.4.1)."""
SHORTEST = 32
_RUN = re.compile(r"(?<!\\)[A-Za-z0-9+/_-]{40,}(?:(?:\s|\\[rn])+[A-Za-z0-9+/_-]+)*={0,2}")
"""Base64, of either alphabet, in one line or several; the shortest key in DER has 64 characters of it. Runs of 36
characters, such as UIDs, are skipped."""
_IS_BASE64 = bytes(ord("x" if re.match(r"[A-Za-z0-9+/_-]", chr(code)) else " ") for code in range(256))
_ENOUGH = b"x" * 40
"""Pattern of a run after translation by ``_IS_BASE64``; this search takes a hundredth of the time of the regular
expression."""
_BREAKS = re.compile(r"\s+|\\[rn]")
_ALPHABET = str.maketrans("-_", "+/", "=")
_LAYERS = 3
_ENCODED = frozenset(
    base64.b64encode(b"\0" * shift + word.encode())[(0, 2, 3)[shift] : (len(word) + shift) // 3 * 4].decode()
    for word in _WORDS
    for shift in range(3)
)
"""The words in base64 at each offset, without the characters that also hold bits of their neighbours."""
_SEQUENCE = re.compile(rb"\x30(?:[\x00-\x7f]|\x81.|\x82..|\x83...)", re.DOTALL)
_DER = re.compile(
    rb"\x02\x01[\x00\x01](?:\x30|\x02[\x01-\x84]|\x04)"  # PKCS #8 (RFC 5958), PKCS #1 (RFC 8017), SEC 1 (RFC 5915)
    rb"|\x30[\x00-\x7f]?.?.?\x06[\x09\x0a]\x2a\x86\x48\x86\xf7\x0d\x01(?:\x05|\x0c\x01)",  # encrypted: PKCS #5, #12
    re.DOTALL,
)
"""Bytes after a private key's outermost SEQUENCE. A certificate's begins with another SEQUENCE."""
_CONTAINER = b"\x02\x01\x03\x30"
"""The same of a PKCS #12 container, version 3 (RFC 7292 section 4)."""
_KEY_BAG = re.compile(rb"\x2a\x86\x48\x86\xf7\x0d\x01\x0c\x0a\x01[\x01\x02]")
"""keyBag and pkcs8ShroudedKeyBag (RFC 7292 section 4.2), which tools encrypt but do not hide."""
_USERINFO = re.compile(r"([A-Za-z][A-Za-z0-9+.-]{0,20}://)[^/\s@\"']{1,1024}@")
"""A token alone may be the password."""

_HINTS = ("pass", "pwd", "token", "secret", "key", "auth", "user", "cred")
"""Parts of all names below. Most arguments have none, and this search is faster than the regular expression."""
_SECRET = r"(?:passwor[dt]|passwd|passphrase|pass|pwd|token|secret|credentials?|api[-_]?key)"  # noqa: S105 - a pattern
_NAME = rf"[\w.-]{{0,80}}{_SECRET}"
_VALUE = rf"(?:{re.escape(WITHHELD)}|\"[^\"]*\"|'[^']*'|\S+)"
_PASSWORDS = re.compile(rf"((?<![\w.-])(?:--?{_NAME}[= ]|{_NAME}=)){_VALUE}", re.IGNORECASE)
_PAIRS = re.compile(r"((?<![\w.-])--?[\w.-]{0,80}(?:auth|user)[= ])[^\s:]*:\S+", re.IGNORECASE)
"""User and password; most such flags are true or false."""
_FLAG_ALONE = re.compile(rf"--?{_NAME}\Z", re.IGNORECASE)
_PAIR_ALONE = re.compile(r"--?(?:[\w.-]{0,80}(?:auth|user)|u)\Z", re.IGNORECASE)
_SECRET_NAME = re.compile(r"PASS|PWD|SECRET|TOKEN|CRED|API_?KEY|PRIVATE_?KEY", re.IGNORECASE)
_LONGEST_ARGUMENT = 8192


def scrubbed(text: str) -> str:
    """``text`` without private keys, and without the passwords of URLs."""
    if len(text) < SHORTEST:
        return _without_userinfo(text)
    if any(word in text for word in _WORDS):
        text = _PUTTY.sub(REMOVED, _PEM.sub(_without_block, text))
    if "kty" in text:
        text = _JWK.sub(rf"\1{REMOVED}", text)
    if _ENOUGH in text.encode("latin-1", "replace").translate(_IS_BASE64):
        text = _RUN.sub(_replaced_run, text)
    return _without_userinfo(text)


def _without_userinfo(text: str) -> str:
    # No brackets in what takes its place: a URL with them is none.
    return _USERINFO.sub(r"\1removed@", text) if "://" in text and "@" in text else text


def _without_block(match: re.Match[str]) -> str:
    return REMOVED if _BODY.search(match[0]) else WITHHELD


def _replaced_run(match: re.Match[str]) -> str:
    return _replacement(match[0], _LAYERS) or match[0]


def _replacement(run: str, layers: int) -> str | None:
    """Replacement of base64 that contains a private key, in DER or in text; None if it contains none."""
    run = _BREAKS.sub("", run).translate(_ALPHABET)
    if any(word in run for word in _ENCODED):
        return REMOVED
    try:
        inner = base64.b64decode(run[: len(run) // 4 * 4])
    except (binascii.Error, ValueError):
        return None
    if sequence := _SEQUENCE.match(inner):
        if _DER.match(inner, sequence.end()):
            return REMOVED
        if inner.startswith(_CONTAINER, sequence.end()):
            return REMOVED if _KEY_BAG.search(inner) else CONTAINER
    if not inner.isascii():
        return None
    text = inner.decode("ascii")
    if "kty" in text and _JWK.search(text):
        return REMOVED
    return (
        next(filter(None, (_replacement(each[0], layers - 1) for each in _RUN.finditer(text))), None)
        if layers > 1
        else None
    )


def is_secret_name(name: str) -> bool:
    """True if a variable with this name has a secret value."""
    return _SECRET_NAME.search(name) is not None


def arguments(items: list[str]) -> list[str]:
    """A command line without the passwords after ``--token`` and similar flags; scripts are truncated."""
    cut = [item[:_LONGEST_ARGUMENT] for item in items]
    if not _has_hint("\n".join(cut)):
        return [scrubbed(item) for item in cut]
    without = [scrubbed(_PAIRS.sub(rf"\1{WITHHELD}", _PASSWORDS.sub(rf"\1{WITHHELD}", item))) for item in cut]
    return [WITHHELD if _is_password(before, item) else item for before, item in pairwise(["", *without])]


def _is_password(before: str, item: str) -> bool:
    """True if an argument is the password of the flag before it."""
    if _FLAG_ALONE.match(before):
        return True
    return ":" in item and _PAIR_ALONE.match(before) is not None


def _has_hint(text: str) -> bool:
    # What is not ASCII may be a letter in disguise, which patterns take for the plain one when case does not matter.
    lower = text.lower()
    return not text.isascii() or any(word in lower for word in _HINTS)


_BEGIN: Final = b"-----BEGIN X509 CRL-----"
_END: Final = b"-----END X509 CRL-----"
_MOST: Final = 20
"""Lists of one text."""
_LONGEST_NAME: Final = 1000
"""Characters of an issuer's name."""


def revocation_lists(content: bytes) -> list[dict[str, str]]:
    """Facts of each PEM list: ``issuer`` (RFC 4514), ``thisUpdate`` and ``nextUpdate`` (RFC 3339); or why it is
    unreadable."""
    return [_facts(each) for each in islice(_blocks(content), _MOST)]


def _blocks(content: bytes) -> Iterator[bytes | None]:
    """Each with its lines; None for one without an end."""
    at = content.find(_BEGIN)
    while at >= 0:
        end = content.find(_END, at)
        yield content[at : end + len(_END)] if end >= 0 else None
        at = content.find(_BEGIN, at + len(_BEGIN))


def _facts(block: bytes | None) -> dict[str, str]:
    if block is None:
        return {"unreadable": "it has no end"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return _read(load_pem_x509_crl(block))
        except Exception:  # noqa: BLE001 - as ``parse_certificate``: more is raised than is documented
            return {"unreadable": "it is no revocation list (RFC 5280 section 5.1)"}


def _read(found: CertificateRevocationList) -> dict[str, str]:
    ends = found.next_update_utc
    facts = {"issuer": found.issuer.rfc4514_string()[:_LONGEST_NAME], "thisUpdate": found.last_update_utc.isoformat()}
    der = found.public_bytes(Encoding.DER)
    whole = {"der": b64encode(der).decode()} if len(der) <= LONGEST else {}
    return facts | ({"nextUpdate": ends.isoformat()} if ends is not None else {}) | whole
