"""How many examples hypothesis makes up for a property: a few in ``make test``, all in ``make test-all`` and in CI."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

ALL = "all"
QUICK = "quick"
_QUICK_EXAMPLES = 15
_BUSY = (HealthCheck.too_slow, HealthCheck.data_too_large)

# A slow machine is no failure. Both are made from the profile that hypothesis chose: where CI is set, that one makes up
# the same examples in each run.
settings.register_profile(ALL, settings(), deadline=None, suppress_health_check=_BUSY)
settings.register_profile(QUICK, settings.get_profile(ALL), max_examples=_QUICK_EXAMPLES)


def at_most(number: int) -> settings:
    """Settings of a property that needs another number of examples than most; the quick profile limits it too."""
    quick = settings.get_current_profile_name() == QUICK
    return settings(max_examples=min(number, _QUICK_EXAMPLES) if quick else number)
