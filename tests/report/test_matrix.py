"""The matrix of components: what an endpoint accepts, what its requirement forbids, and what is unknown."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from itertools import starmap

import pytest

from scanner.model.report import EndpointRow
from scanner.report.formats.matrix import COLUMNS, EXPIRED, EXPIRING, PLAINTEXT, POST_QUANTUM, WEAK, Matrix, traits
from scanner.report.rows import endpoint_row
from scanner.values import replace
from tests.report import cluster_samples, samples


def _row(name: str) -> EndpointRow:
    return next(row for row in starmap(endpoint_row, samples.parts()) if row["id"].startswith(name))


def test_what_the_requirement_forbids_fails() -> None:
    found = traits(_row("legacy"), samples.NOW)
    assert (found["TLS 1.0"], found["TLS 1.2"], found[WEAK]) == ("fail", "yes", "fail")
    assert found.keys() == set(COLUMNS)


def test_what_is_not_counted_differs() -> None:
    row = _row("legacy")
    for each in row["findings"]:
        each["status"] = "readiness"
    found = traits(row, samples.NOW)
    assert (found["TLS 1.0"], found[WEAK]) == ("deviates", "deviates")


@pytest.mark.parametrize("name", ["closed", "silent"])
def test_what_could_not_be_determined_is_unknown(name: str) -> None:
    found = traits(_row(name), samples.NOW)
    assert {state for column, state in found.items() if column != PLAINTEXT} == {"unknown"}


def test_an_endpoint_without_tls_accepts_nothing() -> None:
    row = _row("legacy")
    row["verdict"], row["reach"] = "not_applicable", "plaintext"
    row["observed"]["versions"] = row["observed"]["chain"] = None
    found = traits(row, samples.NOW)
    assert found.pop(PLAINTEXT) == "yes"
    assert set(found.values()) == {"no"}


def test_weak_suites_are_unknown_until_each_was_refused() -> None:
    row = _row("intermediate")
    version = (row["observed"]["versions"] or {})["TLSv1.2"]
    assert version is not None
    for other in ("SSLv3", "TLSv1", "TLSv1.1"):
        assert (row["observed"]["versions"] or {})[other] is not None
    assert traits(row, samples.NOW)[WEAK] == "no"
    version["enumerated"] = False
    assert traits(row, samples.NOW)[WEAK] == "unknown"


@pytest.mark.parametrize(
    ("days", "expired", "expiring"), [(-1, "yes", "no"), (29, "no", "yes"), (31, "no", "no")]
)  # fmt: skip
def test_expiry_is_that_of_the_leaf(days: int, expired: str, expiring: str) -> None:
    endpoint, owed, seen, verdict, status, findings = next(iter(samples.parts()))
    leaf = replace(samples.certificate("x"), not_after=samples.NOW + timedelta(days=days))
    found = traits(endpoint_row(endpoint, owed, replace(seen, chain=(leaf,)), verdict, status, findings), samples.NOW)
    assert (found[EXPIRED], found[EXPIRING]) == (expired, expiring)


def test_post_quantum_follows_its_finding() -> None:
    row = _row("intermediate")
    (base, *_) = row["findings"]
    required = ["TLSv1.3 with X25519MLKEM768 or another group with ML-KEM"]
    answers: tuple[tuple[str, list[str], list[str], str], ...] = (
        ("pass", [], ["X25519MLKEM768"], "yes"),
        ("pass", [], [], "no"),
        ("inconclusive", [], [], "unknown"),
        ("pass", required, [], "yes"),
        ("fail", required, ["TLSv1.3 is refused"], "no"),
    )
    for verdict, expected, observed, state in answers:
        finding = {**base, "rule": "tls-pq-readiness", "verdict": verdict}
        row["findings"] = [{**finding, "expected": expected, "observed": observed}]  # type: ignore[typeddict-item]
        assert traits(row, samples.NOW)[POST_QUANTUM] == state


def test_every_endpoint_is_counted_once_in_each_column() -> None:
    matrix = Matrix(now=samples.NOW)
    rows = list(matrix.watch(cluster_samples.rows()))
    assert {cell.total() for cell in matrix.total.values()} == {len(rows)}
    for column in COLUMNS:
        assert sum((cells[column] for cells in matrix.components.values()), start=Counter()) == matrix.total[column]
    assert matrix.lines(100)[0][0] == "dns", "the component with most that is forbidden"
    assert "SSL 2" not in matrix.columns
