"""``adhere scan``: from the options to the jobs and settings of a scan."""

from __future__ import annotations

import os
import sys
from array import array
from collections.abc import Callable, Container, Iterable, Iterator
from functools import cache, partial
from itertools import chain, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct

from scanner.cli.output import briefly, compatible, parse_outputs
from scanner.cli.progress import Loudness
from scanner.cli.running import Work, mirrored, run_and_report, saved_scan_writer
from scanner.cli.shared_options import DEFAULT_PROFILE, ClusterAsked, refuse_empty
from scanner.cli.streams import note, show
from scanner.cli.targets import load_anchors, parse_server_name, parse_target, public_anchors, read_targets
from scanner.errors import InputError, UsageError
from scanner.jobs import TargetRequirements, of_targets
from scanner.kube.maybe import Unknown
from scanner.kube.profile_catalogue import load_profile
from scanner.model.endpoint import Target, host_port
from scanner.model.report import EXIT_INCOMPLETE, EXIT_NOTHING, EXIT_OK, SCHEMA, FailOn, Posture
from scanner.model.saved_scan import COMPONENTS, POLICY, Head, Selection, Speed
from scanner.model.scan_policy import Config, ScanPolicy
from scanner.probe import sslyze_pool
from scanner.probe.limits import Limits
from scanner.probe.session import Mode
from scanner.report.escape import plain
from scanner.report.page import counted, exit_text
from scanner.scan import Settings, is_missing
from scanner.values import replace

if TYPE_CHECKING:
    from scanner.assessment import Assessment
    from scanner.object_store import Mirror

T = TypeVar("T")


class Asked(Struct, frozen=True, kw_only=True):
    """The options as click passes them; None for an absent one, which ``--config`` may set."""

    targets: tuple[str, ...]
    target_file: str | None
    profile: str | None
    mode: Mode | None
    formats: tuple[str, ...]
    brief: bool
    compat: str | None
    fail_on: FailOn | None
    timeout: float | None
    deadline: float | None
    concurrency: int | None
    per_host: int | None
    rate: float | None
    confirm: bool | None
    deep: bool | None
    active_http: bool | None
    sni: str | None
    ca: str | None
    config: Path | None
    policy_file: str | None
    baseline: str | None
    required: tuple[str, ...]
    history: str | None
    quiet: bool
    verbose: bool


def run(options: dict[str, Any]) -> int:
    """Run ``adhere scan`` with the options as click passes them; returns the exit code. Raises ``ScannerError``."""
    with mirrored(options["save"] or options["resume"]) as mirror:
        return _run(options, mirror)


def _run(options: dict[str, Any], mirror: Mirror | None) -> int:
    save, dry_run, push = options.pop("save"), options.pop("dry_run"), options.pop("push")
    probing = options.pop("workers")
    resume, shard, wait = options.pop("resume"), options.pop("shard"), options.pop("wait")
    if resume is None and (shard or wait):
        raise UsageError(f"{'--shard' if shard else '--wait'} needs --resume", hint=_SHARDS)
    if resume is not None:
        _refuse_others({**options, "save": save, "dry_run": dry_run, "push": push}, shard)
    cluster = ClusterAsked(**{each: options.pop(each) for each in ClusterAsked.__struct_fields__})
    asked = Asked(**options)
    refuse_empty(
        {
            "--targets": asked.target_file,
            "--profile": asked.profile,
            "--sni": asked.sni,
            "--ca": asked.ca,
            "--policy": asked.policy_file,
            "--baseline": asked.baseline,
            "--history": asked.history,
            "--save": save,
            "--resume": resume,
        }
    )
    if mirror:
        save, resume = save and mirror.directory, resume and mirror.directory
    config = config_of(asked)
    policy = policy_of(asked, config)
    known = None
    if asked.baseline:
        from scanner.known_findings import load_baseline  # noqa: PLC0415 - most runs have none

        known = load_baseline(asked.baseline, SCHEMA)
    if known and len(cluster.contexts) > 1:  # cluster-wide findings do not name their cluster
        raise UsageError("--baseline needs one cluster", hint="scan each with a baseline of its own")
    if asked.quiet and asked.verbose:
        raise UsageError("--quiet and --verbose cannot be combined", hint="remove one of them")
    if resume is None:
        work = _work(asked, cluster, config, policy, save)
    else:
        from scanner.cli import resumed_scan  # noqa: PLC0415 - most scans are new
        from scanner.sharding import parse_shard  # noqa: PLC0415

        part = parse_shard(shard, os.environ) if shard else None
        work = resumed_scan.resumed(resume, part, partial(limits_of, asked), cluster, wait or 0, mirror)
    chosen = parse_outputs(asked.formats or config.formats or ())
    outputs = (
        *(briefly(chosen) if asked.brief else chosen),
        *(compatible(asked.compat) if asked.compat else ()),
    )
    fail_on = asked.fail_on or config.fail_on or work.head.fail_on
    loudness: Loudness = "quiet" if asked.quiet else "verbose" if asked.verbose else "normal"
    work = replace(
        work,
        save=save or work.save,
        mirror=mirror,
        push=push,
        workers=probing,
        head=replace(work.head, fail_on=fail_on),
        inputs=_inputs(asked, cluster),
        baseline=known,
    )
    if dry_run:
        with saved_scan_writer(work):  # it has the input of the scan
            return show_endpoints(work)
    work = replace(work, history=_history(asked.history, work.head.clusters))
    return run_and_report(work, outputs, fail_on, loudness)


