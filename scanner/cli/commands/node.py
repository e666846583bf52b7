"""``adhere node``: the listeners of a node that no object declares, and those on loopback."""

from __future__ import annotations

from typing import get_args

import click

from scanner.cli.output import FORMATS
from scanner.cli.shared_options import (
    BASELINE,
    COUNT,
    DEFAULT_PROFILE,
    POLICY,
    PROFILES,
    QUIET,
    RATE,
    SECONDS,
    Group,
    Grouped,
    formats_option,
    one_cluster,
)
from scanner.model.report import FailOn

_GROUPS = (
    Group("Node", "adhere node --all", "--proc --node --all"),
    Group("Cluster", "adhere node --snapshot objects --node worker-1", "--cluster --kubeconfig --context --snapshot"),
    Group("Requirements", "adhere node --profile modern", "--profile --policy"),
    Group(
        "Results",
        "adhere node --save results/worker-1 --format json=report.json",
        "--format --fail-on --baseline --save --dry-run --quiet --verbose",
    ),
    Group(
        "Speed",
        "adhere node --rate 50 --time-limit 300",
        "--rate --concurrency --per-host --timeout --deadline --time-limit",
    ),
)


@click.command(cls=Grouped, groups=_GROUPS)
@click.option("--proc", metavar="DIR", default="/proc", help="The /proc of the node.  [default: /proc]")
@click.option("--node", metavar="NAME", help="Name of the node.  [default: the host name]")
@click.option("--all", "every", is_flag=True, help="Also probe the listeners that a scan of the cluster reaches.")
@one_cluster
@click.option(
    "--profile",
    metavar="NAME|FILE",
    shell_complete=PROFILES,
    help=f"Required profile; see 'adhere profiles'.  [default: {DEFAULT_PROFILE}]",
)
@POLICY
@formats_option(FORMATS)
@click.option(
    "--fail-on",
    type=click.Choice(get_args(FailOn)),
    help="Lowest severity that makes the exit code 1.  [default: medium]",
)
@BASELINE
@click.option("--save", metavar="DIR", help="Save the scan for adhere merge and adhere whatif.")
@click.option("--timeout", type=SECONDS, metavar="S", help="Timeout of one connection.  [default: 1]")
@click.option("--deadline", type=SECONDS, metavar="S", help="Time limit of one listener.  [default: 60]")
@click.option(
    "--time-limit",
    type=SECONDS,
    metavar="S",
    default=900,
    help="Time limit of all listeners; what is left is not tested (exit 3).  [default: 900]",
)
@click.option("--concurrency", type=COUNT, metavar="N", help="Listeners probed at once.  [default: 50]")
@click.option("--per-host", type=COUNT, metavar="N", help="Maximum of them in one network namespace.  [default: 4]")
@click.option("--rate", type=RATE, metavar="N", help="New connections per second.  [default: 200]")
@click.option("--dry-run", is_flag=True, help="Print the endpoints that would be probed, and dial nothing.")
@QUIET
@click.option("-v", "--verbose", is_flag=True, help="List every endpoint, on stderr and in the text.")
def node(**options: object) -> int:
    """Read the listening sockets of every network namespace of this node, and probe those that a scan of the cluster
    does not reach: on loopback, and on ports that no object declares.

    Run it as root on the node, or in a privileged pod with hostPID. It starts no program and enters a namespace only
    to create a socket. With --cluster, --context or --snapshot, each listener has the owner and requirement of its
    pod; otherwise it is named after its process, and --profile is the requirement.
    """
    from scanner.cli import node_work  # noqa: PLC0415 - a help text does not need it

    return node_work.run(options)
