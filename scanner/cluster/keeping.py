"""From what an API server or a file says to the objects of a snapshot."""

from __future__ import annotations

from collections.abc import Callable

from scanner.cluster import route_keys
from scanner.cluster.prune import Pruner
from scanner.cluster.secrets import without_key
from scanner.cluster.shapes import OTHERS, SHAPES
from scanner.kube.kinds import ROUTE, SECRET, Kind
from scanner.kube.objects import KubeObject
from scanner.model.forms import form_of
from scanner.model.removed import WITHHELD

_PEM = "-----BEGIN "


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


def bundle(found: KubeObject) -> KubeObject:
    """A ConfigMap that some object names as CAs: without the values that are no certificate, nor what people put in
    place of one. Whoever may write the object chooses the name, and of any other content nothing is to be learnt."""
    told = {field: values for field in ("data", "binaryData") if isinstance(values := found.raw.get(field), dict)}
    less = {field: {name: _trust(value) for name, value in values.items()} for field, values in told.items()}
    return KubeObject({**found.raw, **less}, found.kind)


def _trust(value: object) -> object:
    if isinstance(value, str) and (_PEM in value or form_of(value.encode("utf-8", "replace")) is not None):
        return value
    return WITHHELD
