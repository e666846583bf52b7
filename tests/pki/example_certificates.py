"""Certificates that examples on pages of rules describe, made as they say it.

A page cannot show certificates that are valid today. Where an example has ``CERTIFICATE(web.shop.example, RSA 2048)``,
there is a base64 of one like that in PEM, and where it has ``KEY(...)`` of the same words, one of its key. The first
words are names; ``WORDS`` has what else may be said. Without it, it is a server's, ECDSA P256, made an hour ago, valid
for 90 days from now, and by a signer that nobody knows.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Final, TypeAlias, cast

from scanner.demo.certificates import KeyKind as Kind
from tests.certs import Authority, Credential, private_key, weakly_signed

_TOKEN: Final = re.compile(r"\b(CERTIFICATE|KEY)\(([^)]*)\)")
_NAME: Final = re.compile(r"[a-z0-9*][\w.*@:-]*")
_KINDS: Final[Mapping[str, Kind]] = {
    "RSA 1024": "rsa1024",
    "RSA 2048": "rsa2048",
    "RSA 3072": "rsa3072",
    "RSA 4096": "rsa4096",
    "ECDSA P256": "p256",
    "ECDSA P384": "p384",
    "Ed25519": "ed25519",
}


@dataclass(slots=True)
class Said:
    """What a token says of its certificate."""

    now: datetime
    names: list[str] = field(default_factory=list)
    ca: bool = False
    client: bool = False
    key: Kind = "p256"
    key_of: str = ""
    made: datetime | None = None
    ends: datetime | None = None
    signer: str = "somebody"
    hash: str = "SHA-256"


_Word: TypeAlias = Callable[[Said, str], None]


def _set(name: str, value: Callable[[Said, str], object]) -> _Word:
    return lambda said, found: setattr(said, name, value(said, found))


WORDS: Final[Mapping[str, _Word]] = {
    r"CA()": _set("ca", lambda *_: True),
    r"for clients()": _set("client", lambda *_: True),
    rf"({'|'.join(_KINDS)})": _set("key", lambda _, found: _KINDS[found]),
    r"the key of (\S+)": _set("key_of", lambda _, found: found),
    r"made (\d+) days ago": _set("made", lambda said, found: said.now - timedelta(days=int(found))),
    r"ends in (\d+) days": _set("ends", lambda said, found: said.now + timedelta(days=int(found))),
    r"ended (\d+) days ago": _set("ends", lambda said, found: said.now - timedelta(days=int(found))),
    r"signed by (\S+)": _set("signer", lambda _, found: found),
    r"with (SHA-1)": _set("hash", lambda _, found: found),
}


@dataclass(slots=True)
class Making:
    """The certificates of one example, each made once: signers by their names, so that what they sign is theirs."""

    now: datetime = field(default_factory=lambda: datetime.now(UTC))
    made: dict[str, Credential] = field(default_factory=dict)
    signers: dict[str, Authority] = field(default_factory=dict)
    named: dict[str, Credential] = field(default_factory=dict)

    def fill(self, text: str) -> str:
        """The text with certificates and keys where it had words for them."""
        return _TOKEN.sub(self._coded, text)

    def _coded(self, token: re.Match[str]) -> str:
        words = token[2].strip()
        if words not in self.made:
            said = parsed(words, self.now)
            self.made[words] = self._make(said)
            self.named.setdefault(said.names[0], self.made[words])
        credential = self.made[words]
        return base64.b64encode(credential.key_pem if token[1] == "KEY" else credential.pem).decode()

    def _make(self, said: Said) -> Credential:
        start, end = said.made or self.now - timedelta(hours=1), said.ends or self.now + timedelta(days=90)
        if said.ca:
            signer = self.signers[said.names[0]] = _authority(said.names[0], said.key)
            return signer.leaf(
                names=(), common_name=said.names[0], key=signer.key, ca=True, eku=(), not_before=start, not_after=end
            )
        if said.hash == "SHA-1":
            return weakly_signed(_authority(said.signer, "rsa2048"), names=tuple(said.names))
        signer = self.signers.get(said.signer) or _authority(said.signer, "p256")
        return signer.leaf(
            names=tuple(said.names),
            key=self.named[said.key_of].key if said.key_of else private_key(said.key),
            eku=("clientAuth",) if said.client else ("serverAuth",),
            not_before=start,
            not_after=end,
        )


def parsed(words: str, now: datetime) -> Said:
    """What a token says. Raises ``KeyError`` for words that nobody knows."""
    said = Said(now=now)
    for each in (part.strip() for part in words.split(",")):
        found = ((word, match) for pattern, word in WORDS.items() if (match := re.fullmatch(pattern, each)))
        word, match = next(found, (None, None))
        if word is not None:
            word(said, cast("re.Match[str]", match)[1])
        elif _NAME.fullmatch(each):
            said.names.append(each)
        else:
            raise KeyError(each)
    return said


@cache
def _authority(name: str, key: Kind) -> Authority:
    """Made once; RSA keys take time."""
    return Authority(name, key=key)
