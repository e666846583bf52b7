"""The user's policy: what beyond the profile decides about pass and fail."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

MOST_DAYS = 36_500
"""Until a certificate ends: more is no threshold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Thresholds of the rules. The defaults are what ``adhere scan`` without ``--config`` uses."""

    expires_within_days: int = 30
    """A certificate that expires sooner is a finding of low severity."""
    expires_within_days_medium: int = 14
    """Of medium severity."""
    expires_within_days_high: int = 3
    """Of high severity."""
    min_rsa_bits: int = 2048
    groups: Literal["informational", "enforced"] = "informational"
    """Whether a group outside the profile's list is a violation."""
    plaintext_candidate: Literal["not_applicable", "warn", "fail"] = "not_applicable"
    """What plaintext on a merely discovered port means."""
