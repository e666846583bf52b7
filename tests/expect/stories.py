"""Small clusters as YAML, and what is required of each of their endpoints: ``tests/clusters/README.md``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from scanner.config.component_catalogue import load_catalogue
from scanner.discover.endpoints import MESH
from scanner.expect import Expectations
from scanner.kube import cluster_facts
from scanner.kube.kinds import KINDS, LOCAL_KINDS, Kind
from scanner.kube.objects import KubeObject, Reference
from scanner.kube.profile_catalogue import load_profile
from scanner.kube.snapshot import Origin, Snapshot, Unreadable
from scanner.model.components import Catalogue
from scanner.model.endpoint import Endpoint, Owner
from scanner.model.expectation import Expectation
from scanner.model.scan_policy import Override, ScanPolicy, Selector
from scanner.values import replace
from tests.origins import origin
from tests.yaml_documents import LOADER, documents

CLUSTERS = Path(__file__).parent.parent / "clusters"
TAKEN_AT = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
TOP = {"about", "distribution", "absent", "unreadable", "version", "policy", "wishes", "endpoints"}
PLACE = {"node", "address", "pod", "component", "segment", "labels", "subject", "origins"}
COMPARED = {"standing", "adherence", "client_certificate", "tls13_suites_configurable", "overridden"}
"""Fields of an endpoint that are equal to those of its ``Expectation``."""
CHECKED = {
    *("owes", "unknown", "binding", "min", "suites", "groups", "with", "alternatives", "skewed", "cause"),
    *("because", "remarks", "all_remarks"),
}
_OPENSHIFT = ("config.openshift.io", "operator.openshift.io", "machineconfiguration.openshift.io", "route.openshift.io")


@dataclass(frozen=True, kw_only=True)
class Story:
    """One directory."""

    name: str
    snapshot: Snapshot
    expectations: Expectations
    endpoints: Mapping[str, Endpoint]
    expected: Mapping[str, Mapping[str, Any]]
    """By endpoint."""

    def owed(self, name: str) -> Expectation:
        """What one of its endpoints owes."""
        return self.expectations.of(self.endpoints[name])


def names() -> list[str]:
    """Every cluster with an ``expected.yaml``."""
    return sorted(path.parent.name for path in CLUSTERS.glob("*/expected.yaml"))


@cache
def expected(name: str) -> dict[str, Any]:
    """What ``expected.yaml`` says."""
    return _checked(name, strictly((CLUSTERS / name / "expected.yaml").read_text()))


def _checked(name: str, said: dict[str, Any]) -> dict[str, Any]:
    """Raises ``ValueError`` for a field that no test reads, and for a pod or a component that is none."""
    wrong = [f"{name}: unknown field {field!r}" for field in said.keys() - TOP]
    known = {MESH, *(each.name for each in catalogue(said.get("distribution", "openshift")).components)}
    for key, fields in said["endpoints"].items():
        found = fields or {}
        wrong += [f"{key}: unknown field {field!r}" for field in found.keys() - PLACE - COMPARED - CHECKED]
        if found.get("pod", "/").count("/") != 1:
            wrong.append(f"{key}: pod: {found['pod']!r} is not namespace/name")
        if found.get("component", MESH) not in known:
            wrong.append(f"{key}: component: profiles/components has no {found['component']!r}")
    if wrong:
        raise ValueError(f"tests/clusters/{name}/expected.yaml: {min(wrong)}: tests/clusters/README.md has the fields")
    return said


def wishes(said: Mapping[str, Any]) -> dict[str, Any]:
    """What the user of a story wants to be assumed."""
    return {key: _wish(key, value) for key, value in said.get("wishes", {}).items()}


def load(name: str, **instead: Any) -> Story:  # noqa: ANN401 - arguments of another function
    """A story; ``instead`` is passed on to ``Expectations``, over its own wishes."""
    said = expected(name)
    distribution = said.get("distribution", "openshift")
    snapshot = snapshot_of(
        objects(name),
        absent=_absent(distribution, said),
        unreadable=said.get("unreadable"),
        version=said.get("version", ""),
    )
    endpoints = {key: endpoint(key, fields or {}) for key, fields in said["endpoints"].items()}
    return Story(
        name=name,
        snapshot=snapshot,
        expectations=Expectations(
            snapshot,
            catalogue(cluster_facts.distribution(snapshot), cluster_facts.hosted_namespaces(snapshot)),
            policy(said.get("policy", {})),
            endpoints=endpoints.values(),
            **{**wishes(said), **instead},
        ),
        endpoints=endpoints,
        expected=said["endpoints"],
    )


@cache
def objects(name: str) -> list[Any]:
    return documents((CLUSTERS / name / "cluster.yaml").read_text())


@cache
def catalogue(distribution: str, hosted: tuple[str, ...] = ()) -> Catalogue:
    return load_catalogue(distribution, hosted=hosted)


def resolved(snapshot: Snapshot, endpoints: Iterable[Endpoint] = ()) -> Expectations:
    """What a snapshot of OpenShift requires, without a policy."""
    return Expectations(snapshot, catalogue("openshift"), ScanPolicy(), endpoints=endpoints)


class _Strict(LOADER):  # type: ignore[misc] # chosen at run time
    """YAML without a key that is there twice: the first would be lost without a word."""


def _mapping(loader: _Strict, node: yaml.MappingNode) -> dict[Any, Any]:
    pairs = [
        (loader.construct_object(key, deep=True), loader.construct_object(value, deep=True))
        for key, value in node.value
    ]
    twice = [key for key, count in Counter(key for key, _ in pairs).items() if count > 1]
    if twice:
        raise ValueError(f"{node.start_mark}: {twice[0]} is there twice")
    return dict(pairs)


_Strict.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)


def strictly(text: str) -> Any:  # noqa: ANN401 - YAML
    """A document. Raises ``ValueError`` for a key that is there twice."""
    return yaml.load(text, _Strict)


def snapshot_of(
    objects: list[Any],
    *,
    absent: frozenset[Kind] = frozenset(),
    unreadable: Mapping[str, str] | None = None,
    version: str = "",
    requested: Mapping[Kind, frozenset[tuple[str, str]]] | None = None,
) -> Snapshot:
    """A snapshot of these objects; ``unreadable`` is by resource."""
    by_name = {(each.group, each.name): each for each in (*KINDS, *LOCAL_KINDS)}
    held: dict[Kind, list[KubeObject]] = {each: [] for each in by_name.values()}
    for raw in objects:
        group = raw["apiVersion"].rpartition("/")[0]
        kind = by_name[group, raw["kind"]]
        held[kind].append(KubeObject(raw, kind))
    gaps = {
        kind: Unreadable(kind=kind, gap="forbidden", reason=reason)
        for kind in held
        for resource, reason in (unreadable or {}).items()
        if kind.resource == resource
    }
    return Snapshot(
        taken_at=TAKEN_AT,
        origin=Origin(name="story", git_version=version),
        objects={kind: tuple(items) for kind, items in held.items()},
        absent=absent,
        unreadable=gaps,
        requested=requested or {},
    )


def _absent(distribution: str, said: Mapping[str, Any]) -> frozenset[Kind]:
    if distribution == "kubernetes":
        return frozenset(each for each in KINDS if each.group in _OPENSHIFT)
    if distribution == "microshift":
        return frozenset(each for each in KINDS if each.group in _OPENSHIFT and each.name != "Route")
    return frozenset(each for each in KINDS if each.resource in said.get("absent", ()))


def _wish(key: str, value: str) -> Any:  # noqa: ANN401 - arguments of another function
    return load_profile(value) if key in ("profile", "default_profile") else value


def policy(said: Mapping[str, Any]) -> ScanPolicy:
    """The few fields of a policy that matter here, without the file's reader."""
    return ScanPolicy(
        source="adhere.yaml" if said else "",
        profile=said.get("profile"),
        overrides=tuple(_overrides(said)),
        layered=tuple(_selector(each) for each in said.get("layered", ())),
        user_workloads_bound=said.get("userWorkloads") == "enforced",
    )


