"""THE STORY: targets -> endpoints -> observations -> judgements -> rows -> report, one function a step."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from ipaddress import ip_address
from math import inf

import trio

from scanner import __version__
from scanner.errors import ResourceError
from scanner.judge import RULES, Judgement, judge, judgement
from scanner.judge.second_opinion import confirm, inquiry
from scanner.judge.vulnerabilities import DEEP_RULES, deep_findings
from scanner.model.endpoint import Endpoint, Owner
from scanner.model.expectation import Because, CertificateExpectation, Expectation
from scanner.model.observation import Answers, Observation, Reach
from scanner.model.policy import Policy
from scanner.model.profile import Profile
from scanner.model.report import Coverage, EndpointRow, Report, ScannerRow, Summary
from scanner.model.rule import Case
from scanner.model.target import Target
from scanner.probe import resolve
from scanner.probe.limits import Gate, Limits
from scanner.probe.observe import observe
from scanner.probe.plans import Mode, Question
from scanner.probe.second_opinion import Bench
from scanner.report.rows import endpoint_row, rule_row, timestamp
from scanner.report.stream import RowFile

STANDARD_TLS13 = frozenset({0x1301, 0x1302, 0x1303})
"""Allowed by every profile: no Go server can be told to leave one out (golang/go issue 29349)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a scan is asked to do; everything that the command line can say."""

    profile: Profile
    profile_source: str = "--profile"
    """What chose the profile, for ``because``."""
    mode: Mode = "inventory"
    policy: Policy = Policy()
    limits: Limits = Limits()
    confirm: bool = False
    deep: bool = False
    anchors: tuple[bytes, ...] = ()
    """DER of the trust anchors that clients of all targets use."""
    anchor_source: str = ""
    public_anchors: tuple[bytes, ...] = ()
    """DER of this system's public roots: what clients of a public name at a public address use."""
    arguments: tuple[str, ...] = ()
    """The command line, for the report."""


Progress = Callable[[EndpointRow], None]
"""Told of every row that is finished."""


@dataclass(slots=True)
class Run:
    """One scan under way."""

    settings: Settings
    gate: Gate
    rows: RowFile
    progress: Progress
    witness: Bench
    """Where sslyze sits; nobody is called before somebody is asked."""
    summary: Summary = field(default_factory=Summary)
    not_judged: int = 0

    def keep(self, row: EndpointRow, place: int, *, declared: bool) -> None:
        """Write a finished row down before anything else can happen to it; ``place`` is its target's in the list."""
        self.rows.append(row, place)
        self.summary.add(row)
        if declared and row["verdict"] == "inconclusive":
            self.not_judged += 1
        self.progress(row)


async def scan(targets: Iterable[Target], settings: Settings, rows: RowFile, progress: Progress, gate: Gate) -> Report:
    """Scan ``targets`` and report. Rows go to ``rows`` as they are finished; memory does not grow with the targets.

    ``gate.stop(reason)`` ends it early: what is under way is reported as far as it came. Raises ``ScannerError`` (in an
    exception group) for a target that cannot be read and for rows that cannot be kept.
    """
    started = datetime.now(UTC)
    source = enumerate(targets)
    async with Bench(timeout=settings.limits.deadline, network_timeout=settings.limits.timeout) as witness:
        run = Run(settings, gate, rows, progress, witness)
        async with trio.open_nursery() as nursery:
            for _ in range(settings.limits.concurrency):
                nursery.start_soon(_work, run, source)
    return _report(run, started)


async def _work(run: Run, source: Iterable[tuple[int, Target]]) -> None:
    """Take targets until there are none left. Workers share one iterator: nothing is read ahead."""
    for place, target in source:
        if run.gate.stopped is not None:
            return
        try:
            await _examine(target, place, run)
        except ResourceError as missing:
            # Nothing that was finished is lost: the scan ends here, incomplete, and says why.
            run.gate.stop(f"{missing.message} ({missing.hint})" if missing.hint else missing.message)


async def _examine(target: Target, place: int, run: Run) -> None:
    """One endpoint for each address of the target; one that cannot be dialled where there is none."""
    found: tuple[str, ...] = ()
    missing = _not_resolved(target, Reach.INTERRUPTED, "the resolver had not answered when the time was over")
    with run.gate.deadline():  # a resolver can be as slow as a listener, and Ctrl-C must end it too
        try:
            found = await resolve.addresses(target.host, target.port)
        except resolve.NotResolved as why:
            missing = _not_resolved(target, Reach.UNREACHABLE, str(why))
    if not found:
        await _judge(endpoint_of(target, target.host), missing, place, run)
    for address in found:
        endpoint = endpoint_of(target, address)
        observation = await observe(endpoint, question(run.settings), run.gate, datetime.now(UTC))
        await _judge(endpoint, observation, place, run)


