"""``adhere lint``: judge what objects declare, from the objects alone."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import get_args

import click
from msgspec import Struct

from scanner.cli.inputs import load_policy, snapshots
from scanner.cli.output import parse_outputs, write_reports
from scanner.cli.shared_options import (
    BASELINE,
    CONTEXTS,
    POLICY,
    SECRETS,
    ClusterAsked,
    Group,
    Grouped,
    formats_option,
    refuse_empty,
)
from scanner.errors import UsageError
from scanner.files.source_positions import shown
from scanner.model.lint_report import SCHEMA, LintReport, exit_code
from scanner.model.report import FailOn
from scanner.report import LINT_FORMATS
from scanner.values import replace

_NAMESPACE = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")


class Asked(Struct, frozen=True, kw_only=True):
    """The options about the report."""

    formats: tuple[str, ...]
    fail_on: FailOn
    no_ignores: bool
    accept_undecided: bool
    accept_empty: bool
    fix_hints: bool


_GROUPS = (
    Group(
        "Objects",
        "adhere lint deploy/ --default-namespace shop",
        "--cluster --kubeconfig --context --snapshot --secrets --default-namespace --as --as-group",
    ),
    Group(
        "Judging",
        "adhere lint deploy/ --policy policy.yaml --no-ignores",
        "--policy --no-ignores --baseline --fail-on --accept-undecided --accept-empty",
    ),
    Group(
        "Results",
        "adhere lint deploy/ --format text --format sarif=lint.sarif",
        "--format --fix-hints --quiet",
    ),
)


@click.command(cls=Grouped, groups=_GROUPS)
@click.argument("paths", metavar="[PATH]...", nargs=-1)
@click.option("--cluster", is_flag=True, help="Look up objects in the cluster of the kubeconfig.")
@click.option("--kubeconfig", metavar="FILE", help="Kubeconfig file.  [default: as kubectl finds it]")
@click.option("--context", "context", metavar="NAME", shell_complete=CONTEXTS, help="Context of the kubeconfig.")
@click.option("--snapshot", metavar="DIR", help="Read a snapshot or a must-gather instead of the cluster.")
@SECRETS
@click.option(
    "--default-namespace",
    metavar="NAME",
    default="default",
    show_default=True,
    help="Namespace of objects without one.",
)
@click.option("--as", "user", metavar="USER", help="Check whether USER may set hosts and certificates of Routes.")
@click.option("--as-group", "groups", metavar="GROUP", multiple=True, help="A group of that USER; repeatable.")
@formats_option(LINT_FORMATS)
@click.option(
    "--fail-on",
    type=click.Choice(get_args(FailOn)),
    default="medium",
    help="Lowest severity that makes the exit code 1.",
    show_default=True,
)
@POLICY
@click.option("--no-ignores", is_flag=True, help="Do not apply ignores in comments and annotations.")
@BASELINE
@click.option("--accept-undecided", is_flag=True, help="Exit 0 even if something is undecided.")
@click.option("--accept-empty", is_flag=True, help="Exit 0 even if there is nothing to check.")
@click.option("--fix-hints", is_flag=True, help="Print corrected YAML below each finding.")
def lint(
    paths: tuple[str, ...],
    context: str | None,
    default_namespace: str,
    user: str | None,
    groups: tuple[str, ...],
    baseline: str | None,
    policy_file: str | None,
    **options: object,
) -> int:
    """Check the TLS settings in manifests, without a cluster and without a connection.

    PATH is a file or directory of YAML and JSON, or - for standard input: kustomize build . | adhere lint -

    With --cluster or --snapshot, objects that manifests refer to are looked up there. Without PATH, the objects of the
    cluster are checked. A reference to an object that was not found is undecided: exit 3.
    """
    which = {name: options.pop(name) for name in ("cluster", "kubeconfig", "snapshot", "secrets")}
    cluster = ClusterAsked(contexts=(context,) if context else (), **which)  # type: ignore[arg-type]
    asked = Asked(**options)  # type: ignore[arg-type] # click has checked the types
    if not paths and not cluster.meant:
        raise UsageError("nothing to lint", hint="give files or directories, - for standard input, or --cluster")
    if not cluster.meant:
        cluster.refuse_cluster_options()
    if groups and not user:
        raise UsageError("--as-group without --as", hint="add --as USER")
    if not _NAMESPACE.fullmatch(default_namespace):
        hint = "use at most 63 lower-case letters, digits and -"
        raise UsageError(f"--default-namespace: invalid name {shown(default_namespace)}", hint=hint)
    outputs = parse_outputs(asked.formats, LINT_FORMATS)
    refuse_empty({"--policy": policy_file, "--baseline": baseline})
    known, policy = _baseline(baseline), load_policy(policy_file)
    judged = _linted(paths, cluster, default_namespace, user, groups)
    report = known(judged(policy=policy, honoured=not asked.no_ignores))
    accepted = {"accept_undecided": asked.accept_undecided, "accept_empty": asked.accept_empty}
    code = exit_code(report, asked.fail_on, **accepted)
    report = replace(report, code=code, fail_on=asked.fail_on)
    write_reports(report, outputs, LINT_FORMATS, hints=asked.fix_hints)
    return code


def _baseline(path: str | None) -> Callable[[LintReport], LintReport]:
    """Return what marks the known findings of a report. Raises ``ScannerError``."""
    if path is None:
        return lambda report: report
    from scanner.known_findings import lint_with_baseline, load_baseline  # noqa: PLC0415 - most runs have none

    return partial(lint_with_baseline, baseline=load_baseline(path, SCHEMA))


def _linted(
    paths: tuple[str, ...], asked: ClusterAsked, namespace: str, user: str | None, groups: tuple[str, ...]
) -> Callable[..., LintReport]:
    """Read the objects, and return what judges them."""
    from scanner.cluster.lint_input import read_manifests  # noqa: PLC0415 - what is behind it takes longer than linting
    from scanner.linting import LINT_READS, declared, lint_report, referred, reviewed  # noqa: PLC0415

    started = datetime.now(UTC)
    known = None
    manifests = read_manifests(paths, LINT_READS, namespace) if paths else None
    if asked.meant:
        (known,) = snapshots(
            asked, LINT_READS, partial(referred, manifests), partial(reviewed, manifests, user=user, groups=groups)
        )
    sources = (*paths, *([known.origin.name] if known else []))
    about = declared(manifests, known, user, groups)
    return partial(lint_report, about, manifests, started=started, sources=sources, arguments=sys.argv[1:])
