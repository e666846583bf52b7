"""``--secrets`` and ``--no-secrets``: whether the certificates in Secrets are looked at, and which are asked for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from scanner.kube.cluster_facts import hosted_namespaces
from scanner.kube.kinds import SECRET
from scanner.kube.snapshot import Snapshot, Unreadable

if TYPE_CHECKING:
    from scanner.cluster.reading import Wanted

SECRETS = click.option(
    "--secrets/--no-secrets",
    default=None,
    help="Read the certificates in Secrets too, or ask for no Secret at all.  [default: ask for none]",
)


def asked_for(*, secrets: bool | None) -> Wanted:
    """What ``cluster.read`` is told."""
    return _wanted if secrets else ()


def _wanted(snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    """The Secrets of a cluster whose certificates matter, by namespace and name."""
    from scanner.config.certificate_names import load_names  # noqa: PLC0415 - few scans read Secrets
    from scanner.pki.wanted import wanted_secrets  # noqa: PLC0415

    return wanted_secrets(snapshot, load_names(hosted=hosted_namespaces(snapshot)))


def as_wanted(found: Snapshot, *, secrets: bool | None) -> Snapshot:
    """A replayed snapshot. Secrets that it has are looked at unless nobody wants them; that it has none, or some only,
    is a gap for those who want them."""
    gap = found.unreadable.get(SECRET)
    if secrets is False:
        told = Unreadable(kind=SECRET, gap="not-asked", reason="no Secret is looked at (--no-secrets)")
        objects = {**found.objects, SECRET: ()}
        return replace(found, objects=objects, unreadable={**found.unreadable, SECRET: told})
    if gap is None:
        return found
    return replace(found, unreadable={**found.unreadable, SECRET: _as_told(gap, wanted=secrets is True)})


def _as_told(gap: Unreadable, *, wanted: bool) -> Unreadable:
    """What was left out when the directory was filled is missed by those who want it, and by nobody else. That only
    named ones were read (``option``) is no more than what a living cluster would have shown."""
    if wanted and gap.gap == "not-asked" and not gap.option:
        return replace(gap, gap="not-saved", reason="the snapshot was taken without --secrets")
    return replace(gap, gap="not-asked") if gap.gap == "not-saved" and not wanted else gap
