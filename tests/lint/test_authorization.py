"""RBAC decisions, as the API server's authorizer makes them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scanner.kube.kinds import CLUSTER_ROLE, CLUSTER_ROLE_BINDING, ROLE, ROLE_BINDING, Kind
from scanner.kube.objects import KubeObject
from scanner.kube.snapshot import Origin, Snapshot, Unreadable
from scanner.lint.authorization import (
    READS,
    Identity,
    Request,
    access,
    account,
    allowed_names,
    allows,
    index_of,
    subjects,
)
from scanner.model.declared import Declared
from scanner.values import replace

ROUTER = {"kind": "ServiceAccount", "name": "router", "namespace": "openshift-ingress"}
SECRETS = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}
REQUEST = Request(verb="get", resource="secrets", namespace="shop", name="web")
WHO = account("openshift-ingress", "router")


def role(*rules: Mapping[str, Any], kind: Kind = ROLE, name: str = "reader", **more: object) -> KubeObject:
    metadata = {"name": name, **({"namespace": "shop"} if kind.namespaced else {}), **more}
    return KubeObject({"metadata": metadata, "rules": list(rules)}, kind)


def binding(*subjects: Mapping[str, str], to: Kind = ROLE, kind: Kind = ROLE_BINDING) -> KubeObject:
    metadata = {"name": "b", **({"namespace": "shop"} if kind.namespaced else {})}
    return KubeObject(
        {"metadata": metadata, "subjects": list(subjects), "roleRef": {"kind": to.name, "name": "reader"}}, kind
    )


def known(*objects: KubeObject, gaps: bool = False) -> Declared:
    unreadable = {kind: Unreadable(kind=kind, gap="not-saved", reason="not given") for kind in READS if gaps}
    snapshot = Snapshot(
        taken_at=datetime(2026, 1, 1, tzinfo=UTC),
        origin=Origin(name="test"),
        objects={kind: tuple(each for each in objects if each.kind == kind) for kind in READS},
        unreadable=unreadable,
    )
    return Declared(subjects=(), known=snapshot)


@pytest.mark.parametrize(
    ("rule", "asked", "allowed"),
    [
        (SECRETS, REQUEST, True),
        ({**SECRETS, "resourceNames": ["web"]}, REQUEST, True),
        ({**SECRETS, "resourceNames": ["other"]}, REQUEST, False),
        ({**SECRETS, "resourceNames": ["web"]}, Request(verb="get", resource="secrets", namespace="shop"), False),
        ({**SECRETS, "verbs": ["*"]}, REQUEST, True),
        ({**SECRETS, "verbs": ["list"]}, REQUEST, False),
        ({**SECRETS, "apiGroups": ["apps"]}, REQUEST, False),
        ({**SECRETS, "apiGroups": ["*"], "resources": ["*"]}, REQUEST, True),
        ({**SECRETS, "resources": ["configmaps"]}, REQUEST, False),
        (SECRETS, Request(verb="get", resource="secrets", namespace="other", name="web"), False),
        (
            {"apiGroups": ["r"], "resources": ["routes"], "verbs": ["create"]},
            Request(verb="create", resource="routes/custom-host", group="r", namespace="shop"),
            False,
        ),
        (
            {"apiGroups": ["r"], "resources": ["*/custom-host"], "verbs": ["create"]},
            Request(verb="create", resource="routes/custom-host", group="r", namespace="shop"),
            True,
        ),
    ],
)
def test_a_rule_allows_what_the_authorizer_says(rule: Mapping[str, Any], asked: Request, *, allowed: bool) -> None:
    assert access(known(role(rule), binding(ROUTER)), WHO, asked).allowed is allowed


@pytest.mark.parametrize(
    ("subject", "who", "allowed"),
    [
        (ROUTER, WHO, True),
        ({"kind": "User", "name": WHO.name}, WHO, True),
        ({"kind": "Group", "name": "system:serviceaccounts:openshift-ingress"}, WHO, False),
        ({"kind": "Group", "name": "dev"}, Identity(name="eve", groups=("dev",)), True),
        ({"kind": "User", "name": "dev"}, Identity(name="eve", groups=("dev",)), False),
        ({"kind": "ServiceAccount", "name": "default"}, account("shop", "default"), True),
        ({"kind": "ServiceAccount", "name": "router"}, WHO, False),
    ],
)
def test_a_binding_is_for_its_subjects(subject: Mapping[str, str], who: Identity, *, allowed: bool) -> None:
    assert access(known(role(SECRETS), binding(subject)), who, REQUEST).allowed is allowed


def test_cluster_wide() -> None:
    objects = (role(SECRETS, kind=CLUSTER_ROLE), binding(ROUTER, to=CLUSTER_ROLE, kind=CLUSTER_ROLE_BINDING))
    (grant,) = access(known(*objects), WHO, REQUEST).grants
    assert grant.cluster_wide
    assert not grant.by_name
    assert str(grant) == "ClusterRole/reader by ClusterRoleBinding/b"


def test_a_cluster_role_in_one_namespace() -> None:
    objects = (role(SECRETS, kind=CLUSTER_ROLE), binding(ROUTER, to=CLUSTER_ROLE))
    (grant,) = access(known(*objects), WHO, REQUEST).grants
    assert not grant.cluster_wide


def test_what_is_aggregated_counts() -> None:
    whole = KubeObject(
        {
            "metadata": {"name": "reader"},
            "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"into": "reader"}}]},
        },
        CLUSTER_ROLE,
    )
    part = role(SECRETS, kind=CLUSTER_ROLE, name="part", labels={"into": "reader"})
    assert access(known(whole, part, binding(ROUTER, to=CLUSTER_ROLE)), WHO, REQUEST).allowed
    assert not access(known(whole, binding(ROUTER, to=CLUSTER_ROLE)), WHO, REQUEST).allowed


def test_a_role_that_nobody_saw() -> None:
    assert access(known(binding(ROUTER)), WHO, REQUEST).allowed is False
    unseen = access(known(binding(ROUTER), gaps=True), WHO, REQUEST)
    assert unseen.allowed is None
    assert unseen.unseen is not None
    assert unseen.unseen.name == "Role/shop/reader"
    nothing = access(known(gaps=True), WHO, REQUEST)
    assert nothing.allowed is None


def test_what_is_known_to_be_allowed_needs_no_more() -> None:
    assert access(known(role(SECRETS), binding(ROUTER), gaps=True), WHO, REQUEST).allowed is True


def test_a_role_that_names_many_is_found_by_each() -> None:
    names = [f"s{each}" for each in range(200)]
    objects = known(role({**SECRETS, "resourceNames": names}), binding(ROUTER))
    allowed = [access(objects, WHO, replace(REQUEST, name=name)).allowed for name in ("s0", "s199", "s200")]
    assert allowed == [True, True, False]


def test_one_role_among_many_bindings_of_another() -> None:
    """Those that say the same may be left out, not who says something else behind them."""
    narrow = role({**SECRETS, "resourceNames": ["other"]})
    every = [*(binding(ROUTER) for _ in range(50)), binding(ROUTER, to=CLUSTER_ROLE)]
    found = access(known(narrow, role(SECRETS, kind=CLUSTER_ROLE), *every), WHO, REQUEST)
    assert [str(each) for each in found.grants] == ["ClusterRole/reader by RoleBinding/shop/b"]


def test_of_many_that_allow_the_same_the_first_are_told() -> None:
    found = access(known(role(SECRETS), *(binding(ROUTER) for _ in range(50))), WHO, REQUEST)
    assert 0 < len(found.grants) < 50


def test_what_one_binding_allows() -> None:
    reading, other = binding(ROUTER), binding(ROUTER, to=CLUSTER_ROLE)
    objects = known(role(SECRETS), reading, other)
    assert allows(objects, reading, REQUEST)
    assert not allows(objects, other, REQUEST)  # its ClusterRole does not exist
    assert not allows(objects, reading, replace(REQUEST, verb="delete"))


def test_everybody() -> None:
    found = subjects(known(binding(ROUTER, {"kind": "Group", "name": "dev"})), "shop")
    assert found == (WHO, Identity(name="", groups=("dev",)))
    assert subjects(known(binding(ROUTER)), "other") == ()


@pytest.mark.parametrize(
    ("rules", "names"),
    [
        ([SECRETS], None),
        ([{**SECRETS, "resourceNames": ["a"]}, {**SECRETS, "resourceNames": ["b"]}], {"a", "b"}),
        ([{**SECRETS, "resourceNames": ["a"]}, SECRETS], None),
        ([{**SECRETS, "verbs": ["list"]}], set()),
    ],
)
def test_for_which_objects(rules: list[Mapping[str, Any]], names: set[str] | None) -> None:
    assert allowed_names(known(role(*rules), binding(ROUTER)), WHO, REQUEST) == names


def test_of_two_rules_the_wider_one_counts() -> None:
    rules = ({**SECRETS, "resourceNames": ["web"]}, SECRETS)
    (grant,) = access(known(role(*rules), binding(ROUTER)), WHO, REQUEST).grants
    assert not grant.by_name


FEW = st.lists(st.sampled_from(["*", "", "secrets", "routes/custom-host", "*/custom-host", "routes"]), max_size=3)
RULES = st.fixed_dictionaries(
    {
        "apiGroups": st.just([""]),
        "resources": FEW,
        "verbs": st.lists(st.sampled_from(["get", "*", "list"]), max_size=2),
    },
    optional={"resourceNames": st.lists(st.sampled_from(["web", "", "other"]), max_size=2)},
)
REQUESTS = st.builds(
    Request,
    verb=st.just("get"),
    resource=st.sampled_from(["secrets", "routes", "routes/custom-host"]),
    namespace=st.just("shop"),
    name=st.sampled_from(["web", "", "missing"]),
)


@given(st.lists(st.tuples(st.lists(RULES, max_size=3), st.booleans()), max_size=5), REQUESTS)
def test_looking_at_few_bindings_is_as_good_as_at_all(
    bound: list[tuple[list[dict[str, Any]], bool]], asked: Request
) -> None:
    objects = []
    for number, (rules, there) in enumerate(bound):
        reference = {"kind": "Role", "name": f"r{number}"}
        metadata = {"name": f"b{number}", "namespace": "shop"}
        objects.append(KubeObject({"metadata": metadata, "subjects": [ROUTER], "roleRef": reference}, ROLE_BINDING))
        objects += [role(*rules, name=f"r{number}")] if there else []
    about = known(*objects, gaps=True)
    every = [one for roles in about.once(index_of).bound_to(WHO, "shop") for one in roles.every]
    allowing = [each.binding.name for each in every if any(rule.allows(asked) for rule in each.rules)]
    found = access(about, WHO, asked)
    assert [each.binding.name for each in found.grants] == allowing
    assert found.role == next((each.missing for each in every if each.role is None), None)
    assert found.named == bool(every)
