"""Scan: jobs -> observations -> judgements -> rows -> report, one function a step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from math import inf
from typing import TYPE_CHECKING

import trio
from msgspec import Struct, field

from scanner import __version__
from scanner.cross_endpoint import CrossEndpoint, cross_endpoint, with_finding
from scanner.errors import InputError, ResourceError
from scanner.jobs import Job, Surroundings, at
from scanner.judge import RULES, SCAN_RULES, Judgement, judge, judgement
from scanner.judge.network_policy import explain
from scanner.judge.sslyze_result import DEEP_RULES, apply_sslyze_result, inquiry
from scanner.judge.tls_parameters import classical_groups
from scanner.kube.maybe import Unknown
from scanner.model.endpoint import Endpoint
from scanner.model.expectation import Expectation
from scanner.model.observation import JUDGEABLE, Answers, Observation, Opinion, Reach
from scanner.model.report import Coverage, EndpointRow, NotStarted, Report, ScannerRow, Summary
from scanner.model.rule import AnyRule, Case
from scanner.model.saved_scan import Seen
from scanner.model.scan_policy import CustomRule, ScanPolicy
from scanner.probe import dial
from scanner.probe.dial import Dialer
from scanner.probe.limits import Gate, Limits
from scanner.probe.observe import observe
from scanner.probe.session import Mode, Question
from scanner.probe.sslyze_pool import SslyzePool
from scanner.probe.workers import NONE, Workers
from scanner.report.coverage import discovery_row
from scanner.report.escape import plain
from scanner.report.rows import endpoint_row, finding_row, rule_row, timestamp
from scanner.report.stream import RowFile
from scanner.values import replace

if TYPE_CHECKING:
    from scanner.kube.snapshot import Unreadable

STANDARD_TLS13 = frozenset({0x1301, 0x1302, 0x1303})
"""Allowed with every profile, because Go servers cannot disable one (golang/go issue 29349)."""


class Settings(Struct, frozen=True, kw_only=True):
    """Settings of a scan."""

    profile: str = ""
    """Required profile of most endpoints, for the head of the report."""
    mode: Mode = "inventory"
    policy: ScanPolicy = ScanPolicy()
    limits: Limits = Limits()
    confirm: bool = False
    deep: bool = False
    active_http: bool = False
    """True if a check may send one HEAD request to an application."""
    arguments: tuple[str, ...] = ()
    """Command line, for the report."""


_SPEAKS_TLS = JUDGEABLE | {Reach.REJECTED, Reach.NAME_REQUIRED}
"""Outcomes that show a TLS listener: a port with one must be judged, even if it was only a candidate."""

Progress = Callable[[EndpointRow], None]
"""Called with each finished row."""
Record = Callable[[Seen], None]
"""Called with each observation, for ``adhere whatif``."""


class Recording(Struct, frozen=True, kw_only=True):
    """Observations that are kept, and those that an earlier part of the scan has kept."""

    record: Record = lambda _: None
    recorded: Callable[[int], Mapping[str, Seen]] = lambda _: {}
    """Returns the observations of the job with this place, by instance: these endpoints are not asked again."""
    dials: bool = True
    """False: a job without an observation is not started."""
    interrupted: str | None = None
    """The reason why the observations are not those of a complete scan."""


NOTHING_RECORDED = Recording()


class Probing(Struct, frozen=True, kw_only=True):
    """The connections to endpoints: as a rule a socket of this process."""

    way: Callable[[Job], Dialer | None] = lambda _: None
    """Returns what opens the connections of a job, if a socket cannot."""
    workers: Workers = NONE
    """Other processes that probe."""


DIRECT = Probing()


class Run(Struct):
    """A running scan."""

    settings: Settings
    gate: Gate
    rows: RowFile
    progress: Progress
    witness: SslyzePool
    """Runs sslyze; starts when it is needed."""
    surroundings: Surroundings
    across: CrossEndpoint
    recording: Recording
    probing: Probing
    summary: Summary = field(default_factory=Summary)
    left: Counter[str] = field(default_factory=Counter)
    """Jobs that were not started, by namespace."""
    not_judged: int = 0
    """Number of declared or hinted endpoints without a verdict of pass or fail."""
    waiting: list[tuple[int, bool]] = field(default_factory=list)
    """Rows that may get a finding from other endpoints: number in ``rows``, and whether the endpoint is declared."""

    def keep(self, row: EndpointRow, place: int, *, declared: bool, waits: bool) -> None:
        """Write a finished row; ``place`` is its job's position in the list."""
        number = self.rows.append(row, place)
        if waits:
            self.waiting.append((number, declared))
        else:
            self._count(row, declared=declared)

    def settle(self) -> None:
        """Judge and count the rows that depend on other endpoints."""
        found = self.across.on_endpoints()
        for number, declared in self.waiting:
            row = self.rows.row(number)
            if late := found.get(row["instance"]):
                row = with_finding(row, late)
                self._rewrite(number, row)
            self._count(row, declared=declared)

    def _rewrite(self, number: int, row: EndpointRow) -> None:
        """Rewrite a row. A full disk ends the scan; the finished rows are reported."""
        try:
            self.rows.replace(number, row)
        except ResourceError as missing:
            self.gate.stop(said(missing))

    def _count(self, row: EndpointRow, *, declared: bool) -> None:
        self.summary.add(row)
        if declared and row["verdict"] == "inconclusive":
            self.not_judged += 1
        self.progress(row)


