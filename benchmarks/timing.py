"""Cost of a part of a run, in this process."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def timed(work: Callable[[], T]) -> tuple[float, T]:
    """Seconds of CPU, and what came out."""
    start = time.process_time()
    done = work()
    return time.process_time() - start, done
