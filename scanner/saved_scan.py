"""Save a scan in a directory: snapshots, observations and rows, for judging without a handshake.

``scan.json`` describes the rest; ``observations.jsonl`` has the observation of every endpoint, ``rows.jsonl`` its row
and ``findings.jsonl`` the findings without an endpoint; ``snapshot/`` (or ``snapshots/1`` ... for several clusters)
has the clusters. No key is in any of them.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self

from scanner.errors import InputError, ResourceError, UsageError
from scanner.files.regular_file import content, opened
from scanner.kube.snapshot import Snapshot
from scanner.model.report import FindingRow
from scanner.model.saved_scan import (
    COMPONENTS,
    EARLIER,
    FINDINGS,
    HEAD,
    OBSERVATIONS,
    POLICY,
    ROWS,
    SCHEMA,
    Head,
    Seen,
    encode,
)
from scanner.model.scan_policy import MOST_DAYS
from scanner.model.serialization import DecodeError, codec
from scanner.report.stream import dumps

_MOST_BYTES = 16 * 2**20
_MOST_PARTS = 10_000
"""Files or directories of one sort. A command line has room for fewer."""


class Archive:
    """A directory that is being filled while a scan runs."""

    def __init__(
        self,
        directory: str,
        head: Head,
        snapshots: tuple[Snapshot, ...],
        inputs: Mapping[str, str] | None = None,
        earlier: tuple[Snapshot, ...] = (),
    ) -> None:
        """``inputs``: files that decided, by the names under which they are kept. ``earlier``: what ``--previous`` had.

        Raises ``UsageError`` for a directory with something else in it, and ``ResourceError`` where nothing can be
        written.
        """
        self._directory = Path(directory)
        self._head = replace(head, earlier=len(earlier))
        try:
            self._prepare()
            for place, snapshot in zip(snapshot_places(self._directory, len(snapshots)), snapshots, strict=True):
                _save(snapshot, place)
            for place, snapshot in zip(earlier_places(self._directory, len(earlier)), earlier, strict=True):
                _save(snapshot, place)
            for name, path in (inputs or {}).items():
                (self._directory / name).parent.mkdir(exist_ok=True)
                shutil.copyfile(path, self._directory / name)
            self._out = (self._directory / OBSERVATIONS).open("w", encoding="ascii", newline="\n")
        except OSError as error:
            raise self._cannot(error) from None

    def _prepare(self) -> None:
        """Only the owner may read what a cluster looks like."""
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not (self._directory / HEAD).is_file() and any(self._directory.iterdir()):
            raise UsageError(
                f"{self._directory}: there is something else in it", hint="--save takes an empty directory, or a scan's"
            )
        for name in (HEAD, ROWS, FINDINGS, OBSERVATIONS, POLICY):
            (self._directory / name).unlink(missing_ok=True)
        for name in ("snapshot", "snapshots", COMPONENTS, EARLIER):
            shutil.rmtree(self._directory / name, ignore_errors=True)

    def record(self, seen: Seen) -> None:
        """Keep one observation. Raises ``ResourceError``."""
        try:
            self._out.write(encode(seen) + "\n")
        except OSError as error:
            raise self._cannot(error) from None

    def finish(self, rows: Path, findings: Iterable[FindingRow] = (), interrupted: str | None = None) -> None:
        """Keep what was said, and what everything is: until then the directory is no saved scan.

        ``findings`` are those without an endpoint; ``interrupted`` says why not everything was seen.
        """
        head = replace(self._head, interrupted=interrupted)
        try:
            self._out.close()
            shutil.copyfile(rows, self._directory / ROWS)
            (self._directory / FINDINGS).write_text("".join(f"{dumps(each)}\n" for each in findings), encoding="utf-8")
            (self._directory / HEAD).write_text(json.dumps(codec(Head).encode(head), indent=1) + "\n")
        except OSError as error:
            raise self._cannot(error) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._out.close()

    def _cannot(self, error: OSError) -> ResourceError:
        return ResourceError(
            f"{self._directory}: what was seen cannot be kept: {error.strerror or error}",
            hint="is the disk full, or the directory not writable?",
        )


def snapshot_places(directory: Path, count: int) -> list[Path]:
    """Where the snapshots of ``count`` clusters are kept."""
    if count == 1:
        return [directory / "snapshot"]
    return [directory / "snapshots" / str(number) for number in range(1, count + 1)]


def earlier_places(directory: Path, count: int) -> list[Path]:
    """Where the ``count`` snapshots of before are kept."""
    return [directory / EARLIER / str(number) for number in range(1, count + 1)]


def component_files(directory: Path, count: int) -> list[str]:
    """Where the user's ``count`` files of the component catalogue are kept."""
    return [str(directory / COMPONENTS / f"{number}.yaml") for number in range(1, count + 1)]


def _save(snapshot: Snapshot, place: Path) -> None:
    from scanner.cluster import save  # noqa: PLC0415 - scans of targets have nothing to do with the HTTP client behind it

    save(snapshot, place)


def load_head(directory: str) -> Head:
    """What the directory says of itself. Raises ``InputError``."""
    path = Path(directory) / HEAD
    hint = "this must be a directory that adhere scan --save has filled"
    try:
        head = codec(Head).decode(json.loads(content(path, _MOST_BYTES)))
    except InputError as error:
        raise InputError(error.message, hint=hint) from None
    except (ValueError, RecursionError) as error:
        problem = f"{error.path}: {error.problem}" if isinstance(error, DecodeError) else "not JSON"
        raise InputError(f"{path}: {problem}", hint=hint) from None
    if head.schema != SCHEMA:
        raise InputError(f"{path}: not an {SCHEMA}", hint=hint)
    assert isinstance(head, Head)  # noqa: S101 - what its codec gives
    if wrong := _impossible(head):
        raise InputError(f"{path}: {wrong}", hint=hint)
    below = map(Path(directory).joinpath, (ROWS, FINDINGS, OBSERVATIONS, POLICY))
    for each in (*below, *map(Path, component_files(Path(directory), head.components))):
        if each.exists():
            opened(each, directory).close()
    return head


def _impossible(head: Head) -> str | None:
    """What no scan can have said of itself."""
    for name, count in (("components", head.components), ("earlier", head.earlier), ("clusters", len(head.clusters))):
        if not 0 <= count <= _MOST_PARTS:
            return f"{name}: there cannot be {count}"
    for name in ("expires_within_days", "expires_within_days_medium", "expires_within_days_high"):
        days = getattr(head.thresholds, name)
        if not 0 <= days <= MOST_DAYS:
            return f"thresholds.{name}: not from 0 to {MOST_DAYS}: {days}"
    return None
