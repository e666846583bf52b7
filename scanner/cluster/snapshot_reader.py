"""A cluster's API, read into a snapshot. Errors of single kinds are recorded, the rest is read."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from typing import TypeAlias

import trio
from msgspec import Struct, field

from scanner.cluster.api_connection import Access
from scanner.cluster.api_discovery import served
from scanner.cluster.client import ApiError, Client, Limits
from scanner.cluster.listing import Lister, Short
from scanner.cluster.snapshot_objects import config_map
from scanner.errors import ClusterError, ScannerError
from scanner.kube.kinds import ACCESS_REVIEW, CONFIG_MAP, KUBELET_CONFIGZ, NODE, OF_OPENSHIFT, SECRET, Kind
from scanner.kube.objects import Fields, KubeObject
from scanner.kube.rbac import Review
from scanner.kube.snapshot import Gap, Origin, Snapshot, Unreadable
from scanner.values import replace

_NODES_AT_ONCE = 8
_KEPT = ("tlsMinVersion", "tlsCipherSuites", "serverTLSBootstrap", "featureGates")
"""Kept fields of ``kubeletconfig`` (k8s.io/kubelet config/v1beta1, KubeletConfiguration)."""


async def configz(client: Client, nodes: Iterable[str]) -> tuple[tuple[KubeObject, ...], list[str]]:
    """The kubelets' configurations, as objects with the names of their nodes; and errors, with the node."""
    found: dict[str, KubeObject] = {}
    missed: list[str] = []
    limit = trio.CapacityLimiter(_NODES_AT_ONCE)

    async def ask(node: str) -> None:
        async with limit:
            try:
                answer = await client.get(f"/api/v1/nodes/{node}/proxy/configz")
            except ClusterError as error:
                missed.append(f"{node}: {error.message}")
                return
        config = Fields(answer if isinstance(answer, dict) else {}).fields("kubeletconfig")
        kept = {name: config.at(name) for name in _KEPT if config.has(name)}
        found[node] = KubeObject({"metadata": {"name": node}, "kubeletconfig": kept}, KUBELET_CONFIGZ)

    async with trio.open_nursery() as nursery:
        for node in nodes:
            if _NAME.fullmatch(node):
                nursery.start_soon(ask, node)
    return tuple(found[node] for node in sorted(found)), sorted(missed)


_PATH = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
_MOST = 3000
"""Reviews of one reading: enough for 1,000 Routes with three verbs. The rest is decided by Roles."""
_REFUSED = (401, 403, 404, 405)
"""Status codes that all further reviews would get."""


async def access_reviews(client: Client, questions: Iterable[Review]) -> tuple[KubeObject, ...]:
    """Answered access reviews, none if they are forbidden. Without an answer, rules use Roles and their bindings."""
    found: list[KubeObject] = []
    for each in islice(dict.fromkeys(questions), _MOST):
        body = {"apiVersion": "authorization.k8s.io/v1", "kind": ACCESS_REVIEW.name, "spec": each.spec()}
        try:
            answer = await client.send("POST", _PATH, json.dumps(body).encode())
        except ApiError as error:
            if error.status in _REFUSED:
                break
            continue
        except ClusterError:
            break
        allowed = Fields(answer if isinstance(answer, dict) else {}).at("status", "allowed")
        if isinstance(allowed, bool):
            found.append(each.with_answer(allowed=allowed))
    return tuple(found)


Names: TypeAlias = Iterable[tuple[str, str]]
"""Objects as (namespace, name)."""
NeededNames: TypeAlias = "Names | Callable[[Snapshot], Names]"
"""Secrets whose certificates are needed, or the function that finds them when everything else is read."""

