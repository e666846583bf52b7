"""Files in a directory of another user: only regular files inside of it.

A pipe or device may block for ever, opening a device may have effects, and a link may lead to files that its author may
not read.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import BinaryIO

from scanner.errors import InputError

LINK_OUT = "a link that leads out of the directory"
NOT_REGULAR = "not a regular file"


def opened(path: str | Path, root: str | Path | None = None) -> BinaryIO:
    """Open a regular file, without blocking. Raises ``InputError`` for another one, an unreadable one, and one
    outside of ``root``."""
    try:
        if root is not None and leads_out(path, root):
            raise InputError(f"{path}: {LINK_OUT}")
        if not stat.S_ISREG(os.stat(path).st_mode):  # noqa: PTH116 - ``Path("")`` is another path
            raise InputError(f"{path}: {NOT_REGULAR}")  # before it is opened, which has effects on some devices
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        file = os.fdopen(descriptor, "rb")
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{path}: cannot be read: {reason}") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        file.close()
        raise InputError(f"{path}: {NOT_REGULAR}")
    return file


def leads_out(path: str | Path, root: str | Path) -> bool:
    """True if links lead out of the directory ``root``."""
    top, target = os.path.realpath(root), os.path.realpath(path)
    return os.path.commonpath((top, target)) != top


def content(path: str | Path, limit: int, root: str | Path | None = None) -> bytes:
    """Read at most ``limit`` + 1 bytes. Raises ``InputError`` as ``opened`` does."""
    with opened(path, root) as file:
        try:
            return file.read(limit + 1)
        except OSError as error:
            raise InputError(f"{path}: cannot be read: {error.strerror or error}") from None