async def scan(
    jobs: Iterable[Job],
    settings: Settings,
    rows: RowFile,
    progress: Progress,
    gate: Gate,
    surroundings: Surroundings = Surroundings(),
    recording: Recording = NOTHING_RECORDED,
    probing: Probing = DIRECT,
) -> Report:
    """Run ``jobs`` and return the report. Rows are written to ``rows`` when they are finished, so memory does not grow.

    ``gate.stop(reason)`` ends the scan early, with a report. Raises ``ScannerError`` (in an exception group) for a
    target that cannot be read and for rows that cannot be written.
    """
    started = datetime.now(UTC)
    source = enumerate(jobs)
    async with SslyzePool(timeout=settings.limits.deadline, network_timeout=settings.limits.timeout) as witness:
        of_all = cross_endpoint(settings.policy, started.date())
        run = Run(settings, gate, rows, progress, witness, surroundings, of_all, recording, probing)
        async with trio.open_nursery() as receiving:
            await receiving.start(probing.workers.run, gate)
            async with trio.open_nursery() as nursery:
                for _ in range(settings.limits.concurrency):
                    nursery.start_soon(_work, run, source)
            receiving.cancel_scope.cancel()
    run.left.update(job.share for _, job in source)
    run.settle()
    lost = "missing observations" if run.left and not recording.dials else None
    return _report(run, started, gate.stopped or recording.interrupted or lost or probing.workers.lost)


async def _work(run: Run, source: Iterable[tuple[int, Job]]) -> None:
    """Run jobs until none is left. Workers share one iterator: nothing is read ahead."""
    for number, job in source:
        await trio.lowlevel.checkpoint()  # recorded observations are judged without another
        if run.gate.stopped is not None:
            run.left[job.share] += 1
            return
        try:
            await _examine(job, number if job.place is None else job.place, run)
        except ResourceError as missing:
            # Nothing that was finished is lost: the scan ends here, incomplete, and says why.
            run.gate.stop(said(missing))


def said(missing: ResourceError) -> str:
    """Return the error and its hint."""
    return f"{missing.message} ({missing.hint})" if missing.hint else missing.message


async def _examine(job: Job, place: int, run: Run) -> None:
    """Probe and judge each address of the job's endpoint; one without an address is reported as such."""
    earlier = dict(run.recording.recorded(place))
    _check_same(job.endpoint, earlier)
    if not run.recording.dials and (lost := _lost(earlier)):
        run.left[job.share] += lost
        if not earlier:
            return
    found, missing = await _addresses(job.endpoint, earlier, run)
    job = replace(job, replicated=job.replicated or len(found) > 1)
    for endpoint in found:
        if seen := earlier.get(endpoint.instance):
            await _judge(_case(endpoint, job.owes(endpoint), seen.observation, run), job, place, run, seen)
        elif run.recording.dials:
            case = await _asked(job, endpoint, run)
            await _judge(case, job, place, run, beside=len(found))
        else:  # its observation is recorded under another name
            run.left[job.share] += 1
    if missing is not None:
        endpoint = replace(job.endpoint, address=job.endpoint.address or job.endpoint.host)
        known = earlier.get(endpoint.instance)
        case = _case(endpoint, job.owes(job.endpoint), known.observation if known else missing, run)
        await _judge(case, job, place, run, known)


