"""A saved scan: the names of its files, and what ``scan.json`` says of the rest. ``archive`` writes and reads them."""

from __future__ import annotations

from dataclasses import dataclass

from scanner.model.policy import Policy
from scanner.model.profile import Profile

SCHEMA = "adhere.saved/v1"
HEAD, ROWS, FINDINGS, OBSERVATIONS, POLICY, COMPONENTS = (
    "scan.json",
    "rows.jsonl",
    "findings.jsonl",
    "observations.jsonl",
    "policy.yaml",
    "components",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """What was scanned, as far as judging again needs it."""

    schema: str = SCHEMA
    mode: str = "inventory"
    clusters: tuple[str, ...] = ()
    """Names of the clusters, in the order of the snapshots; none for a list of targets."""
    release: str = ""
    """Of the first cluster, ``4.22``: profiles that are asked for later mean what they mean there."""
    profile: Profile | None = None
    """What every target owed; of clusters, what is owed where nothing says anything, if somebody said so."""
    anchors: tuple[bytes, ...] = ()
    anchor_source: str = ""
    policy: bool = False
    """Whether there was a policy file; a copy of it is kept."""
    thresholds: Policy = Policy()
    """What the rules compared with, wherever it was said."""
    components: int = 0
    """Files of the component catalogue that the user gave, kept in ``components/``."""
    interrupted: str | None = None
    """Why the scan stopped early: ``SIGTERM``."""
