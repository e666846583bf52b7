"""Save a scan in a directory, and judge it again without a handshake.

``scan.json`` describes the rest, and whether the scan is complete; ``observations.jsonl`` has the observation of every
endpoint, ``rows.jsonl`` its row and ``findings.jsonl`` the cluster-wide findings; ``targets.jsonl`` has the list of
targets, or ``snapshot/`` (``snapshots/1`` ... for several clusters) the clusters; ``shards/`` the observations of the
processes that share the scan; ``nodes.json`` the listeners that were found on nodes. No file has a private key.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryFile
from types import TracebackType
from typing import Self, TextIO

from msgspec import Struct, field

from scanner.assessment import READS, Assessment, Viewpoint, assess, surroundings
from scanner.cross_endpoint import CrossEndpoint, cross_endpoint, with_finding
from scanner.custom_rules import of_endpoint
from scanner.errors import InputError, ResourceError, UsageError
from scanner.files.begun import BEGUN, may_be_filled
from scanner.files.regular_file import content, opened
from scanner.jobs import Surroundings, TargetRequirements
from scanner.judge import RULES, judge, judgement
from scanner.judge.network_policy import NetworkPolicies, explain
from scanner.judge.sslyze_result import DEEP_RULES, apply_sslyze_result
from scanner.judge.tls_parameters import SUITE, VERSION
from scanner.judge.waivers import WaiverLedger
from scanner.kube.kinds import LOCAL_KINDS, NETWORK_POLICY, SECRET
from scanner.kube.maybe import Unknown
from scanner.kube.snapshot import Snapshot, with_local_files
from scanner.kube.tls_profile import Profile
from scanner.model.endpoint import Endpoint, Target
from scanner.model.expectation import Expectation
from scanner.model.finding import OUTCOMES, Outcome
from scanner.model.inventory import InventoryRow, moment
from scanner.model.observation import Observation
from scanner.model.report import Coverage, EndpointRow, FindingRow, Posture, Summary
from scanner.model.rule import AnyRule, Case
from scanner.model.saved_scan import (
    COMPONENTS,
    EARLIER,
    FINDINGS,
    HEAD,
    NODES,
    OBSERVATIONS,
    PARTS,
    POLICY,
    ROWS,
    SCHEMA,
    SHARDS,
    TARGETS,
    Head,
    Seen,
    cluster_of,
    encode,
    read,
)
from scanner.model.scan_policy import MOST_DAYS, CustomRule, Scope, any_matches
from scanner.model.serialization import DecodeError, codec
from scanner.node.node_listeners import NodeListeners
from scanner.object_store import Mirror, is_url
from scanner.recorded_observations import remove_unfinished
from scanner.report.atomic import atomic_write
from scanner.report.rows import endpoint_row, finding_row, timestamp
from scanner.report.stream import dumps, read_rows
from scanner.report.whatif import Outlook
from scanner.tls.codepoints import VERSIONS
from scanner.tls.names import version_name
from scanner.values import replace

_MOST_BYTES = 16 * 2**20
_MOST_OF_NODES = 2**30
_MOST_PARTS = 10_000
"""Most files or directories of one kind. A command line has room for fewer."""
_MOST_SPEED = 1_000_000
"""Largest value of an option of speed."""


class SavedScanWriter:
    """A directory that is filled during a scan. Its description is written first, so that a scan that was killed can
    be resumed; every observation is in the file before the next is made."""

    def __init__(  # noqa: PLR0913 - all that a scan saves
        self,
        directory: str,
        head: Head,
        snapshots: tuple[Snapshot, ...] = (),
        inputs: Mapping[str, str] | None = None,
        earlier: tuple[Snapshot, ...] = (),
        targets: Iterable[Target] = (),
        nodes: tuple[NodeListeners, ...] = (),
        *,
        part: str = "",
        resumed: bool = False,
        mirror: Mirror | None = None,
    ) -> None:
        """``inputs``: policy and component files by their saved names. ``earlier``: snapshots of ``--previous``.
        ``part``: the directory below, if this process has a share of the scan only. ``resumed``: keep what is there.
        ``mirror``: the object store that ``directory`` mirrors.

        Raises ``UsageError`` for a directory with other files, and ``ResourceError`` if it cannot be written.
        """
        if is_url(directory):
            raise UsageError(f"{directory}: not a directory", hint="save the scan in a directory")
        self._directory, self._part, self._mirror = Path(directory, part), part, mirror
        if not resumed:
            started = timestamp(datetime.now(UTC))
            head = replace(head, earlier=len(earlier), unfinished=True, started=started, scan=token_hex(8))
            head = replace(head, nodes=tuple(each.node for each in nodes))
        self._head = head
        try:
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._lock = _locked(self._directory)
            if resumed:
                remove_unfinished(self._directory / OBSERVATIONS)
            else:
                with TemporaryFile("w+", encoding="utf-8") as listed:  # a wrong target leaves the former scan
                    count = _write_targets(targets, listed)
                    if not snapshots and not nodes:
                        self._head = replace(self._head, targets=count)
                    self._prepare()
                    if nodes:
                        write_nodes(self._directory, nodes)
                    self._save(snapshots, inputs or {}, earlier, listed)
                if mirror:
                    mirror.upload_input()
            # Buffered by line: what was finished survives the end of this process.
            self._out = (self._directory / OBSERVATIONS).open("a", encoding="ascii", newline="\n", buffering=1)
        except OSError as error:
            raise self._cannot(error) from None

    def _prepare(self) -> None:
        """Empty the directory."""
        if not may_be_filled(self._directory, HEAD):
            raise UsageError(
                f"{self._directory}: it has other content", hint="choose an empty directory, or a saved scan"
            )
        (self._directory / BEGUN).touch()
        for name in (HEAD, ROWS, FINDINGS, POLICY, TARGETS, NODES):
            (self._directory / name).unlink(missing_ok=True)
        for each in self._directory.glob(PARTS):
            each.unlink()
        for name in ("snapshot", "snapshots", COMPONENTS, EARLIER, SHARDS):
            if (self._directory / name).is_dir():
                shutil.rmtree(self._directory / name)

    def _save(
        self,
        snapshots: tuple[Snapshot, ...],
        inputs: Mapping[str, str],
        earlier: tuple[Snapshot, ...],
        targets: TextIO,
    ) -> None:
        """Save the input of the scan; the description is last."""
        for place, snapshot in zip(snapshot_places(self._directory, len(snapshots)), snapshots, strict=True):
            _save(snapshot, place)
        for place, snapshot in zip(earlier_places(self._directory, len(earlier)), earlier, strict=True):
            _save(snapshot, place)
        for name, path in inputs.items():
            (self._directory / name).parent.mkdir(exist_ok=True)
            shutil.copyfile(path, self._directory / name)
        if not snapshots:
            with (self._directory / TARGETS).open("w", encoding="utf-8") as out:
                targets.seek(0)
                shutil.copyfileobj(targets, out)
        self._describe(self._head)
        (self._directory / BEGUN).unlink()

    def _describe(self, head: Head) -> None:
        """Write the description at once, so that another process cannot read a part of it."""
        atomic_write(self._directory / HEAD, lambda out: _write_head(head, out))

    def record(self, seen: Seen) -> None:
        """Save one observation. Raises ``ResourceError``."""
        try:
            self._out.write(encode(seen) + "\n")
        except OSError as error:
            raise self._cannot(error) from None
        if self._mirror:
            self._mirror.recorded(self._directory / OBSERVATIONS)

    def finish(
        self,
        rows: Path,
        findings: Iterable[FindingRow] = (),
        coverage: Coverage | None = None,
        started: str = "",
        outcomes: Mapping[Outcome, int] | None = None,
        finished: str = "",
    ) -> None:
        """Save the results. ``findings``: cluster-wide findings. A part of a scan has neither these
        nor rows: they need all endpoints."""
        head = replace(self._head, interrupted=coverage["interrupted"] if coverage else None, coverage=coverage)
        head = replace(head, unfinished=False, started=started, finished=finished)
        head = replace(head, outcomes=dict[str, int](outcomes.items()) if outcomes else None)
        try:
            self._out.close()
            if not self._part:
                shutil.copyfile(rows, self._directory / ROWS)
                lines = "".join(f"{dumps(each)}\n" for each in findings)
                (self._directory / FINDINGS).write_text(lines, encoding="utf-8")
            self._describe(head)
        except OSError as error:
            raise self._cannot(error) from None
        if self._mirror:
            self._mirror.finish(self._directory)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(OSError):  # of a full disk: ``record`` has said so
            self._out.close()
        os.close(self._lock)
        if self._mirror:
            self._mirror.close()

    def _cannot(self, error: OSError) -> ResourceError:
        return ResourceError(
            f"{self._directory}: what was seen cannot be kept: {error.strerror or error}",
            hint="is the disk full, or the directory not writable?",
        )


def _write_targets(targets: Iterable[Target], out: TextIO) -> int:
    """Write the list of targets, and return their number."""
    count = 0
    for each in targets:
        out.write(f"{dumps(codec(Target).encode(each))}\n")
        count += 1
    return count


def _locked(directory: Path) -> int:
    """Lock the directory until the descriptor is closed. Raises ``UsageError`` if another process has it."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise UsageError(f"{directory}: another process writes there", hint="wait for it, or end it") from None
    except OSError:  # a file system without locks
        pass
    return descriptor


