"""From what an API server or a file says to the objects of a snapshot."""

from __future__ import annotations

from scanner.cluster import route_keys
from scanner.cluster.prune import Pruner
from scanner.cluster.secrets import without_key
from scanner.cluster.shapes import OTHERS, SHAPES
from scanner.model.kinds import ROUTE, SECRET, Kind
from scanner.model.objects import KubeObject


def kept(kind: Kind, raw: object, pruner: Pruner, api_version: str = "") -> KubeObject | None:
    """The object as it is kept, or None for what has no name. ``api_version``: that of the list that it came in."""
    if not isinstance(raw, dict):
        return None
    said = {"apiVersion": api_version, **raw, "kind": kind.name} if api_version else {**raw, "kind": kind.name}
    if kind == ROUTE:
        said = route_keys.without_key(said)
    shaped = without_key(said, pruner) if kind == SECRET else pruner.keep(said, SHAPES.get(kind, OTHERS))
    found = KubeObject(shaped if isinstance(shaped, dict) else {}, kind)
    return found if found.name else None
