"""``adhere whatif``: what a change of profile, adherence, release or policy would break, without a handshake."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

import click

from scanner.again import judged_again
from scanner.archive import component_files, load_head
from scanner.cli.output import width
from scanner.cli.policies import load_policy
from scanner.cli.progress import colors
from scanner.errors import UsageError
from scanner.model.catalogue import load_profile
from scanner.model.report import EXIT_FINDINGS, EXIT_OK
from scanner.model.saved_scan import POLICY, ROWS, Head
from scanner.report.atomic import atomic_write
from scanner.report.stream import read_rows
from scanner.report.whatif import Comparison, compare, write_json, write_text
from scanner.survey import Viewpoint


@click.command()
@click.argument("results", metavar="RESULTS")
@click.option("--profile", metavar="NAME|FILE", help="Instead of what the APIServer object (or --profile) said.")
@click.option("--adherence", metavar="VALUE", help="Instead of spec.tlsAdherence: StrictAllComponents.")
@click.option("--release", metavar="X.Y", help="With this release's meaning of the profiles.")
@click.option("--policy", "policy_file", metavar="FILE", help="Instead of the policy file of the scan.")
@click.option("--components", metavar="FILE", multiple=True, help="Instead of the scan's own entries of the catalogue.")
@click.option("--format", "formats", metavar="FMT[=PATH]", multiple=True, help="text or json.  [default: text]")
def whatif(results: str, formats: tuple[str, ...], **options: object) -> int:
    """Judge a saved scan (adhere scan --save RESULTS) again, and list what would newly fail and newly pass.

    Nothing is dialled. Exits with 1 where something would newly fail, with 0 where nothing would.
    """
    head = load_head(results)
    view = viewpoint(results, head, **options)  # type: ignore[arg-type] # click has checked the types
    comparison = compare(read_rows(Path(results) / ROWS), judged_again(results, head, view))
    assumed = {name: str(value) for name, value in options.items() if value}
    for text in formats or ("text",):
        _write(comparison, text, assumed)
    return EXIT_FINDINGS if comparison.changed("fails") else EXIT_OK


def viewpoint(
    results: str,
    head: Head,
    *,
    profile: str | None,
    adherence: str | None,
    release: str | None,
    policy_file: str | None,
    components: tuple[str, ...],
) -> Viewpoint:
    """How the saved scan is looked at now: as it was looked at then, but for what is asked. Raises ``ScannerError``."""
    for option, value in (("--adherence", adherence), ("--release", release), ("--components", components)):
        if value and not head.clusters:
            raise UsageError(f"{option} is about a cluster, and {results} has a list of targets", hint="leave it out")
    kept = str(Path(results) / POLICY) if head.policy else None
    return Viewpoint(
        policy=load_policy(policy_file or kept),
        component_files=components or component_files(Path(results), head.components),
        default_profile=head.profile,
        profile=load_profile(profile, release=release or head.release or None) if profile else None,
        adherence=adherence,
        release=release,
    )


def _write(comparison: Comparison, text: str, assumed: dict[str, str]) -> None:
    name, _, path = text.partition("=")
    if name not in ("text", "json"):
        raise UsageError(f"--format {text}: there is no format '{name}'", hint="formats are text and json")
    title = ", ".join(f"{key.removesuffix('_file')} {value}" for key, value in assumed.items())
    if name == "json":
        write = partial(write_json, comparison, assumed=assumed)
    else:
        write = partial(write_text, comparison, title=title, color=not path and colors(sys.stdout), width=width())
    if path and path != "-":
        atomic_write(Path(path), write)
    else:
        write(sys.stdout)
