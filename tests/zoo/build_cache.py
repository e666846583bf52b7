"""Build cache: what tests compile or download once, for all their processes and all later runs.

It is in ``$XDG_CACHE_HOME/adhere-tests``, by default ``~/.cache/adhere-tests`` (XDG Base Directory Specification):
outside of the clone, so that a fresh clone does not build again. To build everything again, delete it.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import platform
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path


def cache_directory() -> Path:
    """Directory of all builds."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "adhere-tests"


def kept(name: str, sources: Iterable[Path], tool: str = "") -> Path:
    """Directory of a build, ``NAME-DIGEST``, which may not exist yet.

    The digest changes with the contents of ``sources``, with ``tool`` (the version of what builds them, where the
    result depends on it) and with the kind of machine.
    """
    content = b"".join(path.read_bytes() for path in sorted(sources) if path.is_file())
    digest = hashlib.sha256(f"{platform.machine()}{tool}".encode() + content).hexdigest()[:16]
    return cache_directory() / f"{name}-{digest}"


def built(name: str, sources: Iterable[Path], build: Callable[[Path], None], tool: str = "") -> Path:
    """The directory ``kept`` of these arguments, which ``build`` fills if it does not exist."""
    directory = kept(name, sources, tool)
    fill(directory, build)
    return directory


def fill(directory: Path, build: Callable[[Path], None]) -> None:
    """Let ``build`` fill a temporary directory and rename it: a directory with the final name is complete.

    Processes that need the same build wait for the first one; a lock ends with its process.
    """
    if directory.exists():
        return
    directory.parent.mkdir(parents=True, exist_ok=True)
    with directory.with_name(f"{directory.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if directory.exists():
            return
        for left in directory.parent.glob(f"{directory.name}.partial*"):
            shutil.rmtree(left, ignore_errors=True)  # of a process that was killed; its compiler may still write there
        partial = directory.with_name(f"{directory.name}.partial-{os.getpid()}")
        partial.mkdir()
        try:
            build(partial)
            partial.rename(directory)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
