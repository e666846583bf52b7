"""``adhere import``: results of another scanner as a saved scan of adhere, and its policy as a policy of adhere."""

from __future__ import annotations

import click

from scanner.cli.shared_options import DEFAULT_PROFILE, PROFILES
from scanner.cli.streams import note, show
from scanner.errors import UsageError
from scanner.kube.profile_catalogue import load_profile
from scanner.model.saved_scan import Head
from scanner.report.escape import plain
from scanner.report.page import counted, exit_text


@click.group(name="import")
def import_() -> None:
    """Read the results of another scanner as a scan of adhere, for whatif and diff, or its policy."""


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


@import_.command("tls-scanner-policy", short_help="Print policy.yaml of openshift/tls-scanner as a policy of adhere.")
@click.argument("policy", metavar="POLICY")
@click.option("--until", metavar="DATE", help="Last day of the waivers: 2027-03-31.")
@click.option("--owner", metavar="NAME", help="Person or team that answers for them.")
@click.option("--reason", metavar="TEXT", help="Reason why the failures are accepted.")
def tls_scanner_policy(policy: str, until: str | None, owner: str | None, reason: str | None) -> None:
    """Print a policy of adhere with a waiver for each rule 'exempt' in POLICY, policy.yaml of openshift/tls-scanner.

    A waiver needs --owner, --until and --reason. Rules for apiserver, ingress and kubelet are not needed: adhere reads
    from the cluster's objects which profile a listener must follow. Each rule that is left out is named on stderr.
    """
    from scanner.config.tls_scanner_policy import policy_of  # noqa: PLC0415 - a help text does not need it

    accepted = {"reason": reason, "owner": owner, "expires": until}
    chosen = {name: value for name, value in accepted.items() if value is not None}
    if chosen and len(chosen) < len(accepted):
        raise UsageError("a waiver needs all of --owner, --until and --reason", hint="add what is missing")
    text, notes = policy_of(policy, chosen or None)
    for each in notes:
        note(f"adhere: {plain(each, 300)}")
    show(text.rstrip("\n"))
