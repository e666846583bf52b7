"""``adhere`` and ``python -m scanner``."""

from __future__ import annotations

import sys

from scanner.cli import run
from scanner.cli.streams import open_all


def main() -> None:
    """Run the command line and exit with its code."""
    open_all()
    sys.exit(run())


if __name__ == "__main__":
    main()
