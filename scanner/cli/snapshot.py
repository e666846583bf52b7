"""``adhere snapshot``: save a cluster in a directory."""

from __future__ import annotations

from functools import partial

import click

from scanner.assessment import READS
from scanner.cli.cluster_options import bundles
from scanner.cli.running import run_trio
from scanner.cli.shared_options import SECRETS, asked_for
from scanner.cli.streams import say
from scanner.kube.kinds import KINDS, SECRET
from scanner.kube.snapshot import Snapshot
from scanner.report.escape import plain


@click.group(short_help="Keep what the API says of a cluster, without any key.")
def snapshot() -> None:
    """Keep what the API says of a cluster, without any private key."""


@snapshot.command("save", short_help="Read the cluster and write it into DIR.")
@click.argument("directory", metavar="DIR")
@click.option("--kubeconfig", metavar="FILE", help="Instead of KUBECONFIG and ~/.kube/config.")
@click.option("--context", metavar="NAME", help="Of the kubeconfig; default: its current one.")
@click.option(
    "--namespace", "namespaces", metavar="NS", multiple=True, help="Where to read what may not be read in all."
)
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="Also what lint and doctor look at (adhere rbac --with lint,doctor).",
)
@SECRETS
def save_(
    directory: str,
    *,
    kubeconfig: str | None,
    context: str | None,
    namespaces: tuple[str, ...],
    everything: bool,
    secrets: bool | None,
) -> None:
    """Read the cluster and write it into DIR, for `adhere scan --snapshot DIR`; for lint and doctor with --all.

    Private keys are never written. DIR is made, or is empty, or holds a snapshot that is replaced.
    """
    from scanner.cluster import access, read, save  # noqa: PLC0415 - the HTTP client takes longer than the help

    kinds = KINDS if everything else (*READS, SECRET)
    reading = partial(read, access(kubeconfig, context), kinds, namespaces=namespaces)
    found = run_trio(
        partial(
            reading,
            no_secrets=secrets is False,
            secrets=asked_for(secrets=secrets),
            config_maps=bundles,
            config_maps_by="lint" if everything else "configmaps",
            permitted={"lint"} if everything else (),
        )
    )
    for line in told(found):
        say(f"adhere: {plain(line, 1000)}")
    save(found, directory)
    objects = sum(map(len, found.objects.values()))
    say(f"adhere: {plain(directory)}: {objects} objects of {plain(found.origin.name)}")


def told(found: Snapshot) -> list[str]:
    """Return the warnings and gaps of a snapshot."""
    gaps = [f"{kind.resource}: {each.gap}: {each.reason}" for kind, each in found.unreadable.items()]
    return [*found.warnings, *gaps]
