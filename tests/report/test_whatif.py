"""Two judgements compared: what would fail, what would pass, and what nobody could tell any more."""

from __future__ import annotations

import json
from collections.abc import Iterable
from copy import deepcopy
from io import StringIO
from typing import Literal

import pytest

from scanner.model.report import EndpointRow, FindingRow
from scanner.report import whatif
from scanner.report.rows import finding_row
from scanner.report.whatif import Comparison, Outlook, compare, outcome
from tests.report import cluster_samples
from tests.report.golden import assert_golden
from tests.report.samples import HOSTILE, finding
from tests.schemas import errors, schema

BEFORE = list(cluster_samples.rows())


def _judged(row: EndpointRow, verdict: str, status: str) -> EndpointRow:
    changed = deepcopy(row)
    changed["verdict"], changed["status"] = verdict, status
    said = finding("tls-version", "high", verdict, f"would be {verdict}", status=status)  # type: ignore[arg-type]
    changed["findings"] = [finding_row(said)]
    return changed


def _modern(rows: Iterable[EndpointRow]) -> list[EndpointRow]:
    """As if Modern were owed by everybody: etcd fails, users are bound, the router is known to be fine."""
    outcomes = {"etcd": ("fail", "violation"), "web": ("fail", "violation"), "router-default": ("pass", "ok"),
                "db": ("pass", "ok"), "lokistack-gateway": ("inconclusive", "not-tested")}  # fmt: skip
    return [_judged(row, *outcomes[row["owner"]["name"]]) if row["owner"]["name"] in outcomes else row for row in rows]


AFTER = _modern(BEFORE)


def _text(comparison: Comparison) -> str:
    out = StringIO()
    whatif.write_text(comparison, out, title="profile modern, adherence StrictAllComponents", width=110)
    return out.getvalue()


def test_nothing_changes_where_nothing_is_different() -> None:
    told = compare(BEFORE, BEFORE)
    assert (told.changes, told.unchanged, told.before) == ((), len(BEFORE), told.after)


def test_what_begins_to_bind_newly_fails() -> None:
    """Readiness is no failure; the same deviation under an adherence that binds is one."""
    (web,) = [one for one in compare(BEFORE, AFTER).changed("fails") if one.before == "excused"]
    assert (web.id, web.count) == ("Deployment/shop/web:8443", 7)
    assert len(web.instances) == 5


@pytest.mark.parametrize(
    ("verdict", "status", "expected"),
    [
        ("fail", "violation", "fails"),
        ("fail", "not-tls", "fails"),
        ("fail", "readiness", "excused"),
        ("fail", "waived", "excused"),
        ("fail", "converging", "excused"),
        ("pass", "ok", "passes"),
        ("inconclusive", "readiness", "inconclusive"),
        ("not_applicable", "not-tls", "not_applicable"),
    ],
)
def test_outcomes(verdict: str, status: str, expected: str) -> None:
    assert outcome(_judged(BEFORE[0], verdict, status)) == expected


def test_every_direction_is_grouped_by_component_and_owner() -> None:
    told = compare(BEFORE, AFTER)
    assert [(one.after, one.component, one.owner["name"], one.before, one.count) for one in told.changes] == [
        ("fails", "etcd", "etcd", "passes", 3),
        ("fails", None, "web", "excused", 7),
        ("fails", None, "web", "not_applicable", 1),
        ("inconclusive", None, "lokistack-gateway", "passes", 1),
        ("passes", "router", "router-default", "fails", 1),
        ("passes", None, "db", "inconclusive", 1),
    ]
    assert sum(one.count for one in told.changes) + told.unchanged == len(BEFORE)


def test_replicas_that_would_differ_are_told_apart() -> None:
    after = deepcopy(AFTER)
    after[0]["findings"][0]["observed"] = ["SSLv3"]
    assert [one.count for one in compare(BEFORE, after).changed("fails")][:2] == [1, 2]


def test_endpoints_that_only_one_side_has_are_counted() -> None:
    told = compare(BEFORE[1:], AFTER[:-2])
    assert (told.only_before, told.only_after) == (2, 1)
    assert not [one for one in told.changes if one.count == 0]
    assert "only in the second judgement: 1" in _text(told)


def _said(rule: str, verdict: str, about: str, severity: str = "high", **more: object) -> FindingRow:
    return finding_row(finding(rule, severity, verdict, "said", about=about, **more))  # type: ignore[arg-type]