_SHARDS = "save the scan first: adhere scan ... --dry-run --save DIR; then adhere scan --resume DIR --shard 0/4"
_WITH_RESUME = frozenset(
    {"formats", "brief", "compat", "fail_on", "baseline", "history", "push", "quiet", "verbose", "kubeconfig"}
    | {"contexts", "timeout", "deadline", "concurrency", "per_host", "rate", "workers"}
)
"""Options beside ``--resume``; the saved scan has the others."""


def _refuse_others(options: dict[str, Any], shard: str | None) -> None:
    """Raise ``UsageError`` for an option beside ``--resume`` that the saved scan has, or that no shard needs."""
    for name in ("format", "brief", "compat", "fail_on", "baseline", "history", "push") if shard else ():
        if options.get("formats" if name == "format" else name):
            option = f"--{name.replace('_', '-')}"
            raise UsageError(f"{option} is for the report, and a shard has none", hint=f"use adhere merge {option}")
    for name, value in options.items():
        if name not in _WITH_RESUME and value not in (None, (), False):
            option = {"target_file": "targets", "policy_file": "policy", "required": "require"}.get(name, name)
            what = "targets" if name == "targets" else f"--{option.replace('_', '-')}"
            raise UsageError(
                f"{what} and --resume cannot be combined: the directory has the options of its scan",
                hint=f"remove {what}",
            )


def _work(asked: Asked, cluster: ClusterAsked, config: Config, policy: ScanPolicy, save: str | None) -> Work:
    if cluster.meant:
        return cluster_work(asked, cluster, config, policy)
    return target_work(asked, cluster, config, policy, save)


def show_endpoints(work: Work) -> int:
    """Print the endpoints of the scan with their profiles, and those that it leaves out."""
    count = 0
    for count, job in enumerate(work.jobs, start=1):  # noqa: B007 - a million targets are not kept
        endpoint, profile = job.endpoint, job.owes(job.endpoint).profile
        where = host_port(endpoint.address or endpoint.host, endpoint.port)
        name = f" as {endpoint.server_name}" if endpoint.server_name else ""
        said = f"not known: {profile.reason}" if isinstance(profile, Unknown) else profile.said
        show(plain(f"{endpoint.id}  {endpoint.transport}://{where}{name}  {said}"))
    for reason, number in work.surroundings.left_out:
        show(plain(f"left out: {counted(number, 'endpoint')}: {reason}"))
    unread = [each for each in work.surroundings.unreadable if is_missing(each, work.settings.policy)]
    for each in unread:
        show(plain(f"could not be read: {each.kind.resource}: {each.reason}"))
    code = EXIT_INCOMPLETE if unread else EXIT_OK if count else EXIT_NOTHING
    reasons = [f"{counted(count, 'endpoint')} would be probed, nothing dialled"]
    show(exit_text(code, [*reasons, f"{counted(len(unread), 'kind')} of objects could not be read" if unread else ""]))
    return code


def _history(directory: str | None, clusters: tuple[str, ...]) -> tuple[Posture, ...]:
    """Load the scans of ``--history``. Raises ``ScannerError``."""
    if directory is None:
        return ()
    from scanner.saved_scan import history  # noqa: PLC0415 - few scans need it

    if not Path(directory).is_dir():
        raise InputError(f"--history {plain(directory)}: no such directory", hint="use the one above those of --save")
    found, others = history(directory, clusters)
    left_out = f"; {counted(others, 'scan')} not shown: stopped, or of other clusters" if others else ""
    note(f"adhere: --history {plain(directory)}: {counted(len(found), 'earlier scan')}{left_out}")
    return found


def _inputs(asked: Asked, cluster: ClusterAsked) -> dict[str, str]:
    """Return the policy and component files by the names under which ``--save`` stores them."""
    files = {f"{COMPONENTS}/{number}.yaml": path for number, path in enumerate(cluster.components, start=1)}
    return {**files, POLICY: asked.policy_file} if asked.policy_file else files