def _lost(earlier: Mapping[str, Seen]) -> int:
    """Return the number of endpoints of a job that have no observation."""
    return max(max((seen.beside for seen in earlier.values()), default=1) - len(earlier), 0)


def _check_same(endpoint: Endpoint, earlier: Mapping[str, Seen]) -> None:
    """Raise ``InputError`` for an observation of another listener."""
    for seen in earlier.values():
        if _listener(seen.endpoint) != _listener(endpoint):
            raise InputError(
                f"the saved scan has an observation of {plain(seen.endpoint.id)} in the place of {plain(endpoint.id)}",
                hint="its files were changed: scan again",
            )


def _listener(endpoint: Endpoint) -> tuple[object, ...]:
    return endpoint.id, endpoint.host, endpoint.port, endpoint.transport, endpoint.server_name


async def _asked(job: Job, endpoint: Endpoint, run: Run) -> Case:
    """Probe the endpoint, unless it must not be dialled."""
    refusal = _refusal(job, endpoint, run)
    expectation = job.owes(endpoint)
    if refusal:
        observation = replace(unasked(endpoint, Reach.UNREACHABLE, f"not dialled: {refusal}"), dialled=False)
    else:
        asked = question(expectation, run.settings)
        observation = await _observed(endpoint, asked, run, run.probing.way(job))
    return _case(endpoint, expectation, observation, run)


async def _observed(endpoint: Endpoint, asked: Question, run: Run, way: Dialer | None) -> Observation:
    """Probe the endpoint in the worker of its host, or here if there is none, or another way than a socket."""
    worker = run.probing.workers.of(endpoint) if way is None else None
    if worker is None:
        return await observe(endpoint, asked, run.gate, datetime.now(UTC), way)
    return await worker.observe(endpoint, asked)


def _refusal(job: Job, endpoint: Endpoint, run: Run) -> str | None:
    """Return why an endpoint is not dialled, or None."""
    if endpoint.network is not None:
        return None if run.probing.way(job) else "only adhere node reaches it, inside of its network namespace"
    if endpoint.tunnel is not None:
        return None if run.probing.way(job) else "only a port-forward leads there (--via port-forward)"
    return job.scope.refusal(endpoint.address, endpoint.port, endpoint.owner) if job.scope else None


async def _addresses(
    endpoint: Endpoint, earlier: Mapping[str, Seen], run: Run
) -> tuple[tuple[Endpoint, ...], Observation | None]:
    """Return the endpoint at each of its addresses, and an observation with the reason if they are not known. A name
    whose addresses are recorded is not resolved again: it could lead to others, or to none."""
    recorded = tuple(seen.endpoint for name, seen in earlier.items() if name != endpoint.instance)
    if seen := None if endpoint.address else earlier.get(endpoint.instance):
        return recorded, seen.observation
    if not endpoint.address and not (run.recording.dials and _lost(earlier)):
        return recorded, None
    if not endpoint.ready and endpoint.pod is None:
        return (), unasked(endpoint, Reach.CLOSED, "the Service has no ready endpoints: nothing listens there now")
    if endpoint.address:
        return (endpoint,) if " @ " in endpoint.instance else (at(endpoint, endpoint.address),), None
    why, reach = "the resolver had not answered when the time was over", Reach.INTERRUPTED
    with run.gate.deadline() as scope:  # a resolver can be as slow as a listener, and Ctrl-C must end it too
        try:
            found = await dial.addresses(endpoint.host, endpoint.port)
            if found:
                resolved = (at(endpoint, address) for address in found)
                return tuple({each.instance: each for each in (*recorded, *resolved)}.values()), None
        except dial.NotResolved as problem:
            why, reach = str(problem), Reach.UNREACHABLE
    stopped = run.gate.stopped if scope.cancelled_caught else None
    return recorded, replace(unasked(endpoint, reach, why), stopped=stopped)


def _case(endpoint: Endpoint, expectation: Expectation, seen: Observation, run: Run) -> Case:
    policy = run.settings.policy.thresholds
    return Case(endpoint=endpoint, expectation=expectation, observation=seen, policy=policy, now=seen.at)


