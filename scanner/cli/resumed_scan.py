"""``adhere scan --resume`` and ``adhere merge``: scans from their saved input and the observations made so far."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache, partial
from itertools import accumulate, chain
from pathlib import Path
from time import monotonic, sleep

from scanner.assessment import Assessment, Viewpoint, surroundings
from scanner.cli import scan_cluster
from scanner.cli.commands.whatif import kept_policy
from scanner.cli.inputs import earlier, viewpoint
from scanner.cli.running import Work
from scanner.cli.shared_options import ClusterAsked
from scanner.cli.targets import public_anchors
from scanner.errors import InputError, UsageError
from scanner.files.regular_file import content, opened
from scanner.jobs import Job, TargetRequirements, of_targets
from scanner.kube.tls_profile import Profile
from scanner.model.endpoint import Target
from scanner.model.saved_scan import HEAD, POLICY, SHARDS, TARGETS, Head
from scanner.model.serialization import DecodeError, codec
from scanner.probe.limits import Limits
from scanner.recorded_observations import OfSeveralScans, RecordedObservations, recorded_files
from scanner.saved_scan import assessed, component_files, earlier_places, load_head
from scanner.scan import Recording, Settings
from scanner.sharding import Shard, shard_of_directory

PER_LISTENER = "per listener, from the cluster"
"""Profile of a scan of a cluster, for the head of the report."""
_POLL = 1.0
"""Seconds between two looks at a directory that another process fills."""


def resumed(directory: str, shard: Shard | None, limits: Limits, asked: ClusterAsked, wait: float) -> Work:
    """Return the rest of the scan in ``directory``, or of one shard. Raises ``ScannerError``."""
    until(lambda: Path(directory, HEAD).is_file(), wait)
    saved = _SavedScan.load(directory)
    settings = replace(saved.settings, limits=scan_cluster.gentle(limits) if saved.clusters else limits)
    files = recorded_files(directory, saved.head.scan)
    work = _work([saved], settings, RecordedObservations(files))
    own = RecordedObservations(each for each in files if each.parent == Path(directory))
    work = replace(work, save=directory, resumed=True, kept=own.at if shard is None else work.recording.recorded)
    if saved.head.selection.via:
        work = replace(
            work, accesses=scan_cluster.ways_in(replace(asked, via=saved.head.selection.via), saved.clusters)
        )
    if shard is None:
        return work
    rate = work.settings.limits.rate
    limits = replace(work.settings.limits, rate=rate and rate / shard.count)
    jobs = shard.of(work.jobs)
    return replace(work, jobs=jobs, total=None, settings=replace(settings, limits=limits), shard=shard)


def merged(directories: Sequence[str], wait: float) -> Work:
    """Return the scans in ``directories`` as one, from their recorded observations. Raises ``ScannerError``."""
    for each in directories:
        until(partial(_complete, each), wait)
    saved = [_SavedScan.load(each) for each in directories]
    _check(saved)
    recorded = [RecordedObservations(recorded_files(each.directory, each.head.scan)) for each in saved]
    sizes = [each.size() for each in saved]
    several = sum(len(each.clusters) for each in saved) > 1
    prefixes = [f"{each.clusters[0].facts.name}/" if several and len(each.clusters) == 1 else "" for each in saved]
    every = recorded[0] if len(saved) == 1 else OfSeveralScans(list(zip(recorded, sizes, prefixes, strict=True)))
    work = _work(saved, saved[0].settings, every)
    ends = [head.finished for each in saved for head in _heads(each) if head.finished]
    why = " and ".join(filter(None, map(_shortfall, saved))) or None
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


def _work(saved: Sequence[_SavedScan], settings: Settings, recorded: RecordedObservations | OfSeveralScans) -> Work:
    clusters = [cluster for each in saved for cluster in each.clusters]
    head = replace(saved[0].head, clusters=tuple(each.facts.name for each in clusters))
    work = Work(
        jobs=scan_cluster.jobs(clusters) if clusters else _jobs_of_targets(saved),
        total=sum(each.size() for each in saved),
        settings=settings,
        head=head,
        snapshots=tuple(each.snapshot for each in clusters),
        recording=Recording(recorded=recorded.at),
        started=min((each.head.started for each in saved if each.head.started), default=None),
    )
    if not clusters:
        return work
    return replace(work, surroundings=surroundings(clusters), earlier=clusters[0].view.earlier)


def _jobs_of_targets(saved: Sequence[_SavedScan]) -> Iterator[Job]:
    before = accumulate((each.size() for each in saved), initial=0)
    for each, first in zip(saved, before, strict=False):
        for place, job in enumerate(of_targets(each.targets(), each.requirements()), start=first):
            yield replace(job, place=place)


@dataclass(frozen=True, slots=True, kw_only=True)
class _SavedScan:
    """The input of a scan in a directory."""

    directory: str
    head: Head
    settings: Settings
    clusters: list[Assessment]
    """None for a list of targets."""

    @classmethod
    def load(cls, directory: str) -> _SavedScan:
        """Raises ``InputError``."""
        head = load_head(directory, unfinished=True)
        if not head.scan:
            raise InputError(f"{directory}: an earlier release saved it", hint="scan again with --save")
        policy = kept_policy(Path(directory), head)
        asked = ClusterAsked(**asdict(head.selection), components=tuple(_components(directory, head)))
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
        clusters = list(_assessments(directory, head, view))
        return cls(directory=directory, head=head, settings=settings, clusters=clusters)

    def size(self) -> int:
        """Return the number of its jobs."""
        if self.clusters:
            return sum(len(each.discovery.endpoints) for each in self.clusters)
        with opened(Path(self.directory, TARGETS), self.directory) as file:
            return sum(1 for _ in file)

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


def until(ready: Callable[[], bool], seconds: float) -> None:
    """Wait until another process has written a file; at most ``seconds``."""
    end = monotonic() + seconds
    while not ready() and monotonic() < end:
        sleep(_POLL)


def _heads(saved: _SavedScan) -> Iterator[Head]:
    """Yield the descriptions of the scan and of its shards."""
    yield saved.head
    for each in Path(saved.directory, SHARDS, saved.head.scan).glob("*"):
        if (each / HEAD).is_file():
            yield load_head(str(each), unfinished=True)


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
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise UsageError(f"the cluster {twice} is in two of the scans", hint="merge one scan of each cluster")
    for each in saved[1:]:
        if _options(each) != _options(first):
            raise UsageError(
                f"{each.directory} and {first.directory} were scanned with other options or another policy",
                hint="use the same --mode, --confirm, --deep, --profile, --ca, --components and --policy",
            )


def _options(saved: _SavedScan) -> tuple[object, ...]:
    head = saved.head
    policy = content(Path(saved.directory, POLICY), 2**24, saved.directory) if head.policy else b""
    components = [content(path, 2**24, saved.directory) for path in _components(saved.directory, head)]
    how = head.mode, head.confirm, head.deep, head.active_http, head.profile, head.anchors
    return *how, head.thresholds, policy, components
