"""The roles: made from the list of kinds, reading only, and everything else apart."""

from __future__ import annotations

import pytest

from scanner.cluster.rbac import OPTIONS, READING, RISK, as_yaml, cluster_role
from scanner.errors import UsageError
from scanner.files.yaml_values import documents
from scanner.kube.kinds import CONFIG_MAP, KINDS, WATCHED
from scanner.kube.objects import Fields


def roles(*options: str) -> list[Fields]:
    return [Fields(each) for each in cluster_role(KINDS, options)]


def test_the_role_reads_every_kind_and_does_nothing_else() -> None:
    (role,) = roles()
    allowed = {
        (group, resource): rule
        for rule in role.each("rules")
        for group in rule.texts("apiGroups")
        for resource in rule.texts("resources")
    }
    wanted = {(kind.group, kind.plural) for kind in KINDS if kind.opt_in is None}
    assert set(allowed) == wanted
    for (group, resource), rule in allowed.items():
        by_name = (group, resource) == (CONFIG_MAP.group, CONFIG_MAP.plural)
        assert rule.texts("verbs") == (("get",) if by_name else READING)
        assert bool(rule.texts("resourceNames")) == by_name
    assert "*" not in as_yaml(cluster_role(KINDS, OPTIONS))
    assert "secrets" not in as_yaml(cluster_role(KINDS))
    assert "create" not in as_yaml(cluster_role(KINDS))


@pytest.mark.parametrize("option", OPTIONS)
def test_each_option_is_a_role_of_its_own_that_says_its_risk(option: str) -> None:
    base, other = roles(option, option)
    assert base == roles()[0]
    assert other.text("metadata", "name") == f"adhere-scan-{option}"
    assert len(other.text("metadata", "annotations", RISK)) > 40
    assert list(other.each("rules"))


def test_serve_watches_exactly_its_kinds() -> None:
    rules = list(roles("serve")[1].each("rules"))
    watched = {(rule.texts("apiGroups")[0], each) for rule in rules[:-2] for each in rule.texts("resources")}
    assert watched == {(kind.group, kind.plural) for kind in WATCHED}
    assert [rule.texts("verbs") for rule in rules[:-2]] == [("watch",)] * (len(rules) - 2)
    assert [rule.texts("resources") for rule in rules[-2:]] == [("tokenreviews",), ("subjectaccessreviews",)]
    assert [rule.texts("verbs") for rule in rules[-2:]] == [("create",)] * 2


def test_secrets_are_for_get_only() -> None:
    (rule,) = roles("secrets")[1].each("rules")
    assert rule.raw == {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}


def test_an_account_is_bound_to_every_role() -> None:
    made = [Fields(each) for each in cluster_role(KINDS, ["sar"], "tools/adhere")]
    assert [each.text("kind") for each in made] == ["ServiceAccount", *["ClusterRole"] * 2, *["ClusterRoleBinding"] * 2]
    assert [each.text("roleRef", "name") for each in made[3:]] == ["adhere-scan", "adhere-scan-sar"]
    assert len({each.text("metadata", "name") for each in made[3:]}) == 2
    (subject,) = made[3].each("subjects")
    assert subject.raw == {"kind": "ServiceAccount", "name": "adhere", "namespace": "tools"}


def test_the_yaml_says_the_same() -> None:
    made = cluster_role(KINDS, OPTIONS, "tools/adhere")
    assert list(documents(as_yaml(made).encode(), "rbac")) == made


def test_text_that_yaml_would_read_otherwise_is_quoted() -> None:
    odd = {"a": ["no", "1", "", "a: b", "#x", "\u2028"], "null": {"on": "x"}}
    assert list(documents(as_yaml([dict(odd)]).encode(), "odd")) == [odd]


@pytest.mark.parametrize("account", ["adhere", "a/b/c", "/b", "A/b", "a/"])
def test_an_account_that_is_none(account: str) -> None:
    with pytest.raises(UsageError, match="no service account"):
        cluster_role(KINDS, (), account)


def test_an_option_that_is_none() -> None:
    with pytest.raises(UsageError, match="--with 'secret' is no permission") as caught:
        cluster_role(KINDS, ["secret"])
    assert caught.value.hint == "did you mean 'secrets'?"
