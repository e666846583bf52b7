"""OpenShift Templates: what their parameters say by default is judged, and what only their user knows is not seen."""

from __future__ import annotations

from pathlib import Path

import pytest

from scanner.cluster import manifest_documents
from scanner.cluster.lint_input import read_manifests
from scanner.cluster.manifest_documents import processed
from scanner.kube.kinds import GATEWAY, ROUTE
from scanner.kube.objects import Fields

PARAMETERS: list[object] = [
    {"name": "HOST", "value": "shop.example.com"},
    {"name": "PORT", "value": "8443"},
    {"name": "ON", "value": "true"},
    {"name": "EMPTY", "value": ""},
    {"name": "LIST", "value": "[1]"},
    {"name": "NAN", "value": "NaN"},
    {"name": "ASKED"},
    {"name": "MADE", "value": "x", "generate": "expression", "from": "[a-z]{8}"},
]
VALUES: list[tuple[object, object, tuple[str, ...]]] = [
    ("${HOST}", "shop.example.com", ()),
    ("a-${HOST}-${PORT}${EMPTY}", "a-shop.example.com-8443", ()),
    ("${PORT}", "8443", ()),
    ("${{PORT}}", 8443, ()),
    ("${{ON}}", True, ()),
    ("${{HOST}}", "shop.example.com", ()),
    ({"${HOST}": [1, None, "${PORT}"]}, {"shop.example.com": [1, None, "8443"]}, ()),
    ("${OTHER} $HOST ${", "${OTHER} $HOST ${", ()),
    ("${ASKED}.${ASKED}", "${ASKED}.${ASKED}", ("${ASKED}",)),
    ("${MADE}", "${MADE}", ("${MADE}",)),
    ("${{ASKED}}", "${{ASKED}}", ("${{ASKED}}",)),
    ("${{LIST}}", "[1]", ("[1]",)),
]


@pytest.mark.parametrize(("value", "filled", "unknown"), VALUES, ids=[str(each[0]) for each in VALUES])
def test_values_take_the_place_of_parameters(value: object, filled: object, unknown: tuple[str, ...]) -> None:
    (each,) = processed(Fields({"parameters": PARAMETERS, "objects": [value]}))
    assert (each.value, each.unknown) == (filled, unknown)
    assert type(each.value) is type(filled)


def test_what_is_missing_in_one_object_is_missing_in_no_other() -> None:
    raw = Fields({"parameters": PARAMETERS, "objects": ["${ASKED}", "${HOST}", 1, None]})
    assert [each.unknown for each in processed(raw)] == [("${ASKED}",), (), (), ()]


def test_a_template_that_multiplies_its_text_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifest_documents, "MOST", 100)
    raw = Fields({"parameters": [{"name": "A", "value": "a" * 40}], "objects": ["${A}" * 2, "${A}", "b"]})
    assert [each.unknown for each in processed(raw)] == [(), ("${A}",), ()]


TEMPLATE = """apiVersion: template.openshift.io/v1
kind: Template
metadata: {name: shop}
parameters:
- {name: HOST, value: shop.example.com}
- {name: NAME}
objects:
- apiVersion: route.openshift.io/v1
  kind: Route
  metadata: {name: a}
  spec: {host: "${HOST}"}
- apiVersion: route.openshift.io/v1
  kind: Route
  metadata: {name: "${NAME}"}
- {apiVersion: v1, kind: Pod, metadata: {name: "${NAME}"}}
- {apiVersion: route.openshift.io/v1, kind: Rute, metadata: {name: b}}
"""


def test_objects_of_a_template_are_looked_at_where_they_stand(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(TEMPLATE)
    found = read_manifests([str(file)], (ROUTE, GATEWAY))
    (each,) = found.objects
    assert each.object.text("spec", "host") == "shop.example.com"
    assert each.place(("spec", "host")) == (str(file), 11, 16)
    (skipped,) = found.skipped
    assert skipped.path == f"{file}:12:3"
    assert "${NAME}" in skipped.reason
    assert "oc process" in skipped.hint
    assert [wrong.place.line for wrong in found.misnamed] == [16]
    assert found.others == 1
