"""The endpoints of an HTML report, read as its script reads them."""

from __future__ import annotations

import json
import re
from typing import Any, cast


def endpoints(page: str) -> list[dict[str, Any]]:
    """The endpoints in the data of the page."""
    (data,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    packed = json.loads(data)
    return cast("list[dict[str, Any]]", [_unpacked(packed, number) for number in packed["rows"]])


def _unpacked(packed: dict[str, Any], number: int) -> object:
    node = packed["nodes"][number]
    if not isinstance(node, list):
        return node
    if node and node[0] < 0:
        keys = packed["keys"][-1 - node[0]]
        return {key: _unpacked(packed, item) for key, item in zip(keys, node[1:], strict=True)}
    return [_unpacked(packed, item) for item in node]