def target_work(
    asked: Asked, cluster: ClusterAsked, config: Config, policy: ScanPolicy, save: str | None = None
) -> Work:
    """Return the scan of a list of targets. Raises ``ScannerError``."""
    cluster.refuse_cluster_options()
    requirements = requirements_of(asked, config, policy)
    settings = settings_of(asked, config, requirements.profile.said, policy)
    head = Head(
        mode=settings.mode,
        confirm=settings.confirm,
        deep=settings.deep,
        profile=requirements.profile,
        anchors=requirements.anchors,
        anchor_source=requirements.anchor_source,
        profile_source=requirements.profile_source,
        active_http=settings.active_http,
        policy=asked.policy_file is not None,
        thresholds=policy.thresholds,
        arguments=settings.arguments,
        speed=_speed_of(asked, config),
    )
    targets: Iterable[Target] = targets_of(asked, config)
    total = None
    if not asked.target_file:  # a file is read while the scan runs
        targets = list(targets)
        total = len(targets)
    if save is None:
        return Work(jobs=of_targets(targets, requirements), total=total, settings=settings, head=head)
    from scanner.cli.resumed_scan import saved_targets  # noqa: PLC0415 - most scans keep nothing

    jobs = of_targets(saved_targets(save), requirements)
    return Work(jobs=jobs, targets=targets, total=total, settings=settings, head=head)


def cluster_work(
    asked: Asked, cluster: ClusterAsked, config: Config, policy: ScanPolicy, clusters: list[Assessment] | None = None
) -> Work:
    """Read the clusters' APIs, unless ``clusters`` has them assessed, and return the scan. Raises ``ScannerError``."""
    from scanner.cli import scan_cluster  # noqa: PLC0415 - it takes longer to import than a target to scan

    if asked.targets or asked.target_file:
        raise UsageError("targets and a cluster cannot be combined", hint="run two scans")
    if asked.sni:
        raise UsageError("--sni is for targets, and a cluster's objects name its servers", hint="remove --sni")
    if cluster.via and cluster.snapshot:
        raise UsageError("--via port-forward needs the API, and --snapshot has none", hint="remove one of them")
    if cluster.publish and cluster.snapshot:
        raise UsageError("--publish needs the API, and --snapshot has none", hint="use --cluster, or --format")
    name = asked.profile or config.profile
    settings = settings_of(asked, config, "per listener, from the cluster", policy)
    settings = replace(settings, limits=scan_cluster.gentle(settings.limits))
    default = load_profile(name) if name else None
    clusters = clusters or scan_cluster.assessments(cluster, policy, default)
    return Work(
        jobs=scan_cluster.jobs(clusters),
        total=sum(len(each.discovery.endpoints) for each in clusters),
        settings=settings,
        surroundings=scan_cluster.surroundings(clusters),
        snapshots=tuple(each.snapshot for each in clusters),
        earlier=clusters[0].view.earlier,
        accesses=scan_cluster.ways_in(cluster, clusters),
        destinations=scan_cluster.destinations(cluster, clusters),
        head=Head(
            mode=settings.mode,
            confirm=settings.confirm,
            deep=settings.deep,
            clusters=tuple(each.facts.name for each in clusters),
            release=scan_cluster.release(clusters[0]),
            profile=default,
            policy=asked.policy_file is not None,
            thresholds=policy.thresholds,
            components=len(cluster.components),
            active_http=settings.active_http,
            arguments=settings.arguments,
            speed=_speed_of(asked, config),
            selection=Selection(**{each: getattr(cluster, each) for each in Selection.__struct_fields__}),
        ),
    )


def policy_of(asked: Asked, config: Config) -> ScanPolicy:
    """Return the scan's policy, with the thresholds of ``--config``. Raises ``InputError``."""
    policy = ScanPolicy()
    if asked.policy_file is not None:
        from scanner.cli.inputs import load_policy  # noqa: PLC0415 - most scans have none

        policy = load_policy(asked.policy_file)
    if config.policy is not None:
        if asked.policy_file is not None:
            what = f"both {asked.config} and {asked.policy_file} have a policy"
            raise UsageError(what, hint=f"move 'policy' of {asked.config} to 'thresholds' of {asked.policy_file}")
        policy = replace(policy, thresholds=config.policy)
    if "postQuantum" in asked.required:
        policy = replace(policy, thresholds=replace(policy.thresholds, post_quantum=policy.require.severity))
    return policy


def config_of(asked: Asked) -> Config:
    """Read the file of ``--config``. Raises ``InputError``."""
    if asked.config is None:
        return Config()
    from scanner.config.scan_policy import load_config  # noqa: PLC0415 - pydantic takes 60 ms that most scans don't need

    return load_config(str(asked.config))


