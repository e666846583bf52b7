"""Who may read a Route's Secret: what adhere makes of Roles and bindings is what the API server answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import pytest

from scanner.cluster import access, read
from scanner.kube.kinds import ACCESS_REVIEW, ROUTE
from scanner.kube.rbac import Review, reviews
from scanner.kube.snapshot import Snapshot
from scanner.lint.authorization import READS, Request, account
from scanner.lint.authorization import access as by_roles
from scanner.linting import declared, reviewed
from tests.e2e.accounts import settle
from tests.e2e.control_plane import ControlPlane
from tests.e2e.test_permissions import role_of
from tests.e2e.writing import Object, Writer

SPACE: Final = "access"
ROUTER: Final = account("openshift-ingress", "router")
VERBS: Final = ("get", "list", "watch")
SECRETS: Final = {"apiGroups": [""], "resources": ["secrets"], "verbs": [*VERBS]}
OF_ROUTER: Final = {"kind": "ServiceAccount", "name": "router", "namespace": "openshift-ingress"}


def rbac(kind: str, **fields: Any) -> Object:  # noqa: ANN401 - JSON
    group = "rbac.authorization.k8s.io"
    namespace = {} if kind.startswith("Cluster") else {"namespace": SPACE}
    return {"apiVersion": f"{group}/v1", "kind": kind, "metadata": {"name": "reader", **namespace}, **fields}


def bound(
    rule: Mapping[str, Any], subject: Mapping[str, str], role: str = "Role", by: str = "RoleBinding"
) -> list[Object]:
    group = {"apiGroup": "rbac.authorization.k8s.io"} if subject["kind"] != "ServiceAccount" else {}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": role, "name": "reader"}
    return [rbac(role, rules=[rule]), rbac(by, roleRef=reference, subjects=[{**subject, **group}])]


def group_of(name: str) -> Mapping[str, str]:
    return {"kind": "Group", "name": name}


SHAPES: Final[Mapping[str, tuple[list[Object], tuple[str, ...]]]] = {
    "nothing": ([], ()),
    "by name": (bound({**SECRETS, "resourceNames": ["web"]}, OF_ROUTER), VERBS),
    "by another name": (bound({**SECRETS, "resourceNames": ["other"]}, OF_ROUTER), ()),
    "a star is a name": (bound({**SECRETS, "resourceNames": ["*"]}, OF_ROUTER), ()),
    "all names": (bound(SECRETS, OF_ROUTER), VERBS),
    "get alone": (bound({**SECRETS, "verbs": ["get"]}, OF_ROUTER), ("get",)),
    "all verbs": (bound({**SECRETS, "verbs": ["*"]}, OF_ROUTER), VERBS),
    "all resources": (bound({**SECRETS, "resources": ["*"]}, OF_ROUTER), VERBS),
    "all groups": (bound({**SECRETS, "apiGroups": ["*"]}, OF_ROUTER), VERBS),
    "another group": (bound({**SECRETS, "apiGroups": ["apps"]}, OF_ROUTER), ()),
    "of subresources": (bound({**SECRETS, "resources": ["secrets/status"]}, OF_ROUTER), ()),
    "a ClusterRole here": (bound(SECRETS, OF_ROUTER, "ClusterRole"), VERBS),
    "a ClusterRole everywhere": (bound(SECRETS, OF_ROUTER, "ClusterRole", "ClusterRoleBinding"), VERBS),
    "the account as a user": (bound(SECRETS, {"kind": "User", "name": ROUTER.name}), VERBS),
    "an account of the same name": (bound(SECRETS, {**OF_ROUTER, "namespace": SPACE}), ()),
    "all accounts": (bound(SECRETS, group_of("system:serviceaccounts")), ()),
    "accounts of the namespace": (bound(SECRETS, group_of("system:serviceaccounts:openshift-ingress")), ()),
    "who is authenticated": (bound(SECRETS, group_of("system:authenticated")), ()),
    "a role that is gone": (bound(SECRETS, OF_ROUTER)[1:], ()),
}
"""What is bound, and which verbs that allows to the account without its groups."""


@pytest.fixture(scope="module")
def space(cluster: ControlPlane, writer: Writer) -> Iterator[ControlPlane]:
    """With a Route that names the Secret."""
    writer.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}})
    tls = {"termination": "edge", "externalCertificate": {"name": "web"}}
    spec = {"host": "web.example", "to": {"kind": "Service", "name": "web", "weight": 100}, "tls": tls}
    route = {"apiVersion": "route.openshift.io/v1", "kind": "Route", "metadata": {"name": "web", "namespace": SPACE}}
    created = writer.create({**route, "spec": spec})
    yield cluster
    writer.delete(created)


async def asked(plane: ControlPlane, token: str, directory: Path) -> Snapshot:
    def questions(found: Snapshot) -> Iterator[Review]:
        return (each for each in reviewed(None, found) if each.namespace == SPACE)

    kubeconfig = plane.kubeconfig(directory / "kubeconfig", {"token": token})
    return await read(access(str(kubeconfig)), (ROUTE, *READS), permitted={"lint"}, reviews=questions)


@pytest.mark.parametrize("shape", SHAPES)
async def test_roles_are_read_as_the_api_server_reads_them(
    space: ControlPlane, writer: Writer, tmp_path: Path, shape: str
) -> None:
    objects, allowed = SHAPES[shape]
    with ExitStack() as stack:
        for each in objects:
            stack.callback(writer.delete, writer.create(each))
        settle(writer)
        found = await asked(space, space.tokens["admin"], tmp_path)
    answers = {each.verb: answer for each, answer in reviews(found).items()}
    assert answers == {verb: verb in allowed for verb in VERBS}
    about = declared(None, found)
    for verb in VERBS:
        request = Request(verb=verb, resource="secrets", namespace=SPACE, name="web")
        assert by_roles(about, ROUTER, request).allowed == answers[verb], verb


async def test_who_may_not_ask_reads_roles_alone(space: ControlPlane, writer: Writer, tmp_path: Path) -> None:
    """And with what ``adhere rbac --with sar`` prints, who has no other right asks."""
    without, with_it = role_of(space, writer, "--with", "lint"), role_of(space, writer, "--with", "sar")
    assert ACCESS_REVIEW not in (await asked(space, without.token().value, tmp_path)).objects
    found = await asked(space, with_it.token().value, tmp_path)
    assert {each.verb: answer for each, answer in reviews(found).items()} == dict.fromkeys(VERBS, False)
