"""Which certificates come first, and in which words."""

from __future__ import annotations

from datetime import timedelta
from typing import get_args

import pytest

from scanner.model.finding import OUTCOMES, Status
from scanner.model.inventory import NOT_JUDGED, EndsRow, certificate_report
from scanner.report import certificates
from tests.report import certificate_samples as samples

KNOWN = certificate_report(samples.rows, [], samples.NOW)


def test_what_violates_comes_first_then_what_is_not_known_then_what_is_to_come() -> None:
    order = [row["status"] for row in certificates.first(samples.rows(), 100)]
    assert order[:5] == [
        "violation", "needs-forced-rotation", "not-tested", "pending-rotation", "not-implemented",
    ]  # fmt: skip
    rest = certificates.first(samples.rows(), 100)[5:]
    assert [certificates.expiry(row) for row in rest] == sorted(certificates.expiry(row) for row in rest)


def test_only_the_first_are_held() -> None:
    found = certificates.first(samples.many(5000), 60)
    assert [row["status"] for row in found] == ["violation"] * 50 + ["ok"] * 10


def test_what_ends_soon() -> None:
    soon = certificates.expiring(samples.rows(), samples.NOW, 3)
    assert [row["subject"] for row in soon] == [
        "CN=old.example",
        "CN=shop.example,O=Shop",
        "CN=kube-apiserver-lb-server",
    ]
    assert len(certificates.expiring(samples.rows(), samples.NOW, 100)) == 7
    assert certificates.expiring(samples.rows(), samples.NOW - timedelta(days=400), 100) == []
    assert certificates.expiring(samples.rows(), None, 100) == []


def test_an_end_that_cannot_be_read_sorts_last() -> None:
    row = next(samples.rows())
    row["not_after"] = None
    assert certificates.expiry(row) == float("inf")
    assert certificates.expiring([row], samples.NOW, 9) == []


@pytest.mark.parametrize(
    ("status", "outcome"),
    [("violation", "fail"), ("needs-forced-rotation", "fail"), ("pending-rotation", "deviates"),
     ("not-implemented", "deviates"), ("not-tested", "inconclusive"), ("ok", "pass"), ("informational", "pass"),
     ("not-required", "not_applicable"), ("not-governed", "not_applicable"), ("unattributed", "not_applicable")],
)  # fmt: skip
def test_each_looks_like_what_it_is(status: str, outcome: str) -> None:
    (row, *_) = (row for row in samples.rows() if row["status"] == status)
    assert certificates.outcome(row) == certificates.STATUSES[status][1] == outcome
    assert outcome in OUTCOMES


def test_words_for_every_status_that_there_can_be() -> None:
    assert set(certificates.STATUSES) <= {*get_args(Status), *NOT_JUDGED}
    assert set(NOT_JUDGED) <= set(certificates.STATUSES)
    assert certificates.words("version-skew") == "version-skew"
    assert next(status for status, _ in certificates.statuses(KNOWN.summary)) == "violation"


@pytest.mark.parametrize(
    ("start", "end", "name"),
    [(None, 0, "expired"), (0, 7, "1 week"), (7, 30, "1 month"), (30, 90, "3 months"), (180, 365, "1 year"),
     (365, 730, "2 years"), (3650, None, "later"), (0, 8, "8 days")],
)  # fmt: skip
def test_steps_of_time(start: int | None, end: int | None, name: str) -> None:
    assert certificates.step_name(EndsRow(from_days=start, to_days=end, categories={})) == name


def test_what_people_call_it() -> None:
    row = next(samples.rows())
    assert certificates.name(row) == "etcd-signer"
    row["names"] = []
    assert certificates.name(row) == "CN=etcd-signer"
    row["subject"] = None
    assert certificates.name(row).startswith("SHA-256 657463")


def test_the_table_of_keys_begins_with_the_most_frequent() -> None:
    found = certificates.by_key(KNOWN.summary["keys"])
    assert next(iter(found.items())) == ("RSA 2048", {"signer": 3, "serving": 3})
    assert certificates.used_categories(KNOWN.summary) == ["signer", "serving", "client", "peer"]
