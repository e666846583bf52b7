"""Standard output and standard error: a failure to write there never changes the exit code."""

from __future__ import annotations

import errno
import os
import shutil
import sys
from contextlib import suppress
from typing import TextIO

import click

NO_SPACE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})
"""Errors of a full or broken disk."""


def open_all() -> None:
    """Open /dev/null for every standard stream that the caller has closed (``>&-``).

    Otherwise the next file or socket gets its descriptor, and reports would be written into it.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest free one: ``number``
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, "r" if number == 0 else "w", encoding="utf-8", closefd=False))  # noqa: SIM115


_hushed = False


def hush(*, hushed: bool) -> None:
    """Leave out the notes, as ``--quiet`` asks."""
    global _hushed  # noqa: PLW0603 - one process, one command
    _hushed = hushed


def note(text: str) -> None:
    """Print a line on standard error that is no error, unless ``--quiet`` is set."""
    if not _hushed:
        say(text)


def say(text: str) -> None:
    """Print lines on standard error, escaped: each may have texts of files, clusters and peers. A closed stream is
    ignored."""
    from scanner.report.escape import plain  # noqa: PLC0415 - a help text does not need it

    try:
        click.echo("\n".join(map(plain, text.split("\n"))), err=True)
    except (OSError, ValueError):
        mute(sys.stderr)


def show(text: str) -> None:
    """Print lines on standard output. A closed pipe (``| head``) is ignored."""
    try:
        click.echo(text)
    except BrokenPipeError:
        mute(sys.stdout)


def colors(stream: object) -> bool:
    """True if ``stream`` is a terminal or FORCE_COLOR is set, and NO_COLOR is not (no-color.org, force-color.org)."""
    if os.environ.get("NO_COLOR"):
        return False
    isatty = getattr(stream, "isatty", None)
    return bool(os.environ.get("FORCE_COLOR")) or (isatty is not None and bool(isatty()))


def mute(stream: TextIO) -> None:
    """Discard further output on ``stream``: the interpreter flushes it at exit, and would fail."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def width() -> int | None:
    """Return the columns of the terminal; None for a file or pipe, where nothing is folded."""
    return shutil.get_terminal_size((120, 24)).columns if sys.stdout.isatty() else None
