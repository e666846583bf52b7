"""Names to addresses, by a resolver that the test plays."""

from __future__ import annotations

import socket
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from scanner.probe.dial import SECONDS, NotResolved, addresses


class Resolver(trio.abc.HostnameResolver):
    """Gives the same answer to every question and remembers the questions."""

    def __init__(self) -> None:
        self.asked: list[object] = []
        self.addresses: list[str] = []
        self.failure: Exception | None = None
        self.silent = False

    async def getaddrinfo(self, host: bytes | None, *how: object, **__: object) -> Any:  # noqa: ANN401 - releases differ
        self.asked.append(host)
        assert how == (443, 0, socket.SOCK_STREAM, 0, socket.AI_ADDRCONFIG)
        if self.silent:
            await trio.sleep_forever()
        if self.failure is not None:
            raise self.failure
        return [(_family(address), socket.SOCK_STREAM, 6, "", (address, 443)) for address in self.addresses]

    async def getnameinfo(self, *_: object) -> tuple[str, str]:
        raise NotImplementedError


def _family(address: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def with_answer(*found: str, failure: Exception | None = None, silent: bool = False) -> Resolver:
    """A resolver, in force until the test's run ends."""
    resolver = Resolver()
    resolver.addresses, resolver.failure, resolver.silent = list(found), failure, silent
    trio.socket.set_custom_hostname_resolver(resolver)
    return resolver


@pytest.mark.parametrize("address", ["192.0.2.1", "2001:db8::1", "::1", "fe80::1%eth0"])
async def test_an_address_is_its_own_answer(address: str) -> None:
    resolver = with_answer(failure=AssertionError())
    assert await addresses(address, 443) == (address,)
    assert not resolver.asked


async def test_every_address_once_in_the_resolvers_order() -> None:
    resolver = with_answer("2001:db8::2", "192.0.2.7", "2001:db8::2", "192.0.2.1")
    assert await addresses("listener.example", 443) == ("2001:db8::2", "192.0.2.7", "192.0.2.1")
    assert resolver.asked == [b"listener.example"]


async def test_a_name_in_another_script_is_asked_for_in_ascii() -> None:
    resolver = with_answer("192.0.2.1")
    await addresses("bücher.example", 443)
    assert resolver.asked == [b"xn--bcher-kva.example"]


async def test_none_of_very_many_addresses_is_left_out() -> None:
    """A dropped address would not be judged, which would have to be reported."""
    with_answer(*(f"192.0.2.{number}" for number in range(200)))
    assert await addresses("listener.example", 443) == tuple(f"192.0.2.{number}" for number in range(200))


@pytest.mark.parametrize(
    ("failure", "text"),
    [
        (socket.gaierror(socket.EAI_NONAME, "Name or service not known"), "Name or service not known"),
        (OSError("odd"), "odd"),
    ],
)
async def test_no_answer(failure: Exception, text: str) -> None:
    with_answer(failure=failure)
    with pytest.raises(NotResolved, match=text):
        await addresses("listener.example", 443)


@pytest.mark.parametrize("name", ["x" * 64 + ".example", "a..example", "\ud800"])
async def test_what_cannot_be_a_name_does_not_resolve(name: str) -> None:
    with_answer("192.0.2.1")
    with pytest.raises(NotResolved, match="does not resolve"):
        await addresses(name, 443)


async def test_a_resolver_that_says_nothing(autojump_clock: MockClock) -> None:
    with_answer(silent=True)
    with pytest.raises(NotResolved, match="did not answer"):
        await addresses("listener.example", 443)
    assert trio.current_time() == pytest.approx(SECONDS)


async def test_this_machines_resolver_knows_localhost() -> None:
    assert {"127.0.0.1", "::1"} & set(await addresses("localhost", 443))