async def _judge(endpoint: Endpoint, observation: Observation, place: int, run: Run) -> None:
    """Judge one observation, let the second witness speak where one was wanted, and keep the row."""
    case = Case(
        endpoint=endpoint,
        expectation=expected(endpoint, run.settings),
        observation=observation,
        policy=run.settings.policy,
        now=observation.at,
    )
    result = judge(case)
    if run.settings.confirm or run.settings.deep:
        result = await _hear_witness(case, result, run)
    row = endpoint_row(endpoint, case.expectation, observation, result.verdict, result.status, result.findings)
    run.keep(row, place, declared=endpoint.certainty != "candidate")


async def _hear_witness(case: Case, result: Judgement, run: Run) -> Judgement:
    """Ask sslyze what it can see of the violations, and for the flaws that only it looks for."""
    settings = run.settings
    wanted = inquiry(result.findings, case, confirm=settings.confirm, deep=settings.deep)
    if wanted is not None:
        with run.gate.deadline(inf):  # sslyze has a time of its own, from when there is a seat for it
            case = replace(case, opinion=await run.witness.ask(case.endpoint, wanted))
    heard = confirm(result.findings, case) if settings.confirm else result.findings
    return judgement((*heard, *(deep_findings(case) if settings.deep else ())))


# --- what a target owes, and what has to be asked -------------------------------------------------------------------


def endpoint_of(target: Target, address: str) -> Endpoint:
    """The endpoint that a target is at one of its addresses."""
    name = target.canonical
    shown = f"[{address}]" if ":" in address else address
    return Endpoint(
        id=name,
        instance=f"{name} @ {shown}:{target.port}",
        address=address,
        port=target.port,
        server_name=target.server_name,
        transport=target.transport,
        host=target.host,
        owner=Owner(kind="Target", name=name),
        origins=(target.origin,),
    )


def expected(endpoint: Endpoint, settings: Settings) -> Expectation:
    """What a target owes: the profile that was asked for, and a certificate for the name that it is called by."""
    name = endpoint.server_name or endpoint.host
    anchors, source = settings.anchors, settings.anchor_source
    if not anchors and not is_address(name) and is_address(endpoint.address) and ip_address(endpoint.address).is_global:
        anchors, source = settings.public_anchors, "this system's public roots"
    return Expectation(
        profile=settings.profile,
        certificate=CertificateExpectation(
            names=() if is_address(name) else (name,), anchors=anchors, anchor_source=source
        ),
        because=(Because(source=settings.profile_source, field="profile", said=settings.profile.name),),
    )


def question(settings: Settings) -> Question:
    """What must be asked to judge by ``settings``."""
    enforced = settings.policy.groups == "enforced" and settings.profile.groups is not None
    return Question(
        mode=settings.mode,
        allowed=frozenset(settings.profile.suites) | STANDARD_TLS13,
        min_version=settings.profile.min_version,
        groups=frozenset(settings.profile.groups or ()) if enforced else None,
    )


def is_address(name: str) -> bool:
    """Whether ``name`` is an IP address: then nobody asked for a name, and none is judged."""
    try:
        ip_address(name.partition("%")[0])
    except ValueError:
        return False
    return True


def _not_resolved(target: Target, reach: Reach, why: str) -> Observation:
    return Observation(
        instance=target.canonical,
        at=datetime.now(UTC),
        reach=reach,
        detail=why,
        versions=Answers(unasked=why),
    )


# --- the report -----------------------------------------------------------------------------------------------------


def _report(run: Run, started: datetime) -> Report:
    settings = run.settings
    stopped = run.gate.stopped
    judged = run.summary.endpoints - run.not_judged
    return Report(
        scanner=ScannerRow(
            name="adhere",
            version=__version__,
            mode=settings.mode,
            profile=settings.profile.name,
            arguments=list(settings.arguments),
        ),
        started=timestamp(started),
        finished=timestamp(datetime.now(UTC)),
        cluster=None,
        coverage=Coverage(
            endpoints=run.summary.endpoints,
            judged=judged,
            not_judged=run.not_judged,
            interrupted=stopped,
            complete=not run.not_judged and not run.summary.unsettled and stopped is None,
        ),
        rules=[rule_row(rule) for rule in (*RULES, *(DEEP_RULES if settings.deep else ()))],
        summary=run.summary,
        findings=[],
        rows=run.rows.rows,
        lines=run.rows.lines,
    )