_NAME = re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?")
"""RFC 1123 subdomains, as in names of all objects that are read by name. Authors of objects choose these names."""
_TLS = "kubernetes.io/tls"
"""Type of Secrets with a certificate (kubernetes.io, "Secrets", "TLS Secrets")."""
LIST = "secrets-list"
"""Opt-in permission to list Secrets."""
CONFIG_MAPS = "configmaps"
"""Opt-in permission to get ConfigMaps with CAs."""
_REFUSALS = 100
"""Refused reads by name, after which the others are not tried."""
_AT_ONCE = 4
"""Kinds and Secrets that are read at the same time: enough to hide the latency, few for an API server."""


class _Reading(Struct):
    """A snapshot that is being read."""

    lister: Lister
    namespaces: tuple[str, ...]
    objects: dict[Kind, tuple[KubeObject, ...]] = field(default_factory=dict)
    absent: set[Kind] = field(default_factory=set)
    unreadable: dict[Kind, Unreadable] = field(default_factory=dict)
    requested: dict[Kind, set[tuple[str, str]]] = field(default_factory=dict)
    openshift: bool = True
    """True if the cluster has any API of OpenShift, or if that is unknown."""
    places: trio.CapacityLimiter = field(default_factory=lambda: trio.CapacityLimiter(_AT_ONCE))

    def miss(self, kind: Kind, gap: Gap, reason: str) -> None:
        """Record that a kind is incomplete."""
        self.unreadable[kind] = Unreadable(kind=kind, gap=gap, reason=reason)

    async def read(self, kind: Kind) -> None:
        """Read one kind, as far as possible."""
        async with self.places:
            if kind.named:
                beside = set() if self.openshift else set(OF_OPENSHIFT)
                await self.by_name(kind, (name for name in kind.named if name not in beside))
                # Without OpenShift these do not exist: they count as read.
                self.requested.setdefault(kind, set()).update(beside.intersection(kind.named))
            else:
                await self._listed(kind)

    async def by_name(self, kind: Kind, names: Names, at_once: int = 1, option: str | None = None) -> None:
        """Read objects of a kind by name, several at a time. ``option``: their permission, if not the kind's own."""
        found: dict[int, KubeObject] = {}
        missed: dict[int, tuple[str, ClusterError]] = {}
        # Other names are invalid, and one with slashes would be another path.
        known = (name for name in dict.fromkeys(names) if all(map(_NAME.fullmatch, name)))
        source = enumerate(known)

        async def work() -> None:
            for place, (namespace, name) in source:
                try:
                    each = await self.lister.named(kind, namespace, name)
                except ClusterError as error:
                    missed[place] = f"{namespace}/{name}", error
                else:
                    if each is not None:
                        found[place] = config_map(each) if kind == CONFIG_MAP else each
                    self.requested.setdefault(kind, set()).add((namespace, name))
                if len(missed) >= _REFUSALS and not found:
                    return

        await _concurrently([work] * at_once)
        self.objects[kind] = tuple(found[place] for place in sorted(found))
        if missed:
            self._missed_names(kind, [missed[place] for place in sorted(missed)], option)

    async def more(self, kind: Kind, names: Names, option: str) -> None:
        """Read further ConfigMaps, with CAs, besides the well-known ones."""
        before, gap = self.objects.get(kind, ()), self.unreadable.pop(kind, None)
        await self.by_name(kind, (name for name in names if name not in kind.named), _AT_ONCE, option)
        self.objects[kind] = (*before, *self.objects[kind])
        missed = self.unreadable.get(kind)
        if gap is not None:
            self.unreadable[kind] = gap
        elif missed is not None and missed.gap == "forbidden" and option == CONFIG_MAPS:
            # That permission is dangerous: rules that need these objects report it, and the rest is complete.
            self.unreadable[kind] = replace(missed, gap="not-asked", option=option)

    def _missed_names(self, kind: Kind, missed: list[tuple[str, ClusterError]], option: str | None) -> None:
        forbidden = all(isinstance(error, ApiError) and error.status == 403 for _, error in missed)
        names = ", ".join(name for name, _ in missed[:5]) + (f" and {len(missed) - 5} more" if missed[5:] else "")
        reason = f"{names}: {missed[0][1].message}" + (f"; {rule(kind, 'get', option)}" if forbidden else "")
        self.miss(kind, "forbidden" if forbidden else "failed", reason)

    async def secrets(self, names: Names) -> None:
        """Read Secrets of type ``kubernetes.io/tls`` if they may be listed, and those in ``names``."""
        listed: tuple[KubeObject, ...] = ()
        short: Short | None = None
        try:
            listed = await self.lister.every(SECRET, params={"fieldSelector": f"type={_TLS}"})
        except Short as error:
            listed, short = error.objects, error
        listed = tuple(each for each in listed if each.text("type") == _TLS)  # a server may ignore the selector
        there = {(each.namespace or "", each.name) for each in listed}
        await self.by_name(SECRET, (name for name in names if name not in there), _AT_ONCE)
        self.objects[SECRET] = (*listed, *self.objects[SECRET])
        if short is not None and SECRET not in self.unreadable:
            self.unreadable[SECRET] = _not_listed(short.error)

    async def _listed(self, kind: Kind) -> None:
        try:
            self.objects[kind] = await self.lister.every(kind)
        except Short as short:
            self.objects[kind] = short.objects  # incomplete, but valid
            status = short.error.status if isinstance(short.error, ApiError) else 0
            if status == 403:
                await self._within(kind, short.error)
            else:
                self.miss(kind, "failed", short.error.message)

    async def _within(self, kind: Kind, error: ClusterError) -> None:
        """Read the namespaces that the user named, after a list of the cluster was forbidden."""
        found: list[KubeObject] = []
        read = []
        for namespace in self.namespaces if kind.namespaced else ():
            try:
                found += await self.lister.every(kind, namespace)
                read.append(namespace)
            except Short as short:
                found += short.objects
        self.objects[kind] = tuple(found)
        only = f"; read only in: {', '.join(read)}" if read else ""
        self.miss(kind, "forbidden", f"{error.message}; {rule(kind, 'list')}{only}")


