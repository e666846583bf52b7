"""Paths of the data files: ``profiles/``, ``reports/templates/`` and ``docs/rules/``.

In a checkout they are at the top level; a wheel has them in ``scanner/_data``. An editable install imports the
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
"""Paths in a wheel, if they are not the kind's name."""


def data(kind: Kind) -> Path:
    """Return the directory of the data files of ``kind``.

    Raises ``ResourceError`` for a broken installation.
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
