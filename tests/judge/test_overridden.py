"""A policy file that decides about metrics and webhooks."""

from __future__ import annotations

import pytest

from scanner.judge import judge
from scanner.model.expectation import Because
from tests.judge.cases import BECAUSE_OBJECT, case, finding, findings

OVERRIDE = Because(source="adhere.yaml:7:5", field="overrides", said="old: its clients are old", decides=True)


@pytest.mark.parametrize("role", ["metrics", "webhook"])
def test_an_override_there_is_a_finding_justified_or_not(role: str) -> None:
    told = case(expectation={"overridden": role, "because": (BECAUSE_OBJECT, OVERRIDE)})
    found = finding("policy-override", told)
    assert (found.verdict, found.status, found.severity) == ("fail", "violation", "low")
    assert role in found.message
    assert found.observed == ("adhere.yaml:7:5: old: its clients are old",)
    assert found.fix == f"leave {role} listeners out of the override at adhere.yaml:7:5"
    assert judge(told).verdict == "fail"


def test_without_one_nothing_is_said() -> None:
    assert findings("policy-override", case()) == []
