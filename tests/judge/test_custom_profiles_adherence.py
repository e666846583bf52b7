"""A tlsAdherence that nobody knows is a finding of the cluster, and judged as strict."""

from __future__ import annotations

from scanner.judge import SCAN_RULES
from scanner.judge.custom_profiles import UNKNOWN_ADHERENCE, adherence_findings
from scanner.model.expectation import UnknownAdherence

VALUE = UnknownAdherence(
    source="APIServer/cluster", field="spec.tlsAdherence", said="'Strct', unknown, which means S", known=("S", "L")
)


def test_it_is_low_and_a_violation_and_says_what_to_write() -> None:
    (finding,) = adherence_findings([VALUE])
    assert (finding.rule, finding.severity, finding.verdict, finding.status) == (
        "adherence-unknown",
        "low",
        "fail",
        "violation",
    )
    assert finding.about == "APIServer/cluster spec.tlsAdherence"
    assert finding.fix == "set APIServer/cluster spec.tlsAdherence to S or L"
    assert "'Strct'" in finding.observed[0]


def test_it_is_registered() -> None:
    assert UNKNOWN_ADHERENCE in SCAN_RULES


def test_where_nothing_is_unknown_nothing_is_found() -> None:
    assert list(adherence_findings([])) == []
