"""Lists, page by page: ``limit``, ``continue`` and selectors. Each page shows the objects as they are now.

The token is the one of apiserver ``pkg/storage/continue.go``: base64 of ``{"v": "meta.k8s.io/v1", "rv", "start"}``;
clients must not read it, tests may.
"""

from __future__ import annotations

import base64
import binascii
import json
from typing import Any

from scanner.demo.api.selectors import Test, by_fields, by_labels
from scanner.demo.api.status import bad_request
from scanner.demo.api.store import Key, Object, Resource, Store

Query = dict[str, str]

_VERSION = "meta.k8s.io/v1"


def object_list(store: Store, resource: Resource, version: str, namespace: str, query: Query) -> dict[str, Any]:
    """Return one page. Raises ``Failure``, 400."""
    limit = _limit(query)
    after = _after(query)
    test = selected(resource, namespace, query)
    found = [(key, each) for key, each in store.every(resource.kind) if test(each) and key > after]
    page = found[:limit] if limit else found
    metadata: dict[str, Any] = {"resourceVersion": str(store.revision)}
    if len(page) < len(found):
        metadata["continue"] = _token(store.revision, page[-1][0])
        if not (query.get("labelSelector") or query.get("fieldSelector")):  # with one the real server cannot count
            metadata["remainingItemCount"] = len(found) - len(page)
    items = [listed(resource, version, each) for _, each in page]
    head = {"kind": f"{resource.kind.name}List", "apiVersion": resource.group_version(version)}
    return {**head, "metadata": metadata, "items": items}


def selected(resource: Resource, namespace: str, query: Query) -> Test:
    """Whether an object is in the namespace (empty: all) and among what the selectors ask for. Raises ``Failure``."""
    labels = by_labels(query.get("labelSelector", ""))
    fields = by_fields(query.get("fieldSelector", ""), resource.kind.plural)

    def test(found: Object) -> bool:
        here = not namespace or found["metadata"].get("namespace") == namespace
        return here and labels(found) and fields(found)

    return test


def whole(resource: Resource, version: str, found: Object) -> Object:
    """An object with its kind and version, as ``get`` and ``watch`` answer."""
    return {"kind": resource.kind.name, "apiVersion": resource.group_version(version), **found}


def listed(resource: Resource, version: str, found: Object) -> Object:
    """An item of a list: only custom resources say their kind and version there."""
    return whole(resource, version, found) if resource.server == "crd" else found


def _limit(query: Query) -> int:
    text = query.get("limit", "")
    try:
        return max(int(text or "0"), 0)
    except ValueError:
        raise bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax') from None


def _after(query: Query) -> Key:
    """Return the key of the last object of the page before; a key before all others for the first page."""
    token = query.get("continue", "")
    if not token:
        return "", ""
    if query.get("resourceVersion", "") not in {"", "0"}:
        raise bad_request("specifying resource version is not allowed when using continue")
    try:
        said = json.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
        namespace, _, name = said["start"].rstrip("\0").removeprefix("/").rpartition("/")
        if said["v"] != _VERSION:
            raise ValueError
        return namespace, name
    except (binascii.Error, ValueError, KeyError, TypeError, AttributeError):
        raise bad_request("invalid continue token: continue key is not valid: it could not be read") from None


def _token(revision: int, after: Key) -> str:
    said = {"v": _VERSION, "rv": revision, "start": "".join(f"/{each}" for each in after if each) + "\0"}
    return base64.urlsafe_b64encode(json.dumps(said, separators=(",", ":")).encode()).decode().rstrip("=")
