"""Values of tlsAdherence, and what they amount to."""

from __future__ import annotations

import pytest

from scanner.expect.adherence import LEGACY, STRICT, read

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
    found = read(value, "APIServer/cluster", "spec.tlsAdherence")
    assert found.means == means
    assert found.strict is (means == STRICT)
    assert said in found.said
    assert any(each.startswith("warning: ") for each in found.remarks) is (said.startswith("unknown"))


def test_without_the_field_a_value_has_no_effect() -> None:
    found = read("StrictAllComponents", "APIServer/cluster", "spec.tlsAdherence", gate="off")
    assert (found.means, found.beat) == (LEGACY, "StrictAllComponents")
    assert "no such field" in read(None, "x", "y", pruned=True).said


def test_a_gate_of_which_nobody_knows_changes_nothing() -> None:
    assert read("StrictAllComponents", "x", "y", gate="unknown").means == STRICT