def snapshot_places(directory: Path, count: int) -> list[Path]:
    """Return the directories of the snapshots of ``count`` clusters."""
    if count == 1:
        return [directory / "snapshot"]
    return [directory / "snapshots" / str(number) for number in range(1, count + 1)]


def earlier_places(directory: Path, count: int) -> list[Path]:
    """Return the directories of the ``count`` earlier snapshots."""
    return [directory / EARLIER / str(number) for number in range(1, count + 1)]


def component_files(directory: Path, count: int) -> list[str]:
    """Return the paths of the user's ``count`` files of the component catalogue."""
    return [str(directory / COMPONENTS / f"{number}.yaml") for number in range(1, count + 1)]


def _save(snapshot: Snapshot, place: Path) -> None:
    from scanner.cluster import save  # noqa: PLC0415 - scans of targets have nothing to do with the HTTP client behind it

    save(snapshot, place)


_NODES = codec(tuple[NodeListeners, ...])


def write_nodes(directory: Path, nodes: tuple[NodeListeners, ...]) -> None:
    """Save the listeners of nodes. Raises ``OSError``."""
    (directory / NODES).write_text(dumps(_NODES.encode(nodes)) + "\n", encoding="utf-8")


def load_nodes(directory: str, head: Head) -> tuple[NodeListeners, ...]:
    """Load the listeners of the nodes that were scanned; none for another scan. Raises ``InputError``."""
    if not head.nodes:
        return ()
    path = Path(directory, NODES)
    try:
        nodes: tuple[NodeListeners, ...] = _NODES.decode(json.loads(content(path, _MOST_OF_NODES, directory)))
    except (ValueError, RecursionError) as error:
        problem = f"{error.path}: {error.problem}" if isinstance(error, DecodeError) else "not JSON"
        raise InputError(f"{path}: {problem}", hint="was the file changed?") from None
    for node in nodes:
        if bad := next((each for each in node.endpoints if not 0 < each.port < 65536), None):
            raise InputError(f"{path}: {bad.port} is not a port", hint="was the file changed?")
    return nodes


