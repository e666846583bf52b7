"""From what an API server or a file says to the objects of a snapshot."""

from __future__ import annotations

from collections.abc import Callable

from scanner.cluster import route_keys
from scanner.cluster.prune import Pruner
from scanner.cluster.secrets import without_key
from scanner.cluster.shapes import OTHERS, SHAPES
from scanner.model.kinds import ROUTE, SECRET, Kind
from scanner.model.objects import KubeObject


def kept(kind: Kind, raw: object, pruner: Pruner, api_version: str = "") -> KubeObject | None:
    """The object as it is kept, or None for what has no name. ``api_version``: that of the list that it came in."""
    return keeper(kind, pruner, api_version)(raw)


def keeper(kind: Kind, pruner: Pruner, api_version: str = "") -> Callable[[object], KubeObject | None]:
    """``kept`` for many objects of a kind: what is to be done with them is looked up once."""
    shaped = pruner.keeper(SHAPES.get(kind, OTHERS))
    is_secret, is_route = kind == SECRET, kind == ROUTE
    above = {"apiVersion": api_version} if api_version else {}

    def keep(raw: object) -> KubeObject | None:
        if not isinstance(raw, dict):
            return None
        said = {**above, **raw, "kind": kind.name}
        if is_route:
            said = route_keys.without_key(said)
        shape = without_key(said, pruner) if is_secret else shaped(said)
        found = KubeObject(shape if isinstance(shape, dict) else {}, kind)
        return found if found.name else None

    return keep
