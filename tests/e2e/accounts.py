"""Service accounts of a real API server: made, allowed, and given tokens by TokenRequest."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import NamedTuple

from tests.e2e.control_plane import ControlPlane
from tests.e2e.writing import Object, Writer

NAMESPACE = "adhere-e2e"
RBAC = "rbac.authorization.k8s.io"
_NUMBERS = itertools.count()
_SEEN_WITHIN = 60.0
"""Seconds in which the API server acts on what was written; it is some milliseconds, but who knows how busy it is."""
_MARKS = "marks.adhere.test"
"""An API group that nobody has: what may be done in it is a sign, and harmless."""


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
        bearer = {"Authorization": f"Bearer {token}"}
        until = time.monotonic() + _SEEN_WITHIN
        while writer.client.get("/version", headers=bearer).status_code != 401:  # its copy may still have the Secret
            assert time.monotonic() < until, f"{self.name}: the token is still taken"
            time.sleep(0.1)
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
    settle(writer)
    return Account(plane, name, namespace)


def settle(writer: Writer) -> None:
    """Wait until the API server allows what the roles and bindings say that there are now, and nothing else.

    Its authorizer watches each of the four kinds apart, and sees the changes of a kind in their order. So one of each
    kind is made last: when both bindings allow what their roles say, all that was written before is seen, too.
    """
    name = f"mark-{next(_NUMBERS)}"
    with ExitStack() as stack:
        for each in _marking(name):
            stack.callback(writer.delete, writer.create(each))
        until = time.monotonic() + _SEEN_WITHIN
        while not all(_may(writer, name, namespace) for namespace in ("", "default")):
            assert time.monotonic() < until, "the authorizer never saw what was written"
            time.sleep(0.02)


def _marking(name: str) -> Iterator[Object]:
    """A role and its binding, for all namespaces and for one: each allows something else."""
    for scope, where in (("Cluster", {}), ("", {"namespace": "default"})):
        metadata = {"name": name, **where}
        rule = {"apiGroups": [_MARKS], "resources": [_resource(where.get("namespace", ""))], "verbs": ["get"]}
        yield {"apiVersion": f"{RBAC}/v1", "kind": f"{scope}Role", "metadata": metadata, "rules": [rule]}
        role = {"apiGroup": RBAC, "kind": f"{scope}Role", "name": name}
        subjects = [{"apiGroup": RBAC, "kind": "User", "name": name}]
        binding = {"kind": f"{scope}RoleBinding", "metadata": metadata, "roleRef": role, "subjects": subjects}
        yield {"apiVersion": f"{RBAC}/v1", **binding}


def _may(writer: Writer, user: str, namespace: str) -> bool:
    attributes = {"group": _MARKS, "resource": _resource(namespace), "verb": "get", "namespace": namespace}
    group = "authorization.k8s.io/v1"
    review = {
        "apiVersion": group,
        "kind": "SubjectAccessReview",
        "spec": {"user": user, "resourceAttributes": attributes},
    }
    answer = writer.client.post(f"/apis/{group}/subjectaccessreviews", json=review)
    assert answer.is_success, answer.text
    allowed: bool = answer.json()["status"]["allowed"]
    return allowed


def _resource(namespace: str) -> str:
    return "here" if namespace else "everywhere"


def reading(group: str, *plurals: str) -> Object:
    """A rule that allows to read these resources."""
    return {"apiGroups": [group], "resources": list(plurals), "verbs": ["get", "list", "watch"]}