def _not_listed(error: ClusterError) -> Unreadable:
    """A gap by choice if Secrets may not be listed: that permission is dangerous, and named Secrets are enough."""
    if isinstance(error, ApiError) and error.status == 403:
        reason = "only Secrets that other objects name were read; the list of Secrets was refused"
        return Unreadable(kind=SECRET, gap="not-asked", reason=reason, option=LIST)
    return Unreadable(kind=SECRET, gap="failed", reason=error.message)


def rule(kind: Kind, verb: str, permission: str | None = None) -> str:
    """The missing rule of a ClusterRole, as text."""
    permission = permission or kind.opt_in
    option = f" --with {permission}" if permission else ""
    return (
        f'missing RBAC rule: apiGroups: ["{kind.group}"], resources: ["{kind.plural}"], verbs: ["{verb}"]'
        f" (adhere rbac{option} prints it)"
    )


async def read(  # noqa: PLR0913 - each has a default, and is a choice of its own
    access: Access,
    kinds: Iterable[Kind],
    *,
    no_secrets: bool = False,
    secrets: NeededNames = (),
    config_maps: NeededNames = (),
    config_maps_by: str = "lint",
    permitted: Collection[str] = (),
    namespaces: Iterable[str] = (),
    reviews: Callable[[Snapshot], Iterable[Review]] | None = None,
    limits: Limits | None = None,
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    notice: Callable[[str], None] = lambda _: None,
) -> Snapshot:
    """Read all objects of ``kinds``, pruned; of Secrets those in ``secrets`` and, if there are any, all of type
    ``kubernetes.io/tls``; of ConfigMaps the well-known ones and ``config_maps``, which the opt-in permission
    ``config_maps_by`` allows.

    ``permitted``: opt-in permissions (``Kind.opt_in``). ``namespaces``: where to read kinds that may not be listed in
    the cluster. ``reviews``: access reviews to send. ``notice`` gets a line for each retry. Raises ``ScannerError`` if
    the API does not answer or refuses the credential; errors of one kind are in ``unreadable``.
    """
    needed = tuple(dict.fromkeys(kinds))
    async with Client(access, limits, notice=notice) as client:
        taken_at = clock()
        found = await served(client, needed)
        lister, absent = Lister(client, found), set(found.absent)
        reading = _Reading(lister, tuple(namespaces), absent=absent, openshift=found.openshift)
        for kind, reason in found.failed.items():
            reading.miss(kind, "failed", reason)
        asked = [kind for kind in found.versions if kind != SECRET and _may(reading, kind, permitted)]
        await _concurrently(partial(reading.read, kind) for kind in asked)
        if "configz" in permitted:
            reading.objects[KUBELET_CONFIGZ], missed = await configz(client, _names(reading.objects.get(NODE, ())))
            if missed:
                reading.miss(KUBELET_CONFIGZ, "failed", "; ".join(missed[:5]))
            needed = (*needed, KUBELET_CONFIGZ)
        origin = Origin(name=access.name, server=access.server, git_version=await _version(client))
        if config_maps != () and CONFIG_MAP in found.versions:
            snapshot = _snapshot(reading, needed, taken_at, origin)
            await reading.more(
                CONFIG_MAP, config_maps(snapshot) if callable(config_maps) else config_maps, config_maps_by
            )
        snapshot = _snapshot(reading, needed, taken_at, origin)
        if reviews is not None and (answers := await access_reviews(client, reviews(snapshot))):
            reading.objects[ACCESS_REVIEW], needed = answers, (*needed, ACCESS_REVIEW)
            snapshot = _snapshot(reading, needed, taken_at, origin)
        if SECRET not in needed:
            return snapshot
        if no_secrets:
            reading.miss(SECRET, "not-asked", "no Secret is read (--no-secrets)")
        elif secrets == ():
            _may(reading, SECRET, ())
        elif SECRET in found.versions:
            await reading.secrets(secrets(snapshot) if callable(secrets) else secrets)
        return _snapshot(reading, needed, taken_at, origin)


