"""``adhere node``: from the options to the jobs of a node."""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import closing
from typing import Any

from scanner.assessment import READS, Assessment, assess
from scanner.cli import scan_cluster
from scanner.cli.inputs import snapshots, viewpoint
from scanner.cli.output import parse_outputs
from scanner.cli.progress import Loudness
from scanner.cli.running import Work, run_and_report, saved_scan_writer
from scanner.cli.scan_work import Asked, policy_of, requirements_of, settings_of, show_endpoints
from scanner.cli.shared_options import ClusterAsked, refuse_empty
from scanner.cli.streams import note
from scanner.errors import UsageError
from scanner.jobs import Job, Surroundings
from scanner.known_findings import load_baseline
from scanner.kube.kinds import NODE, SECRET
from scanner.kube.profile_catalogue import load_profile
from scanner.model.report import SCHEMA
from scanner.model.saved_scan import POLICY, Head
from scanner.model.scan_policy import Config, ScanPolicy
from scanner.node.namespace_route import NamespaceRoutes
from scanner.node.node_listeners import (
    Destination,
    NodeListeners,
    jobs_of,
    node_listeners,
    node_surroundings,
    said,
    with_listeners,
)
from scanner.node.proc_reader import read_sockets
from scanner.probe.dial import Dialer
from scanner.probe.limits import Limits
from scanner.report.escape import plain
from scanner.report.page import counted
from scanner.values import replace

TIMEOUT = 1.0
"""Seconds without ``--timeout``: all listeners are on this machine."""


def run(options: dict[str, Any]) -> int:
    """Run ``adhere node`` with the options as click passes them; returns the exit code. Raises ``ScannerError``."""
    proc, name, every = options.pop("proc"), options.pop("node"), options.pop("every")
    save, dry_run, total = options.pop("save"), options.pop("dry_run"), options.pop("time_limit")
    which = {each: options.pop(each) for each in ("cluster", "kubeconfig", "contexts", "snapshot")}
    asked = Asked(**{**_NONE, **options})
    refuse_empty(
        {"--proc": proc, "--node": name, "--profile": asked.profile, "--policy": asked.policy_file, "--save": save}
    )
    if asked.quiet and asked.verbose:
        raise UsageError("--quiet and --verbose cannot be combined", hint="remove one of them")
    cluster = ClusterAsked(**which)
    if len(cluster.contexts) > 1:
        raise UsageError("a node belongs to one cluster", hint="write one --context")
    policy = policy_of(asked, Config())
    known = load_baseline(asked.baseline, SCHEMA) if asked.baseline else None
    outputs = parse_outputs(asked.formats)
    if asked.timeout is None:
        asked = replace(asked, timeout=min(TIMEOUT, asked.deadline or TIMEOUT))
    fail_on = asked.fail_on or "medium"
    name = name or socket.gethostname()
    assessment = _assessed(asked, cluster, policy, name) if cluster.meant else None
    listeners, destinations = node_listeners(read_sockets(proc), name, assessment, scope=policy.scope, every=every)
    note(f"adhere: {plain(said([listeners]))}")
    with closing(NamespaceRoutes(proc)) as routes:
        entered = {each.namespace.inode: each.namespace for each in destinations.values()}
        listeners = replace(listeners, unread=(*listeners.unread, *routes.refused(entered.values())))
        work = of_cluster(asked, assessment, listeners) if assessment else of_node(asked, policy, listeners)
        limits = replace(work.settings.limits, total=total)
        work = replace(
            work,
            settings=replace(work.settings, limits=limits),
            workers=1,  # others cannot dial in a network namespace
            save=save,
            way=_way(routes, destinations),
            head=replace(work.head, fail_on=fail_on),
            inputs={POLICY: asked.policy_file} if asked.policy_file else {},
            baseline=known,
        )
        if dry_run:
            with saved_scan_writer(work):
                return show_endpoints(work)
        note(f"adhere: {_plan(listeners, limits)}")
        loudness: Loudness = "quiet" if asked.quiet else "verbose" if asked.verbose else "normal"
        return run_and_report(work, outputs, fail_on, loudness)


