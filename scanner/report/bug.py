"""Write a bug report in Markdown about a component that does not follow its TLS profile.

Texts of servers and objects are only in code spans and fenced blocks (CommonMark 0.31, sections 6.1 and 4.5): there
they cannot become a link, mention, image or HTML, and end only with as many backticks as they began with.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from msgspec import Struct

from scanner import __version__
from scanner.kube.cluster_facts import ClusterFacts
from scanner.model.diagnosis import Diagnosis
from scanner.model.endpoint import host_port
from scanner.model.row import EndpointRow, FindingRow
from scanner.report.diagnosis import WORDS
from scanner.report.escape import plain
from scanner.report.rows import VERSIONS
from scanner.tls.names import version_name

_TICKS = re.compile("`+")


def code(text: str, limit: int | None = 300) -> str:
    """Return ``text`` as a code span, cut to ``limit`` characters."""
    shown = plain(text, limit)
    if not shown.strip():
        return "(empty)"
    ticks = "`" * (_longest(shown) + 1)
    space = " " if shown.startswith(("`", " ")) or shown.endswith(("`", " ")) else ""
    return f"{ticks}{space}{shown}{space}{ticks}"


def block(lines: Iterable[str], language: str = "") -> list[str]:
    """Return lines as a fenced block."""
    shown = [plain(line, 2000) for line in lines]
    fence = "`" * max(3, max((_longest(line) for line in shown), default=0) + 1)
    return [f"{fence}{language}", *shown, fence]


def _longest(text: str) -> int:
    return max((len(run) for run in _TICKS.findall(text)), default=0)


_REPLICAS = 5
_ITEMS = 12
_ATTEMPTS = 12


class Bug(Struct, frozen=True, kw_only=True):
    """A listener that does not follow its profile."""

    cluster: ClusterFacts
    diagnosis: Diagnosis
    rows: Sequence[EndpointRow]
    """Failing addresses of the listener, at least one."""
    at: datetime
    """Time of the first observation."""


def bug_report(bug: Bug) -> Iterator[str]:
    """Yield the report as lines of Markdown. Each text of the cluster or a server is in a code span or block."""
    yield f"# {code(bug.diagnosis.component)} does not follow the required TLS profile"
    yield ""
    yield from _head(bug)
    yield from ("", "## Expected, and the objects that set it", "")
    yield from _expected(bug.rows[0])
    yield from ("", "## Observed", "")
    for row in bug.rows[:_REPLICAS]:
        yield from _observed(row)
    if len(bug.rows) > _REPLICAS:
        yield from (f"{len(bug.rows) - _REPLICAS} more addresses have the same result.", "")
    yield from ("## Reproduce", "")
    yield from block(_commands(bug.rows), "sh")
    yield from ("", "## Where the configuration stopped", "")
    yield from _steps(bug.diagnosis)


def _head(bug: Bug) -> Iterator[str]:
    cluster, row, operator = bug.cluster, bug.rows[0], bug.diagnosis.operator
    facts = filter(None, (cluster.platform and f"platform {cluster.platform}", cluster.topology))
    yield f"* Release: {code(f'{cluster.distribution} {cluster.version}')} ({code(', '.join(facts))})"
    yield f"* Component: {code(bug.diagnosis.component)}" + (f", ClusterOperator {code(operator)}" if operator else "")
    yield f"* Listener: {code(row['id'])}"
    yield f"* Adherence: {code(row['expected']['adherence'] or 'not set')}, binding {code(row['binding'])}"
    if row["expected"]["adherence"] == "StrictAllComponents":
        yield "* Under strict adherence every component of the platform must follow its profile"
    yield f"* Observed at {bug.at:%Y-%m-%d %H:%M} UTC by adhere {__version__}, without credentials"


def _expected(row: EndpointRow) -> Iterator[str]:
    expected = row["expected"]
    minimum = code(expected["min_version"] or "any version")
    yield f"{code(expected['profile'] or 'unknown')}: {minimum} or later, with these suites only:"
    yield ""
    yield from block(expected["suites"])
    yield ""
    for number, step in enumerate(expected["because"], start=1):
        yield f"{number}. {code(step, 500)}"
    for remark in expected["remarks"]:
        yield f"* note: {code(remark, 500)}"


def _observed(row: EndpointRow) -> Iterator[str]:
    yield f"At {code(_address(row))}" + (f", pod {code(row['pod']['name'])}" if row["pod"] else "") + ":"
    yield ""
    for finding in failing(row):
        yield f"* **{finding['rule']}**: {code(finding['message'])}"
        yield from _items("accepted", finding["observed"])
        yield from _items("allowed", finding["expected"])
        yield from _items("evidence", finding["evidence"])
    versions = row["observed"]["versions"] or {}
    for name in map(version_name, VERSIONS):
        known = versions.get(name)
        if known is not None and known["suites"]:
            more = "" if known["enumerated"] else " and possibly others"
            yield f"* {code(name)} with {', '.join(code(suite) for suite in known['suites'][:_ITEMS])}{more}"
    if attempts := row["observed"]["attempts"]:
        yield from ("", "The handshakes, one line for each connection:", "")
        yield from block(attempts[:_ATTEMPTS])
    yield ""


def failing(row: EndpointRow) -> list[FindingRow]:
    """Return the findings for a bug report."""
    return [each for each in row["findings"] if each["verdict"] == "fail" and each["status"] != "informational"]


def _items(what: str, items: Sequence[str]) -> Iterator[str]:
    if items:
        more = f" and {len(items) - _ITEMS} more" if len(items) > _ITEMS else ""
        yield f"  * {what}: {', '.join(code(item) for item in items[:_ITEMS])}{more}"


def _address(row: EndpointRow) -> str:
    return host_port(row["address"], row["port"]) + (f" as {row['server_name']}" if row["server_name"] else "")


def _commands(rows: Iterable[EndpointRow]) -> list[str]:
    found = dict.fromkeys(each["reproduce"] for row in rows for each in failing(row) if each["reproduce"])
    return [command for command in found if command][:_ITEMS]


def _steps(diagnosis: Diagnosis) -> Iterator[str]:
    for number, step in enumerate(diagnosis.steps, start=1):
        yield f"{number}. {step.name}: **{WORDS[step.answer.outcome]}**"
        for line in step.answer.lines[:_ITEMS]:
            yield f"   * {code(line.strip(), 400)}"
        for command in step.commands:
            yield f"   * command: {code(command, 500)}"
    yield ""
    at = diagnosis.stopped_at
    yield f"It stopped at step {at} ({diagnosis.steps[at - 1].name})." if at else "No step shows where it stopped."
