"""A report is whole or not there."""

from __future__ import annotations

import os
from pathlib import Path
from threading import Thread
from typing import TextIO

import pytest

from scanner.errors import ResourceError
from scanner.report.atomic import atomic_write


def _write(out: TextIO) -> None:
    out.write("new: Zürich\n")


def test_it_replaces_and_leaves_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_text("old")
    path.chmod(0o640)
    atomic_write(path, _write)
    assert path.read_bytes() == "new: Zürich\n".encode()
    assert path.stat().st_mode & 0o777 == 0o640
    assert list(tmp_path.iterdir()) == [path]


def test_a_new_file_obeys_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        atomic_write(tmp_path / "report.json", _write)
    finally:
        os.umask(before)
    assert (tmp_path / "report.json").stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt()])
def test_a_failure_keeps_the_old_file(tmp_path: Path, error: BaseException) -> None:
    path = tmp_path / "report.json"
    path.write_text("old")

    def fail(out: TextIO) -> None:
        out.write("half")
        raise error

    with pytest.raises(type(error)):
        atomic_write(path, fail)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_keeps_pointing(tmp_path: Path) -> None:
    (tmp_path / "latest").symlink_to(tmp_path / "report-1")
    (tmp_path / "report-1").write_text("old")
    atomic_write(tmp_path / "latest", _write)
    assert (tmp_path / "latest").is_symlink()
    assert (tmp_path / "report-1").read_text() == "new: Zürich\n"


def test_a_pipe_is_written_to_directly(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    read: list[str] = []
    reader = Thread(target=lambda: read.append(path.read_text(encoding="utf-8")))
    reader.start()
    atomic_write(path, _write)
    reader.join(10)
    assert read == ["new: Zürich\n"]
    assert path.is_fifo()


def test_what_cannot_be_written_says_so(tmp_path: Path) -> None:
    with pytest.raises(ResourceError, match=r"missing/report\.json: cannot write the report: No such file"):
        atomic_write(tmp_path / "missing" / "report.json", _write)
    with pytest.raises(ResourceError, match="directory"):
        atomic_write(tmp_path, _write)
    with pytest.raises(ResourceError):
        atomic_write(Path("/dev/full"), _write)
