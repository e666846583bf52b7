"""JSON decoding of large lists, without the garbage collector.

Python looks for reference cycles after each few hundred new objects, from time to time in all objects. JSON has no
cycles: without the collector, reading 20,000 pods takes less than half the CPU (benchmarks/cluster.py).
"""

from __future__ import annotations

import gc
import json
from collections.abc import Generator
from contextlib import contextmanager

from msgspec import Raw
from pydantic_core import from_json


@contextmanager
def collector_paused() -> Generator[None]:
    """Pause the garbage collector. Never ``await`` inside: garbage of other tasks would wait too."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def decoded(data: bytes) -> object:
    """The JSON value in ``data``. Raises ``ValueError``, or ``RecursionError`` for what is nested too deeply."""
    with collector_paused():
        return value(data)


def value(data: bytes) -> object:
    """``decoded`` without the pause, for one of many small texts: the caller pauses the collector once."""
    try:
        # Nearly twice as fast as the standard library's, but stricter: half a surrogate pair ends it.
        found: object = from_json(data, cache_strings="keys")
    except ValueError:
        found = json.loads(data)
    return found


__all__ = ["Raw", "collector_paused", "decoded", "value"]
