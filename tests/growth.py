"""Cost as a number of calls, which no load on the machine changes, and searches that must end."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from cProfile import Profile

TIMES = 4


def calls(run: Callable[[], object]) -> int:
    """The number of functions that ``run`` calls, and of steps of its generators."""
    with Profile() as profile:
        run()
    return sum(each.callcount for each in profile.getstats())


def assert_linear(cost: Callable[[int], int], few: int) -> None:
    """Four times as many must cost about four times as much."""
    assert cost(TIMES * few) < 1.3 * TIMES * cost(few)


@contextmanager
def interrupted() -> Iterator[None]:
    """Stop a regular expression that takes hours. Its steps are not calls: with a text of a million characters, a
    linear search needs less than a second, and a quadratic one a thousand times the limit."""

    def stop(*_: object) -> None:
        raise AssertionError("the search is not linear")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, 60)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
