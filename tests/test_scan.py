"""The story: every target becomes rows, in order, whatever happens on the way."""

from __future__ import annotations

import errno
import socket
from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path

import pytest
import trio
import trio.testing

from scanner.demo.tls_server import TlsSettings
from scanner.errors import UsageError
from scanner.jobs import Job, TargetRequirements, of_targets
from scanner.judge.tls_parameters import known_groups
from scanner.kube.maybe import Unknown
from scanner.kube.objects import Reference
from scanner.kube.profile_catalogue import load_profile
from scanner.kube.tls_profile import Profile
from scanner.model.dial_scope import DialScope
from scanner.model.endpoint import Endpoint, Owner, Target, Tunnel
from scanner.model.expectation import Expectation, Neighbour, PassedOn, PlainPort, StatedGroups
from scanner.model.report import EndpointRow, Report, exit_code
from scanner.model.scan_policy import CustomRule, Level, Policy, ScanPolicy, Selector, Waiver
from scanner.probe import candidates, sslyze_pool
from scanner.probe.dial import Connection, Where, connect
from scanner.probe.limits import Gate, Limits
from scanner.report.stream import RowFile, read_rows
from scanner.scan import STANDARD_TLS13, Probing, Settings, question, scan
from scanner.tls.codepoints import TLS12, TLS13
from scanner.values import replace
from tests.certs import Authority
from tests.servers import closed_port, ordinary, say, scripted, silent, tls_listener

pytestmark = pytest.mark.crypto

PROFILE = load_profile("intermediate@4.22")
SETTINGS = Settings(profile=PROFILE.name, mode="verdict", limits=Limits(timeout=2))
OWED = TargetRequirements(profile=PROFILE)


class Names(trio.abc.HostnameResolver):
    """A resolver that knows only these, and for None never answers."""

    def __init__(self, **known: tuple[str, ...] | None) -> None:
        self.known = {f"{name}.example": addresses for name, addresses in known.items()}

    async def getaddrinfo(  # type: ignore[override] # the signature that trio documents
        self, host: bytes | None, port: bytes | str | int | None,
        family: int = 0, type: int = 0, proto: int = 0, flags: int = 0,  # noqa: A002
    ) -> list[tuple[socket.AddressFamily, int, int, str, tuple[str, int]]]:  # fmt: skip
        name = (host or b"").decode()
        if name not in self.known:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        addresses = self.known[name]
        if addresses is None:
            await trio.sleep_forever()
        return [(socket.AF_INET, type, 0, "", (each, int(port or 0))) for each in addresses or ()]

    async def getnameinfo(self, sockaddr: object, flags: int) -> tuple[str, str]:
        raise NotImplementedError


