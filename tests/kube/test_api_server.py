"""Values of tlsAdherence, and their effects."""

from __future__ import annotations

import pytest

from scanner.assessment import Viewpoint, assess, cluster_row, surroundings
from scanner.kube.api_server import LEGACY, STRICT, read_adherence
from tests.expect import stories

VALUES: list[tuple[object, str, str]] = [
    (None, LEGACY, "not set"),
    ("", LEGACY, "not set"),
    ("LegacyAdheringComponentsOnly", LEGACY, "LegacyAdheringComponentsOnly"),
    ("StrictAllComponents", STRICT, "StrictAllComponents"),
    ("LegacyExternalAPIServerComponentsOnly", LEGACY, "an earlier spelling of LegacyAdheringComponentsOnly"),
    ("Legacy", LEGACY, "an earlier spelling"),
    ("Strict", STRICT, "an earlier spelling of StrictAllComponents"),
    ("strict", STRICT, "unknown, which means StrictAllComponents"),
    (7, STRICT, "unknown"),
    (["Legacy"], STRICT, "unknown"),
]


@pytest.mark.parametrize(("value", "means", "said"), VALUES)
def test_values(value: object, means: str, said: str) -> None:
    found = read_adherence(value, "APIServer/cluster", "spec.tlsAdherence")
    assert found.means == means
    assert found.strict is (means == STRICT)
    assert said in found.said
    assert any(each.startswith("warning: ") for each in found.remarks) is (said.startswith("unknown"))


def test_without_the_field_a_value_has_no_effect() -> None:
    found = read_adherence("StrictAllComponents", "APIServer/cluster", "spec.tlsAdherence", gate="off")
    assert (found.means, found.beat) == (LEGACY, "StrictAllComponents")
    assert "no such field" in read_adherence(None, "x", "y", pruned=True).said


def test_a_gate_of_which_nobody_knows_changes_nothing() -> None:
    assert read_adherence("StrictAllComponents", "x", "y", gate="unknown").means == STRICT


@pytest.mark.parametrize(
    ("story", "found"),
    [
        ("unknown-adherence", ["'StrictestOfAll', unknown, which means StrictAllComponents"]),
        ("modern-strict", []),
        ("earlier-spelling-legacy", []),
        # The field is pruned: a value in the object has no effect.
        ("gate-off", []),
        ("hypershift", []),
        ("unreadable-apiserver", []),
    ],
)
def test_unknown_values_of_a_cluster(story: str, found: list[str]) -> None:
    values = stories.load(story).expectations.unknown_adherences()
    assert [each.said for each in values] == found
    assert {each.known for each in values} <= {(STRICT, LEGACY)}


def test_the_report_says_what_stands_in_the_object() -> None:
    told = stories.load("unknown-adherence")
    looked_at = assess(told.snapshot, Viewpoint())
    assert cluster_row(looked_at)["adherence"] == (
        "spec.tlsAdherence 'StrictestOfAll', unknown, which means StrictAllComponents"
    )
    (finding,) = surroundings([looked_at]).findings
    assert finding.rule == "adherence-unknown"
