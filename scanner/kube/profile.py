"""A profile: what a name like "Intermediate" means in versions, cipher suites and groups."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """What a listener may speak. Versions, suites and groups are the protocol's code points."""

    name: str
    """As one asks for it: ``openshift/4.23/intermediate``, ``mozilla/5.8/modern``, ``custom``."""
    min_version: int
    """Lowest version that may be accepted, for example 0x0303 for TLS 1.2."""
    suites: tuple[int, ...]
    """Every allowed cipher suite of every version, in the profile's order."""
    groups: tuple[int, ...] | None
    """Every allowed key-exchange group in the profile's order, or None: the profile has no opinion."""
    source: str
    """Where the meaning comes from: document and date, or file and line."""
    asked: str = field(default="", compare=False)
    """What the user called it: ``intermediate@4.22``. Empty where no user asked."""
    notes: tuple[str, ...] = ()
    """What a reader of the expectation should know, for example names that were dropped and why."""

    @property
    def said(self) -> str:
        """Its name, and what the user called it where that named a release."""
        return f"{self.name} (asked for as {self.asked})" if "@" in self.asked else self.name
