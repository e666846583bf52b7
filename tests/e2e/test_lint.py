"""Every example of every rule on declared objects, in a real API server under the real definitions: what lint says of
the manifests it says of the objects there, and what the definitions refuse, lint refuses too."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from scanner.cluster import access, read
from scanner.lint import RULES, Linted, lint
from scanner.linting import LINT_READS, declared, referred
from scanner.model.kinds import CONFIG_MAP, LINTED, SECRET
from scanner.model.located import documents
from scanner.model.object_rule import ANY, ObjectRule
from scanner.model.snapshot import Snapshot, union
from tests.e2e import assets
from tests.e2e.accounts import Account
from tests.e2e.completing import completed
from tests.e2e.control_plane import ControlPlane, control_plane
from tests.e2e.test_permissions import role_of
from tests.e2e.writing import Object, RefusedError, Writer
from tests.lint.examples import examples, linted, manifests

EXAMPLES = [
    pytest.param(rule, which, number, id=f"{rule.id}-{which}-{number}")
    for rule in RULES
    for which in ("fails", "passes")
    for number in range(len(examples(rule, which)))
]
REFUSED = {
    "gateway-listener-refused-fails-0": "tls must not be specified for protocols ['HTTP', 'TCP', 'UDP']",
    "gateway-field-pruned-fails-0": 'unknown field "spec.listeners[0].tls.frontendValidation"',
    "route-fields-fails-0": (
        "cannot have both spec.tls.termination: passthrough and spec.tls.insecureEdgeTerminationPolicy: Allow"
    ),
    "route-fields-fails-1": "cannot have both spec.tls.certificate and spec.tls.externalCertificate",
    "adherence-value-fails-0": 'spec.tlsAdherence: Unsupported value: "LegacyExternalAPIServerComponentsOnly"',
    "backend-tls-validation-fails-0": "must specify either CACertificateRefs or WellKnownCACertificates",
    "contour-ingress-slash-fails-0": 'spec.tls[0].secretName: Invalid value: "certificates/wildcard"',
    "field-unknown-fails-0": 'unknown field "spec.tlsSecurityProfil"',
    "field-type-fails-0": "spec.virtualhost.tls.minimumProtocolVersion in body must be of type string",
}
"""Examples that fail, and in the API server's words why it does not take them either."""
OTHERWISE = {
    "reference-grant-unused-fails-0": "where there is a cluster, its namespaces are there",
    "route-custom-host-fails-0": "who is to apply it is no matter of what is there",
    "gateway-status-fails-0": "generations are counted by the API server",
    "adherence-removed-fails-0": "what is there is not about to be applied",
}
"""Examples of which a cluster shows something else than manifests, and why."""
LAST = ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration", "APIService")
"""They would be called for what is created after them, or hide it."""


@pytest.fixture(scope="module")
def alone(
    plane: ControlPlane, definitions: list[Object], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ControlPlane]:
    """A control plane of its own: examples have the names that objects have everywhere."""
    with control_plane(assets.programs(), tmp_path_factory.mktemp("lint")) as running:
        Writer(running.admin).define(definitions)
        yield running


@pytest.fixture
def objects(alone: ControlPlane, tmp_path: Path, rule: ObjectRule, which: str, number: int) -> list[Any]:
    """Those of the example; skips where one is of a kind that the control plane does not know."""
    manifests(tmp_path, examples(rule, which)[number])
    found: list[Any] = list(documents((tmp_path / "example.yaml").read_bytes(), "example"))
    if unserved := sorted({kind for each in found if (kind := unknown(Writer(alone.admin), each))}):
        pytest.skip(f"no definition of {', '.join(unserved)} is fetched")
    return found


@pytest.mark.parametrize(("rule", "which", "number"), EXAMPLES)
async def test_an_example_in_a_cluster_is_judged_as_its_manifest(
    alone: ControlPlane,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    objects: list[Any],
    rule: ObjectRule,
    which: str,
    number: int,
) -> None:
    name = request.node.callspec.id
    found, _ = linted(tmp_path, examples(rule, which)[number], [rule])
    writer = Writer(alone.admin)
    with written(writer, objects) as refused:
        snapshot = await snapshot_of(alone, tmp_path, rule)
    if refused:
        assert which == "fails", refused
        assert REFUSED.get(name, "not expected") in refused
        return
    there = list(lint(declared(None, snapshot), [rule]))
    assert name not in REFUSED
    assert bool(failures(found) - failures(there)) == (name in OTHERWISE), failures(there)
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


def unknown(writer: Writer, item: Object) -> str | None:
    """Kind and version of an object, where they are not served."""
    try:
        writer.path({**item, "metadata": {"namespace": "any"}})
    except (KeyError, RefusedError):
        return f"{item['kind']} of {item['apiVersion']}"
    return None


@contextmanager
def written(writer: Writer, objects: Iterable[Any]) -> Iterator[str]:
    """Create the objects, and delete them in the end; or why one of them was refused."""
    with ExitStack() as stack:
        refused = ""
        for item in sorted(map(completed, objects), key=lambda each: each["kind"] in LAST):
            namespace = item["metadata"].setdefault("namespace", "default")
            ensure(writer, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
            try:
                if item["kind"] == "Namespace":
                    ensure(writer, item)
                else:
                    stack.callback(gone, writer, item)
                    writer.create(item)
            except RefusedError as error:
                refused = error.response.json()["message"]
                break
        yield refused


def ensure(writer: Writer, namespace: Object) -> None:
    """Namespaces stay: nobody is here who would let them go."""
    if not writer.client.get(f"/api/v1/namespaces/{namespace['metadata']['name']}").is_success:
        writer.create(namespace)


def gone(writer: Writer, item: Object) -> None:
    """Also where it was refused, or only its status was."""
    with suppress(RefusedError):
        writer.delete(item)


async def snapshot_of(plane: ControlPlane, directory: Path, rule: ObjectRule) -> Snapshot:
    kinds = [kind for kind in union((rule.subjects, rule.reads, (SECRET, CONFIG_MAP))) if kind != ANY]
    kubeconfig = plane.kubeconfig(directory / "kubeconfig", {"token": plane.tokens["admin"]})
    return await read(
        access(str(kubeconfig)),
        kinds,
        secrets=partial(referred, None, SECRET),
        config_maps=partial(referred, None, CONFIG_MAP),
        permitted={"lint", "secrets"},
    )


def failures(found: Iterable[Linted]) -> set[tuple[str, str]]:
    return {
        (each.finding.about or "", each.finding.message)
        for one in found
        for each in one.findings
        if each.finding.verdict == "fail"
    }