async def _judge(case: Case, job: Job, place: int, run: Run, recorded: Seen | None = None, *, beside: int = 1) -> None:
    """Judge one observation, with sslyze if it is enabled, and write the row. ``recorded``: it was made earlier;
    ``beside``: the endpoints of its job."""
    if recorded:
        case = replace(case, opinion=recorded.opinion)
    result = judge(case)
    if run.settings.confirm or run.settings.deep:
        case, result = await _hear_witness(case, result, run, asks=recorded is None)
    explained = explain(job.policies, case.endpoint, case.observation, result.findings)
    findings = explained.findings
    if run.settings.policy.custom_rules:
        from scanner.custom_rules import of_endpoint  # noqa: PLC0415 - few scans have one

        custom = of_endpoint(run.settings.policy, case.endpoint, case.expectation, case.observation)
        findings = (*findings, *custom)
    result = judgement(run.across.ledger.waive(run.settings.policy.adjusted(findings), case.endpoint))
    if job.replicated:
        run.across.replicas.add(case.endpoint, case.expectation, case.observation)
        run.across.passages.add(case.endpoint, case.expectation, case.observation)
        run.across.sharing.add(case.endpoint, case.expectation, case.observation)
    row = endpoint_row(
        case.endpoint,
        case.expectation,
        case.observation,
        result.verdict,
        result.status,
        result.findings,
        blocked_by=explained.blocked_by,
    )
    if job.serve is not None:
        job.serve(case.endpoint, case.observation, case.expectation)
    beside = recorded.beside if recorded else beside
    run.recording.record(
        Seen(endpoint=case.endpoint, observation=case.observation, opinion=case.opinion, place=place, beside=beside)
    )
    listens = case.endpoint.network is not None or case.observation.reach in _SPEAKS_TLS
    declared = listens or case.endpoint.certainty != "candidate"
    waits = job.replicated and case.expectation.passed_on is not None
    run.keep(row, place, declared=declared, waits=waits)


async def _hear_witness(case: Case, result: Judgement, run: Run, *, asks: bool) -> tuple[Case, Judgement]:
    """Let sslyze check the violations and look for the flaws that only it detects. Its answer becomes part of the
    case. ``asks``: False if the case has it."""
    settings = run.settings
    wanted = inquiry(result.findings, case, confirm=settings.confirm, deep=settings.deep) if asks else None
    apart = case.endpoint.tunnel or case.endpoint.network
    if wanted is not None and (apart or case.observation.reach not in JUDGEABLE):
        # It would dial by itself: past the tunnel, and what the scan itself has not reached or was not to dial.
        case = replace(case, opinion=Opinion(witness="sslyze", failure="it cannot be asked where this listener is"))
    elif wanted is not None:
        with run.gate.deadline(inf) as scope:  # sslyze has a time of its own, from when there is a seat for it
            case = replace(case, opinion=await run.witness.ask(case.endpoint, wanted))
        if scope.cancelled_caught:
            case = replace(case, observation=replace(case.observation, stopped=run.gate.stopped))
    return case, judgement(apply_sslyze_result(result.findings, case, confirmed=settings.confirm, deep=settings.deep))


# --- what has to be asked -------------------------------------------------------------------------------------------


def question(expectation: Expectation, settings: Settings) -> Question:
    """Return what the probe must find out to judge by ``expectation``.

    If the profile is unknown, or several are allowed, a full inventory is needed.
    """
    profile, plain = expectation.profile, expectation.plain_port
    beside = Question(
        mode="inventory",
        untrusted_client=expectation.client_trust is not None,
        client_requests=settings.active_http,
        cleartext=settings.active_http,
        plain_port=(plain.port, plain.path) if plain and settings.active_http else None,
        authorities=tuple(each.name for each in expectation.neighbours) if settings.active_http else (),
        strays=tuple(each.name for each in expectation.other_names if each.owed != "unasked"),
    )
    if isinstance(profile, Unknown) or expectation.alternatives or expectation.skewed:
        return beside
    required = settings.policy.thresholds.groups == "enforced" or expectation.stated_groups is not None
    enforced = required and profile.groups is not None
    post_quantum = settings.policy.thresholds.post_quantum is not None
    groups = frozenset(profile.groups or ()) if enforced else classical_groups() if post_quantum else None
    return replace(
        beside,
        mode="inventory" if enforced and post_quantum else settings.mode,  # an answer about all groups
        allowed=frozenset(profile.suites) | (frozenset() if expectation.tls13_suites_configurable else STANDARD_TLS13),
        min_version=profile.min_version,
        groups=groups,
    )


