"""Expiry, which a listener's rule and that of stored certificates answer alike."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from scanner.model.held_certificate import Place
from scanner.pki.aging import RENEWAL
from tests.judge.cases import LEAF, NOW, case, finding
from tests.pki.subjects import classified, subject

HOUR = timedelta(hours=1)
DAY = 24 * HOUR
NODE = "CN=system:node:a,O=system:nodes"
WEB = "CN=web,O=system:nodes-imitated"


@pytest.mark.parametrize(
    ("life", "left", "name", "severity"),
    [
        (365 * DAY, 31 * DAY, WEB, None),
        (365 * DAY, 29 * DAY, WEB, "low"),
        (365 * DAY, 13 * DAY, WEB, "medium"),
        (365 * DAY, 20 * HOUR, WEB, "high"),
        (30 * DAY, 7 * DAY, WEB, None),
        (30 * DAY, 5 * DAY, WEB, "medium"),
        (30 * DAY, 20 * HOUR, WEB, "high"),
        (160 * HOUR, 80 * HOUR, WEB, None),  # an ACME certificate of six days, half-way
        (160 * HOUR, 20 * HOUR, WEB, "high"),
        (DAY, 12 * HOUR, WEB, None),
        (DAY, 4 * HOUR, WEB, "high"),
        (30 * DAY, 5 * DAY, NODE, None),  # kubelets may wait until three days are left
        (30 * DAY, 20 * HOUR, NODE, "high"),
        (DAY, 4 * HOUR, NODE, None),
        (DAY, 2 * HOUR, NODE, "high"),
        (365 * DAY, 29 * DAY, NODE, "low"),
    ],
)
def test_a_served_and_a_stored_certificate_are_graded_alike(
    life: timedelta, left: timedelta, name: str, severity: str | None
) -> None:
    facts = replace(LEAF, subject=name, not_before=NOW + left - life, not_after=NOW + left)
    served = finding("cert-expiring", case(observation={"chain": (facts,)}))
    assert (served.severity if served.verdict == "fail" else None) == severity
    origin, place = classified(governed=False, why="a file"), Place(role="leaf", file="web.pem")
    stored = list(RENEWAL.check(RENEWAL, replace(subject(facts, told=origin, place=place), now=NOW)))
    assert [each.severity for each in stored] == ([severity] if severity else [])
    if severity:
        when = served.message.removeprefix("certificate ")
        assert when.startswith("expires in ")
        assert when in stored[0].message
