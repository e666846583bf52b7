"""What definitions refuse by rules in CEL, lint refuses too: every rule of every kind with TLS parts, one by one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from scanner.cluster.lint_input import read_manifests
from scanner.kube.kinds import API_SERVER, PKI
from scanner.kube.objects import KubeObject
from scanner.kube.snapshot import Origin, Snapshot
from scanner.lint.fields.schemas import KINDS as LINTED
from scanner.linting import LINT_READS, declared, lint_report
from tests.e2e.cel_cases import NO_TLS, VIOLATIONS, violating
from tests.e2e.control_plane import ControlPlane
from tests.e2e.field_bases import BASES
from tests.e2e.writing import Object, RefusedError, Writer

CASES = [pytest.param(kind, said, id=f"{kind} {said}"[:120]) for kind, every in VIOLATIONS.items() for said in every]
KINDS = {(each.group, each.name) for each in (*LINTED, PKI)}


def rules(schema: Any, way: str = "") -> Iterator[tuple[str, str]]:  # noqa: ANN401 - JSON
    """Every rule of a definition's specification: the way to it, and what it says."""
    for each in schema.get("x-kubernetes-validations", ()):
        yield way, each.get("message") or each["rule"]
    for name, inner in schema.get("properties", {}).items():
        if (way, name) != ("", "status"):  # controllers write it
            yield from rules(inner, f"{way}.{name}".strip("."))
    for name, mark in (("items", "[]"), ("additionalProperties", "{}")):
        if isinstance(schema.get(name), dict):
            yield from rules(schema[name], f"{way}{mark}")


def test_every_rule_has_its_case(definitions: list[Object]) -> None:
    found: dict[str, set[str]] = {}
    for spec in (each["spec"] for each in definitions):
        if (spec["group"], kind := spec["names"]["kind"]) in KINDS:
            for version in spec["versions"]:
                told = rules(version["schema"]["openAPIV3Schema"])
                found.setdefault(kind, set()).update(f"{way}: {said}".removeprefix(": ") for way, said in told)
    others = {f"{kind} {each}" for kind, several in found.items() for each in several - VIOLATIONS.get(kind, {}).keys()}
    assert {each for each in others if not each.startswith(tuple(NO_TLS))} == set()
    assert [start for start in NO_TLS if not any(each.startswith(start) for each in others)] == []
    gone = {kind: every.keys() - found[kind] for kind, every in VIOLATIONS.items()}
    assert {kind: each for kind, each in gone.items() if each} == {}


@pytest.mark.parametrize(("kind", "said"), CASES)
def test_what_a_rule_refuses_lint_refuses(
    cluster: ControlPlane, writer: Writer, tmp_path: Path, kind: str, said: str
) -> None:
    violation = VIOLATIONS[kind][said]
    item, words = violating(kind, violation), said.partition(": ")[2] or said
    with pytest.raises(RefusedError) as error:
        writer.create(item, dry_run=True)
    if "in body should match" not in str(error.value):  # which is looked at before
        assert words in json.loads(error.value.response.text)["message"]
    messages = [text for rule, text in linted(tmp_path, item) if rule == violation.rule]
    assert any((violation.words or words) in each for each in messages), messages


def test_what_may_not_be_removed(cluster: ControlPlane, writer: Writer, tmp_path: Path) -> None:
    """The rule that compares with what was there before."""
    (base,) = [each for each in BASES if each["kind"] == "APIServer"]
    there = {**base, "metadata": {"name": "another"}}
    created = writer.create(there)
    try:
        without = {**created, "spec": {name: each for name, each in created["spec"].items() if name != "tlsAdherence"}}
        answer = writer.client.put(f"{writer.path(there)}/another", json=without)
        assert (answer.status_code, "tlsAdherence may not be removed once set" in answer.text) == (422, True)
    finally:
        writer.delete(there)
    known = Snapshot(
        taken_at=datetime.now(UTC),
        origin=Origin(name="before"),
        objects={API_SERVER: (KubeObject(created, API_SERVER),)},
    )
    assert "adherence-removed" in {rule for rule, _ in linted(tmp_path, without, known)}
    assert "adherence-removed" not in {rule for rule, _ in linted(tmp_path, created, known)}


def linted(directory: Path, item: Object, known: Snapshot | None = None) -> list[tuple[str, str]]:
    """Rule and message of all that fails."""
    file = directory / "item.json"
    file.write_text(json.dumps(item))
    given = read_manifests([str(file)], LINT_READS)
    report = lint_report(declared(given, known), given, started=datetime.now(UTC), sources=(), arguments=())
    return [(each["rule"], each["message"]) for each in report.every() if each["verdict"] == "fail"]
