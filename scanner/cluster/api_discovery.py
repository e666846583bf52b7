"""Discovery of the API: the version that the API server prefers for each kind.

First in the aggregated form (Kubernetes 1.30 and later as ``v2``, 1.27 and later as ``v2beta1``): two requests. Else in
the old one: a list of groups, then each version of the groups that matter. Source: kubernetes.io, "The Kubernetes API",
"Discovery API", and k8s.io/api/apidiscovery/v2.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct, field

from scanner.cluster.client import JSON, Client
from scanner.errors import ClusterError
from scanner.kube.kinds import Kind
from scanner.kube.objects import Fields
from scanner.values import replace

_AGGREGATED = ",".join(
    [f"{JSON};g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList" for version in ("v2", "v2beta1")] + [JSON]
)
_LIST = "APIGroupDiscoveryList"
_BUILT_IN = frozenset(
    {
        "apps",
        "admissionregistration.k8s.io",
        "apiextensions.k8s.io",
        "apiregistration.k8s.io",
        "discovery.k8s.io",
        "networking.k8s.io",
        "rbac.authorization.k8s.io",
    }
)
"""Groups that every API server has. An answer without any of them is not from a Kubernetes API server."""


class Served(Struct, frozen=True):
    """The result of discovery for the requested kinds."""

    versions: dict[Kind, str] = field(default_factory=dict)
    absent: set[Kind] = field(default_factory=set)
    """Kinds that the API server does not serve."""
    failed: dict[Kind, str] = field(default_factory=dict)
    """Kinds whose discovery failed, and why: an aggregated API server is down."""
    openshift: bool = False
    """True if there is any API group of OpenShift (also of MicroShift or HyperShift)."""

    def path(self, kind: Kind, namespace: str | None = None, name: str | None = None) -> str:
        """The path of a list, or of one object."""
        version = self.versions[kind]
        parts = ["/apis", kind.group, version] if kind.group else ["/api", version]
        parts += ["namespaces", namespace] if namespace and kind.namespaced else []
        return "/".join([*parts, kind.plural, *([name] if name else [])])

    def api_version(self, kind: Kind) -> str:
        """``apiVersion`` of the kind: ``route.openshift.io/v1``, ``v1``."""
        version = self.versions[kind]
        return f"{kind.group}/{version}" if kind.group else version


class _Group(Struct):
    """A group's versions, the preferred one first, each with its resources; or why they are unknown."""

    versions: list[tuple[str, frozenset[str]]] = field(default_factory=list)
    failure: str | None = None


async def served(client: Client, kinds: Iterable[Kind]) -> Served:
    """Find out which of ``kinds`` the API server has. Raises ``ClusterError`` if it does not answer."""
    kinds = tuple(kinds)
    groups: dict[str, _Group] = {}
    for path in ("/api", "/apis"):
        answer = Fields(_mapping(await client.get(path, accept=_AGGREGATED)))
        if answer.text("kind") == _LIST:
            groups.update(_aggregated(answer))
        elif path == "/api":
            groups[""] = await _resources(client, "", answer.texts("versions"))
        else:
            groups.update(await _one_by_one(client, answer, {kind.group for kind in kinds}))
        if not _is_plausible(path, groups):
            raise ClusterError(
                f"{client.access.name}: GET {path}: the answer has none of the API's own resources",
                hint="check that this is a Kubernetes API server",
            )
    return replace(_sorted(kinds, groups), openshift=any(group.endswith(".openshift.io") for group in groups))


def _is_plausible(path: str, groups: dict[str, _Group]) -> bool:
    """True if it can be the answer of an API server. From another answer, all kinds would seem to be absent."""
    if path == "/apis":
        return not _BUILT_IN.isdisjoint(groups)
    core = groups.get("", _Group())
    return core.failure is not None or any(names for _, names in core.versions)


def _mapping(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}


def _sorted(kinds: Iterable[Kind], groups: dict[str, _Group]) -> Served:
    found = Served()
    for kind in kinds:
        group = groups.get(kind.group, _Group())
        version = next((version for version, names in group.versions if kind.plural in names), None)
        if version is not None:
            found.versions[kind] = version
        elif group.failure is not None:
            found.failed[kind] = group.failure
        else:
            found.absent.add(kind)
    return found


def _aggregated(answer: Fields) -> Iterator[tuple[str, _Group]]:
    for item in answer.each("items"):
        name, group = item.text("metadata", "name"), _Group()
        for version in item.each("versions"):
            names = frozenset(each.text("resource") for each in version.each("resources"))
            if _is_label(version.text("version")):
                group.versions.append((version.text("version"), names))
            if version.text("freshness") == "Stale":
                group.failure = f"the API server behind {name or 'the core'} does not answer (its discovery is stale)"
        yield name, group


async def _one_by_one(client: Client, answer: Fields, needed: set[str]) -> dict[str, _Group]:
    groups: dict[str, _Group] = {}
    for each in answer.each("groups"):
        name = each.text("name")
        groups[name] = _Group()
        if name in needed:
            preferred = each.text("preferredVersion", "version")
            versions = dict.fromkeys([preferred, *(version.text("version") for version in each.each("versions"))])
            groups[name] = await _resources(client, name, versions)
    return groups


async def _resources(client: Client, group: str, versions: Iterable[str]) -> _Group:
    found = _Group()
    for version in filter(_is_label, versions):
        path = f"/apis/{group}/{version}" if group else f"/api/{version}"
        try:
            answer = Fields(_mapping(await client.get(path)))
        except ClusterError as error:
            found.failure = f"the API group {group or 'core'} could not be discovered: {error.message}"
            continue
        if not isinstance(answer.at("resources"), list):
            found.failure = f"the API group {group or 'core'} could not be discovered: GET {path} returns no list"
            continue
        found.versions.append((version, frozenset(each.text("name") for each in answer.each("resources"))))
    return found


def _is_label(version: str) -> bool:
    """True if it is safe in a path: the server of an aggregated group chooses the version."""
    return version.isascii() and version.isalnum() and len(version) < 64
