"""Files below a directory that another person made: regular files of that directory alone.

A pipe never ends, a device never ends or acts when it is opened, and a link leads to what its author may not read.
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
    """Open a regular file, without waiting. Raises ``InputError`` for any other, for one that cannot be read, and for
    one outside of ``root``."""
    try:
        if root is not None and leads_out(path, root):
            raise InputError(f"{path}: {LINK_OUT}")
        if not stat.S_ISREG(os.stat(path).st_mode):  # noqa: PTH116 - ``Path`` makes another name of ""
            raise InputError(f"{path}: {NOT_REGULAR}")  # before it is opened, which some devices act on
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
    """Whether links on the path lead out of the directory ``root``."""
    top, target = os.path.realpath(root), os.path.realpath(path)
    return os.path.commonpath((top, target)) != top


def content(path: str | Path, limit: int, root: str | Path | None = None) -> bytes:
    """At most one byte more than ``limit``. Raises ``InputError`` as ``opened`` does."""
    with opened(path, root) as file:
        try:
            return file.read(limit + 1)
        except OSError as error:
            raise InputError(f"{path}: cannot be read: {error.strerror or error}") from None
