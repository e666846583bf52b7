"""``adhere whatif``: judge a saved scan with another profile, adherence, release or policy, without a handshake."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

import click

from scanner.assessment import Viewpoint
from scanner.cli.inputs import earlier, load_policy
from scanner.cli.shared_options import PROFILES
from scanner.cli.streams import colors, width
from scanner.errors import UsageError
from scanner.files import yaml_values
from scanner.files.problems import did_you_mean
from scanner.files.source_positions import shown
from scanner.kube.api_server import SPELLINGS
from scanner.kube.profile_catalogue import is_known_release, known_releases, load_profile
from scanner.model.saved_scan import FINDINGS, POLICY, ROWS, Head
from scanner.model.scan_policy import ScanPolicy
from scanner.pki.config import pki_config_of_file
from scanner.report.atomic import atomic_write
from scanner.report.stream import read_findings, read_rows
from scanner.report.whatif import Comparison, compare, exit_code, rotations, write_json, write_text
from scanner.saved_scan import Rejudged, component_files, earlier_places, load_head, rejudge
from scanner.values import replace


@click.command()
@click.argument("results", metavar="RESULTS")
@click.option(
    "--profile",
    metavar="NAME|FILE",
    shell_complete=PROFILES,
    help="Use this profile instead of the APIServer's (or --profile).",
)
@click.option(
    "--adherence",
    metavar="VALUE",
    help="Use this as spec.tlsAdherence: StrictAllComponents or LegacyAdheringComponentsOnly.",
)
@click.option(
    "--pki", metavar="FILE", help="Use this PKI object instead of PKI/cluster, for keys that are issued later."
)
@click.option("--release", metavar="X.Y", help="Use the profiles of this OpenShift release.")
@click.option("--policy", "policy_file", metavar="FILE", help="Use this policy file instead of the scan's.")
@click.option("--components", metavar="FILE", multiple=True, help="Use these catalogue entries instead of the scan's.")
@click.option("--format", "formats", metavar="FMT[=PATH]", multiple=True, help="text or json.  [default: text]")
def whatif(results: str, formats: tuple[str, ...], **options: object) -> int:
    """Judge a saved scan (adhere scan --save RESULTS) again, and list what would newly fail and newly pass.

    Nothing is dialled. Endpoints that another policy would exclude or include are counted separately.

    Exit codes: 0 nothing would newly fail · 1 something would newly fail · 2 usage or configuration error · 3 nothing
    would newly fail, but something would become inconclusive
    """
    head = load_head(results)
    view = viewpoint(results, head, **options)  # type: ignore[arg-type] # click has checked the types
    comparison = compared(rejudge(results, head, view))
    assumed = {name: str(value) for name, value in options.items() if value}
    for text in formats or ("text",):
        _write(comparison, text, assumed)
    return exit_code(comparison)


def compared(judged: Rejudged) -> Comparison:
    """Compare the saved rows with the new ones. Raises ``InputError`` for a damaged directory."""
    directory = Path(judged.directory)
    comparison = compare(read_rows(directory / ROWS), judged.rows(), judged.outlooks.get)
    comparison = comparison.with_findings(read_findings(directory / FINDINGS), judged.findings())
    policy = kept_policy(directory, judged.head)
    newly = judged.newly_in_scope(policy.scope)
    return replace(
        comparison,
        out_of_scope=judged.out_of_scope,
        newly_in_scope=newly,
        not_judged=judged.not_judged(),
        certificates=None if judged.view.pki is None else rotations(judged.certificates()),
    )


def viewpoint(
    results: str,
    head: Head,
    *,
    profile: str | None,
    adherence: str | None,
    pki: str | None,
    release: str | None,
    policy_file: str | None,
    components: tuple[str, ...],
) -> Viewpoint:
    """Return the viewpoint of the saved scan with the options of this run. Raises ``ScannerError``."""
    of_clusters = (("--adherence", adherence), ("--pki", pki), ("--release", release), ("--components", components))
    for option, value in of_clusters:
        if value and not head.clusters:
            raise UsageError(f"{option} needs a scan of a cluster, and {results} has targets only", hint="remove it")
    _known(adherence, release)
    policy = load_policy(policy_file) if policy_file else kept_policy(Path(results), head)
    return Viewpoint(
        policy=policy,
        component_files=components or component_files(Path(results), head.components),
        earlier=earlier(map(str, earlier_places(Path(results), head.earlier))),
        default_profile=head.profile,
        profile=load_profile(profile, release=release or head.release or None) if profile else None,
        adherence=adherence,
        pki=pki_config_of_file(yaml_values.read(pki)) if pki else None,
        release=release,
    )


def kept_policy(results: Path, head: Head) -> ScanPolicy:
    """Return the policy of the saved scan, with the thresholds of its ``--config``."""
    policy = load_policy(str(results / POLICY)) if head.policy else ScanPolicy()
    return replace(policy, thresholds=head.thresholds)


def _known(adherence: str | None, release: str | None) -> None:
    """Raise ``UsageError`` for an unknown value, although a cluster accepts any and treats it as strict."""
    if adherence is not None and (not adherence or adherence not in SPELLINGS):
        raise UsageError(
            f"--adherence: unknown value {shown(adherence)}",
            hint=did_you_mean(adherence, [each for each in SPELLINGS if each]),
        )
    if release is not None and not is_known_release(release):
        raise UsageError(f"--release: unknown OpenShift release {shown(release)}", hint=known_releases())


def _write(comparison: Comparison, text: str, assumed: dict[str, str]) -> None:
    name, _, path = text.partition("=")
    if name not in ("text", "json"):
        raise UsageError(f"--format {text}: unknown format '{name}'", hint="formats: text, json")
    title = ", ".join(f"{key.removesuffix('_file')} {value}" for key, value in assumed.items())
    if name == "json":
        write = partial(write_json, comparison, assumed=assumed)
    else:
        write = partial(write_text, comparison, title=title, color=not path and colors(sys.stdout), width=width())
    if path and path != "-":
        atomic_write(Path(path), write)
    else:
        write(sys.stdout)
