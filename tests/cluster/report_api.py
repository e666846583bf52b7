"""An API server that keeps policy reports."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from tests.cluster.api import Answer, Asked, ok, refused

ROOT = "/apis/openreports.io/v1alpha1"


@dataclass(slots=True)
class Reports:
    """An API that stores reports by path."""

    stored: dict[str, dict[str, Any]] = field(default_factory=dict)
    refusals: dict[tuple[str, str], Answer] = field(default_factory=dict)
    """By method and path."""

    def put(self, path: str, item: dict[str, Any]) -> None:
        metadata = {**item["metadata"], "uid": f"uid of {path}", "resourceVersion": "7"}
        self.stored[path] = {**item, "metadata": metadata}

    def answer(self, asked: Asked) -> Answer | None:
        if not asked.path.startswith(ROOT):
            return None
        if refusal := self.refusals.get((asked.method, asked.path)):
            return refusal
        if asked.path.endswith("reports"):
            found = [
                each for path, each in self.stored.items() if ("/namespaces/" in path) != ("cluster" in asked.path)
            ]
            return ok({"kind": "PartialObjectMetadataList", "metadata": {}, "items": found})
        if asked.method == "PATCH":
            self.put(asked.path, json.loads(asked.body))
        if asked.path not in self.stored:
            return refused(404, "NotFound", "not found")
        if asked.method == "DELETE":
            found_now = self.stored[asked.path]["metadata"]
            conditions = json.loads(asked.body)["preconditions"]
            if any(found_now[name] != value for name, value in conditions.items()):
                return refused(409, "Conflict", "the precondition does not match")
            del self.stored[asked.path]
            return ok({"kind": "Status", "status": "Success"})
        return ok(self.stored[asked.path])
