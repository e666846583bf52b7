"""The story: every target becomes rows, in order, whatever happens on the way."""

from __future__ import annotations

import errno
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
import trio
import trio.testing

from scanner.errors import UsageError
from scanner.model.catalogue import load_profile
from scanner.model.endpoint import Endpoint
from scanner.model.policy import Policy
from scanner.model.report import EndpointRow, Report, exit_code
from scanner.model.target import Target
from scanner.probe.limits import Gate, Limits
from scanner.report.stream import RowFile
from scanner.scan import STANDARD_TLS13, Settings, endpoint_of, expected, is_address, question, scan
from tests.servers import closed_port, ordinary, scripted, silent, tls_listener

PROFILE = load_profile("intermediate@4.22")
SETTINGS = Settings(profile=PROFILE, mode="verdict", limits=Limits(timeout=2))


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
            report = await scan(targets, settings, rows, self.told.append, gate or Gate(settings.limits))
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
    assert report.coverage == {"endpoints": 1, "judged": 1, "not_judged": 0, "interrupted": None, "complete": True}
    assert report.scanner["profile"] == PROFILE.name
    assert report.started <= report.finished
    assert exit_code(report, "medium") == 0
    assert kept.told == [row]


async def test_rows_come_in_the_order_of_the_targets_and_progress_as_they_are_finished(kept: Kept) -> None:
    settings = Settings(profile=PROFILE, limits=Limits(timeout=0.2, deadline=1))
    with closed_port() as closed:
        async with scripted(silent) as slow, tls_listener() as fast:
            targets = (at(slow.sockaddr), at(fast.sockaddr), at(closed))
            _, rows = await kept(*targets, settings=settings)
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

        settings = Settings(profile=PROFILE, limits=gate.limits)
        report, rows = await kept(at(server.sockaddr), at(server.sockaddr, "b.example"), settings=settings, gate=gate)
    assert [row["reach"] for row in rows] == ["interrupted"]
    assert report.coverage["interrupted"] == "SIGINT"
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
        settings = Settings(profile=PROFILE, limits=Limits(concurrency=1))
        report, rows = await kept(at(closed), at(closed, "b.example"), at(closed, "c.example"), settings=settings)
    assert rows[0]["reach"] == "closed"
    assert len(rows) < 3
    assert "Too many open files" in (report.coverage["interrupted"] or "")
    assert exit_code(report, "medium") == 3


async def test_a_target_that_cannot_be_read_ends_the_scan(tmp_path: Path) -> None:
    def targets() -> Iterator[Target]:
        raise UsageError("line 7")
        yield

    with RowFile(tmp_path / "rows") as rows, pytest.raises(ExceptionGroup) as raised:
        await scan(targets(), SETTINGS, rows, lambda _: None, Gate(SETTINGS.limits))
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
        report = await scan(many(closed), Settings(profile=PROFILE, limits=Limits(concurrency=10)), rows,
                            kept.told.append, Gate(Limits()))  # fmt: skip
    assert report.summary.endpoints == 40
    assert ahead <= 10


async def test_two_scans_of_the_same_are_the_same(kept: Kept) -> None:
    async with tls_listener() as server:
        _, (first,) = await kept(at(server.sockaddr))
        _, (second,) = await kept(at(server.sockaddr))
    for row in (first, second):
        row["observed"]["attempts"] = [line.partition(" (")[0] for line in row["observed"]["attempts"]]
    assert first == second


# --- what a target owes, and what has to be asked ---------------------------------------------------------------------


def endpoint(address: str, host: str = "", name: str | None = None) -> Endpoint:
    return endpoint_of(Target(host=host or address, port=443, server_name=name), address)


def test_an_endpoint_of_an_ipv6_address() -> None:
    made = endpoint("2001:db8::1")
    assert made.id == "tls://[2001:db8::1]:443"
    assert made.instance == "tls://[2001:db8::1]:443 @ [2001:db8::1]:443"


@pytest.mark.parametrize(
    ("made", "names", "source"),
    [
        (endpoint("1.1.1.1", "a.example", "a.example"), ("a.example",), "this system's public roots"),
        (endpoint("1.1.1.1", "a.example", "b.example"), ("b.example",), "this system's public roots"),
        (endpoint("1.1.1.1", name="b.example"), ("b.example",), "this system's public roots"),
        (endpoint("1.1.1.1"), (), ""),
        (endpoint("10.0.0.1", "a.example", "a.example"), ("a.example",), ""),
        (endpoint("fe80::1%eth0"), (), ""),
        (endpoint("a.example", "a.example", "a.example"), ("a.example",), ""),
    ],
)
def test_public_roots_are_for_public_names_at_public_addresses(
    made: Endpoint, names: tuple[str, ...], source: str
) -> None:
    settings = Settings(profile=PROFILE, public_anchors=(ordinary().der,))
    owed = expected(made, settings)
    assert owed.certificate.names == names
    assert owed.certificate.anchor_source == source
    assert owed.certificate.anchors == (settings.public_anchors if source else ())
    assert owed.profile == PROFILE


def test_given_anchors_are_for_all() -> None:
    settings = Settings(profile=PROFILE, anchors=(b"x",), anchor_source="ca.pem", public_anchors=(b"y",))
    for made in (endpoint("10.0.0.1"), endpoint("1.1.1.1", "a.example", "a.example")):
        assert expected(made, settings).certificate.anchors == (b"x",)
        assert expected(made, settings).certificate.anchor_source == "ca.pem"


def test_the_standard_suites_of_tls13_are_always_allowed() -> None:
    asked = question(SETTINGS)
    assert asked.allowed == frozenset(PROFILE.suites) | STANDARD_TLS13
    assert asked.min_version == PROFILE.min_version


def test_groups_are_asked_for_a_verdict_only_where_they_decide_one() -> None:
    with_groups = load_profile("intermediate")
    assert with_groups.groups is not None
    assert question(Settings(profile=with_groups)).groups is None
    enforced = Settings(profile=with_groups, policy=Policy(groups="enforced"))
    assert question(enforced).groups == frozenset(with_groups.groups)
    assert question(Settings(profile=PROFILE, policy=Policy(groups="enforced"))).groups == (
        None if PROFILE.groups is None else frozenset(PROFILE.groups)
    )


@pytest.mark.parametrize(
    ("text", "is_one"),
    [("127.0.0.1", True), ("::1", True), ("fe80::1%eth0", True), ("a.example", False), ("", False), ("1.2.3", False)],
)
def test_addresses(text: str, *, is_one: bool) -> None:
    assert is_address(text) is is_one
