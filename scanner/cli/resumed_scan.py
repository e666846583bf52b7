"""``adhere scan --resume`` and ``adhere merge``: scans from their saved input and the observations made so far."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import accumulate, chain
from pathlib import Path
from time import monotonic, sleep

from msgspec import Struct, structs

from scanner.assessment import Assessment, Viewpoint, surroundings
from scanner.cli import scan_cluster
from scanner.cli.commands.whatif import kept_policy
from scanner.cli.inputs import earlier, viewpoint
from scanner.cli.running import Work
from scanner.cli.shared_options import ClusterAsked
from scanner.cli.targets import public_anchors
from scanner.errors import InputError, ResourceError, UsageError
from scanner.files.regular_file import content, opened
from scanner.jobs import Job, Surroundings, TargetRequirements, of_targets
from scanner.kube.cluster_facts import identity
from scanner.kube.tls_profile import Profile
from scanner.model.endpoint import Target
from scanner.model.saved_scan import HEAD, POLICY, SHARDS, TARGETS, Head, Seen, Speed
from scanner.model.serialization import DecodeError, codec
from scanner.node.node_listeners import REACHED, NodeListeners, jobs_of, node_surroundings, with_listeners
from scanner.object_store import Mirror
from scanner.probe.limits import Limits
from scanner.recorded_observations import OfSeveralScans, RecordedObservations, recorded_files
from scanner.saved_scan import assessed, component_files, earlier_places, load_head, load_nodes
from scanner.scan import Recording, Settings
from scanner.sharding import Shard, shard_of_directory
from scanner.values import replace

At = Callable[[int], Mapping[str, Seen]]
"""Returns the recorded observations of a job, by instance."""
PER_LISTENER = "per listener, from the cluster"
"""Profile of a scan of a cluster, for the head of the report."""
_POLL = 1.0
"""Seconds between two looks at a directory that another process fills."""
_POLL_STORE = 5.0
"""The same for an object store, where each of them lists the objects."""


def resumed(
    directory: str,
    shard: Shard | None,
    limits_of: Callable[[Speed], Limits],
    asked: ClusterAsked,
    wait: float,
    mirror: Mirror | None = None,
) -> Work:
    """Return the rest of the scan in ``directory``, or of one shard. ``limits_of``: returns the limits from the options
    of the saved scan and of this run. ``mirror``: the object store that has it. Raises ``ScannerError``."""
    until(lambda: Path(directory, HEAD).is_file(), wait, [mirror] if mirror else [])
    if mirror:
        mirror.fetch(shard.name if shard else None)
    saved = _SavedScan.load(directory)
    if saved.nodes:
        raise UsageError(
            f"{directory}: a scan of {_named(saved.nodes)} cannot be resumed", hint="run adhere node --save again"
        )
    limits = limits_of(saved.head.speed)
    settings = replace(saved.settings, limits=scan_cluster.gentle(limits) if saved.clusters else limits)
    files = recorded_files(directory, saved.head.scan)
    own = [each for each in files if each.parent == Path(directory)]
    work = _work([saved], settings, _read_later(files))
    kept = _read_later(own) if shard is None else work.recording.recorded
    work = replace(work, save=directory, resumed=True, kept=kept)
    if saved.head.selection.via:
        work = replace(
            work, accesses=scan_cluster.ways_in(replace(asked, via=saved.head.selection.via), saved.clusters)
        )
    if shard is None:
        return work
    begun = map(shard_of_directory, (each.name for each in Path(directory, SHARDS, saved.head.scan).glob("*")))
    if other := next((each.count for each in begun if each and each.count != shard.count), 0):
        raise UsageError(f"{directory}: it has shards of {other} parts", hint=f"use --shard INDEX/{other}")
    rate = work.settings.limits.rate
    limits = replace(work.settings.limits, rate=rate and rate / shard.count)
    jobs = shard.of(work.jobs)
    return replace(work, jobs=jobs, total=None, settings=replace(settings, limits=limits), shard=shard)


def _read_later(files: Sequence[Path]) -> At:
    """Read the files when the first observation is asked for: the lines move when the writer, which has the lock then,
    removes those that are not finished."""
    recorded = cache(lambda: RecordedObservations(files))
    return lambda place: recorded().at(place)


def merged(directories: Sequence[str], wait: float, mirrors: Sequence[Mirror] = ()) -> Work:
    """Return the scans in ``directories`` as one, from their recorded observations. ``mirrors``: those of them that
    are in an object store. Raises ``ScannerError``."""
    until(partial(_all_complete, directories), wait, mirrors)
    for each in mirrors:
        each.fetch()
    saved = [_SavedScan.load(each) for each in _scans_in(directories)]
    _check(saved)
    recorded = [RecordedObservations(recorded_files(each.directory, each.head.scan)) for each in saved]
    sizes = [each.size() for each in saved]
    several = sum(len(each.clusters) for each in saved) > 1 and not _nodes(saved)
    prefixes = [f"{each.clusters[0].facts.name}/" if several and len(each.clusters) == 1 else "" for each in saved]
    every = recorded[0] if len(saved) == 1 else OfSeveralScans(list(zip(recorded, sizes, prefixes, strict=True)))
    work = _work(saved, saved[0].settings, every.at)
    ends = [head.finished for each in saved for head in _heads(each) if head.finished]
    why = " and ".join(filter(None, (*map(_shortfall, saved), _missing_nodes(_nodes(saved))))) or None
    return replace(
        work,
        recording=replace(work.recording, dials=False, interrupted=why),
        finished=max(ends, default=None),
        inputs=_inputs(saved[0]),
        targets=chain.from_iterable(each.targets() for each in saved if not each.clusters),
    )


def _inputs(saved: _SavedScan) -> dict[str, str]:
    """Return the files of the scan that ``--save`` copies, by their names."""
    directory, components = Path(saved.directory), _components(saved.directory, saved.head)
    files = {str(Path(each).relative_to(directory)): each for each in components}
    return {**files, POLICY: str(directory / POLICY)} if saved.head.policy else files


def _work(saved: Sequence[_SavedScan], settings: Settings, recorded: At) -> Work:
    clusters = [cluster for each in saved for cluster in each.clusters]
    if nodes := _nodes(saved):
        return _work_of_nodes(saved, nodes, settings, recorded)
    head = replace(saved[0].head, clusters=tuple(each.facts.name for each in clusters))
    work = Work(
        jobs=scan_cluster.jobs(clusters) if clusters else _jobs_of_targets(saved),
        total=sum(each.size() for each in saved),
        settings=settings,
        head=head,
        snapshots=tuple(each.snapshot for each in clusters),
        recording=Recording(recorded=recorded),
        started=min((each.head.started for each in saved if each.head.started), default=None),
    )
    if not clusters:
        return work
    return replace(work, surroundings=surroundings(clusters), earlier=clusters[0].view.earlier)


def _work_of_nodes(
    saved: Sequence[_SavedScan],
    nodes: tuple[NodeListeners, ...],
    settings: Settings,
    recorded: At,
) -> Work:
    """Return the scans of the nodes of one cluster, and of the cluster itself, as one. An endpoint that two of them
    have is that of the first."""
    first, jobs, places = saved[0], dict[str, Job](), list[int]()
    before = accumulate((each.size() for each in saved), initial=0)
    for each, start in zip(saved, before, strict=False):
        for job in each.jobs_of_nodes(first):
            if job.endpoint.instance not in jobs:
                jobs[job.endpoint.instance] = replace(job, place=len(jobs))
                places.append(start + (job.place or 0))
    endpoints = tuple(job.endpoint for job in jobs.values())
    # As --save keeps them: the endpoints in the order of their places.
    nodes = (replace(nodes[0], endpoints=endpoints), *(replace(each, endpoints=()) for each in nodes[1:]))
    around = Surroundings()
    if first.clusters:
        left_out = Counter[str]()
        for each in saved:
            left_out.update(dict(each.clusters[0].discovery.left_out))
        if not all(each.nodes for each in saved):  # a scan of the cluster has them
            del left_out[REACHED]
        discovery = replace(
            first.clusters[0].discovery,
            endpoints=endpoints,
            turns=(0,) * len(jobs),
            left_out=tuple(left_out.items()),
            truncated=max(each.clusters[0].discovery.truncated for each in saved),
        )
        gaps = {kind: gap for each in saved for kind, gap in each.clusters[0].snapshot.unreadable.items()}
        snapshot = replace(first.clusters[0].snapshot, unreadable=gaps)
        around = surroundings([replace(first.clusters[0], snapshot=snapshot, discovery=discovery)])
    return Work(
        jobs=list(jobs.values()),
        total=len(jobs),
        settings=settings,
        head=first.head,
        snapshots=tuple(each.snapshot for each in first.clusters),
        earlier=first.clusters[0].view.earlier if first.clusters else (),
        nodes=nodes,
        surroundings=node_surroundings(around, nodes),
        recording=Recording(recorded=lambda place: recorded(places[place])),
        started=min((each.head.started for each in saved if each.head.started), default=None),
    )


def _jobs_of_targets(saved: Sequence[_SavedScan]) -> Iterator[Job]:
    before = accumulate((each.size() for each in saved), initial=0)
    for each, first in zip(saved, before, strict=False):
        for place, job in enumerate(of_targets(each.targets(), each.requirements()), start=first):
            yield replace(job, place=place)


class _SavedScan(Struct, frozen=True, kw_only=True):
    """The input of a scan in a directory."""

    directory: str
    head: Head
    settings: Settings
    clusters: list[Assessment]
    """None for a list of targets."""
    nodes: tuple[NodeListeners, ...] = ()
    """The listeners of its nodes, if their sockets were scanned."""

    @classmethod
    def load(cls, directory: str) -> _SavedScan:
        """Raises ``InputError``."""
        head = load_head(directory, unfinished=True)
        if not head.scan:
            raise InputError(f"{directory}: an earlier release saved it", hint="scan again with --save")
        policy = kept_policy(Path(directory), head)
        asked = ClusterAsked(**structs.asdict(head.selection), components=tuple(_components(directory, head)))
        view = viewpoint(asked, policy, head.profile if head.clusters else None)
        view = replace(view, earlier=earlier(map(str, earlier_places(Path(directory), head.earlier))))
        settings = Settings(
            profile=PER_LISTENER if head.clusters else _profile(head, directory).said,
            mode="verdict" if head.mode == "verdict" else "inventory",
            policy=policy,
            confirm=bool(head.confirm),
            deep=bool(head.deep),
            active_http=head.active_http,
            arguments=head.arguments,
        )
        clusters, nodes = list(_assessments(directory, head, view)), load_nodes(directory, head)
        if nodes:
            clusters = [with_listeners(each, nodes) for each in clusters]
        saved = cls(directory=directory, head=head, settings=settings, clusters=clusters, nodes=nodes)
        if head.targets not in (None, count := saved.size()):
            path = Path(directory, TARGETS)
            raise InputError(f"{path}: it has {count} targets, not {head.targets}", hint="was the file changed?")
        return saved

    def size(self) -> int:
        """Return the number of its jobs."""
        if self.clusters:
            return sum(len(each.discovery.endpoints) for each in self.clusters)
        if self.nodes:
            return sum(len(each.endpoints) for each in self.nodes)
        with opened(Path(self.directory, TARGETS), self.directory) as file:
            return sum(1 for _ in file)

    def jobs_of_nodes(self, first: _SavedScan) -> Iterator[Job]:
        """Yield the jobs of its nodes, or of its cluster; the certificates are collected for ``first``."""
        if self.clusters:
            yield from replace(self.clusters[0], certificates=first.clusters[0].certificates).jobs()
        else:
            yield from jobs_of(self.nodes, self.requirements())

    def targets(self) -> Iterator[Target]:
        """Yield the targets of its list. Raises ``InputError``."""
        return saved_targets(self.directory)

    def requirements(self) -> TargetRequirements:
        """Return the requirements on its targets. Raises ``InputError``."""
        head = self.head
        return TargetRequirements(
            profile=_profile(head, self.directory),
            profile_source=head.profile_source,
            anchors=head.anchors,
            anchor_source=head.anchor_source,
            public_anchors=cache(public_anchors),
        )


def _assessments(directory: str, head: Head, view: Viewpoint) -> Iterable[Assessment]:
    return assessed(directory, head, view).values() if head.clusters else ()


def _components(directory: str, head: Head) -> list[str]:
    return component_files(Path(directory), head.components)


def _profile(head: Head, directory: str) -> Profile:
    if head.profile is None:
        raise InputError(f"{directory}: a list of targets needs a profile", hint="was the file changed?")
    return head.profile


def saved_targets(directory: str) -> Iterator[Target]:
    """Yield the targets that a scan has saved, read as they are needed. Raises ``InputError``."""
    path = Path(directory, TARGETS)
    with opened(path, directory) as file:
        for number, line in enumerate(file, start=1):
            try:
                found = codec(Target).decode(json.loads(line))
            except (ValueError, RecursionError) as error:
                said = error.problem if isinstance(error, DecodeError) else "not JSON"
                raise InputError(f"{path}:{number}: {said}", hint="was the file changed?") from None
            assert isinstance(found, Target)  # noqa: S101 - what its codec gives
            yield found


def until(ready: Callable[[], bool], seconds: float, mirrors: Sequence[Mirror] = ()) -> None:
    """Wait until another process has written a file; at most ``seconds``. An object store that has answered may fail
    in between. Raises ``ScannerError``."""
    end, answered = monotonic() + seconds, False
    while True:
        try:
            for each in mirrors:
                each.fetch_heads()
            answered = True
            if ready() or monotonic() >= end:
                return
        except ResourceError:
            if not answered or monotonic() >= end:
                raise
        sleep(_POLL_STORE if mirrors else _POLL)


def _heads(saved: _SavedScan) -> Iterator[Head]:
    """Yield the descriptions of the scan and of its shards."""
    yield saved.head
    for each in Path(saved.directory, SHARDS, saved.head.scan).glob("*"):
        if (each / HEAD).is_file():
            yield load_head(str(each), unfinished=True)


def _named(nodes: Iterable[NodeListeners]) -> str:
    names = [each.node for each in nodes]
    return f"node {names[0]}" if len(names) == 1 else f"{len(names)} nodes"


def _nodes(saved: Iterable[_SavedScan]) -> tuple[NodeListeners, ...]:
    return tuple(node for each in saved for node in each.nodes)


def _missing_nodes(nodes: Sequence[NodeListeners]) -> str:
    """Return the nodes of the cluster that were not scanned; "" if there are none."""
    missing = sorted({name for each in nodes for name in each.beside} - {each.node for each in nodes})
    more = f" and {len(missing) - 20} more" if len(missing) > 20 else ""
    return f"missing nodes {', '.join(missing[:20])}{more}" if missing else ""


def _scans_in(directories: Iterable[str]) -> list[str]:
    """Return the saved scans: the directories, or those below one that is none, such as one for each node."""
    found: list[str] = []
    for each in directories:
        below = [] if Path(each, HEAD).exists() else sorted(Path(each).glob(f"*/{HEAD}"))
        found += [str(place.parent) for place in below] or [each]
    return found


def _all_complete(directories: Sequence[str]) -> bool:
    """True if each of the scans is complete, and with scans of nodes one of each node is there."""
    places = _scans_in(directories)
    if not all(map(_complete, places)):
        return False
    heads = [(each, load_head(each, unfinished=True)) for each in places]
    return not _missing_nodes([node for each, head in heads for node in load_nodes(each, head)])


def _complete(directory: str) -> bool:
    """True if the scan in ``directory``, or every shard of it, is complete."""
    return Path(directory, HEAD).is_file() and not _shortfall_of(directory, load_head(directory, unfinished=True))


def _shortfall(saved: _SavedScan) -> str:
    return _shortfall_of(saved.directory, saved.head)


def _shortfall_of(directory: str, head: Head) -> str:
    """Return what the scan lacks: the reason of its end, or ``missing shards 1, 3 of 8``; "" if it is complete."""
    if not head.unfinished and not head.interrupted:
        return ""
    below = Path(directory, SHARDS, head.scan)
    found = {each.name: shard_of_directory(each.name) for each in below.glob("*")}
    if strange := next((name for name, shard in found.items() if shard is None), None):
        raise InputError(f"{below / strange}: not the directory of a shard", hint="remove it")
    counts = {each.count for each in found.values() if each}
    if len(counts) > 1:
        numbers = " and ".join(map(str, sorted(counts)))
        raise InputError(f"{directory}: it has shards of {numbers} parts", hint="use one number of shards; scan again")
    if not counts:
        return head.interrupted or "the end of its process"
    (count,) = counts
    shards = (Shard(index, count) for index in range(count))
    missing = [str(each.index) for each in shards if not _ended(below / each.name)]
    named = ", ".join(missing[:20]) + (f" and {len(missing) - 20} more" if len(missing) > 20 else "")
    return f"missing shards {named} of {count}" if missing else ""


def _ended(shard: Path) -> bool:
    if not (shard / HEAD).is_file():
        return False
    head = load_head(str(shard), unfinished=True)
    return not head.unfinished and head.interrupted is None


def _check(saved: Sequence[_SavedScan]) -> None:
    """Raise ``UsageError`` for scans that cannot be one report."""
    first, names = saved[0], [cluster.facts.name for each in saved for cluster in each.clusters]
    if len({bool(each.clusters) for each in saved}) > 1:
        raise UsageError("scans of clusters and of targets cannot be merged", hint="merge them apart")
    if nodes := _nodes(saved):
        _check_nodes(saved, nodes, names)
    elif twice := next((name for name in names if names.count(name) > 1), None):
        raise UsageError(f"the cluster {twice} is in two of the scans", hint="merge one scan of each cluster")
    for each in saved[1:]:
        if _options(each) != _options(first):
            raise UsageError(
                f"{each.directory} and {first.directory} were scanned with other options or another policy",
                hint="use the same --mode, --confirm, --deep, --profile, --ca, --components and --policy",
            )


def _check_nodes(saved: Sequence[_SavedScan], nodes: Sequence[NodeListeners], names: Sequence[str]) -> None:
    """Raise ``UsageError`` for scans of nodes that cannot be one report."""
    known = {identity(cluster.snapshot) for each in saved for cluster in each.clusters}
    if len(known - {""}) > 1 or (len(set(names)) > 1 and "" in known):
        raise UsageError("scans of nodes of several clusters cannot be merged", hint="merge those of one cluster")
    if not names and not all(each.nodes for each in saved):
        raise UsageError("scans of nodes and of targets cannot be merged", hint="merge them apart")
    if len([each for each in saved if not each.nodes]) > 1:
        raise UsageError(f"the cluster {names[0]} is in two of the scans", hint="merge one scan of the cluster")
    whole = next((each for each in saved if not each.nodes), None)
    if whole and (whole.head.selection.include or whole.head.selection.exclude or whole.head.selection.namespace):
        raise UsageError(
            f"{whole.directory}: a scan with --include, --exclude or --namespace has a part of the listeners, and the "
            "scans of the nodes leave all that it may have to it",
            hint="scan the cluster without these options",
        )
    called = [each.node for each in nodes]
    if twice := next((name for name in called if called.count(name) > 1), None):
        raise UsageError(f"the node {twice} is in two of the scans", hint="merge one scan of each node")


def _options(saved: _SavedScan) -> tuple[object, ...]:
    head = saved.head
    policy = content(Path(saved.directory, POLICY), 2**24, saved.directory) if head.policy else b""
    components = [content(path, 2**24, saved.directory) for path in _components(saved.directory, head)]
    how = head.mode, head.confirm, head.deep, head.active_http, head.profile, head.anchors
    return *how, head.thresholds, policy, components
