"""What holds for every test: a slow machine is no failure."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# Built on whichever profile hypothesis chose: under CI that one is repeatable.
settings.register_profile("patient", settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")
