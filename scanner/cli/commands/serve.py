"""``adhere serve``: the options of the exporter. Its modules are imported when it runs, not for its help text."""

from __future__ import annotations

from copy import copy

import click

from scanner.cli.commands.scan import scan
from scanner.cli.shared_options import SECONDS, Group, Grouped

_SHARED = frozenset(
    {"profile", "mode", "fail_on", "timeout", "deadline", "concurrency", "per_host", "rate", "active_http", "config"}
    | {"policy_file", "required", "cluster", "kubeconfig", "contexts", "components", "include", "namespace", "exclude"}
    | {"allow_external", "allow_loopback", "configz", "via", "secrets", "previous", "quiet"}
)
"""Parameters of ``adhere scan`` that mean the same here."""
_GROUPS = (
    Group(
        "Server",
        "adhere serve --cluster --listen :8443 --tls-cert tls.crt --tls-key tls.key",
        "--listen --tls-cert --tls-key --allow-plaintext --metrics-detail --every",
    ),
    Group(
        "Clusters",
        "adhere serve --cluster --namespace shop,payments",
        "--cluster --kubeconfig --context --namespace --include --exclude --via --allow-external --allow-loopback"
        " --configz --secrets --previous --components",
    ),
    Group(
        "Requirements",
        "adhere serve --cluster --policy policy.yaml",
        "--profile --policy --require --config --fail-on",
    ),
    Group(
        "Probing",
        "adhere serve --cluster --mode verdict --rate 50",
        "--mode --active-http --rate --concurrency --per-host --timeout --deadline",
    ),
)


@click.command(cls=Grouped, groups=_GROUPS)
@click.option("--every", type=SECONDS, metavar="S", default=3600, help="Period of complete scans.  [default: 3600]")
@click.option(
    "--listen",
    metavar="[ADDR]:PORT",
    default="127.0.0.1:8080",
    help="Address of the server; without ADDR all.  [default: 127.0.0.1:8080]",
)
@click.option("--tls-cert", metavar="FILE", help="Certificate chain of the server in PEM; read again when it changes.")
@click.option("--tls-key", metavar="FILE", help="Its private key in PEM.")
@click.option(
    "--allow-plaintext", is_flag=True, help="Serve /metrics without TLS on other addresses than loopback, no report."
)
@click.option("--metrics-detail", is_flag=True, help="Add a series for each endpoint, with its outcome, to /metrics.")
def serve(**options: object) -> int:
    """Scan a cluster again and again, and serve /metrics, /healthz, /readyz, and the newest report.

    Everything is scanned in each period, and at once what a change of an APIServer, PKI, IngressController,
    KubeletConfig, Gateway, Route or (with --secrets) Secret concerns. / is the HTML report, /report.json the JSON.

    On loopback every user of the machine may read the report. Elsewhere a bearer token is required, whose user may get
    the non-resource URL /adhere/report. /metrics has counts and the expiry of certificates, but no findings.
    """
    from scanner.cli import serve_work  # noqa: PLC0415 - a help text does not need it

    return serve_work.run(options)


serve.params += [copy(each) for each in scan.params if each.name in _SHARED]  # copies: each has a variable of its own
