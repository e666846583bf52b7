"""Progress on stderr during a scan: a live line on a terminal, plain lines elsewhere, or nothing."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from math import ceil
from typing import Literal

from msgspec import Struct, field

from scanner.cli.streams import say
from scanner.model.report import OUTCOMES, EndpointRow
from scanner.report import headline
from scanner.report.escape import plain
from scanner.report.page import counted
from scanner.scan import Progress

Loudness = Literal["quiet", "normal", "verbose"]

PLAIN_EVERY = 10.0
"""Seconds between two plain lines."""
_SURE = 10
"""Finished endpoints before the rest is estimated."""
_SURE_AFTER = 5.0
"""Seconds before the rest is estimated."""


@contextmanager
def progress(loudness: Loudness, total: int | None = None) -> Iterator[Progress]:
    """Provide a callback for finished rows; the live line disappears at the end of the block.

    ``total``: the number of endpoints, or None where the list of targets is still being read.
    """
    if loudness == "quiet":
        yield lambda _: None
    elif loudness == "verbose":
        yield _verbose
    elif sys.stderr.isatty():
        with _live(_Count(total)) as show_row:
            yield show_row
    else:
        yield _plain(_Count(total))


def _verbose(row: EndpointRow) -> None:
    """Print a line for each row."""
    say(plain(f"{row['verdict']:<14} {row['instance']}  {row['reach']} {row['detail']}".rstrip()))


class _Count(Struct):
    """Finished endpoints, and an estimate of the rest."""

    total: int | None
    started: float = field(default_factory=lambda: time.monotonic())  # noqa: PLW0108 - a test replaces the clock
    outcomes: Counter[str] = field(default_factory=Counter)

    def add(self, row: EndpointRow) -> str:
        """Count a row. Returns ``312 of 500 endpoints, 3 fail, 309 pass, about 2 min left``."""
        self.outcomes[headline.outcome(row)] += 1
        done = self.outcomes.total()
        known = self.total is not None and self.total >= done  # a name with several addresses is several rows
        counts = [headline.so_many(self.outcomes[each], each) for each in OUTCOMES if self.outcomes[each]]
        parts = [f"{done} of {self.total} endpoints" if known else counted(done, "endpoint"), *counts]
        seconds = time.monotonic() - self.started
        if known and self.total and done >= _SURE and seconds >= _SURE_AFTER and (left := self.total - done):
            parts.append(f"about {_duration(seconds / done * left)} left")
        return ", ".join(parts)


def _duration(seconds: float) -> str:
    """``40 s``, ``2 min``: rounded up, because an estimate that is too short annoys."""
    return f"{ceil(seconds / 10) * 10} s" if seconds <= 90 else f"{ceil(seconds / 60)} min"


def _plain(count: _Count) -> Progress:
    printed = time.monotonic()

    def show_row(row: EndpointRow) -> None:
        nonlocal printed
        text = count.add(row)
        if time.monotonic() - printed >= PLAIN_EVERY:
            printed = time.monotonic()
            say(f"adhere: {text}")

    return show_row


@contextmanager
def _live(count: _Count) -> Iterator[Progress]:
    from rich.console import Console  # noqa: PLC0415 - 150 ms that only a terminal needs
    from rich.live import Live  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    with Live(console=Console(stderr=True), auto_refresh=False, transient=True) as live:

        def show_row(row: EndpointRow) -> None:
            line = f"{count.add(row)}  {plain(row['id'])}"
            live.update(Text(line, no_wrap=True, overflow="ellipsis"), refresh=True)

        yield show_row
