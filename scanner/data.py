"""The only file that knows where ``profiles/`` and ``reports/templates/`` are.

In a checkout they lie at the top level; a wheel carries them as ``scanner/_data``. An editable install imports the
checkout, so it reads the live files.
"""

from __future__ import annotations

from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Literal

from scanner.errors import ResourceError

Kind = Literal["profiles", "templates"]

_CHECKOUT: dict[Kind, tuple[str, ...]] = {"profiles": ("profiles",), "templates": ("reports", "templates")}


def data(kind: Kind) -> Traversable:
    """Directory of the shipped data files of ``kind``.

    Raises ``ResourceError`` when neither the wheel's copy nor the checkout's is there (a broken installation).
    """
    packaged = files("scanner") / "_data" / kind
    if packaged.is_dir():
        return packaged
    checkout = Path(__file__).resolve().parent.parent.joinpath(*_CHECKOUT[kind])
    if checkout.is_dir():
        return checkout
    raise ResourceError(
        f"the data files '{kind}' are missing: looked in {packaged} and {checkout}",
        hint="install adhere again",
    )