def requirements_of(asked: Asked, config: Config, policy: ScanPolicy = ScanPolicy()) -> TargetRequirements:
    """Return the requirements on all targets. Raises ``ScannerError``."""
    named = (
        (asked.profile, "--profile"),
        (config.profile, f"{asked.config}"),
        (policy.profile, policy.source),
        (DEFAULT_PROFILE, "the default"),
    )
    name, chosen_by = next((name, source) for name, source in named if name)
    anchors, anchor_source = load_anchors(asked.ca) if asked.ca else ((), "")
    return TargetRequirements(
        profile=load_profile(name),
        profile_source=chosen_by,
        anchors=anchors,
        anchor_source=anchor_source,
        public_anchors=cache(public_anchors),
    )


def settings_of(asked: Asked, config: Config, profile: str, policy: ScanPolicy = ScanPolicy()) -> Settings:
    """Combine command line and configuration file. Raises ``ScannerError``."""
    confirm = _first(asked.confirm, config.confirm, default=False)
    deep = _first(asked.deep, config.deep, default=False)
    if (confirm or deep) and sslyze_pool.available() is None:
        raise UsageError(
            f"--{'confirm' if confirm else 'deep'} needs sslyze, which is not installed",
            hint="install it: pip install 'adhere[sslyze]'",
        )
    return Settings(
        profile=profile,
        mode=asked.mode or config.mode or "inventory",
        policy=policy,
        limits=limits_of(asked, config),
        confirm=confirm,
        deep=deep,
        active_http=_first(asked.active_http, config.active_http, default=False),
        arguments=tuple(sys.argv[1:]),
    )


def _speed_of(asked: Asked, config: Config) -> Speed:
    """Return the options of speed, for a scan that is resumed."""
    names = Speed.__struct_fields__
    return Speed(**{each: _first(getattr(asked, each), getattr(config, each), None) for each in names})


def limits_of(asked: Asked, config: Config | Speed) -> Limits:
    """Return the limits; the defaults are those of ``Limits``."""
    usual = Limits()
    deadline = _first(asked.deadline, config.deadline, usual.deadline)
    limits = Limits(
        timeout=_first(asked.timeout, config.timeout, min(usual.timeout, deadline)),
        deadline=deadline,
        concurrency=_first(asked.concurrency, config.concurrency, usual.concurrency),
        per_host=_first(asked.per_host, config.per_host, usual.per_host),
        rate=_first(asked.rate, config.rate, usual.rate),
    )
    if limits.timeout > limits.deadline:
        raise UsageError(
            f"--timeout {limits.timeout:g} is longer than --deadline {limits.deadline:g}",
            hint="lower --timeout, or raise --deadline",
        )
    return limits


def targets_of(asked: Asked, config: Config) -> Iterator[Target]:
    """Yield all targets once, read as they are needed. Raises ``UsageError`` if there are none."""
    texts = asked.targets or (() if asked.target_file else config.targets or ())
    if not texts and not asked.target_file:
        raise UsageError("no target and no cluster is set", hint="write HOST:PORT, --targets FILE or --cluster")
    sni = asked.sni or config.sni
    if sni:
        sni = parse_server_name(sni, "--sni" if asked.sni else f"{asked.config}: sni")
    where = "argument" if asked.targets else f"{asked.config}: target"
    named = [parse_target(text, f"{where} {place}") for place, text in enumerate(texts, start=1)]
    listed = read_targets(asked.target_file) if asked.target_file else ()
    return _once(lambda: (_sent(each, sni) for each in chain(named, listed)))


def _once(targets: Callable[[], Iterator[Target]]) -> Iterator[Target]:
    """Read all targets, so that no error appears during the scan, and return an iterator over each once. Of a million
    only hashes are kept, and only until it is known which occur twice."""
    hashes = sorted(array("q", (hash(each.canonical) for each in targets())))
    repeated = {one for one, other in pairwise(hashes) if one == other}
    return _without_repeated(targets(), repeated)


def _without_repeated(targets: Iterable[Target], hashes: Container[int]) -> Iterator[Target]:
    seen = set[str]()
    for target in targets:
        if hash(name := target.canonical) in hashes:
            if name in seen:
                continue
            seen.add(name)
        yield target


def _sent(target: Target, sni: str | None) -> Target:
    if sni and (target.server_name is None or target.server_name == target.host):
        return replace(target, server_name=sni)
    return target


def _first(asked: T | None, configured: T | None, default: T) -> T:
    """Return the value of the command line, else of the file, else the default."""
    if asked is not None:
        return asked
    return default if configured is None else configured
