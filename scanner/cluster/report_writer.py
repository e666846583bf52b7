"""Write reports into a cluster by server-side apply, and remove stale ones: the only changes that adhere makes.

Source: kubernetes.io, "Server-Side Apply"; k8s.io/apimachinery meta/v1, DeleteOptions and PartialObjectMetadata.
"""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from typing import Any, TypeAlias, TypeVar

import trio
from msgspec import Struct, field

from scanner.cluster.api_connection import Access
from scanner.cluster.api_discovery import Served
from scanner.cluster.client import METADATA, METADATA_LIST, ApiError, Client, Limits
from scanner.cluster.listing import Lister, Short
from scanner.errors import ClusterError, ScannerError
from scanner.kube.kinds import Kind
from scanner.kube.objects import KubeObject

T = TypeVar("T")
Document: TypeAlias = Mapping[str, Any]
"""A report as JSON."""
Place: TypeAlias = tuple[str | None, str]
"""Namespace and name of a report."""

_AT_ONCE = 8
"""Reports that are written at the same time."""
_APPLY = {"fieldManager": "adhere", "force": "true", "fieldValidation": "Strict"}
_NAME = re.compile(r"adhere-[0-9a-f]{20}")
"""Names of our reports. A label alone is easily copied to an object of another tool."""
_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_HINTS = {
    403: "adhere rbac --with reports prints the role that --publish needs",
    404: "the namespace does not exist any more: scan again",
    409: "another client changed it at the same time: scan again",
    413: "raise the limit of the API server or of etcd (--max-request-bytes)",
    422: "update the CustomResourceDefinition",
}


class Published(Struct, frozen=True, kw_only=True):
    """The result of writing the reports of one cluster."""

    written: int
    removed: int
    failures: list[ScannerError]
    """One for each report that was not written or not removed."""


async def publish(
    access: Access,
    kinds: tuple[Kind, Kind],
    version: str,
    label: tuple[str, str],
    reports: Iterable[Document],
    *,
    keep: Collection[Place] = (),
    merge: Callable[[Document, Document], Document] | None = None,
    limits: Limits | None = None,
) -> Published:
    """Write ``reports``, and remove our others with ``label`` that are not in ``keep``.

    ``kinds``: the one in namespaces and the cluster's. ``merge``: for a scan that is not complete; it adds what the
    earlier report of the object has, and no report is removed. Raises ``ClusterError`` if the reports cannot be listed:
    then none is written.
    """
    async with Client(access, limits) as client:
        served = Served(versions=dict.fromkeys(kinds, version))
        lister = Lister(client, served, accept=METADATA_LIST)
        there = [each for kind in kinds for each in await _listed(lister, kind, label)]
        writer = _Writer(client, served, kinds, {(each.namespace, each.name) for each in there}, merge)
        written = await writer.each(reports, writer.write)
        current = {*keep, *writer.seen}
        gone = [each for each in there if (each.namespace, each.name) not in current]
        removed = await writer.each([] if merge else gone, writer.remove)
    return Published(written=written, removed=removed, failures=writer.failures)


async def _listed(lister: Lister, kind: Kind, label: tuple[str, str]) -> list[KubeObject]:
    """The metadata of our reports. Raises ``ClusterError``."""
    try:
        found = await lister.every(kind, params={"labelSelector": "=".join(label)})
    except Short as short:
        error = short.error
        status = error.status if isinstance(error, ApiError) else 0
        if status != 404:
            raise _failure("no report was written", error) from None
        what = f"no report was written: the API server has no {kind.resource} {lister.served.versions[kind]}"
        raise ClusterError(what, hint=f"install the CustomResourceDefinitions of {kind.group}") from None
    return [
        each
        for each in found
        if _NAME.fullmatch(each.name)
        and each.label(label[0]) == label[1]
        and (_NAMESPACE.fullmatch(each.namespace or "") if kind.namespaced else each.namespace is None)
    ]


class _Writer(Struct):
    client: Client
    served: Served
    kinds: tuple[Kind, Kind]
    there: Collection[Place]
    merge: Callable[[Document, Document], Document] | None
    seen: set[Place] = field(default_factory=set)
    failures: list[ScannerError] = field(default_factory=list)

    async def each(self, items: Iterable[T], change: Callable[[T], Awaitable[None]]) -> int:
        """Call ``change`` with each item, and return how often it succeeded."""
        source, succeeded = iter(items), 0

        async def work() -> None:  # nothing is read ahead
            nonlocal succeeded
            for item in source:
                try:
                    await change(item)
                    succeeded += 1
                except ScannerError as error:
                    self.failures.append(error)

        async with trio.open_nursery() as nursery:
            for _ in range(_AT_ONCE):
                nursery.start_soon(work)
        return succeeded

    async def write(self, report: Document) -> None:
        """Apply a report. Raises ``ClusterError`` with its object."""
        metadata, scope = report["metadata"], report.get("scope", {})
        place = metadata.get("namespace"), metadata["name"]
        self.seen.add(place)
        path = self._path(place)
        try:
            if self.merge and place in self.there:
                earlier = await self.client.get(path)
                report = self.merge(report, earlier if isinstance(earlier, dict) else {})
            body = json.dumps(report).encode()
            apply = "application/apply-patch+yaml"
            await self.client.send("PATCH", path, body, _APPLY, accept=METADATA, content_type=apply)
        except ScannerError as error:  # also if the credential cannot be read any more
            of = "/".join(filter(None, (scope.get("kind"), scope.get("namespace"), scope.get("name"))))
            raise _failure(f"the report of {of or 'the cluster'} was not written", error) from None

    async def remove(self, report: KubeObject) -> None:
        """Delete a report as it was listed. Raises ``ClusterError``, also if it was changed since."""
        conditions = {"uid": report.uid, "resourceVersion": report.text("metadata", "resourceVersion")}
        body = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": conditions}
        try:
            await self.client.send("DELETE", self._path((report.namespace, report.name)), json.dumps(body).encode())
        except ScannerError as error:
            if not (isinstance(error, ApiError) and error.status == 404):  # else another client deleted it
                raise _failure(f"the stale report {report.reference} was not removed", error) from None

    def _path(self, place: Place) -> str:
        namespace, name = place
        return self.served.path(self.kinds[namespace is None], namespace, name)


def _failure(what: str, error: ScannerError) -> ClusterError:
    status = error.status if isinstance(error, ApiError) else 0
    return ClusterError(f"{what}: {error.message}", hint=_HINTS.get(status, error.hint))
