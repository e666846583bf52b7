"""What holds for every test: a slow machine is no failure."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from trio.testing import MockClock

from tests.servers import patient_clock

# Built on whichever profile hypothesis chose: under CI that one is repeatable.
settings.register_profile("patient", settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Give a worker of pytest-xdist a short directory: messages shorten long paths, and those of sockets are limited.

    ``/tmp/pytest-of-me/pytest-1/0`` instead of ``/tmp/pytest-of-me/pytest-1/popen-gw0``.
    """
    worker = getattr(config, "workerinput", None)
    if worker is not None:
        directory = Path(config.option.basetemp)
        config.option.basetemp = directory.with_name(worker["workerid"].removeprefix("gw"))


@pytest.fixture
def clock() -> MockClock:
    """For tests of silence: jumps to the next timeout after a tenth of a second without anything to do (a delayed ACK
    takes 40 ms). Waiting costs no time, and no timeout comes before what is under way, however busy the machine is."""
    return patient_clock()
