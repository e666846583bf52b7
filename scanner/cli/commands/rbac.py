"""``adhere rbac``: print the permissions that a scan needs."""

from __future__ import annotations

import click

from scanner.cli.shared_options import split
from scanner.cluster.rbac import OPTIONS, as_yaml, cluster_role


@click.command(
    epilog="WHAT is " + ", ".join(OPTIONS) + ". Each adds a role whose description states its risk.",
)
@click.option(
    "--with",
    "with_",
    metavar="WHAT,...",
    multiple=True,
    callback=split,
    help="Optional permissions, each as a role; repeatable.",
)
@click.option("--service-account", metavar="NS/NAME", help="Also print this service account and its bindings.")
def rbac(with_: tuple[str, ...], service_account: str | None) -> None:
    """Print the ClusterRole that a scan needs, as YAML. It allows reading only what adhere reads.

    \b
    adhere rbac --service-account adhere/adhere | oc apply -f -
    """
    from scanner.assessment import READS  # noqa: PLC0415 - the stages behind it take longer than the help

    click.echo(as_yaml(cluster_role(READS, with_, service_account)), nl=False)
