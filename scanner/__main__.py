"""``adhere`` and ``python -m scanner``."""

from __future__ import annotations

import gc
import signal
import sys
from types import FrameType
from typing import NoReturn

SELDOM = 200_000
"""New objects between two searches for garbage. Importing makes 100,000 and no garbage, and scanning keeps few."""


def main() -> None:
    """Run the command line and exit with its code."""
    signal.signal(signal.SIGTERM, _stop)
    try:
        code = _run()
    except KeyboardInterrupt as stopped:  # while it was imported
        from scanner.cli import stopped_early  # noqa: PLC0415 - see ``_run``

        code = stopped_early(stopped)
    gc.freeze()  # else the interpreter looks for garbage among everything before it ends: a seventh of a short run
    sys.exit(code)


def _run() -> int:
    from scanner.cli import run  # noqa: PLC0415 - a signal can come before it is imported
    from scanner.cli.streams import open_all  # noqa: PLC0415

    open_all()
    gc.set_threshold(SELDOM)
    return run()


def _stop(number: int, _: FrameType | None) -> NoReturn:
    """End as Ctrl-C does. Without a handler the first process of a container ignores SIGTERM."""
    raise KeyboardInterrupt(signal.Signals(number).name)


if __name__ == "__main__":
    main()
