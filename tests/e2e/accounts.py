"""Service accounts of a real API server: made, allowed, and given tokens by TokenRequest."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from tests.e2e.control_plane import ControlPlane
from tests.e2e.writing import Object, Writer

NAMESPACE = "adhere-e2e"
RBAC = "rbac.authorization.k8s.io"
_NUMBERS = itertools.count()


class Token(NamedTuple):
    """What TokenRequest answers."""

    value: str
    expires: str
    """RFC 3339."""


@dataclass(frozen=True, slots=True)
class Account:
    """A service account."""

    plane: ControlPlane
    name: str
    namespace: str = NAMESPACE

    def token(self, *, bound_to: Object | None = None) -> Token:
        """A fresh token for ten minutes, the shortest that there is; void when the Secret ``bound_to`` is deleted."""
        spec: Object = {"expirationSeconds": 600}
        if bound_to is not None:
            metadata = bound_to["metadata"]
            spec["boundObjectRef"] = {
                "apiVersion": "v1", "kind": "Secret", "name": metadata["name"], "uid": metadata["uid"]
            }  # fmt: skip
        path = f"/api/v1/namespaces/{self.namespace}/serviceaccounts/{self.name}/token"
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
        answer = self.plane.admin.post(path, json=body)
        assert answer.status_code == 201, answer.text
        status = answer.json()["status"]
        return Token(status["token"], status["expirationTimestamp"])

    def void_token(self, writer: Writer) -> str:
        """A token that was good and is refused: what it was bound to is gone."""
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": f"{self.name}-bound"}}
        secret["metadata"]["namespace"] = self.namespace  # type: ignore[index] # the literal above
        made = writer.create(secret)
        token = self.token(bound_to=made).value
        writer.delete(made)
        return token

    @property
    def user(self) -> str:
        """As the API server calls it."""
        return f"system:serviceaccount:{self.namespace}:{self.name}"


def account(
    plane: ControlPlane, writer: Writer, rules: Iterable[Object] = (), *, name: str = "", namespace: str = NAMESPACE
) -> Account:
    """A new service account that may do what ``rules`` say, and no more than everybody otherwise."""
    if not plane.admin.get(f"/api/v1/namespaces/{namespace}").is_success:
        writer.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    name = name or f"account-{next(_NUMBERS)}"
    metadata = {"name": name, "namespace": namespace}
    writer.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})
    role = {"name": f"e2e-{name}"}
    writer.create({"apiVersion": f"{RBAC}/v1", "kind": "ClusterRole", "metadata": role, "rules": list(rules)})
    writer.create(
        {
            "apiVersion": f"{RBAC}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": role,
            "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", **role},
            "subjects": [{"kind": "ServiceAccount", **metadata}],
        }
    )
    return Account(plane, name, namespace)


def reading(group: str, *plurals: str) -> Object:
    """A rule that allows to read these resources."""
    return {"apiGroups": [group], "resources": list(plurals), "verbs": ["get", "list", "watch"]}
