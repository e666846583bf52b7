"""What the API server serves: of each kind the version that it prefers, from its own discovery.

First in the aggregated form (Kubernetes 1.30 and later as ``v2``, 1.27 and later as ``v2beta1``): two requests. Else in
the old one: a list of groups, then each version of the groups that matter. Source: kubernetes.io, "The Kubernetes API",
"Discovery API", and k8s.io/api/apidiscovery/v2.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from scanner.cluster.client import JSON, Client
from scanner.errors import ClusterError
from scanner.kube.kinds import Kind
from scanner.kube.objects import Fields

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
"""Groups that API servers of their own accord serve. Where none of them is, somebody else has answered."""


@dataclass(frozen=True, slots=True)
class Served:
    """What was found about the kinds that were asked for."""

    versions: dict[Kind, str] = field(default_factory=dict)
    absent: set[Kind] = field(default_factory=set)
    """Kinds that the API server does not serve."""
    failed: dict[Kind, str] = field(default_factory=dict)
    """Kinds of which it could not be found out, and why: an aggregated API server that is down."""
    openshift: bool = False
    """Whether any API group of OpenShift is there (also MicroShift's, HyperShift's)."""

    def path(self, kind: Kind, namespace: str | None = None, name: str | None = None) -> str:
        """The path of a list, or of one object."""
        version = self.versions[kind]
        parts = ["/apis", kind.group, version] if kind.group else ["/api", version]
        parts += ["namespaces", namespace] if namespace and kind.namespaced else []
        return "/".join([*parts, kind.plural, *([name] if name else [])])

    def api_version(self, kind: Kind) -> str:
        """As objects say it: ``route.openshift.io/v1``, ``v1``."""
        version = self.versions[kind]
        return f"{kind.group}/{version}" if kind.group else version


@dataclass(slots=True)
class _Group:
    """A group's versions, the preferred one first, each with its resources; or why they are not known."""

    versions: list[tuple[str, frozenset[str]]] = field(default_factory=list)
    trouble: str | None = None


async def served(client: Client, kinds: Iterable[Kind]) -> Served:
    """Ask which of ``kinds`` there are. Raises ``ClusterError`` where the API cannot be asked at all."""
    wanted = tuple(kinds)
    groups: dict[str, _Group] = {}
    for path in ("/api", "/apis"):
        answer = Fields(_mapping(await client.get(path, accept=_AGGREGATED)))
        if answer.text("kind") == _LIST:
            groups.update(_aggregated(answer))
        elif path == "/api":
            groups[""] = await _resources(client, "", answer.texts("versions"))
        else:
            groups.update(await _one_by_one(client, answer, {kind.group for kind in wanted}))
        if not _is_whole(path, groups):
            raise ClusterError(
                f"{client.access.name}: GET {path}: the answer names none of the API's own resources",
                hint="is what answers there a Kubernetes API server?",
            )
    return replace(_sorted(wanted, groups), openshift=any(group.endswith(".openshift.io") for group in groups))


def _is_whole(path: str, groups: dict[str, _Group]) -> bool:
    """Whether it can be what an API server says: else every kind that it leaves out would seem to be absent."""
    if path == "/apis":
        return not _BUILT_IN.isdisjoint(groups)
    core = groups.get("", _Group())
    return core.trouble is not None or any(names for _, names in core.versions)


def _mapping(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}


def _sorted(kinds: Iterable[Kind], groups: dict[str, _Group]) -> Served:
    found = Served()
    for kind in kinds:
        group = groups.get(kind.group, _Group())
        version = next((version for version, names in group.versions if kind.plural in names), None)
        if version is not None:
            found.versions[kind] = version
        elif group.trouble is not None:
            found.failed[kind] = group.trouble
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
                group.trouble = f"the API server behind {name or 'the core'} does not answer (its discovery is stale)"
        yield name, group


async def _one_by_one(client: Client, answer: Fields, wanted: set[str]) -> dict[str, _Group]:
    groups: dict[str, _Group] = {}
    for each in answer.each("groups"):
        name = each.text("name")
        groups[name] = _Group()
        if name in wanted:
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
            found.trouble = f"the API group {group or 'core'} could not be asked: {error.message}"
            continue
        if not isinstance(answer.at("resources"), list):
            found.trouble = f"the API group {group or 'core'} could not be asked: GET {path}: no list of resources"
            continue
        found.versions.append((version, frozenset(each.text("name") for each in answer.each("resources"))))
    return found


def _is_label(version: str) -> bool:
    """A version becomes part of a path, and who answers for an aggregated group chooses it."""
    return version.isascii() and version.isalnum() and len(version) < 64
