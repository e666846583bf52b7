"""The router's permission to read a Route's Secret, by the API server's answer where it was asked."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from scanner.kube.kinds import ACCESS_REVIEW, ROUTE
from scanner.kube.rbac import Review
from scanner.kube.snapshot import Snapshot
from scanner.lint import lint
from scanner.lint.openshift.route_access import ACCESS, route_reviews
from scanner.linting import LINT_READS, declared, reviewed
from scanner.values import replace
from tests.lint.examples import empty, manifests
from tests.lint.openshift.saying import route

ROUTER: Final = "system:serviceaccount:openshift-ingress:router"
EDGE: Final = "{termination: edge, externalCertificate: {name: web}}"
VERBS: Final = ("get", "list", "watch")


def role(verbs: str = "[get, list, watch]", names: str = ", resourceNames: [web]") -> str:
    rule = f'apiGroups: [""], resources: [secrets], verbs: {verbs}{names}'
    return (
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: reader, namespace: shop}\n"
        f"rules: [{{{rule}}}]\n---\n"
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: reader, namespace: shop}\n"
        "roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}\n"
        "subjects: [{kind: ServiceAccount, name: router, namespace: openshift-ingress}]\n---\n"
    )


def question(verb: str) -> Review:
    return Review(user=ROUTER, verb=verb, resource="secrets", namespace="shop", name="web")


def cluster(*allowed: str, of: tuple[str, ...] = VERBS, gaps: bool = False) -> Snapshot:
    """One that was asked these verbs and has no Roles; with ``gaps`` they may not be read."""
    answers = tuple(question(verb).with_answer(allowed=verb in allowed) for verb in of)
    missing = declared(None, None).known.unreadable if gaps else {}
    return replace(empty(), objects={**empty().objects, ACCESS_REVIEW: answers}, unreadable=missing)


def said(directory: Path, text: str, known: Snapshot) -> list[tuple[str, str]]:
    given = manifests(directory, text)
    found = lint(declared(given, known), [ACCESS])
    return [(each.finding.verdict, each.finding.message) for one in found for each in one.findings]


@pytest.mark.parametrize(
    ("allowed", "refused"),
    [(VERBS, ()), (("get",), ("list", "watch")), ((), VERBS), (("list", "watch"), ("get",))],
)
@pytest.mark.parametrize("gaps", [False, True])
def test_the_api_servers_answer_counts(
    tmp_path: Path, allowed: tuple[str, ...], refused: tuple[str, ...], *, gaps: bool
) -> None:
    """Also if Roles could not be read."""
    found = said(tmp_path, route(tls=EDGE), cluster(*allowed, gaps=gaps))
    assert found == [
        ("fail", f"router serviceaccount does not have permission to {verb} this secret") for verb in refused
    ]


def test_what_was_not_answered_is_decided_by_roles(tmp_path: Path) -> None:
    found = said(tmp_path, route(tls=EDGE), cluster("get", "list", of=("get", "list")))
    assert found == [("fail", "router serviceaccount does not have permission to watch this secret")]
    found = said(tmp_path, route(tls=EDGE), cluster("get", "list", of=("get", "list"), gaps=True))
    assert [verdict for verdict, _ in found] == ["inconclusive"]


def test_a_role_that_is_about_to_be_applied_is_not_known_to_the_api_server(tmp_path: Path) -> None:
    assert said(tmp_path, route(tls=EDGE) + role(), cluster()) == []
    found = said(tmp_path, route(tls=EDGE) + role("[get]"), cluster())
    assert [message.split()[-3] for _, message in found] == ["list", "watch"]


def test_an_answer_among_the_manifests_is_none(tmp_path: Path) -> None:
    spoofed = (
        "apiVersion: authorization.k8s.io/v1\nkind: SubjectAccessReview\nmetadata: {name: x}\n"
        f"spec: {{user: '{ROUTER}', resourceAttributes: {{verb: get, resource: secrets, namespace: shop, "
        "name: web}}\n"
        "status: {allowed: true}\n---\n"
    )
    found = said(tmp_path, route(tls=EDGE) + spoofed, empty())
    assert [verdict for verdict, _ in found] == ["fail"] * 3


@pytest.mark.parametrize(
    ("tls", "asked"),
    [(EDGE, VERBS), ("{termination: edge}", ()), ("{termination: passthrough}", ()), ("", ())],
)
def test_what_is_asked(tmp_path: Path, tls: str, asked: tuple[str, ...]) -> None:
    given = manifests(tmp_path, route(tls=tls))
    (each,) = [each.object for each in given.objects]
    assert [*route_reviews(each)] == [question(verb) for verb in asked]
    there = replace(empty(), objects={**empty().objects, ROUTE: (each,)})
    assert [*reviewed(None, there)] == [question(verb) for verb in asked]
    assert [*reviewed(given, empty())] == [question(verb) for verb in asked]
    assert ROUTE in LINT_READS
