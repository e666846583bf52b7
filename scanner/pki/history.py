"""What was configured before, as far as earlier snapshots and the install-config tell. Pure.

An object says when it was last changed, and nothing of what it said until then. A snapshot shows what was in force from
the last change before it to the moment at which it was taken, and nothing of the time after.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from scanner.kube.kinds import NAMESPACE, PKI, Kind
from scanner.kube.snapshot import Snapshot
from scanner.model.pki_config import PkiConfig
from scanner.pki.config import ALWAYS, pki_config
from scanner.pki.day_one import install_config_of_cluster

READS: tuple[Kind, ...] = (NAMESPACE,)
INSTALLATION: Final = timedelta(days=1)
"""Before and after a cluster's first namespace: the installer makes its signers hours before there is a cluster, and
operators replace what else it made within a day (the enhancement, "Initial Cluster Installation")."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """A configuration that was in force once."""

    config: PkiConfig
    since: datetime
    until: datetime
    """The last moment at which it is known to have been."""
    slack: timedelta = timedelta(0)
    """How much earlier and later it was so, too."""
    said: str
    """Where that is from, a clause for people."""


def past(earlier: Iterable[Snapshot], now: Snapshot) -> tuple[Past, ...]:
    """Every configuration that is known to have been in force: of earlier snapshots of the same cluster, and of its own
    install-config."""
    seen = (each for snapshot in sorted(earlier, key=lambda one: one.taken_at) for each in _seen(snapshot))
    return (*_installed(now), *seen)


def in_force(history: Iterable[Past], at: datetime, tolerance: timedelta) -> Past | None:
    """What was configured at that time, or None where nothing tells. Of several the last counts: the API server's own
    word before the install-config's."""
    # Differences: a certificate or an object may name the first and the last day that a calendar has.
    found = [each for each in history if each.since - at < tolerance + each.slack and at - each.until <= each.slack]
    return found[-1] if found else None


def _seen(snapshot: Snapshot) -> Iterator[Past]:
    if PKI not in snapshot.objects:
        return
    config = pki_config(snapshot)
    if config.reason == "unreadable" or (config.in_force and config.since is None):
        return
    # Without an object nothing tells since when: it is taken to be as it always was.
    since = snapshot.taken_at if config.since_vague else config.since or ALWAYS
    said = f"the snapshot of {snapshot.taken_at.date().isoformat()}"
    yield Past(config=config, since=since, until=snapshot.taken_at, said=said)


def _installed(snapshot: Snapshot) -> Iterator[Past]:
    """The signers of the installation have the keys that its install-config asked for."""
    config = install_config_of_cluster(snapshot)
    system = snapshot.get(NAMESPACE, "kube-system") if NAMESPACE in snapshot.objects else None
    made = system.created if system else None
    if config is None or made is None or not config.in_force:
        return
    yield Past(config=config, since=made, until=made, slack=INSTALLATION, said=config.source)
