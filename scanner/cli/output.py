"""``--format FMT[=PATH]``: the reports and their paths."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, TextIO, TypeVar

from msgspec import Struct

from scanner.cli.streams import colors, mute, note
from scanner.errors import InputError, ResourceError, UsageError
from scanner.model.report import Report
from scanner.report import COMPATIBLE_FORMATS, Format
from scanner.report import FORMATS as REPORTS
from scanner.report.atomic import atomic_write
from scanner.report.escape import plain
from scanner.report.stream import read_rows
from scanner.values import replace

R = TypeVar("R")

METRICS: Format[Report] = Format(name="metrics", file_name="adhere.prom", module="scanner.metrics", mode=0o644)
"""For node_exporter's textfile collector, which runs as another user and must be able to read it."""
DETAIL = replace(METRICS, name="metrics-detail", function="write_detail")
"""The same with a series for each endpoint."""

FORMATS: dict[str, Format[Report]] = {**REPORTS, METRICS.name: METRICS, DETAIL.name: DETAIL}
"""All formats of ``--format`` for a scan: the reports, and the metrics."""
WRITERS: dict[str, Format[Report]] = {
    **FORMATS,
    **{k: v for each in COMPATIBLE_FORMATS.values() for k, v in each.items()},
}
"""These, and the formats of ``--compat``."""


class Output(Struct, frozen=True, kw_only=True):
    """A report to write; without a path to standard output."""

    format: str
    path: Path | None = None
    brief: bool = False
    """JSON by its brief schema."""


def parse_output(value: str, formats: Mapping[str, Format[Any]] = FORMATS) -> Output:
    """Parse ``html=report.html``. Raises ``UsageError``."""
    name, equals, path = value.partition("=")
    if name not in formats:
        raise UsageError(f"--format {value}: unknown format '{name}'", hint=f"formats: {', '.join(formats)}")
    if equals and not path:
        raise UsageError(f"--format {value}: the path is missing", hint=f"--format {name}=FILE or --format {name}")
    target = Path(path) if path and path != "-" else None
    if target is not None and target.is_dir():
        target = target / formats[name].file_name
    if target is not None and not target.parent.is_dir():
        raise UsageError(f"--format {value}: directory {target.parent} does not exist", hint="create it first")
    return Output(format=name, path=target)


def parse_outputs(values: Iterable[str], formats: Mapping[str, Format[Any]] = FORMATS) -> tuple[Output, ...]:
    """Parse all values of ``--format``; the default is text. Raises ``UsageError`` for two in one place."""
    outputs = tuple(parse_output(value, formats) for value in values) or (Output(format="text"),)
    places = [output.path.resolve() if output.path else None for output in outputs]
    for place in places:
        if places.count(place) > 1:
            where = "standard output" if place is None else str(place)
            raise UsageError(f"two formats write to {where}", hint="give each its own path: --format json=FILE")
    if formats is FORMATS:
        _refuse_rows(outputs, places)
    return outputs


def compatible(value: str) -> tuple[Output, ...]:
    """Parse ``--compat tls-scanner=DIR``, and create the directory. Raises ``UsageError`` and ``ResourceError``."""
    name, _, path = value.partition("=")
    if name not in COMPATIBLE_FORMATS:
        hint = f"known: {', '.join(COMPATIBLE_FORMATS)}"
        raise UsageError(f"--compat {value}: unknown scanner '{name}'", hint=hint)
    if not path:
        raise UsageError(f"--compat {value}: the directory is missing", hint=f"write --compat {name}=DIR")
    try:
        Path(path).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        what = f"--compat {value}: cannot create {path}: {error.strerror}"
        raise ResourceError(what, hint="choose another directory") from error
    return tuple(
        Output(format=each.name, path=Path(path) / each.file_name) for each in COMPATIBLE_FORMATS[name].values()
    )


def briefly(outputs: tuple[Output, ...]) -> tuple[Output, ...]:
    """Apply ``--brief``. Raises ``UsageError`` if no report is JSON."""
    if not any(output.format == "json" for output in outputs):
        raise UsageError("--brief is for --format json", hint="add --format json, or remove --brief")
    return tuple(replace(output, brief=output.format == "json") for output in outputs)


def _refuse_rows(outputs: Iterable[Output], places: list[Path | None]) -> None:
    """Raise ``UsageError`` for a report at the path where the rows of the JSON report are written."""
    for output in outputs:
        if output.format == "json" and output.path and beside(output.path).resolve() in places:
            raise UsageError(
                f"a format writes to {beside(output.path)}, which the JSON report needs during the scan",
                hint="give it another path",
            )


def beside(path: Path) -> Path:
    """Return the path of the rows of the JSON report at ``path``: ``report.jsonl`` for ``report.json``."""
    return path.with_name(f"{path.name}l")


def rows_path(outputs: Iterable[Output], scratch: Path) -> Path:
    """Return the path of the rows during the scan: beside the JSON report if it is a file, so that they survive.

    Raises ``UsageError`` if there is a file that adhere did not write.
    """
    for output in outputs:
        if output.format == "json" and output.path and (output.path.is_file() or not output.path.exists()):
            rows = beside(output.path)
            _may_replace(rows)
            return rows
    return scratch / "rows.jsonl"


def _may_replace(rows: Path) -> None:
    if not rows.exists():
        return
    try:
        next(read_rows(rows), None)
    except InputError:
        raise UsageError(
            f"{rows} is not a file of adhere, and the JSON report needs this path during the scan",
            hint="move the file, or give the JSON report another path",
        ) from None


def write_reports(
    report: R,
    outputs: Iterable[Output],
    formats: Mapping[str, Format[R]],
    *,
    width: int | None = None,
    **options: Any,  # noqa: ANN401 - as the format takes them
) -> None:
    """Write every report, files first. ``width``: columns of a text on standard output; ``options`` are those of any
    text. If all are files, the exit line is a note. Raises ``ResourceError``."""
    ordered = sorted(outputs, key=lambda output: output.path is None)
    for output in ordered:
        chosen, more = formats[output.format], dict[str, Any](options if output.format == "text" else {})
        if output.brief:
            more = {"brief": True}
        if output.path is None:
            if output.format == "text":
                more = {**options, "color": colors(sys.stdout), **({"width": width} if width else {})}
            print_report(partial(chosen.write, report, **more))
            continue
        atomic_write(output.path, partial(chosen.write, report, **more), mode=chosen.mode)
        note(f"adhere: wrote {output.path}")
    if all(output.path for output in ordered):
        note(plain(_exit_line(report)))


def _exit_line(report: object) -> str:
    from scanner.model.lint_report import LintReport  # noqa: PLC0415 - most runs print a report, which has the line
    from scanner.report import comparison, issues  # noqa: PLC0415

    if isinstance(report, comparison.Difference):
        return comparison.exit_line(report)
    return issues.ending(report)[1] if isinstance(report, Report | LintReport) else ""


def print_report(write: Callable[[TextIO], None]) -> None:
    """Write a report to standard output."""
    with suppress(AttributeError):  # a stream that is not a file (tests) writes any text
        sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        write(sys.stdout)
        sys.stdout.flush()
    except BrokenPipeError:
        mute(sys.stdout)  # the reader has seen enough (| head); the exit code still says what the report says