def _write_head(head: Head, out: TextIO) -> None:
    out.write(json.dumps(codec(Head).encode(head), indent=1) + "\n")


def load_head(directory: str, *, unfinished: bool = False) -> Head:
    """Load the description of a saved scan. Raises ``InputError``, also for a scan that did not end, unless
    ``unfinished``."""
    path = Path(directory) / HEAD
    hint = "this must be a directory that adhere scan --save has filled"
    try:
        head = codec(Head).decode(json.loads(content(path, _MOST_BYTES)))
    except InputError as error:
        raise InputError(error.message, hint=hint) from None
    except (ValueError, RecursionError) as error:
        problem = f"{error.path}: {error.problem}" if isinstance(error, DecodeError) else "not JSON"
        raise InputError(f"{path}: {problem}", hint=hint) from None
    if head.schema != SCHEMA:
        raise InputError(f"{path}: not an {SCHEMA}", hint=hint)
    assert isinstance(head, Head)  # noqa: S101 - what its codec gives
    if wrong := _impossible(head):
        raise InputError(f"{path}: {wrong}", hint=hint)
    if head.unfinished and not unfinished:
        raise InputError(f"{directory}: this scan did not end", hint=f"finish it: adhere scan --resume {directory}")
    below = map(Path(directory).joinpath, (ROWS, FINDINGS, OBSERVATIONS, POLICY))
    for each in (*below, *map(Path, component_files(Path(directory), head.components))):
        if each.exists():
            opened(each, directory).close()
    return head


