"""Progress on stderr during a scan: a live line on a terminal, plain lines elsewhere, or nothing."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from scanner.cli.streams import say
from scanner.model.report import EndpointRow
from scanner.report.escape import plain
from scanner.scan import Progress

Loudness = Literal["quiet", "normal", "verbose"]

PLAIN_EVERY = 10.0
"""Seconds between two plain lines."""


def colors(stream: object) -> bool:
    """True if ``stream`` is a terminal and NO_COLOR is not set (no-color.org)."""
    isatty = getattr(stream, "isatty", None)
    return not os.environ.get("NO_COLOR") and isatty is not None and bool(isatty())


@contextmanager
def progress(loudness: Loudness) -> Iterator[Progress]:
    """Provide a callback for finished rows; the live line disappears at the end of the block."""
    if loudness == "quiet":
        yield lambda _: None
    elif loudness == "verbose":
        yield _verbose
    elif sys.stderr.isatty():
        with _live() as show_row:
            yield show_row
    else:
        yield _plain()


def _verbose(row: EndpointRow) -> None:
    """Print a line for each row."""
    say(plain(f"{row['verdict']:<14} {row['instance']}  {row['reach']} {row['detail']}".rstrip()))


def _plain() -> Progress:
    done = failed = 0
    printed = time.monotonic()

    def show_row(row: EndpointRow) -> None:
        nonlocal done, failed, printed
        done += 1
        failed += row["verdict"] == "fail"
        if time.monotonic() - printed >= PLAIN_EVERY:
            printed = time.monotonic()
            say(f"adhere: {done} endpoints so far, {failed} fail")

    return show_row


@contextmanager
def _live() -> Iterator[Progress]:
    from rich.console import Console  # noqa: PLC0415 - 150 ms that only a terminal needs
    from rich.live import Live  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    done: dict[str, int] = {}
    with Live(console=Console(stderr=True), auto_refresh=False, transient=True) as live:

        def show_row(row: EndpointRow) -> None:
            done[row["verdict"]] = done.get(row["verdict"], 0) + 1
            counts = "  ".join(f"{verdict} {count}" for verdict, count in sorted(done.items()))
            line = f"{sum(done.values())} endpoints  {counts}  {plain(row['id'])}"
            live.update(Text(line, no_wrap=True, overflow="ellipsis"), refresh=True)

        yield show_row
