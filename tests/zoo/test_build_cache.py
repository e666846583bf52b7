"""What is built once is built by one process alone, and what is not complete is never used."""

from __future__ import annotations

import fcntl
from pathlib import Path
from threading import Semaphore, Thread
from typing import TextIO

import pytest

from tests.zoo.build_cache import built, kept


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    source = tmp_path / "source"
    source.write_text("first")
    return source


def test_a_second_process_waits_for_the_build_and_uses_it(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread instead of a process: a lock belongs to the open file."""
    flock, locking, builds = fcntl.flock, Semaphore(0), 0

    def announced(file: TextIO, operation: int) -> None:
        locking.release()
        flock(file, operation)

    def build(directory: Path) -> None:
        nonlocal builds
        builds += 1
        second.start()
        assert all(locking.acquire(timeout=60) for _ in ("first", "second"))
        with directory.with_suffix(".lock").open() as lock, pytest.raises(BlockingIOError):
            flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)

    monkeypatch.setattr(fcntl, "flock", announced)
    second = Thread(target=built, args=("program", [source], build))
    built("program", [source], build)
    second.join()
    assert builds == 1


def test_a_change_of_the_source_or_the_tool_is_another_build(source: Path) -> None:
    def build(directory: Path) -> None:
        (directory / "program").write_text(source.read_text())

    directories = {built("program", [source], build, tool) for tool in ("1.0", "1.1")}
    source.write_text("second")
    directories.add(changed := built("program", [source], build, "1.1"))
    assert len(directories) == 3
    assert (changed / "program").read_text() == "second"


def test_a_build_that_fails_or_is_killed_leaves_nothing_to_use(source: Path) -> None:
    def fail(directory: Path) -> None:
        (directory / "half").touch()
        raise OSError("no space left")

    with pytest.raises(OSError, match="no space"):
        built("program", [source], fail)
    directory = kept("program", [source])
    assert not directory.exists()
    partial = directory.with_name(f"{directory.name}.partial-1")
    partial.mkdir()
    (partial / "half").touch()
    built("program", [source], lambda directory: (directory / "program").touch())
    assert [path.name for path in directory.iterdir()] == ["program"]
