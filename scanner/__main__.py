"""``adhere`` and ``python -m scanner``."""

from __future__ import annotations

import sys

from scanner.cli import run


def main() -> None:
    """Run the command line and exit with its code."""
    sys.exit(run())


if __name__ == "__main__":
    main()
