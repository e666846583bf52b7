"""Values of TLS fields, one by one in a real API server under the real definitions: what it refuses lint refuses, and
what it takes lint does not call refused."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest

from scanner.kube.objects import KubeObject
from scanner.kube.schema import Record
from scanner.lint import RULES
from scanner.lint.fields.schemas import KINDS, shape_of
from tests.e2e.control_plane import ControlPlane
from tests.e2e.field_bases import BASES
from tests.e2e.field_changes import Change, changes
from tests.e2e.writing import Object, RefusedError, Writer
from tests.lint.examples import linted

SAYING: Final = {"field-type", "field-value"}
"""They say that the API server refuses the object."""
TELLING: Final = SAYING | {
    "adherence-value", "backend-tls-target", "backend-tls-validation", "contour-delegation-secret",
    "contour-delegation-target", "contour-ingress-slash", "gateway-client-ca", "gateway-listener-conflict",
    "gateway-listener-refused", "gateway-listener-tls", "gateway-port-unused", "gateway-route-attachment",
    "monitor-scheme", "monitor-tls", "probe-scheme", "route-fields", "tls-profile-custom", "tls-profile-type",
    "webhook-target",
}  # fmt: skip
"""Others that do, each of a few fields."""
OTHERWISE: Final[Mapping[str, str]] = {
    "HostedCluster spec = {}": "what a cluster is made of is no matter of TLS",
    "Route spec.host = ''": "openshift-apiserver makes a host of it",
    "Route spec.host = 'Web.Shop.example'": "library-go takes no upper case",
    "Route spec.subdomain = ''": "openshift-apiserver takes it for none",
    "Route spec.subdomain = 'Web.Shop.example'": "library-go takes no upper case",
    "Route spec.path = ''": "library-go takes it for none",
    "Route spec.tls = {}": "openshift-apiserver makes edge of it",
    "Route spec.tls.termination = (gone)": "the same",
    "Route spec.tls.termination = ''": "the same",
    "Route spec.tls.termination = None": "the same",
}
"""What only the definition refuses or takes, by which MicroShift serves Routes; in OpenShift Go code does."""


@pytest.fixture(scope="module", autouse=True)
def _namespaces(cluster: ControlPlane, writer: Writer) -> None:
    for name in ("shop", "openshift-ingress-operator"):
        if not writer.client.get(f"/api/v1/namespaces/{name}").is_success:
            writer.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})


def shape_for(item: Object) -> Record:
    group = item["apiVersion"].rpartition("/")[0]
    (kind,) = [each for each in KINDS if (each.group, each.name) == (group, item["kind"])]
    return shape_of(KubeObject(item, kind))


@pytest.mark.parametrize("base", BASES, ids=lambda item: f"{item['kind']}-{item['apiVersion']}")
def test_what_is_refused_fails_and_nothing_else(writer: Writer, tmp_path: Path, base: Object) -> None:
    assert refusal(writer, base) == ""
    before, tried, found = failing(tmp_path, base), 0, {}
    assert not {rule for rule, _, _ in before} & SAYING
    for tried, change in enumerate(changes(base, shape_for(base)), 1):  # noqa: B007 - the last one is how many
        if problem := disagreement(writer, tmp_path, change, base, before):
            found[f"{base['kind']} {change}"] = problem
    assert found.keys() == {name for name in OTHERWISE if name.startswith(f"{base['kind']} ")}, found
    assert tried > 20


def disagreement(
    writer: Writer, directory: Path, change: Change, base: Object, before: set[tuple[str, str, str]]
) -> str | None:
    item = change.made(base)
    refused, more = refusal(writer, item), failing(directory, item) - before
    if refused and not {rule for rule, _, _ in more} & TELLING:
        return f"lint does not say: {refused}"
    wrong = [text for rule, severity, text in more if rule in SAYING and severity == "high"]
    return f"the API server takes what lint says of: {wrong}" if wrong and not refused else None


def refusal(writer: Writer, item: Object) -> str:
    """Why the API server does not take it; empty where it does."""
    try:
        writer.create(item, dry_run=True)
    except RefusedError as error:
        there = error.response.json().get("reason") == "AlreadyExists"  # which is looked at last
        return "" if there else error.response.text
    return ""


def failing(directory: Path, item: Object) -> set[tuple[str, str, str]]:
    """Rule, severity, and where and what it says."""
    found, given = linted(directory, json.dumps(item), RULES)
    assert not given.bad
    return {
        (each.finding.rule, each.finding.severity, f"{each.field}: {each.finding.message}")
        for one in found
        for each in one.findings
        if each.finding.verdict == "fail"
    }


def test_every_kind_has_a_base() -> None:
    assert {(each["apiVersion"].rpartition("/")[0], each["kind"]) for each in BASES} == {
        (kind.group, kind.name) for kind in KINDS
    }
