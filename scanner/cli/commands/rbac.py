"""``adhere rbac``: print the permissions that a scan needs."""

from __future__ import annotations

import click

from scanner.cluster.rbac import OPTIONS, as_yaml, cluster_role


@click.command(
    epilog="WHAT is " + ", ".join(OPTIONS) + ". Each adds a role whose description states its risk.",
)
@click.option("--with", "with_", metavar="WHAT,...", default="", help="Optional permissions, each as a role.")
@click.option("--service-account", metavar="NS/NAME", help="Also print this service account and its bindings.")
def rbac(with_: str, service_account: str | None) -> None:
    """Print the ClusterRole that a scan needs, as YAML. It allows reading only what adhere reads.

    \b
    adhere rbac --service-account adhere/adhere | oc apply -f -
    """
    from scanner.assessment import READS  # noqa: PLC0415 - the stages behind it take longer than the help

    options = [part.strip() for part in with_.split(",") if part.strip()]
    click.echo(as_yaml(cluster_role(READS, options, service_account)), nl=False)
