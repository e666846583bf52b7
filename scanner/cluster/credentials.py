"""Credentials that stay, and those of files that somebody rotates."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from scanner.cluster.api_server import Credential
from scanner.errors import InputError

FRESH = 60.0
"""Seconds for which a token that was read from a file is used. The kubelet renews a projected token when 80 % of its
life has passed (Kubernetes, "Bound service account tokens"), so this is never too late."""
MAX_TOKEN = 64 * 1024
"""Bytes; the API server takes no header that is larger."""


@dataclass(frozen=True, slots=True)
class Fixed:
    """A credential that never changes: a token or a client certificate in the kubeconfig, or none at all."""

    value: Credential

    async def credential(self, *, renew: bool = False) -> Credential:  # noqa: ARG002 - there is no other one
        """The same, always."""
        return self.value


@dataclass(slots=True)
class TokenFile:
    """A token in a file that is rotated: a service account's, or ``tokenFile`` of a kubeconfig."""

    path: Path
    origin: str
    """For error messages: who names this file."""
    base: Credential = field(default_factory=Credential)
    """What goes with the token."""
    clock: Callable[[], float] = time.monotonic
    _token: str = field(default="", repr=False)
    _until: float = 0.0

    async def credential(self, *, renew: bool = False) -> Credential:
        """The file's token, read again after a minute or when the last one was refused. Raises ``InputError``."""
        if renew or not self._token or self.clock() >= self._until:
            self._token = token(self.path, self.origin)
            self._until = self.clock() + FRESH
        return replace(self.base, token=self._token)


def token(path: Path, origin: str) -> str:
    """The token in a file. Raises ``InputError``."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_TOKEN + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"{origin}: {path}: the token cannot be read: {reason}", hint="is the path right?") from None
    return checked_token(data, f"{origin}: {path}")


def checked_token(data: bytes | str, origin: str) -> str:
    """A token that can stand in a header. Raises ``InputError``, which never shows it."""
    text = data.decode("ascii", "replace") if isinstance(data, bytes) else data
    text = text.strip()
    if not text or len(text) > MAX_TOKEN or not text.isascii() or not text.isprintable() or " " in text:
        raise InputError(f"{origin}: this is no token", hint="a token is one line of letters, digits and punctuation")
    return text