MOST_POSTURES = 366
"""Scans of a history; the latest count."""


def history(directory: str, clusters: tuple[str, ...]) -> tuple[tuple[Posture, ...], int]:
    """Return the complete scans of these clusters that are saved in subdirectories of ``directory``, oldest first, and
    the number of other ones. Raises ``InputError``."""
    places = sorted(each.parent for each in Path(directory).glob(f"*/{HEAD}"))
    found, others = list[Posture](), 0
    for place in places:
        head = load_head(str(place))
        at = moment(head.started)
        if head.clusters != clusters or head.interrupted or head.nodes or at is None:
            others += 1
            continue
        found.append(Posture(at=at, outcomes=_outcomes(place, head)))
    return tuple(sorted(found, key=lambda each: each.at)[-MOST_POSTURES:]), others


def _outcomes(place: Path, head: Head) -> dict[Outcome, int]:
    if head.outcomes:
        return {each: max(head.outcomes.get(each, 0), 0) for each in OUTCOMES}
    summary = Summary()
    for row in read_rows(place / ROWS):
        summary.add(row)
    return summary.outcomes


def _impossible(head: Head) -> str | None:
    """Return an impossible value of the description, or None."""
    if not re.fullmatch(r"[0-9a-f]{16}|", head.scan):
        return "scan: not an id"  # it is the name of a directory
    for name, count in (("components", head.components), ("earlier", head.earlier), ("clusters", len(head.clusters))):
        if not 0 <= count <= _MOST_PARTS:
            return f"{name}: there cannot be {count}"
    for name in head.speed.__struct_fields__:
        amount = getattr(head.speed, name)
        if amount is not None and not 0 < amount <= _MOST_SPEED:
            return f"speed.{name}: not more than 0, and at most {_MOST_SPEED}: {amount}"
    for name in ("expires_within_days", "expires_within_days_medium", "expires_within_days_high"):
        days = getattr(head.thresholds, name)
        if not 0 <= days <= MOST_DAYS:
            return f"thresholds.{name}: not from 0 to {MOST_DAYS}: {days}"
    return None


