"""A saved scan: the names of its files, and what ``scan.json`` says of the rest. ``archive`` writes and reads them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from scanner.kube.profile import Profile
from scanner.model.policy import Policy

SCHEMA = "adhere.saved/v1"
EARLIER = "earlier"
"""The directory with what ``--previous`` had."""
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
    """What every target owed; of clusters, the floor where no platform says what is required, if the user gave one."""
    anchors: tuple[bytes, ...] = ()
    anchor_source: str = ""
    policy: bool = False
    """Whether there was a policy file; a copy of it is kept."""
    thresholds: Policy = Policy()
    """What the rules compared with, wherever it was said."""
    earlier: int = 0
    """Snapshots of before, kept in ``earlier/``."""
    components: int = 0
    """Files of the component catalogue that the user gave, kept in ``components/``."""
    confirm: bool | None = None
    deep: bool | None = None
    """Whether sslyze was asked, and for what (``--confirm``, ``--deep``). None: by a release that did not keep its
    answers."""
    interrupted: str | None = None
    """Why the scan stopped early: ``SIGTERM``."""


def cluster_of(endpoint: str, clusters: Collection[str]) -> str | None:
    """Of which of the scan's clusters the endpoint with this id is; None where it is of none of them.

    With several clusters, the ids of a scan begin with the name of each. A context may be called ``a/b`` beside
    another one that is called ``a``: the longest name that fits is meant.
    """
    if len(clusters) == 1:
        (only,) = clusters
        return only
    return max((each for each in clusters if endpoint.startswith(f"{each}/")), key=len, default=None)