def _plan(listeners: NodeListeners, limits: Limits) -> str:
    """Return what will be dialled, before it is."""
    networks = len({each.network for each in listeners.endpoints})
    limit = f", in at most {limits.total:g} s" if limits.total is not None else ""
    return (
        f"probes {counted(len(listeners.endpoints), 'listener')} in {counted(networks, 'network namespace')}{limit}: "
        f"{limits.concurrency} at once, {limits.per_host} in each namespace, {limits.rate or 0:g} new connections per"
        f" second, each with a timeout of {limits.timeout:g} s"
    )


_NONE: dict[str, Any] = {
    **dict.fromkeys(Asked.__struct_fields__),
    **dict.fromkeys(("targets", "formats", "required"), ()),
    **dict.fromkeys(("brief", "quiet", "verbose"), False),
}
"""The options of ``adhere scan`` that this command does not have."""


def _assessed(asked: Asked, cluster: ClusterAsked, policy: ScanPolicy, node: str) -> Assessment:
    """Read the objects of the cluster. Raises ``ScannerError``, also for a node that is none of its nodes."""
    view = viewpoint(cluster, policy, load_profile(asked.profile) if asked.profile else None)
    (snapshot,) = snapshots(cluster, (*READS, SECRET))
    found = assess(snapshot, replace(view, everything=True))  # also what no scan of the cluster can dial
    names = sorted(each.name for each in found.snapshot.every(NODE))
    if names and node not in names:
        raise UsageError(
            f"the cluster has no node {plain(node, 60)}",
            hint=f"set --node to one of: {plain(', '.join(names[:10]), 300)}{', ...' if len(names) > 10 else ''}",
        )
    return found


def _way(routes: NamespaceRoutes, destinations: dict[str, Destination]) -> Callable[[Job], Dialer | None]:
    def way(job: Job) -> Dialer | None:
        found = destinations.get(job.endpoint.instance)
        return routes.dialer(found.namespace, found.addresses, found.port) if found else None

    return way


def of_cluster(asked: Asked, assessment: Assessment, listeners: NodeListeners) -> Work:
    """Return the scan of a node with the objects of its cluster."""
    settings = settings_of(asked, Config(), "per listener, from the cluster", assessment.view.policy)
    found = with_listeners(assessment, [listeners])
    return Work(
        jobs=scan_cluster.jobs([found]),
        total=len(listeners.endpoints),
        settings=replace(settings, limits=scan_cluster.gentle(settings.limits)),
        surroundings=node_surroundings(scan_cluster.surroundings([found]), [listeners]),
        snapshots=(assessment.snapshot,),
        nodes=(listeners,),
        head=Head(
            mode=settings.mode,
            confirm=False,
            deep=False,
            clusters=(assessment.facts.name,),
            release=scan_cluster.release(assessment),
            profile=assessment.view.default_profile,
            policy=asked.policy_file is not None,
            thresholds=assessment.view.policy.thresholds,
            arguments=settings.arguments,
        ),
    )


def of_node(asked: Asked, policy: ScanPolicy, listeners: NodeListeners) -> Work:
    """Return the scan of a node without a cluster."""
    requirements = requirements_of(asked, Config(), policy)
    settings = settings_of(asked, Config(), requirements.profile.said, policy)
    return Work(
        jobs=jobs_of([listeners], requirements),
        total=len(listeners.endpoints),
        settings=replace(settings, limits=scan_cluster.gentle(settings.limits)),
        surroundings=node_surroundings(Surroundings(), [listeners]),
        nodes=(listeners,),
        head=Head(
            mode=settings.mode,
            confirm=False,
            deep=False,
            profile=requirements.profile,
            profile_source=requirements.profile_source,
            policy=asked.policy_file is not None,
            thresholds=policy.thresholds,
            arguments=settings.arguments,
        ),
    )