class Rejudged(Struct):
    """A saved scan, judged from another viewpoint."""

    directory: str
    head: Head
    view: Viewpoint
    clusters: Mapping[str, Assessment]
    """Clusters by name; none for a list of targets."""
    of_targets: TargetRequirements | None
    """Requirements on the targets of a list; None for clusters."""
    out_of_scope: int = 0
    """Number of endpoints that the policy of the viewpoint excludes."""
    outlooks: dict[str, Outlook] = field(default_factory=dict)
    """Forecasts by instance for endpoints that would not comply with ``--profile``; complete after ``rows``."""
    _verdicts: Counter[str] = field(default_factory=Counter)
    _across: CrossEndpoint | None = None

    def rows(self) -> Iterator[EndpointRow]:
        """Yield the new rows in the order of the observations; those that depend on other endpoints come last.

        Certificates are judged by the day of their observation. Raises ``InputError`` for a damaged directory.
        """
        waiting: list[EndpointRow] = []
        kept = map(_then, read_rows(Path(self.directory) / ROWS))
        then = {instance: (profile, met) for instance, profile, met in kept}
        for seen in read(Path(self.directory) / OBSERVATIONS):
            of_all = self._across = self._across or cross_endpoint(self.view.policy, seen.observation.at.date())
            cluster, own = self._own(seen.endpoint)
            if cluster and not in_scope(own, self.view.policy.scope):
                self.out_of_scope += 1
                continue
            expectation = self._expectation(cluster, own)
            if cluster:
                cluster.certificates.serve(seen.endpoint, seen.observation, expectation)
            profile_then, met_then = then.get(seen.endpoint.instance) or (None, False)
            before = profile_then or ""
            of_all.replicas.add(seen.endpoint, expectation, seen.observation, profile_then=before)
            of_all.passages.add(seen.endpoint, expectation, seen.observation)
            of_all.sharing.add(seen.endpoint, expectation, seen.observation)
            told = self._row(seen, cluster, expectation, of_all.ledger)
            if self.view.profile and (found := outlook(expectation, seen.observation, met_then=met_then)):
                self.outlooks[seen.endpoint.instance] = found
            if expectation.passed_on is not None:
                waiting.append(told)
                continue
            self._verdicts[told["verdict"]] += 1
            yield told
        late = self._across.on_endpoints() if self._across else {}
        for each in waiting:
            told = with_finding(each, late.get(each["instance"]))
            self._verdicts[told["verdict"]] += 1
            yield told

    def judged(self, seen: Seen, ledger: WaiverLedger) -> EndpointRow:
        """Judge one observation. Raises ``InputError`` for an endpoint of an unknown cluster."""
        cluster, own = self._own(seen.endpoint)
        return self._row(seen, cluster, self._expectation(cluster, own), ledger)

    def _row(
        self, seen: Seen, cluster: Assessment | None, expectation: Expectation, ledger: WaiverLedger
    ) -> EndpointRow:
        endpoint, observation = seen.endpoint, seen.observation
        case = Case(
            endpoint=endpoint,
            expectation=expectation,
            observation=observation,
            policy=self.view.policy.thresholds,
            now=observation.at,
            opinion=seen.opinion,
        )
        confirmed, deep = bool(self.head.confirm), bool(self.head.deep)
        told = apply_sslyze_result(judge(case).findings, case, confirmed=confirmed, deep=deep)
        explained = explain(cluster.policies if cluster else NetworkPolicies(()), endpoint, observation, told)
        custom = of_endpoint(self.view.policy, endpoint, expectation, observation)
        result = judgement(ledger.waive(self.view.policy.adjusted((*explained.findings, *custom)), endpoint))
        said = (endpoint, expectation, observation, result.verdict, result.status, result.findings)
        return endpoint_row(*said, blocked_by=explained.blocked_by)

    def not_judged(self) -> tuple[str, ...]:
        """Return the results that cannot be judged again, with the reason."""
        return tuple(self._gaps())

    def _gaps(self) -> Iterator[str]:
        if self.head.deep is None:
            yield "the results of sslyze (--confirm, --deep): the release that saved the scan did not save them"
        if self.head.confirm:
            yield "sslyze's confirmation of new violations: sslyze checked only those of the scan, so new ones count"
        for name, each in self.clusters.items():
            if gap := each.snapshot.gap(NETWORK_POLICY):
                yield f"which NetworkPolicies close a port in {name}: {gap}"

    def _expectation(self, cluster: Assessment | None, own: Endpoint) -> Expectation:
        if cluster:
            return cluster.expectations.of(own)
        assert self.of_targets  # noqa: S101 - a scan without clusters is one of targets
        return self.of_targets(own)

    def _own(self, endpoint: Endpoint) -> tuple[Assessment | None, Endpoint]:
        """Return the cluster of an endpoint, and the endpoint with its id in that cluster; None for a target.

        Raises ``InputError`` for an endpoint of an unknown cluster.
        """
        if self.of_targets:
            return None, endpoint
        name = cluster_of(endpoint.id, self.clusters)
        if name is None:
            what = f"{OBSERVATIONS}: {endpoint.id} is of no cluster of this scan"
            raise InputError(what, hint="was the file changed?")
        alone = len(self.clusters) == 1
        return self.clusters[name], endpoint if alone else replace(endpoint, id=endpoint.id.removeprefix(f"{name}/"))

    def findings(self) -> list[FindingRow]:
        """Return the new cluster-wide findings, after all ``rows``."""
        of_all = self._across or cross_endpoint(self.view.policy, datetime.now(UTC).date())
        around = surroundings(list(self.clusters.values())) if self.clusters else Surroundings()
        rules: tuple[AnyRule | CustomRule, ...] = (
            *RULES,
            *(DEEP_RULES if self.head.deep else ()),
            *self.view.policy.endpoint_rules,
        )
        told, _ = of_all.findings(around, self._verdicts, applied=rules, interrupted=self.head.interrupted)
        return [finding_row(each) for each in told]

    def certificates(self) -> Iterator[InventoryRow]:
        """Yield the certificates as they are judged now, after all ``rows``."""
        alone = len(self.clusters) == 1
        for name, each in self.clusters.items():
            yield from each.certificates.rows(None if alone else name)

    def newly_in_scope(self, then: Scope) -> int:
        """Count the listeners that the new policy includes, and that of the scan, ``then``, did not."""
        found = (each for one in self.clusters.values() for each in one.discovery.endpoints)
        return sum(not in_scope(each, then) for each in found)


