"""Every example of every rule on declared objects, in a real API server under the real definitions: what lint says of
the manifests it says of the objects there, and what the definitions refuse, lint refuses too."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from scanner.cluster import access, read
from scanner.kube.kinds import CONFIG_MAP, LINTED, SECRET
from scanner.kube.snapshot import Snapshot
from scanner.lint import RULES, lint
from scanner.linting import LINT_READS, declared
from scanner.model.object_rule import ObjectRule
from tests.e2e import assets
from tests.e2e.accounts import Account
from tests.e2e.control_plane import ControlPlane, control_plane
from tests.e2e.judging import ONLY_FORMER, OTHERWISE, REFUSED, UNDEFINED, failures, objects_of, snapshot_of, written
from tests.e2e.test_permissions import role_of
from tests.e2e.writing import Object, Writer
from tests.lint.examples import examples, linted

EXAMPLES = [
    pytest.param(rule, which, number, id=name)
    for rule in RULES
    for which in ("fails", "passes")
    for number in range(len(examples(rule, which)))
    if (name := f"{rule.id}-{which}-{number}") not in ONLY_FORMER | UNDEFINED
]


@pytest.fixture(scope="module")
def alone(
    plane: ControlPlane, definitions: list[Object], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ControlPlane]:
    """A control plane of its own: examples have the names that objects have everywhere."""
    with control_plane(assets.programs(), tmp_path_factory.mktemp("lint")) as running:
        Writer(running.admin).define(definitions)
        yield running


@pytest.mark.parametrize(("rule", "which", "number"), EXAMPLES)
async def test_an_example_in_a_cluster_is_judged_as_its_manifest(
    alone: ControlPlane, tmp_path: Path, request: pytest.FixtureRequest, rule: ObjectRule, which: str, number: int
) -> None:
    name = request.node.callspec.id
    text = examples(rule, which)[number]
    found, _ = linted(tmp_path, text, [rule])
    with written(Writer(alone.admin), objects_of(tmp_path)) as refused:
        snapshot = await snapshot_of(alone, tmp_path, rule)
    if refused:
        assert which == "fails", refused
        assert REFUSED.get(name, "not expected") in refused
        return
    assert name not in REFUSED
    there = list(lint(declared(None, snapshot), [rule]))
    assert (failures(found) != failures(there)) == (name in OTHERWISE), failures(found) ^ failures(there)
    if which == "passes":
        assert [each.finding for one in there for each in one.findings] == []


async def test_the_role_of_lint_reads_what_lint_reads_and_no_secret(
    cluster: ControlPlane, writer: Writer, tmp_path: Path
) -> None:
    """With what ``adhere rbac --with lint`` prints; without it routes, grants and others' ConfigMaps are gaps."""
    metadata = {"name": "clients", "namespace": "shop"}
    writer.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"a": "b"}})
    allowed, base = role_of(cluster, writer, "--with", "lint"), role_of(cluster, writer)
    seen, refused = [await as_account(cluster, tmp_path, each) for each in (allowed, base)]
    assert seen.get(CONFIG_MAP, "clients", "shop") is not None
    assert {kind: gap.gap for kind, gap in seen.unreadable.items()} == {SECRET: "not-asked"}
    of_lint = {kind for kind in LINTED if kind in LINT_READS and kind not in refused.absent}
    expected = {SECRET: "not-asked"} | dict.fromkeys((*of_lint, CONFIG_MAP), "forbidden")
    assert {kind: gap.gap for kind, gap in refused.unreadable.items()} == expected
    assert "adhere rbac --with lint" in refused.unreadable[CONFIG_MAP].reason
    assert cluster.client(allowed.token().value).get("/api/v1/namespaces/shop/configmaps").status_code == 403


async def as_account(plane: ControlPlane, directory: Path, account: Account) -> Snapshot:
    kubeconfig = plane.kubeconfig(directory / account.name, {"token": account.token().value})
    maps = [("shop", "clients"), ("shop", "gone")]
    return await read(access(str(kubeconfig)), LINT_READS, config_maps=maps, permitted={"lint"})


def test_the_tables_name_examples() -> None:
    assert {*REFUSED, *OTHERWISE} <= {each.id for each in EXAMPLES}
