"""What an object says of ``tlsAdherence`` that no release of the API knows."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownAdherence:
    """One such value."""

    source: str
    """``APIServer/cluster``."""
    field: str
    """``spec.tlsAdherence``."""
    said: str
    """``'StrictestOfAll', unknown, which means StrictAllComponents``."""
    known: tuple[str, ...] = ()
    """What could have been written instead."""
