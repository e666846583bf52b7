"""A policy file that decides about metrics and webhooks."""

from __future__ import annotations

import pytest

from scanner.judge import judge
from scanner.model.expectation import Because
from scanner.model.observation import Reach
from tests.judge.cases import BECAUSE_OBJECT, case, finding, findings

OVERRIDE = Because(source="adhere.yaml:7:5", field="overrides", said="old: its clients are old", decides=True)


@pytest.mark.parametrize(
    ("role", "what"),
    [("metrics", "a metrics listener"), ("webhook", "a webhook listener"), ("api", "an aggregated API")],
)
def test_an_override_there_is_a_finding_justified_or_not(role: str, what: str) -> None:
    told = case(expectation={"overridden": role, "because": (BECAUSE_OBJECT, OVERRIDE)})
    found = finding("policy-override", told)
    assert (found.verdict, found.status, found.severity) == ("fail", "violation", "low")
    assert found.message == f"the policy file overrides the cluster's profile for {what}"
    assert found.observed == ("adhere.yaml:7:5: old: its clients are old",)
    assert found.fix == f"exclude {what} from the override at adhere.yaml:7:5"
    assert judge(told).verdict == "fail"


@pytest.mark.parametrize("reach", [Reach.PLAINTEXT, Reach.CLOSED])
def test_what_speaks_no_tls_has_no_profile_to_deviate_from(reach: Reach) -> None:
    told = case(expectation={"overridden": "metrics", "because": (OVERRIDE,)}, observation={"reach": reach})
    assert findings("policy-override", told) == []


def test_without_one_nothing_is_said() -> None:
    assert findings("policy-override", case()) == []
