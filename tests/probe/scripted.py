"""Run a plan against a script: what it must offer, and what it is answered."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from scanner.probe.offers import Offer, Plan, Reply

T = TypeVar("T")


def run(plan: Plan[T], answer: Callable[[Offer], Reply]) -> tuple[T, list[Offer]]:
    """The result of ``plan`` and everything that it offered."""
    asked: list[Offer] = []
    try:
        offer = next(plan)
        while True:
            asked.append(offer)
            offer = plan.send(answer(offer))
    except StopIteration as stop:
        result: T = stop.value
        return result, asked


def script(replies: Iterable[Reply]) -> Callable[[Offer], Reply]:
    """These replies in turn, and an error at one more."""
    left = iter(replies)
    return lambda offer: next(left)