class Kept:
    """The scan, its rows, and what progress was told."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / "rows.jsonl"
        self.told: list[EndpointRow] = []

    async def __call__(
        self, *targets: Target, settings: Settings = SETTINGS, gate: Gate | None = None
    ) -> tuple[Report, list[EndpointRow]]:
        with RowFile(self.path) as rows:
            report = await scan(
                of_targets(targets, OWED), settings, rows, self.told.append, gate or Gate(settings.limits)
            )
        return report, list(report.rows())


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    return Kept(tmp_path)


def at(sockaddr: tuple[str, int], name: str | None = None) -> Target:
    return Target(host=sockaddr[0], port=sockaddr[1], server_name=name)


async def test_a_compliant_listener(kept: Kept) -> None:
    async with tls_listener() as server:
        report, (row,) = await kept(at(server.sockaddr))
        assert row["verdict"] == "pass"
        assert row["observed"]["connections"] == server.connections == report.summary.connections
    assert report.coverage == {
        "endpoints": 1,
        "judged": 1,
        "not_judged": 0,
        "interrupted": None,
        "in_progress": 0,
        "not_started": {"total": 0, "by_namespace": {}, "without_namespace": 0},
        "complete": True,
        "discovery": None,
    }
    assert report.scanner["profile"] == PROFILE.name
    assert report.started <= report.finished
    assert exit_code(report, "medium") == 0
    assert kept.told == [row]


async def test_a_custom_rule_of_the_policy_fails_a_listener_that_complies(kept: Kept, tmp_path: Path) -> None:
    def holds(values: Mapping[str, object]) -> bool:
        versions = values["observed"]["versions"]  # type: ignore[index]
        assert versions["TLSv1.3"] == {"enumerated": False}, "the mode verdict does not list all suites"
        return values["port"] == 1

    texts = {"id": "custom/port", "title": "A title", "message": "another port", "expression": "port == 1"}
    rule = CustomRule(**texts, severity="high", kinds=(), fix=None, source="p.yaml:3:3", holds=holds)
    of_lint = replace(rule, id="custom/lint", kinds=("Route",))
    async with tls_listener() as server:
        settings = replace(SETTINGS, policy=ScanPolicy(custom_rules=(rule, of_lint)))
        report, (row,) = await kept(at(server.sockaddr), settings=settings)
        late = Waiver(
            rule="custom/port",
            selector=Selector(),
            owner="o",
            reason="r",
            expires=date(9999, 1, 1),
            source="p.yaml:9:3",
        )
        settings = replace(settings, policy=replace(settings.policy, waivers=(late,)))
        waived, (other,) = await kept(at(server.sockaddr), settings=settings)
    found = [each for each in row["findings"] if each["rule"].startswith("custom/")]
    assert [(each["message"], each["verdict"]) for each in found] == [("another port", "fail")]
    assert (row["verdict"], exit_code(report, "high")) == ("fail", 1)
    assert [each["title"] for each in report.rules if each["id"].startswith("custom/")] == ["A title"]
    assert (other["status"], exit_code(waived, "low"), waived.findings) == ("waived", 0, [])


async def test_levels_of_rules(kept: Kept) -> None:
    rules: tuple[tuple[str, Level], ...] = (("cert-*", "off"), ("tls-*", "off"), ("endpoint-reach", "low"))
    async with tls_listener(TlsSettings(credential=ordinary(), ciphers="ALL:@SECLEVEL=0")) as server:
        plain, (row,) = await kept(at(server.sockaddr))
        settings = replace(SETTINGS, policy=ScanPolicy(rules=(("tls-*", "info"),)))
        lower, (info,) = await kept(at(server.sockaddr), settings=settings)
        none, (empty,) = await kept(at(server.sockaddr), settings=replace(SETTINGS, policy=ScanPolicy(rules=rules)))
        settings = replace(SETTINGS, policy=ScanPolicy(rules=(("*", "off"),)))
        _, (nothing,) = await kept(at(server.sockaddr), settings=settings)
    assert (row["verdict"], exit_code(plain, "medium")) == ("fail", 1)
    assert {each["status"] for each in info["findings"] if each["verdict"] == "fail"} == {"informational"}
    assert exit_code(lower, "low") == 0
    assert not any(each["rule"].startswith(("cert-", "tls-")) for each in empty["findings"])
    assert not any(each["id"].startswith(("cert-", "tls-")) for each in none.rules)
    assert (nothing["verdict"], nothing["findings"]) == ("inconclusive", [])


async def test_rows_come_in_the_order_of_the_targets_and_progress_as_they_are_finished(
    kept: Kept, clock: trio.testing.MockClock
) -> None:
    with closed_port() as closed:
        async with scripted(silent) as slow, tls_listener() as fast:
            targets = (at(slow.sockaddr), at(fast.sockaddr), at(closed))
            _, rows = await kept(*targets)
    assert [row["id"] for row in rows] == [target.canonical for target in targets]
    assert kept.told[-1]["id"] == targets[0].canonical


async def test_every_address_of_a_name_is_an_instance_of_its_own(kept: Kept) -> None:
    async with tls_listener(address="127.0.0.2") as one:
        trio.socket.set_custom_hostname_resolver(Names(two=("127.0.0.2", "127.0.0.3", "127.0.0.2")))
        _, rows = await kept(Target(host="two.example", port=one.port, server_name="localhost"))
    assert [row["address"] for row in rows] == ["127.0.0.2", "127.0.0.3"]
    assert {row["id"] for row in rows} == {f"tls://two.example:{one.port}#localhost"}
    assert rows[0]["instance"] == f"tls://two.example:{one.port}#localhost @ 127.0.0.2:{one.port}"
    assert [row["reach"] for row in rows] == ["tls", "closed"]


async def test_a_name_that_nobody_knows(kept: Kept) -> None:
    trio.socket.set_custom_hostname_resolver(Names())
    report, (row,) = await kept(Target(host="gone.example", port=443, server_name="gone.example"))
    assert (row["verdict"], row["reach"]) == ("inconclusive", "unreachable")
    assert row["observed"]["versions"] is None
    assert "Name or service not known" in row["reasons"]["versions"]
    assert exit_code(report, "medium") == 3


async def test_a_name_without_addresses(kept: Kept) -> None:
    trio.socket.set_custom_hostname_resolver(Names(empty=()))
    report, rows = await kept(Target(host="empty.example", port=443))
    assert [row["verdict"] for row in rows] == ["inconclusive"]
    assert not report.coverage["complete"]


async def test_a_resolver_that_never_answers_is_not_waited_for_after_a_signal(kept: Kept) -> None:
    trio.socket.set_custom_hostname_resolver(Names(slow=None))
    gate = Gate(SETTINGS.limits)
    async with trio.open_nursery() as nursery:

        @nursery.start_soon
        async def _() -> None:
            await trio.testing.wait_all_tasks_blocked()
            gate.stop("SIGTERM")

        report, (row,) = await kept(Target(host="slow.example", port=443), gate=gate)
    assert row["reach"] == "interrupted"
    assert report.coverage["interrupted"] == "SIGTERM"


async def test_a_stopped_gate_ends_what_is_under_way_and_begins_nothing(kept: Kept) -> None:
    gate = Gate(Limits(concurrency=1))
    async with scripted(silent) as server, trio.open_nursery() as nursery:

        @nursery.start_soon
        async def _() -> None:
            while not server.hellos:
                await trio.testing.wait_all_tasks_blocked()
            gate.stop("SIGINT")

        settings = Settings(limits=gate.limits)
        report, rows = await kept(at(server.sockaddr), at(server.sockaddr, "b.example"), settings=settings, gate=gate)
    assert [row["reach"] for row in rows] == ["interrupted"]
    assert (report.coverage["interrupted"], report.coverage["in_progress"]) == ("SIGINT", 1)
    assert report.coverage["complete"] is False


async def test_findings_seen_before_the_signal_count(kept: Kept) -> None:
    report, _ = await kept()
    report.summary.failures["high"] = 1
    report.coverage["complete"] = False
    assert exit_code(report, "medium") == 1


async def test_no_targets_is_nothing_scanned(kept: Kept) -> None:
    report, rows = await kept()
    assert rows == []
    assert exit_code(report, "medium") == 4


async def test_no_descriptors_left_ends_the_scan_and_keeps_its_rows(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closed_port() as closed:
        opened = socket.socket
        left = iter(range(1))

        def scarce(*arguments: int) -> socket.socket:
            if next(left, None) is None:
                raise OSError(errno.EMFILE, "Too many open files")
            return opened(*arguments)

        monkeypatch.setattr("scanner.probe.dial.socket.socket", scarce)
        settings = Settings(limits=Limits(concurrency=1))
        report, rows = await kept(at(closed), at(closed, "b.example"), at(closed, "c.example"), settings=settings)
    assert rows[0]["reach"] == "closed"
    assert len(rows) < 3
    assert "Too many open files" in (report.coverage["interrupted"] or "")
    assert exit_code(report, "medium") == 3


async def test_a_stopped_scan_says_how_many_it_had_not_begun_with_and_whose(kept: Kept) -> None:
    with closed_port() as closed, RowFile(kept.path) as rows:
        jobs = [
            replace(job, share=share, place=9 - place)
            for place, (job, share) in enumerate(
                zip(
                    of_targets((at(closed, f"n{n}.example") for n in range(9)), OWED),
                    ("a", "a", "a", "b", "b", "b", "c", "one/", ""),
                    strict=False,
                )
            )
        ]
        gate = Gate(Limits())

        def stop_after_two(row: EndpointRow) -> None:
            kept.told.append(row)
            if len(kept.told) == 2:
                gate.stop("SIGINT")

        report = await scan(jobs, Settings(limits=Limits(concurrency=1)), rows, stop_after_two, gate)
        shown = [row["server_name"] for row in report.rows()]
    assert report.coverage["not_started"] == {
        "total": 7,
        "by_namespace": {"a": 1, "b": 3, "c": 1},
        "without_namespace": 2,
    }
    assert report.coverage["complete"] is False
    assert shown == ["n1.example", "n0.example"], "in the order of their places"


async def test_a_target_that_cannot_be_read_ends_the_scan(tmp_path: Path) -> None:
    def targets() -> Iterator[Target]:
        raise UsageError("line 7")
        yield

    with RowFile(tmp_path / "rows") as rows, pytest.raises(ExceptionGroup) as raised:
        await scan(of_targets(targets(), OWED), SETTINGS, rows, lambda _: None, Gate(SETTINGS.limits))
    assert raised.group_contains(UsageError)


async def test_targets_are_read_as_they_are_needed(kept: Kept) -> None:
    """Ten at once, so never more than ten beyond the finished."""
    ahead = 0

    def many(sockaddr: tuple[str, int]) -> Iterator[Target]:
        nonlocal ahead
        for number in range(40):
            ahead = max(ahead, number - len(kept.told))
            yield at(sockaddr, f"n{number}.example")

    with closed_port() as closed, RowFile(kept.path) as rows:
        settings = Settings(limits=Limits(concurrency=10))
        report = await scan(of_targets(many(closed), OWED), settings, rows, kept.told.append, Gate(Limits()))
    assert report.summary.endpoints == 40
    assert ahead <= 10


async def test_two_scans_of_the_same_are_the_same(kept: Kept) -> None:
    async with tls_listener() as server:
        _, (first,) = await kept(at(server.sockaddr))
        _, (second,) = await kept(at(server.sockaddr))
    for row in (first, second):
        row["observed"]["attempts"] = [line.partition(" (")[0] for line in row["observed"]["attempts"]]
    assert first == second


# --- what has to be asked ---------------------------------------------------------------------------------------------


def owing(profile: Profile, *, alternatives: tuple[Profile, ...] = (), listed: bool = False) -> Expectation:
    return Expectation(profile=profile, alternatives=alternatives, tls13_suites_configurable=listed)


def test_the_standard_suites_of_tls13_are_always_allowed() -> None:
    asked = question(owing(PROFILE), SETTINGS)
    assert asked.allowed == frozenset(PROFILE.suites) | STANDARD_TLS13
    assert asked.min_version == PROFILE.min_version


def test_but_not_where_a_listener_honours_a_list_of_them() -> None:
    short = replace(PROFILE, suites=(0x1301, 0xC02F))
    assert question(owing(short, listed=True), SETTINGS).allowed == {0x1301, 0xC02F}


def test_groups_are_asked_for_a_verdict_only_where_they_decide_one() -> None:
    with_groups = load_profile("intermediate")
    assert with_groups.groups is not None
    assert question(owing(with_groups), Settings()).groups is None
    enforced = Settings(policy=ScanPolicy(thresholds=Policy(groups="enforced")))
    assert question(owing(with_groups), enforced).groups == frozenset(with_groups.groups)
    assert question(owing(replace(PROFILE, groups=None)), enforced).groups is None
    for version in (TLS12, TLS13):
        assert known_groups(version) <= {*candidates.groups(version)}, "a group that is never offered stays unknown"
    stated = replace(owing(with_groups), stated_groups=StatedGroups(setting="Pod/x --tls-curve-preferences"))
    assert question(stated, Settings()).groups == frozenset(with_groups.groups)


def test_what_may_be_owed_in_two_ways_or_is_not_known_is_asked_whole() -> None:
    modern = load_profile("modern")
    assert question(owing(PROFILE, alternatives=(modern,)), SETTINGS).mode == "inventory"
    assert question(Expectation(profile=Unknown("forbidden")), SETTINGS).mode == "inventory"


def test_requests_are_asked_for_with_the_option_alone() -> None:
    neighbour = Neighbour(name="other.example", guarded=False, because="HTTPProxy/shop/other")
    beside = PlainPort(port=8080, path="/x", owed="redirect", because="Route/shop/web")
    owed = replace(owing(PROFILE), neighbours=(neighbour,), plain_port=beside)
    without, with_it = question(owed, SETTINGS), question(owed, replace(SETTINGS, active_http=True))
    assert (without.cleartext, without.plain_port, without.authorities) == (False, None, ())
    assert (with_it.cleartext, with_it.plain_port, with_it.authorities) == (True, (8080, "/x"), ("other.example",))


# --- jobs of a cluster ------------------------------------------------------------------------------------------------


def listener(address: str, port: int) -> Endpoint:
    owner = Owner(kind="Deployment", namespace="shop", name="web")
    return Endpoint(id="Deployment/shop/web:8443", instance="x @ y", address=address, port=port, owner=owner)


async def do(endpoint: Endpoint, directory: Path, scope: DialScope | None = None) -> EndpointRow:
    with RowFile(directory / "rows") as rows:
        report = await scan(
            [Job(endpoint=endpoint, owes=OWED, scope=scope)], SETTINGS, rows, lambda _: None, Gate(SETTINGS.limits)
        )
        return next(report.rows())


async def test_what_lies_outside_of_the_dial_scope_is_not_dialled_and_never_passes(tmp_path: Path) -> None:
    async with tls_listener() as server:
        row = await do(listener(*server.sockaddr), tmp_path, DialScope())
        assert server.connections == 0
    assert (row["verdict"], row["reach"]) == ("inconclusive", "unreachable")
    assert "not dialled: a loopback address" in row["detail"]


async def test_a_name_that_leads_out_of_the_scope_is_not_dialled(tmp_path: Path) -> None:
    trio.socket.set_custom_hostname_resolver(Names(evil=("169.254.169.254",)))
    row = await do(replace(listener("", 443), host="evil.example"), tmp_path, DialScope(external=True))
    assert row["verdict"] == "inconclusive"
    assert "metadata" in row["detail"]


async def test_a_service_without_ready_endpoints_is_not_dialled(tmp_path: Path) -> None:
    async with tls_listener() as server:
        empty = replace(listener(*server.sockaddr), ready=False)
        hinted = await do(replace(empty, certainty="hinted"), tmp_path)
        declared = await do(empty, tmp_path)
        assert server.connections == 0
    assert (hinted["verdict"], hinted["reach"]) == ("not_applicable", "closed")
    assert declared["verdict"] == "inconclusive"


async def test_a_pod_that_is_not_ready_is_dialled_all_the_same(tmp_path: Path) -> None:
    async with tls_listener() as server:
        pod = Reference(kind="Pod", namespace="shop", name="web-1")
        row = await do(replace(listener(*server.sockaddr), ready=False, pod=pod), tmp_path)
    assert row["reach"] == "tls"


async def test_a_candidate_that_speaks_tls_must_be_judged(tmp_path: Path) -> None:
    """An open port that nobody named, and that refuses everything: nothing was determined, so nothing is complete."""
    async with scripted(say(b"\x15\x03\x01\x00\x02\x02\x28")) as server:
        candidate = replace(listener(*server.sockaddr), certainty="candidate")
        with RowFile(tmp_path / "rows") as rows:
            jobs = [Job(endpoint=candidate, owes=OWED)]
            report = await scan(jobs, SETTINGS, rows, lambda _: None, Gate(SETTINGS.limits))
    (row,) = report.rows()
    assert (row["verdict"], row["reach"]) == ("inconclusive", "rejected")
    assert report.coverage["not_judged"] == 1
    assert report.coverage["judged"] == 0
    assert exit_code(report, "medium") == 3


async def test_a_scan_in_which_nothing_was_determined_never_ends_well(
    tmp_path: Path, clock: trio.testing.MockClock
) -> None:
    async with scripted(silent) as server:
        candidate = replace(listener(*server.sockaddr), certainty="candidate")
        with RowFile(tmp_path / "rows") as rows:
            jobs = [Job(endpoint=candidate, owes=OWED)]
            report = await scan(jobs, SETTINGS, rows, lambda _: None, Gate(SETTINGS.limits))
    assert exit_code(report, "medium") == 3


NEAR, BACKEND = "Deployment/openshift-ingress/router:443#web.example", "Deployment/shop/web:8443"


async def passing_through(directory: Path, *, policy: ScanPolicy = ScanPolicy(), broken: bool = True) -> Report:
    """A name that a router passes through to a backend, and where it is ``broken`` shows another certificate."""
    own, others = (TlsSettings(credential=Authority(name).leaf(names=("web.example",))) for name in ("One", "Two"))
    async with tls_listener(others if broken else own) as near, tls_listener(own) as behind:
        place = replace(listener(*near.sockaddr), id=NEAR, instance=f"{NEAR} @ 127.0.0.1", server_name="web.example")
        backend = replace(
            listener(*behind.sockaddr), id=BACKEND, instance=f"{BACKEND} @ 127.0.0.1", server_name="web.example"
        )
        passed_on = PassedOn(source="Route/shop/web spec.tls", here=NEAR, backends=(BACKEND,), name="web.example")
        router = replace(owing(PROFILE), binding="not-enforced", passed_on=passed_on)
        jobs = [
            Job(endpoint=place, owes=lambda _: router, replicated=True),
            Job(endpoint=backend, owes=lambda _: owing(PROFILE), replicated=True),
        ]
        with RowFile(directory / "rows") as rows:
            settings = replace(SETTINGS, policy=policy)
            return await scan(jobs, settings, rows, lambda _: None, Gate(settings.limits))


async def test_a_passthrough_that_shows_another_certificate_fails_its_endpoint(tmp_path: Path) -> None:
    report = await passing_through(tmp_path)
    near, backend = report.rows()
    assert (near["verdict"], near["status"], backend["verdict"]) == ("fail", "violation", "pass")
    assert [(each["rule"], each["about"]) for each in near["findings"] if each["verdict"] == "fail"] == [
        ("passthrough-backend", None)
    ]
    assert [each["rule"] for each in report.findings] == []
    assert (report.summary.verdicts["fail"], report.summary.failures["high"]) == (1, 1)
    assert exit_code(report, "medium") == 1
    assert [row["verdict"] for row in read_rows(tmp_path / "rows")] == ["pass", "pass", "fail"]


async def test_a_passthrough_as_it_should_be_passes(tmp_path: Path) -> None:
    report = await passing_through(tmp_path, broken=False)
    assert [row["verdict"] for row in report.rows()] == ["pass", "pass"]
    assert (report.summary.verdicts["pass"], report.summary.endpoints, exit_code(report, "medium")) == (2, 2, 0)


async def test_a_waiver_holds_for_a_finding_that_waited(tmp_path: Path) -> None:
    waiver = Waiver(
        rule="passthrough-backend",
        selector=Selector(),
        owner="o",
        reason="r",
        expires=date(9999, 1, 1),
        source="policy.yaml:1",
    )
    report = await passing_through(tmp_path, policy=ScanPolicy(waivers=(waiver,)))
    near, _ = report.rows()
    assert (near["verdict"], near["status"]) == ("fail", "waived")
    assert ([each["rule"] for each in report.findings], exit_code(report, "medium")) == ([], 0)


@pytest.mark.skipif(sslyze_pool.available() is None, reason="sslyze is not installed")
async def test_the_second_witness_is_not_sent_past_a_tunnel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """sslyze would dial the address by itself: of a pod's loopback that is the scanner's own."""
    async with tls_listener(TlsSettings(credential=ordinary(), ciphers="ALL:@SECLEVEL=0")) as server:
        here = replace(listener(*server.sockaddr), tunnel=Tunnel(namespace="shop", pod="web-1", port=1))

        async def way() -> Connection:
            return await connect(Where(address=server.sockaddr[0], port=server.sockaddr[1]))

        settings = replace(SETTINGS, deep=True, confirm=True)
        with RowFile(tmp_path / "rows") as rows:
            jobs = [Job(endpoint=here, owes=OWED)]
            report = await scan(
                jobs, settings, rows, lambda _: None, Gate(settings.limits), probing=Probing(way=lambda _: way)
            )
        (row,) = report.rows()
        assert row["observed"]["connections"] == server.connections
    assert row["verdict"] in ("inconclusive", "fail")
