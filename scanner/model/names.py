"""Names that mean something to more than one stage."""

from __future__ import annotations

import re
from typing import Final

NOBODYS = "no-such-name.adhere.invalid"
"""A name that nobody can have (RFC 6761, section 6.4)."""
_PATH: Final = re.compile(r"/[!-~]{0,1000}")


def asked_path(path: str) -> str:
    """``path`` where a request can have it as it stands (RFC 9112, section 3.2.1), else ``/``."""
    return path if _PATH.fullmatch(path) else "/"
