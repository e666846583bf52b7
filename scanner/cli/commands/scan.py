"""``adhere scan``: the options of a scan. Its modules are imported when it runs, not for its help text."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import click

from scanner.cli.output import FORMATS
from scanner.cli.shared_options import (
    BASELINE,
    COUNT,
    DEFAULT_PROFILE,
    POLICY,
    PROFILES,
    PUSH,
    QUIET,
    RATE,
    SECONDS,
    Group,
    Grouped,
    dialled_cluster,
    formats_option,
)
from scanner.model.report import FailOn

_GROUPS = (
    Group("Targets", "adhere scan api.shop.example:443 --sni shop.example", "--targets --sni"),
    Group(
        "Clusters",
        "adhere scan --cluster --namespace shop,payments",
        "--cluster --kubeconfig --context --snapshot --namespace --include --exclude --via --allow-external"
        " --allow-loopback --configz --secrets --previous --components",
    ),
    Group(
        "Requirements",
        "adhere scan --cluster --policy policy.yaml --require postQuantum",
        "--profile --policy --require --ca --config",
    ),
    Group("Checks", "adhere scan --cluster --mode verdict", "--mode --active-http --confirm --deep"),
    Group(
        "Results",
        "adhere scan --cluster --format text --format html=report.html --fail-on high",
        "--format --brief --publish --push --compat --fail-on --baseline --save --history --dry-run --quiet --verbose",
    ),
    Group(
        "Parts",
        "adhere scan --resume saved --shard 0/4",
        "--resume --shard --wait",
    ),
    Group(
        "Speed",
        "adhere scan --cluster --rate 50",
        "--rate --workers --concurrency --per-host --timeout --deadline",
    ),
)


@click.command(cls=Grouped, groups=_GROUPS)
@click.argument("targets", metavar="[TARGET]...", nargs=-1)
@click.option("--targets", "target_file", metavar="FILE|-", help="File of targets, one per line; # starts a comment.")
@click.option(
    "--profile",
    metavar="NAME|FILE",
    shell_complete=PROFILES,
    help=f"Required profile; see 'adhere profiles'.  [default: {DEFAULT_PROFILE}]",
)
@click.option(
    "--mode",
    type=click.Choice(["inventory", "verdict"]),
    help="verdict tests what the profile forbids; inventory also lists all that is accepted.  [default: inventory]",
)
@formats_option(FORMATS)
@click.option("--brief", is_flag=True, help="JSON without refused suites, connections and details of what passed.")
@click.option(
    "--publish",
    type=click.Choice(["openreports", "policyreport"]),
    help="Also write a report for each scanned object into its cluster, and remove stale ones.",
)
@PUSH
@click.option(
    "--fail-on",
    type=click.Choice(get_args(FailOn)),
    help="Lowest severity that makes the exit code 1.  [default: medium]",
)
@click.option("--timeout", type=SECONDS, metavar="S", help="Timeout of one connection.  [default: 5]")
@click.option("--deadline", type=SECONDS, metavar="S", help="Time limit of one endpoint.  [default: 60]")
@click.option(
    "--workers",
    type=click.IntRange(1, 256),
    metavar="N",
    help="Processes that probe.  [default: one for each core, up to 8; 1 up to 50 endpoints]",
)
@click.option("--concurrency", type=COUNT, metavar="N", help="Endpoints probed at once.  [default: 50]")
@click.option(
    "--per-host", type=COUNT, metavar="N", help="Maximum of connections at once to one address.  [default: 4]"
)
@click.option("--rate", type=RATE, metavar="N", help="New connections per second.  [default: no limit]")
@click.option(
    "--confirm",
    is_flag=True,
    default=None,
    help="Check every violation again with sslyze, if sslyze supports the check.",
)
@click.option("--deep", is_flag=True, default=None, help="Also check for known vulnerabilities with sslyze.")
@click.option("--active-http", is_flag=True, default=None, help="Send a HEAD request where a check needs one.")
@click.option(
    "--compat", metavar="tls-scanner=DIR", help="Also write the JSON, CSV and JUnit of openshift/tls-scanner into DIR."
)
@click.option("--sni", metavar="NAME", help="Send NAME as SNI to targets without #SNI.")
@click.option(
    "--ca", metavar="FILE|system", help="Trusted CAs in PEM.  [default: public roots, for public addresses only]"
)
@click.option(
    "--config",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="YAML file with these options and thresholds; the command line overrides it.",
)
@POLICY
@BASELINE
@click.option(
    "--require",
    "required",
    type=click.Choice(["postQuantum"]),
    multiple=True,
    help="Fail every TLS listener without TLS 1.3 and a group with ML-KEM.",
)
@dialled_cluster
@click.option("--save", metavar="DIR|URL", help="Save the scan for adhere whatif. Private keys are not saved.")
@click.option("--resume", metavar="DIR|URL", help="Go on with the scan that was saved in DIR; nothing is asked again.")
@click.option("--shard", metavar="I/N|auto", help="Probe a part of --resume DIR; auto in an Indexed Job.")
@click.option("--wait", type=SECONDS, metavar="S", help="Wait for --resume DIR to be written by another process.")
@click.option("--history", metavar="DIR", help="Directory with saved scans: the HTML shows outcomes over time.")
@click.option("--dry-run", is_flag=True, help="Print the endpoints that would be probed, and dial nothing.")
@QUIET
@click.option("-v", "--verbose", is_flag=True, help="List every endpoint, on stderr and in the text.")
def scan(**options: object) -> int:
    """Probe every TARGET, or every listener of a cluster, and compare it with the required TLS profile.

    TARGET is host:port, [v6]:port, tls://host:port#sni, or smtp://, imap://, pop3://, ldap://, ftp://,
    xmpp://, postgres://, mysql://host:port for STARTTLS. The default port of TLS is 443.

    With --cluster, --context or --snapshot adhere finds the listeners and the profile that each must follow.
    On OpenShift the cluster's objects set it. On other clusters --profile is the minimum:
    a component's own flags and kubelet configuration can require more, never less.
    """
    from scanner.cli import scan_work  # noqa: PLC0415 - a help text does not need it

    return scan_work.run(options)
