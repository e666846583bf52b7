"""Permission to apply a Route, as the API server checks it (library-go ``hostassignment``)."""

from __future__ import annotations

from pathlib import Path

import pytest

from scanner.cluster.snapshot_directory import load
from scanner.kube.kinds import ACCESS_REVIEW, ROUTE
from scanner.kube.objects import KubeObject
from scanner.kube.rbac import Review
from scanner.kube.snapshot import Snapshot
from scanner.lint.openshift.route_access import custom_host_reviews, identity
from scanner.linting import LINT_READS, declared, reviewed
from scanner.values import replace
from tests.lint.examples import empty, manifests
from tests.lint.openshift.saying import route, said, severities

AS = "# adhere lint --as eve\n"
EXTERNAL = "{termination: edge, externalCertificate: {name: web}}"
PLAIN = "{termination: edge}"


def may(*verbs: str, subject: str = "{kind: User, name: eve}") -> str:
    rule = f"{{apiGroups: [route.openshift.io], resources: [routes/custom-host], verbs: [{', '.join(verbs)}]}}"
    return (
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: r, namespace: shop}\n"
        f"rules: [{rule}]\n---\n"
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: b, namespace: shop}\n"
        f"roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: Role, name: r}}\nsubjects: [{subject}]\n---\n"
    )


GROUP = "{kind: Group, name: 'system:authenticated'}"
NO_HOST = 'host: ""'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (route(tls=PLAIN) + may("create"), []),
        (route(tls=PLAIN) + may("create", subject=GROUP), []),
        (route(tls=PLAIN) + may("update"), [("high", "spec.host")]),
        (route(NO_HOST, PLAIN) + may("get"), []),
        (route(NO_HOST, EXTERNAL) + may("get"), [("high", "spec.tls")]),
        (route(NO_HOST, "{termination: reencrypt, destinationCACertificate: x}") + may("get"), [("high", "spec.tls")]),
        (route(tls=PLAIN) + may("create", subject="{kind: User, name: adam}"), [("inconclusive", "spec.host")]),
        (route(tls=PLAIN), [("inconclusive", "spec.host")]),
    ],
)
def test_a_new_route(tmp_path: Path, text: str, expected: list[tuple[str, str]]) -> None:
    assert [each[:2] for each in said(tmp_path, "route-custom-host", AS + text)] == expected


@pytest.mark.parametrize(
    ("before", "now", "verbs", "expected"),
    [
        (route(tls=PLAIN), route(tls=PLAIN), [], []),
        (route(tls=PLAIN), route("host: b.example", PLAIN), ["create"], ["spec.host"]),
        (route(tls=PLAIN), route("host: b.example", PLAIN), ["update"], []),
        (route(tls=PLAIN), route("subdomain: b", PLAIN), ["create"], ["spec.subdomain"]),
        (route(tls=PLAIN), route(tls=EXTERNAL), [], ["spec.tls"]),
        (route(tls=PLAIN), route(tls=EXTERNAL), ["create"], []),
        (route(tls=PLAIN), route(tls=EXTERNAL), ["update"], []),
        (route(tls=EXTERNAL), route(tls=EXTERNAL), [], ["spec.tls"]),
        (route(tls=EXTERNAL), route(tls=PLAIN), [], []),
        (route(tls="{certificate: a}"), route(tls="{certificate: a}"), [], []),
        (route(tls="{certificate: a}"), route(tls="{certificate: b}"), [], ["spec.tls"]),
    ],
)
def test_a_change(tmp_path: Path, before: str, now: str, verbs: list[str], expected: list[str]) -> None:
    saved = tmp_path / "cluster"
    saved.mkdir()
    (saved / "route.yaml").write_text(before)
    found = said(tmp_path, "route-custom-host", AS + now + may("get", *verbs), load(saved, LINT_READS))
    assert [field for _, field, _ in found] == expected


def test_nobody_is_asked_about_without_a_name(tmp_path: Path) -> None:
    assert said(tmp_path, "route-custom-host", route(tls=PLAIN) + may("get")) == []


def test_a_service_account_is_in_its_groups() -> None:
    groups = ("system:serviceaccounts", "system:serviceaccounts:ci", "system:authenticated")
    assert identity("system:serviceaccount:ci:bot").groups == groups
    assert identity("eve", ("dev",)).groups == ("dev", "system:authenticated")


def question(verb: str, *groups: str, user: str = "eve") -> Review:
    return Review(
        user=user,
        groups=(*groups, "system:authenticated"),
        verb=verb,
        group="route.openshift.io",
        resource="routes",
        subresource="custom-host",
        namespace="shop",
        name="",
    )


def asked_cluster(*, gaps: bool = False, **answers: bool) -> Snapshot:
    """One that was asked these verbs and has no Roles; with ``gaps`` they may not be read."""
    objects = tuple(question(verb).with_answer(allowed=allowed) for verb, allowed in answers.items())
    missing = declared(None, None).known.unreadable if gaps else {}
    return replace(empty(), objects={**empty().objects, ACCESS_REVIEW: objects}, unreadable=missing)


@pytest.mark.parametrize(
    ("text", "known", "expected"),
    [
        (route(tls=PLAIN), asked_cluster(create=True), []),
        (route(tls=PLAIN), asked_cluster(create=True, gaps=True), []),
        (route(tls=PLAIN), asked_cluster(create=False, gaps=True), ["high"]),
        (route(tls=PLAIN), asked_cluster(update=True, gaps=True), ["inconclusive"]),
        (route(tls=PLAIN), asked_cluster(update=True), ["high"]),
        (route(tls=PLAIN) + may("create"), asked_cluster(create=False), []),  # a Role that is about to be applied
        (route(tls=PLAIN) + may("get"), asked_cluster(create=True), []),
    ],
)
def test_the_api_servers_answer_counts(tmp_path: Path, text: str, known: Snapshot, expected: list[str]) -> None:
    assert severities(tmp_path, "route-custom-host", AS + text, known) == expected


def test_an_answer_about_another_is_none(tmp_path: Path) -> None:
    others = [question("create", user="adam"), question("create", "developers")]
    known = replace(asked_cluster(), objects={**empty().objects, ACCESS_REVIEW: tuple(_allowed(others))})
    assert [each[0] for each in said(tmp_path, "route-custom-host", AS + route(tls=PLAIN), known)] == ["high"]


def _allowed(questions: list[Review]) -> list[KubeObject]:
    return [each.with_answer(allowed=True) for each in questions]


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        (route(tls=PLAIN), ["create", "update"]),
        (route(NO_HOST, EXTERNAL), ["create", "update"]),
        (route("subdomain: b", ""), ["create", "update"]),
        (route(NO_HOST, PLAIN), []),
    ],
)
def test_what_is_asked(tmp_path: Path, text: str, asked: list[str]) -> None:
    given = manifests(tmp_path, text)
    (each,) = [each.object for each in given.objects]
    assert [*custom_host_reviews(each, "eve", ("dev",))] == [question(verb, "dev") for verb in asked]
    there = replace(empty(), objects={**empty().objects, ROUTE: (each,)})
    own = [each for each in reviewed(None, there, user="eve") if each.user == "eve"]
    assert own == [question(verb) for verb in asked]
    assert [each for each in reviewed(given, empty()) if each.user == "eve"] == []
