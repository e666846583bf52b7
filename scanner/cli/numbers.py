"""Numbers on the command line, within the same limits as in ``--config`` (``model/policy_file``)."""

from __future__ import annotations

import math
from typing import Any

import click


class Amount(click.FloatRange):
    """A positive number. ``nan`` is none, although it lies outside no range."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:  # noqa: ANN401
        """The number; click's usage error for anything else."""
        number = float(super().convert(value, param, ctx))
        if math.isnan(number):
            self.fail(f"{value!r} is not a number.", param, ctx)
        return number


SECONDS = Amount(min=0, min_open=True, max=86_400)
RATE = Amount(min=0, min_open=True, max=1_000_000)
COUNT = click.IntRange(min=1, max=100_000)
