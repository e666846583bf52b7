"""Write a file completely or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

from scanner.errors import ResourceError


def atomic_write(path: Path, write: Callable[[TextIO], None], *, mode: int | None = None) -> None:
    """Let ``write`` fill a new file beside ``path``, then replace ``path`` by it. ``mode``: its permissions.

    An exception of ``write`` passes through and leaves the old file unchanged. A pipe or device (``/dev/stdout``) is
    written directly. Raises ``ResourceError`` if the file cannot be written.
    """
    try:
        if path.exists() and not path.is_file() and not path.is_dir():
            with path.open("w", encoding="utf-8", errors="backslashreplace", newline="\n") as out:
                write(out)
            return
        _replace(path.resolve(), write, mode)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise ResourceError(
            f"{path}: cannot write the report: {error.strerror or error}",
            hint="name a file in a directory that exists and is writable",
        ) from error


def _replace(path: Path, write: Callable[[TextIO], None], mode: int | None) -> None:
    if path.is_dir():
        raise IsADirectoryError(21, "it is a directory", str(path))
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name[:100]}.", suffix=".tmp", dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace", newline="\n") as out:
            write(out)
            out.flush()
            os.fsync(out.fileno())
        temporary.chmod(_mode(path) if mode is None else mode)
        temporary.replace(path)
    except BaseException:  # also Ctrl-C: remove the incomplete file
        temporary.unlink(missing_ok=True)
        raise
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(directory)  # else the name may be lost at a power failure (fsync(2), NOTES)
    finally:
        os.close(directory)


def _mode(path: Path) -> int:
    """Return the mode of the file that is replaced, else 0666 without the umask (mkstemp always makes 0600)."""
    if path.exists():
        return path.stat().st_mode & 0o777
    mask = os.umask(0o022)
    os.umask(mask)
    return 0o666 & ~mask