def outlook(expectation: Expectation, observation: Observation, *, met_then: bool) -> Outlook | None:
    """Return the forecast for a listener to which an object would bring the profile of ``--profile``, or None.
    ``met_then``: whether it complied with the saved profile."""
    profile, lever = expectation.profile, expectation.lever
    decided = next((each for each in expectation.because if each.decides), None)
    if isinstance(profile, Unknown) or decided is None or decided.source != "--profile":
        return None
    if lever is None or not (lever.field and lever.applied_by):
        return None
    source = f"{lever.where} {lever.field}"
    if not met_then:
        return Outlook(kind="does-not-follow", source=source, why="does not follow today's profile")
    if all(observation.versions.state(each) == "refused" for each in VERSIONS if each >= profile.min_version):
        least = version_name(profile.min_version)
        return Outlook(kind="cannot", source=source, why=f"follows today, and refuses {least} and later")
    return Outlook(kind="follows", source=source, why="follows today, and will get the new profile")


_PROFILE_RULES = frozenset({VERSION.id, SUITE.id})


def _then(row: EndpointRow) -> tuple[str, str | None, bool]:
    """Return instance, required profile, and whether the endpoint complied with it."""
    deviates = any(
        each["rule"] in _PROFILE_RULES and each["verdict"] in ("fail", "inconclusive") for each in row["findings"]
    )
    known = row["expected"]["profile"] is not None and row["reach"] in ("tls", "client-certificate-required")
    return row["instance"], row["expected"]["profile"], known and not deviates


def rejudge(directory: str, head: Head, view: Viewpoint) -> Rejudged:
    """Return the scan in ``directory``, judged from ``view``. Raises ``InputError`` for a damaged directory."""
    clusters = assessed(directory, head, view) if head.clusters else {}
    targets = None if head.clusters else _required_of_targets(head, view)
    return Rejudged(directory=directory, head=head, view=view, clusters=clusters, of_targets=targets)


def in_scope(endpoint: Endpoint, scope: Scope) -> bool:
    """True if the scope of a policy includes ``endpoint``, as in discovery."""
    included = not scope.include or any_matches(scope.include, endpoint)
    return included and not any_matches(scope.exclude, endpoint)


def assessed(directory: str, head: Head, view: Viewpoint) -> dict[str, Assessment]:
    """Assess the clusters of the saved scan, by name."""
    from scanner.cluster import load  # noqa: PLC0415 - target lists have no snapshot

    places = zip(head.clusters, snapshot_places(Path(directory), len(head.clusters)), strict=True)
    kept = {name: with_local_files(load(place, (*READS, SECRET, *LOCAL_KINDS))) for name, place in places}
    return {name: assess(snapshot, view, kept.values()) for name, snapshot in kept.items()}


def _required_of_targets(head: Head, view: Viewpoint) -> TargetRequirements:
    """Return the requirements on the targets of the saved scan. Raises ``InputError`` without a profile."""
    profile: Profile | None = view.profile or head.profile
    if profile is None:
        raise InputError(f"{HEAD}: profile: a list of targets needs one", hint="was the file changed?")
    return TargetRequirements(
        profile=profile,
        profile_source="--profile" if view.profile else "the saved scan",
        anchors=head.anchors,
        anchor_source=head.anchor_source,
    )
