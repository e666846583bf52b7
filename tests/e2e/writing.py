"""Objects written through the API, as an installer and its operators would."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from string import Template
from typing import Any, NamedTuple

import httpx2
import yaml

Object = dict[str, Any]

CRD = "apiextensions.k8s.io/v1", "CustomResourceDefinition"
_ESTABLISHED_WITHIN = 60.0
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
"""The media type of discovery in one answer."""


class Resource(NamedTuple):
    """How objects of a kind are reached."""

    plural: str
    namespaced: bool
    has_status: bool
    """Whether the status is written apart: then what creates the object cannot set it."""


class RefusedError(Exception):
    """The API server did not take an object; its answer."""

    def __init__(self, response: httpx2.Response) -> None:
        super().__init__(f"{response.request.method} {response.request.url.path}: {response.text}")
        self.response = response


@dataclass
class Writer:
    """Creates objects by one client of the API server."""

    client: httpx2.Client
    _known: dict[str, dict[str, Resource]] = field(default_factory=dict)

    def create(self, item: Object, *, dry_run: bool = False) -> Object:
        """Create an object, and then its status where it has one. A field that the schema does not know is an error.

        Raises ``RefusedError``.
        """
        params = {"fieldValidation": "Strict"} | ({"dryRun": "All"} if dry_run else {})
        created = self._send("POST", self.path(item), item, params)
        if item.get("status") and not dry_run and self._resource(item).has_status:
            path = f"{self.path(item)}/{item['metadata']['name']}/status"
            created = self._send("PUT", path, {**created, "status": item["status"]}, params)
        return created

    def change(self, item: Object, patch: Object) -> None:
        """Merge ``patch`` into an object (RFC 7396). Raises ``RefusedError``."""
        path = f"{self.path(item)}/{item['metadata']['name']}"
        self._send("PATCH", path, patch, {}, {"Content-Type": "application/merge-patch+json"})

    def delete(self, item: Object) -> None:
        """Raises ``RefusedError``."""
        self._send("DELETE", f"{self.path(item)}/{item['metadata']['name']}", None, {})

    def path(self, item: Object) -> str:
        """Of the collection that the object belongs to."""
        resource = self._resource(item)
        root = _root(item["apiVersion"])
        if not resource.namespaced:
            return f"{root}/{resource.plural}"
        return f"{root}/namespaces/{item['metadata']['namespace']}/{resource.plural}"

    def define(self, definitions: Iterable[Object]) -> None:
        """Create CustomResourceDefinitions and wait until all are served."""
        written = [{**each, "status": {}} for each in definitions]  # generated ones come with a status of zeros
        names = [self.create(each)["metadata"]["name"] for each in written]
        until = time.monotonic() + _ESTABLISHED_WITHIN
        while waiting := [name for name in names if not self._established(name)] or self._undiscovered(names):
            assert time.monotonic() < until, f"never established: {waiting}"
            time.sleep(0.1)
        self._known.clear()

    def _established(self, name: str) -> bool:
        """Established, and also in discovery, which follows a moment later."""
        found = self.client.get(f"/apis/{CRD[0]}/customresourcedefinitions/{name}").json()
        conditions = found.get("status", {}).get("conditions") or []  # null at first
        if not any(each["type"] == "Established" and each["status"] == "True" for each in conditions):
            return False
        versions = [each["name"] for each in found["spec"]["versions"] if each["served"]]
        return all(
            self.client.get(f"/apis/{found['spec']['group']}/{version}/{found['spec']['names']['plural']}").is_success
            for version in versions
        )

    def _undiscovered(self, names: Iterable[str]) -> list[str]:
        """Those that aggregated discovery does not name yet: it is put together apart, and with many new definitions
        some seconds later."""
        found = self.client.get("/apis", headers={"Accept": AGGREGATED}).json()
        known = {
            f"{resource['resource']}.{group['metadata']['name']}"
            for group in found["items"]
            for version in group["versions"]
            for resource in version["resources"]
        }
        return sorted(set(names) - known)

    def _resource(self, item: Object) -> Resource:
        api_version, kind = item["apiVersion"], item["kind"]
        if kind not in self._known.get(api_version, {}):
            listed = self._send("GET", _root(api_version), None, {})["resources"]
            names = {each["name"] for each in listed}
            self._known[api_version] = {
                each["kind"]: Resource(each["name"], each["namespaced"], f"{each['name']}/status" in names)
                for each in listed
                if "/" not in each["name"]
            }
        return self._known[api_version][kind]

    def _send(
        self, method: str, path: str, body: Object | None, params: dict[str, str], headers: dict[str, str] | None = None
    ) -> Object:
        response = self.client.request(method, path, json=body, params=params, headers=headers)
        if not response.is_success:
            raise RefusedError(response)
        answer: Object = response.json()
        return answer


def _root(api_version: str) -> str:
    return f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"


def documents(path: Path, values: Mapping[str, str] | None = None) -> Iterator[Object]:
    """The objects of a YAML file, with ``$NAME`` of ``values`` put in."""
    text = path.read_text()
    for each in yaml.load_all(Template(text).substitute(values) if values else text, yaml.CSafeLoader):
        if each:
            yield each
