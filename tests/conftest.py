"""What holds for every test: a slow machine is no failure, and what a lane leaves out is printed."""

from __future__ import annotations

import gc
import os
from collections import Counter
from collections.abc import Generator, Sequence
from pathlib import Path

import pytest
from hypothesis import settings
from trio.testing import MockClock

from tests import properties
from tests.cli.calling import Call
from tests.servers import patient_clock
from tests.shared import LiveDemo, Shared, live_demo

settings.load_profile(properties.ALL)

LANES = {
    "e2e": "make e2e",
    "browser": "make test-all",
    "slow": "make test-all",
}
"""The markers by which a command leaves tests out, and the command that runs them; the first that a test has counts."""
_LEFT_OUT: Counter[str] = Counter()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect without the garbage collector, which visits all modules and tests again and again and frees nothing: a
    fifth of the CPU time. Later it leaves them out."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Give a worker of pytest-xdist a short directory: messages shorten long paths, and those of sockets are limited.

    ``/tmp/pytest-of-me/pytest-1/0`` instead of ``/tmp/pytest-of-me/pytest-1/popen-gw0``.
    """
    worker = getattr(config, "workerinput", None)
    if worker is not None:
        directory = Path(config.option.basetemp)
        config.option.basetemp = directory.with_name(worker["workerid"].removeprefix("gw"))


def pytest_deselected(items: Sequence[pytest.Item]) -> None:
    """Count by lane what this run leaves out."""
    lanes = (next((lane for lane in LANES if item.get_closest_marker(lane)), None) for item in items)
    _LEFT_OUT.update(lane for lane in lanes if lane)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A worker of pytest-xdist hands its counts to the process that prints."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["left_out"] = dict(_LEFT_OUT)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: object) -> None:
    """All workers collect, and so leave out, the same."""
    if not _LEFT_OUT:
        _LEFT_OUT.update(getattr(node, "workeroutput", {}).get("left_out", {}))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for lane, number in _LEFT_OUT.items():
        terminalreporter.write_line(f"left out: {number} tests marked {lane} ({LANES[lane]} runs them)")


@pytest.fixture(scope="session")
def shared(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Shared:
    """What all workers of this run have in common."""
    directory = tmp_path_factory.getbasetemp()
    worker = hasattr(pytestconfig, "workerinput")
    return Shared(directory.parent, os.getppid()) if worker else Shared(directory, os.getpid())


@pytest.fixture(scope="session")
def demo(shared: Shared) -> LiveDemo:
    return live_demo(shared)


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Call:
    """Calls the command line in this process."""
    return Call(capsys)


@pytest.fixture
def clock() -> MockClock:
    """For tests of silence: jumps to the next timeout after a tenth of a second without anything to do (a delayed ACK
    takes 40 ms). Waiting costs no time, and no timeout comes before what is under way, however busy the machine is."""
    return patient_clock()