def unasked(endpoint: Endpoint, reach: Reach, why: str) -> Observation:
    """Return the observation of an endpoint that was not probed."""
    return Observation(
        instance=endpoint.instance,
        at=datetime.now(UTC),
        reach=reach,
        detail=why,
        versions=Answers(unasked=why),
    )


# --- the report -----------------------------------------------------------------------------------------------------


def _report(run: Run, started: datetime, ended: str | None) -> Report:
    settings = run.settings
    rules: tuple[AnyRule | CustomRule, ...] = (
        *RULES,
        *(DEEP_RULES if settings.deep else ()),
        *settings.policy.endpoint_rules,
    )
    every = (*rules, *SCAN_RULES, *run.surroundings.rules)
    told, undecided = run.across.findings(run.surroundings, run.summary.verdicts, applied=rules, interrupted=ended)
    findings = [finding_row(finding) for finding in told]
    run.summary.add_findings(findings)
    shortfall = Shortfall(not_judged=run.not_judged, undecided=undecided, interrupted=ended, not_started=run.left)
    certificates, now = run.surroundings.certificates, datetime.now(UTC)
    return Report(
        scanner=ScannerRow(
            name="adhere",
            version=__version__,
            mode=settings.mode,
            profile=settings.profile,
            arguments=list(settings.arguments),
        ),
        started=timestamp(started),
        finished=timestamp(now),
        cluster=run.surroundings.cluster,
        coverage=coverage(run.summary, run.surroundings, settings.policy, shortfall),
        rules=[rule_row(each) for each in every if settings.policy.level(each.id) != "off"],
        summary=run.summary,
        findings=findings,
        rows=run.rows.rows,
        lines=run.rows.lines,
        certificates=certificates(now) if certificates else None,
    )


class Shortfall(Struct, frozen=True, kw_only=True):
    """The reasons why a scan is not complete."""

    not_judged: int = 0
    """Number of declared or hinted endpoints without a verdict of pass or fail."""
    undecided: int = 0
    """Number of inconclusive requirements on the scan."""
    interrupted: str | None = None
    """Reason why it was stopped."""
    not_started: Mapping[str, int] = field(default_factory=dict)
    """Jobs that were not started, by namespace; the empty name for nodes and targets."""

    def __bool__(self) -> bool:
        return bool(self.not_judged or self.undecided or self.interrupted is not None or self.not_started)


def is_missing(gap: Unreadable, policy: ScanPolicy) -> bool:
    """True if a kind of objects makes a scan incomplete."""
    return gap.gap != "not-asked" and gap.kind.resource not in policy.scope.accept_unreadable


def coverage(summary: Summary, around: Surroundings, policy: ScanPolicy, short: Shortfall) -> Coverage:
    """Return the coverage. It is complete if every declared endpoint was judged and every kind was read.

    Kinds that are not read by default (Secrets), and kinds that the policy file accepts, are no gaps.
    """
    accepted = policy.scope.accept_unreadable
    unseen = any(is_missing(each, policy) for each in around.unreadable)
    return Coverage(
        endpoints=summary.endpoints,
        judged=summary.endpoints - summary.verdicts["inconclusive"],
        not_judged=short.not_judged,
        interrupted=short.interrupted,
        in_progress=summary.statuses.get("interrupted", 0),
        not_started=_not_started(short.not_started),
        complete=not (short or summary.unsettled or unseen or around.truncated),
        discovery=None
        if around.discovered is None
        else discovery_row(
            summary,
            discovered=around.discovered,
            left_out=around.left_out,
            unreadable=around.unreadable,
            accepted=accepted,
        ),
    )


def _not_started(shares: Mapping[str, int]) -> NotStarted:
    named = {name: count for name, count in sorted(shares.items()) if name.rpartition("/")[2]}
    total = sum(shares.values())
    return NotStarted(total=total, by_namespace=named, without_namespace=total - sum(named.values()))