def test_findings_on_no_endpoint_are_compared_by_rule_and_what_they_are_about() -> None:
    before = [_said("replicas-differ", "fail", "a"), _said("require-endpoints", "pass", "require")]
    after = [_said("replicas-differ", "fail", "b"), _said("require-endpoints", "inconclusive", "require")]
    told = compare(BEFORE, BEFORE).with_findings(before, after)
    assert [one["about"] for one in told.failing] == ["b"]
    assert [one["rule"] for one in told.undecided] == ["require-endpoints"]
    assert [one["about"] for one in told.mended] == ["a"]
    assert (told.breaks, told.loses) == (True, True)
    sums = "cluster-wide: 1 would newly fail, 1 could no longer be determined, 1 would be gone"
    assert sums in _text(told), "else the sum says that nothing changed, and the exit code that something did"


def test_what_informs_or_breaks_nothing_does_not_decide() -> None:
    after = [
        _said("profile-custom", "fail", "APIServer/cluster", status="informational"),
        _said("replicas-differ", "fail", "a", status="readiness"),
        _said("waiver-unused", "inconclusive", "adhere.yaml:1:1", severity="info"),
    ]
    told = compare(BEFORE, BEFORE).with_findings([], after)
    assert (told.breaks, told.loses) == (False, False)


def test_a_waiver_is_the_same_where_its_file_was_moved() -> None:
    said = "ops until 2026-12-31: next release"
    before = [_said("waiver-unused", "fail", "adhere.yaml:4:5", evidence=(f"{said} (adhere.yaml:4:5)",))]
    moved = [_said("waiver-unused", "fail", "kept/policy.yaml:9:5", evidence=(f"{said} (kept/policy.yaml:9:5)",))]
    told = compare(BEFORE, BEFORE).with_findings(before, moved)
    assert (told.failing, told.mended) == ((), ())


def test_nothing_new_is_said_in_so_many_words() -> None:
    assert "nothing would newly fail or pass" in _text(compare(BEFORE, BEFORE))
    assert "nothing would newly fail or pass" not in _text(compare(BEFORE, AFTER))


def test_golden() -> None:
    assert_golden("whatif.txt", _text(compare(BEFORE, AFTER)))


def test_the_json_is_what_its_schema_says() -> None:
    out = StringIO()
    whatif.write_json(compare(BEFORE, AFTER), out, assumed={"profile": "modern"})
    document = json.loads(out.getvalue())
    assert errors(document, "whatif-v1") == []
    assert list(document) == list(schema("whatif-v1")["properties"])
    assert document["after"]["fails"] == compare(BEFORE, AFTER).after["fails"]
    assert len(out.getvalue().splitlines()) == 13 + len(document["changes"]) + 3


def test_hostile_text_stays_text() -> None:
    after = deepcopy(BEFORE)
    after[-1] = _judged(after[-1], "fail", "violation")
    after[-1]["expected"]["because"] = [HOSTILE]
    told = _text(compare(BEFORE, after))
    assert "\x1b" not in told
    assert "::error" not in told
    assert "<script>" in told


APISERVER = "APIServer/cluster spec.tlsSecurityProfile"


def _outlooks(kind: Literal["follows", "cannot", "does-not-follow"]) -> Comparison:
    outlook = Outlook(kind=kind, source=APISERVER, why="because of it")
    etcd = {row["instance"] for row in AFTER if row["owner"]["name"] == "etcd"}
    return compare(BEFORE, AFTER, dict.fromkeys(etcd, outlook).get)


def test_what_takes_the_profile_from_an_object_follows_and_does_not_fail() -> None:
    plain, told = compare(BEFORE, AFTER), _outlooks("follows")
    (change,) = told.changed("follows")
    assert (change.component, change.after) == ("etcd", "follows")
    assert told.after["fails"] == plain.after["fails"] - change.count
    text = _text(told)
    assert "WOULD BE RECONFIGURED BY ITS OPERATOR  (" in text
    assert f"because of it (from {APISERVER})" in text


@pytest.mark.parametrize("kind", ["cannot", "does-not-follow"])
def test_what_cannot_or_does_not_follow_fails_with_the_reason(kind: Literal["cannot", "does-not-follow"]) -> None:
    told = _outlooks(kind)
    assert told.after == compare(BEFORE, AFTER).after
    assert f"because of it (from {APISERVER})" in _text(told)
