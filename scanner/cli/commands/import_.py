"""``adhere import``: results of another scanner as a saved scan of adhere."""

from __future__ import annotations

import click

from scanner.cli.shared_options import DEFAULT_PROFILE, PROFILES
from scanner.cli.streams import note, show
from scanner.kube.profile_catalogue import load_profile
from scanner.model.saved_scan import Head
from scanner.report.escape import plain
from scanner.report.page import counted, exit_text


@click.group(name="import")
def import_() -> None:
    """Save the results of another scanner as a scan of adhere, for whatif and diff."""


@import_.command("tls-scanner", short_help="Save a results.json of openshift/tls-scanner.")
@click.argument("results", metavar="RESULTS")
@click.argument("directory", metavar="DIR")
@click.option(
    "--profile",
    metavar="NAME|FILE",
    default=DEFAULT_PROFILE,
    show_default=True,
    shell_complete=PROFILES,
    help="Profile to judge by.",
)
def tls_scanner(results: str, directory: str, profile: str) -> None:
    """Save RESULTS, the results.json of openshift/tls-scanner, in DIR as a scan of targets.

    What it lists as accepted is judged. It has no evidence of refusals, so the rest is inconclusive: nothing passes
    because it is not listed. Then: adhere whatif DIR --profile modern, or adhere diff DIR NEW.
    """
    from scanner.tls_scanner_results import save_results  # noqa: PLC0415 - a help text does not need it

    found = save_results(results, directory, Head(profile=load_profile(profile), confirm=False, deep=False))
    if found.unknown:
        shown = ", ".join(plain(each, 40) for each in found.unknown[:5])
        note(f"adhere: {counted(len(found.unknown), 'name')} of no version, suite or group left out: {shown}")
    if found.lost:
        lost = counted(found.lost, "host or port", "hosts and ports")
        note(f"adhere: not complete: tls-scanner did not scan {lost}")
    saved = f"{counted(found.ports, 'port')} saved in {plain(directory)}"
    show(exit_text(0, [saved, f"{found.inconclusive} inconclusive" if found.inconclusive else ""]))
