"""The only file that knows where ``profiles/``, ``reports/templates/`` and ``docs/rules/`` are.

In a checkout they lie at the top level; a wheel carries them as ``scanner/_data``. An editable install imports the
checkout, so it reads the live files.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from scanner.errors import ResourceError

Kind = Literal["profiles", "schemas", "templates", "rules"]

_PACKAGE = Path(__file__).resolve().parent
_CHECKOUT: dict[Kind, tuple[str, ...]] = {
    "profiles": ("profiles",),
    "schemas": ("profiles", "schemas"),
    "templates": ("reports", "templates"),
    "rules": ("docs", "rules"),
}
_PACKAGED: dict[Kind, tuple[str, ...]] = {"schemas": ("profiles", "schemas")}
"""Where a wheel has it, if that is not its name."""


def data(kind: Kind) -> Path:
    """Directory of the shipped data files of ``kind``.

    Raises ``ResourceError`` when neither the wheel's copy nor the checkout's is there (a broken installation).
    """
    packaged = _PACKAGE.joinpath("_data", *_PACKAGED.get(kind, (kind,)))
    if packaged.is_dir():
        return packaged
    checkout = _PACKAGE.parent.joinpath(*_CHECKOUT[kind])
    if checkout.is_dir():
        return checkout
    raise ResourceError(
        f"the data files '{kind}' are missing: looked in {packaged} and {checkout}",
        hint="install adhere again",
    )