def _overrides(said: Mapping[str, Any]) -> Iterator[Override]:
    for number, each in enumerate(said.get("overrides", ())):
        yield Override(
            selector=_selector(each["selector"]),
            profile=each["profile"],
            justification=each["justification"],
            source=f"adhere.yaml:{number + 1}:1",
            binding=each.get("binding", True),
        )


def _selector(said: Mapping[str, Any]) -> Selector:
    return Selector(**{key: tuple(value) for key, value in said.items()})


def endpoint(name: str, said: Mapping[str, Any]) -> Endpoint:
    """``Kind/namespace/name:port`` (``Node/name:port``), perhaps with ``#server.name``, is whose it is and where."""
    where, _, server_name = name.partition("#")
    owner, _, port = where.rpartition(":")
    kind, *rest = owner.split("/")
    address = said.get("address", "")
    subject = said.get("subject")
    found = Endpoint(
        id=name,
        instance=f"{name} @ {address}",
        address=address,
        port=int(port),
        server_name=server_name or None,
        owner=Owner(kind=kind, name=rest[-1], namespace=rest[0] if len(rest) == 2 else None),
        component=said.get("component"),
        segment=said.get("segment"),
        node=said.get("node", rest[-1] if kind == "Node" else None),
        labels=tuple(said.get("labels", {}).items()),
        origins=tuple(origin(each) for each in said.get("origins", ())),
    )
    if pod := said.get("pod"):
        namespace, _, named = pod.partition("/")
        found = replace(found, pod=Reference(kind="Pod", name=named, namespace=namespace))
    if not subject:
        return found
    kind, *rest = subject.split("/")
    return replace(found, subject=Reference(kind=kind, name=rest[-1], namespace=rest[0] if len(rest) == 2 else None))
