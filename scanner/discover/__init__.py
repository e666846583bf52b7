"""Discovery: a snapshot's TLS listeners. Pure; one file a source, each with provenance, merged by where they listen."""

from __future__ import annotations

from dataclasses import dataclass

from scanner.model.dial_scope import DialScope
from scanner.model.endpoint import Endpoint


@dataclass(frozen=True, slots=True, kw_only=True)
class Discovery:
    """What was found."""

    endpoints: tuple[Endpoint, ...]
    """Each listener once for each address, in a stable order."""
    scope: DialScope
    """Where these may be dialled."""
    left_out: tuple[tuple[str, int], ...] = ()
    """What was seen and is not asked, as (reason, how many): outside the scope, never TLS, UDP."""
