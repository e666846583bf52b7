"""``adhere`` and ``python -m scanner``."""

from __future__ import annotations

import gc
import sys

from scanner.cli import run
from scanner.cli.streams import open_all

SELDOM = 200_000
"""New objects between two searches for garbage. Importing makes 100,000 and no garbage, and scanning keeps few."""


def main() -> None:
    """Run the command line and exit with its code."""
    open_all()
    gc.set_threshold(SELDOM)
    code = run()
    gc.freeze()  # else the interpreter looks for garbage among everything before it ends: a seventh of a short run
    sys.exit(code)


if __name__ == "__main__":
    main()
