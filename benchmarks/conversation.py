"""Cost of one exchange: a hello encoded, sent, its answer read, under a timeout; no plan, no judging.

Like ``floor`` a program of its own: ``python -m benchmarks.conversation ADDRESS PORT COUNT`` prints microseconds of CPU
for a conversation that ends in an alert, and for one that ends in ServerHelloDone.
"""

from __future__ import annotations

import sys
import time

import trio

from benchmarks.floor import AT_ONCE
from scanner.probe import candidates
from scanner.probe.dial import Where
from scanner.probe.exchange import Peer, Timer, exchange
from scanner.probe.offers import Ending, Offer
from scanner.tls.codepoints import TLS12

ACCEPTED_BY_STUB = 0xC02F


async def _worker(peer: Peer, offer: Offer, ending: Ending, count: int) -> None:
    with Timer() as timer:
        for _ in range(count):
            reply = await exchange(peer, offer, timer)
            if reply.ending != ending:
                raise ConnectionError(f"the stub server answered with {reply}")


async def conversation(peer: Peer, offer: Offer, ending: Ending, count: int) -> float:
    """Microseconds of CPU that one conversation costs, over ``count`` of them."""
    started = time.process_time()
    async with trio.open_nursery() as nursery:
        for _ in range(AT_ONCE):
            nursery.start_soon(_worker, peer, offer, ending, count // AT_ONCE)
    return (time.process_time() - started) / (count // AT_ONCE * AT_ONCE) * 1e6


def main(address: str, port: int, count: int) -> None:
    """Print both, refused and accepted."""
    peer = Peer(where=Where(address=address, port=port), server_name="a.example")
    every = candidates.suites(TLS12)
    forbidden = tuple(code for code in every if code != ACCEPTED_BY_STUB)
    groups = candidates.groups(TLS12)
    refused = trio.run(conversation, peer, Offer("forbidden", TLS12, forbidden, groups, padding=2), "alert", count)
    accepted = trio.run(conversation, peer, Offer("all", TLS12, every, groups), "hello", count)
    print(refused, accepted)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
