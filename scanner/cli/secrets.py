"""``--secrets`` and ``--no-secrets``: whether the certificates in Secrets are looked at, and which are asked for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from scanner.model.cluster_facts import hosted_namespaces
from scanner.model.kinds import SECRET
from scanner.model.snapshot import Snapshot, Unreadable

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
    from scanner.model.pki_names import load_names  # noqa: PLC0415 - few scans read Secrets
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
    if secrets or gap is None or gap.gap != "not-saved":
        return found
    return replace(found, unreadable={**found.unreadable, SECRET: replace(gap, gap="not-asked")})
