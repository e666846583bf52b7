"""Words that rules of their own look at: where only the spelling is wrong, they too show the right line."""

from __future__ import annotations

from pathlib import Path

import pytest

from scanner.lint.openshift.route_fields import FIELDS
from scanner.lint.openshift.tls_profiles import TYPE
from scanner.model.object_rule import ObjectRule
from tests.lint.examples import linted
from tests.lint.fields.heads import HEADS

ROUTE = HEADS["Route"] + "spec: {to: {kind: Service, name: a}, tls: {%s}}"
PROFILE = HEADS["APIServer"] + "spec: {tlsSecurityProfile: {type: %s}}"
CASES = [
    (FIELDS, ROUTE % "termination: re-encrypt", "termination: reencrypt"),
    (FIELDS, ROUTE % "termination: PASSTHROUGH", "termination: passthrough"),
    (FIELDS, ROUTE % "termination: none", None),
    (
        FIELDS,
        ROUTE % "termination: edge, insecureEdgeTerminationPolicy: redirect",
        "insecureEdgeTerminationPolicy: Redirect",
    ),
    (FIELDS, ROUTE % "termination: edge, insecureEdgeTerminationPolicy: allow", None),
    (TYPE, PROFILE % "modern", "tlsSecurityProfile:\n  type: Modern\n  modern: {}"),
    (TYPE, PROFILE % "old", None),
    (TYPE, PROFILE % "sweet", None),
]


@pytest.mark.parametrize(("rule", "text", "correction"), CASES)
def test_the_right_line(tmp_path: Path, rule: ObjectRule, text: str, correction: str | None) -> None:
    (one,) = linted(tmp_path, text, [rule])[0]
    assert [(each.finding.severity, each.correction) for each in one.findings] == [("high", correction)]
