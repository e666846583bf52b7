"""Standard output and standard error: what is said there must never change what a command answers with."""

from __future__ import annotations

import errno
import os
import shutil
import sys
from contextlib import suppress
from typing import TextIO

import click

NO_SPACE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})
"""What a stream fails with that leads to a full or broken disk."""


def open_all() -> None:
    """Give every standard stream that the caller has closed (``>&-``) a place to go: /dev/null.

    Otherwise the next file that is opened gets the free descriptor, and reports and sockets receive each other's words.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest free one: ``number``
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, "r" if number == 0 else "w", encoding="utf-8", closefd=False))  # noqa: SIM115


def say(text: str) -> None:
    """One line for the user, on standard error. Where nobody can read it, the work goes on."""
    try:
        click.echo(text, err=True)
    except (OSError, ValueError):
        mute(sys.stderr)


def show(text: str) -> None:
    """Lines of a result, on standard output. A reader that has gone (``| head``) has seen enough."""
    try:
        click.echo(text)
    except BrokenPipeError:
        mute(sys.stdout)


def mute(stream: TextIO) -> None:
    """Let what is still to come on ``stream`` go nowhere: the interpreter flushes at exit, and would fail for it."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def width() -> int | None:
    """Columns to fold at: the terminal's; None for a file or pipe, where the reader has a tool for that."""
    return shutil.get_terminal_size((120, 24)).columns if sys.stdout.isatty() else None
