"""What a target owes, and the endpoints that it is."""

from __future__ import annotations

import pytest
import trio
from trio.testing import MockClock

from scanner.jobs import Job, TargetRequirements, at, endpoint_of, fair_shares
from scanner.kube.profile_catalogue import load_profile
from scanner.model.endpoint import Endpoint, Owner, Target
from scanner.probe.limits import Gate, Limits
from tests.servers import ordinary

pytestmark = pytest.mark.crypto

PROFILE = load_profile("intermediate@4.22")


def endpoint(address: str, host: str = "", name: str | None = None) -> Endpoint:
    return at(endpoint_of(Target(host=host or address, port=443, server_name=name)), address)


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
    owed = TargetRequirements(profile=PROFILE, public_anchors=lambda: (ordinary().der,))(made)
    assert owed.certificate.names == names
    assert owed.certificate.anchor_source == source
    assert owed.certificate.anchors == ((ordinary().der,) if source else ())
    assert owed.profile == PROFILE


def test_given_anchors_are_for_all() -> None:
    owed = TargetRequirements(profile=PROFILE, anchors=(b"x",), anchor_source="ca.pem", public_anchors=lambda: (b"y",))
    for made in (endpoint("10.0.0.1"), endpoint("1.1.1.1", "a.example", "a.example")):
        assert owed(made).certificate.anchors == (b"x",)
        assert owed(made).certificate.anchor_source == "ca.pem"


async def test_slow_listeners_of_one_network_take_no_places_of_the_others(autojump_clock: MockClock) -> None:
    slow = [_listening("slow", number) for number in range(20)]
    fast = [_listening(f"fast-{number % 2}", number) for number in range(20)]
    gate = Gate(Limits(per_host=2))
    source = fair_shares([*slow, *fast], gate)
    ended: dict[str, list[float]] = {}

    async def work() -> None:
        for job in source:
            network = job.endpoint.network or ""
            async with gate.host(job.endpoint):
                await trio.sleep(100 if network == "slow" else 1)
            ended.setdefault(network, []).append(trio.current_time())

    async with trio.open_nursery() as nursery:
        for _ in range(8):
            nursery.start_soon(work)
    assert {name: len(times) for name, times in ended.items()} == {"slow": 20, "fast-0": 10, "fast-1": 10}
    assert max(*ended["fast-0"], *ended["fast-1"]) < min(ended["slow"])
    assert max(ended["slow"]) == 1000


def _listening(network: str, port: int) -> Job:
    owner = Owner(kind="Node", name="a")
    listener = Endpoint(id="a", instance="a", address="127.0.0.1", port=port, owner=owner, network=network)
    return Job(endpoint=listener, owes=TargetRequirements(profile=PROFILE))
