"""Reports that every format writes."""

from __future__ import annotations

from typing import Any

from scanner.model.lint_report import LintReport
from scanner.model.report import EndpointRow, Report
from scanner.report.rows import endpoint_row
from scanner.values import replace
from tests.report import cluster_samples, lint_samples, samples
from tests.report.samples import finding

REPORTS: dict[str, Report | LintReport] = {
    "targets": samples.report(findings=(finding("profile-custom", "low", "fail", "of an object"),)),
    "cluster": cluster_samples.report(),
    "nothing": samples.report([]),
    "lint": lint_samples.every(),
    "hostile manifests": lint_samples.hostile(),
}


def row(name: str, *found: Any, verdict: str = "fail", number: int = 0) -> EndpointRow:  # noqa: ANN401 - findings
    endpoint, *rest = next(samples.parts())
    moved = replace(endpoint, id=name, instance=f"{name}@{number}", address=f"10.0.0.{number}")
    return endpoint_row(moved, rest[0], rest[1], verdict, "violation", found)  # type: ignore[arg-type]
