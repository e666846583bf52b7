"""What a configuration file may set, as a value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from scanner.model.report import FailOn
from scanner.model.scan_policy import Policy


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """What the file says. None is "not set": then the option's own default holds. The command line always wins.

    Apart from its reader (``policy_file``), because that takes time to import and most scans have no file.
    """

    profile: str | None = None
    """A profile's name, or a file; like every path in here as seen from the working directory."""
    mode: Literal["inventory", "verdict"] | None = None
    fail_on: FailOn | None = None
    timeout: float | None = None
    """Of one connection, in seconds."""
    deadline: float | None = None
    """Of one endpoint, in seconds."""
    concurrency: int | None = None
    """Endpoints at once."""
    per_host: int | None = None
    """Connections at once to one host."""
    rate: float | None = None
    """New connections per second, to all hosts together."""
    confirm: bool | None = None
    deep: bool | None = None
    active_http: bool | None = None
    sni: str | None = None
    targets: tuple[str, ...] | None = None
    formats: tuple[str, ...] | None = None
    """As ``--format`` takes them: ``json=report.json``."""
    policy: Policy | None = None