def _names(objects: Iterable[KubeObject]) -> Iterator[str]:
    return (each.name for each in objects)


async def _concurrently(tasks: Iterable[Callable[[], Awaitable[None]]]) -> None:
    """Run tasks concurrently; raise the exception of one task without a group."""
    failed: list[ScannerError] = []

    async def one(task: Callable[[], Awaitable[None]]) -> None:
        try:
            await task()
        except ScannerError as error:  # a credential that cannot be renewed: no more reads succeed
            failed.append(error)
            nursery.cancel_scope.cancel()

    async with trio.open_nursery() as nursery:
        for task in tasks:
            nursery.start_soon(one, task)
    if failed:
        raise failed[0]


def _may(reading: _Reading, kind: Kind, permitted: Collection[str]) -> bool:
    if kind.opt_in is None or kind.opt_in in permitted:
        return True
    reading.miss(kind, "not-asked", "not requested")
    return False


async def _version(client: Client) -> str:
    try:
        answer = await client.get("/version")
    except ClusterError:
        return ""  # only shown to people
    return Fields(answer if isinstance(answer, dict) else {}).text("gitVersion")[:64]


def _snapshot(reading: _Reading, kinds: tuple[Kind, ...], taken_at: datetime, origin: Origin) -> Snapshot:
    return Snapshot(
        taken_at=taken_at,
        origin=origin,
        objects={kind: reading.objects.get(kind, ()) for kind in kinds},
        absent=frozenset(reading.absent),
        unreadable=dict(reading.unreadable),
        requested={kind: frozenset(names) for kind, names in reading.requested.items()},
        warnings=reading.lister.client.access.warnings,
    )
