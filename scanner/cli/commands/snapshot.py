"""``adhere snapshot``: save a cluster in a directory."""

from __future__ import annotations

from functools import partial

import click

from scanner.assessment import READS
from scanner.cli.inputs import bundles, needed_secrets
from scanner.cli.shared_options import SECRETS
from scanner.cli.streams import note
from scanner.cli.trio_run import run_trio
from scanner.kube.kinds import KINDS, SECRET
from scanner.kube.snapshot import Snapshot
from scanner.report.escape import plain


@click.group()
def snapshot() -> None:
    """Save the objects of a cluster in a directory, without private keys."""


@snapshot.command("save", short_help="Save the objects of a cluster in DIR.")
@click.argument("directory", metavar="DIR")
@click.option("--kubeconfig", metavar="FILE", help="Kubeconfig file.  [default: as kubectl finds it]")
@click.option("--context", metavar="NAME", help="Context of the kubeconfig.  [default: its current context]")
@click.option(
    "--namespace",
    "namespaces",
    metavar="NS",
    multiple=True,
    help="Read NS if not all may be read; repeatable.",
)
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="Also save what lint and doctor read (role: adhere rbac --with lint,doctor).",
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
    """Save the objects of a cluster in DIR, for the option --snapshot of other commands; lint and doctor need --all.

    Private keys are never written. DIR must be new, empty, or an earlier snapshot, which is replaced.
    """
    from scanner.cluster import access, read, save  # noqa: PLC0415 - the HTTP client takes longer than the help

    kinds = KINDS if everything else (*READS, SECRET)
    reading = partial(read, access(kubeconfig, context), kinds, namespaces=namespaces)
    found = run_trio(
        partial(
            reading,
            no_secrets=secrets is False,
            secrets=needed_secrets(secrets=secrets),
            config_maps=bundles,
            config_maps_by="lint" if everything else "configmaps",
            permitted={"lint"} if everything else (),
        )
    )
    for line in gaps(found):
        note(f"adhere: {plain(line, 1000)}")
    save(found, directory)
    objects = sum(map(len, found.objects.values()))
    note(f"adhere: saved {objects} objects of {plain(found.origin.name)} in {plain(directory)}")


def gaps(found: Snapshot) -> list[str]:
    """Return the warnings and gaps of a snapshot."""
    unread = [f"{kind.resource}: {each.gap}: {each.reason}" for kind, each in found.unreadable.items()]
    return [*found.warnings, *unread]
