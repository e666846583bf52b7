"""Discovery documents: which groups, versions and resources there are, in the aggregated and in the older form.

Aggregated: ``apidiscovery.k8s.io/v2`` (KEP-3352), asked for by the Accept header. The others: ``meta/v1`` APIVersions,
APIGroupList, APIGroup and APIResourceList.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from scanner.demo.api.store import Resource

Document = dict[str, Any]
VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
"""What there is; what the user may do is another matter."""
READS = ("get", "list", "watch")
AGGREGATED = {
    f"application/json;g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList": version
    for version in ("v2", "v2beta1")
}
"""Content types, and the version that each asks for."""

Resources = tuple[Resource, ...]


def groups(resources: Iterable[Resource]) -> dict[str, Resources]:
    """Resources by the name of their group, in the order of their first appearance; the core's is ""."""
    found: dict[str, Resources] = {}
    for each in resources:
        found[each.kind.group] = (*found.get(each.kind.group, ()), each)
    return found


def versions(resources: Resources) -> tuple[str, ...]:
    """Versions of a group, the preferred one first."""
    return tuple(dict.fromkeys(version for each in resources for version in each.versions))


def core_versions(server: str) -> Document:
    """``/api``."""
    address = [{"clientCIDR": "0.0.0.0/0", "serverAddress": server}]
    return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": address}


def group_list(resources: Iterable[Resource]) -> Document:
    """``/apis``."""
    found = [_group(name, of) for name, of in groups(resources).items() if name]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": found}


def group(name: str, resources: Resources) -> Document:
    """``/apis/GROUP``."""
    return {"kind": "APIGroup", "apiVersion": "v1", **_group(name, resources)}


def _group(name: str, resources: Resources) -> Document:
    served = [{"groupVersion": f"{name}/{version}", "version": version} for version in versions(resources)]
    return {"name": name, "versions": served, "preferredVersion": served[0]}


def resource_list(resources: Resources, version: str) -> Document:
    """``/api/v1`` and ``/apis/GROUP/VERSION``."""
    name = resources[0].kind.group
    group_version = f"{name}/{version}" if name else version
    found = [row for each in resources if version in each.versions for row in _rows(each)]
    head = {"kind": "APIResourceList", **({"apiVersion": "v1"} if name else {})}  # the core's has never had one
    return {**head, "groupVersion": group_version, "resources": found}


def _rows(resource: Resource) -> Iterable[Document]:
    kind = resource.kind
    common = {"namespaced": kind.namespaced, "kind": kind.name}
    short = {"shortNames": list(resource.short_names)} if resource.short_names else {}
    yield {"name": kind.plural, "singularName": kind.name.lower(), **common, "verbs": list(VERBS), **short}
    for each in resource.subresources:
        yield {"name": f"{kind.plural}/{each}", "singularName": "", **common, "verbs": _verbs(each)}


def _verbs(subresource: str) -> list[str]:
    return ["create", "get"] if subresource == "portforward" else ["get"]


def aggregated(resources: Iterable[Resource], version: str, *, core: bool, stale: frozenset[str]) -> Document:
    """``/api`` or ``/apis`` in one document. The groups in ``stale`` are known, but who serves them does not answer."""
    items = [_item(name, of, stale=name in stale) for name, of in groups(resources).items() if bool(name) is not core]
    found = {"kind": "APIGroupDiscoveryList", "apiVersion": f"apidiscovery.k8s.io/{version}", "metadata": {}}
    return {**found, "items": items}


def _item(name: str, resources: Resources, *, stale: bool) -> Document:
    metadata: Document = {"name": name} if name else {}
    served = []
    for version in versions(resources):
        rows = [_resource(each, version) for each in resources if version in each.versions]
        current = {"version": version, "resources": rows, "freshness": "Current"}
        served.append({"version": version, "freshness": "Stale"} if stale else current)
    return {"metadata": metadata, "versions": served}


def _resource(resource: Resource, version: str) -> Document:
    kind = resource.kind
    answers = {"group": "", "version": "", "kind": kind.name}  # of the group and version that it stands under
    if resource.server == "crd":
        answers |= {"group": kind.group, "version": version}
    row: Document = {
        "resource": kind.plural,
        "responseKind": answers,
        "scope": "Namespaced" if kind.namespaced else "Cluster",
        "singularResource": kind.name.lower(),
        "verbs": list(VERBS),
    }
    if resource.short_names:
        row["shortNames"] = list(resource.short_names)
    if resource.subresources:
        row["subresources"] = [
            {"subresource": each, "responseKind": answers, "verbs": _verbs(each)} for each in resource.subresources
        ]
    return row
