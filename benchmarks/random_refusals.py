"""``python -m benchmarks.random_refusals [SEEDS]``: how often a weak listener passes that refuses at random.

On the model server of the tests, with TLS 1.0 to 1.3, CBC suites and RSA key exchange. A share of its connections, or
every second one, ends in an alert; or a share of them, or one by turns, reaches a replica that has TLS 1.3 alone, as
in a rollout to Modern. A pass needs every forbidden version and suite refused, and the full handshake completed. The
tables stand in docs/decisions/0017-random-refusals.md.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from random import Random

from scanner.probe.session import Question
from scanner.tls.codepoints import TLS10, TLS11, TLS12, TLS13
from scanner.values import replace
from tests.probe.model_server import (
    HANDSHAKE_FAILURE,
    INSUFFICIENT_SECURITY,
    INTERNAL_ERROR,
    PROTOCOL_VERSION,
    Balancer,
    ModelServer,
    Server,
    passes,
)

SHARES = (0.1, 0.2, 0.3, 0.5, 0.7, 0.9)
ALERTS = (HANDSHAKE_FAILURE, PROTOCOL_VERSION, INSUFFICIENT_SECURITY, INTERNAL_ERROR)
REPLICAS = (1, 2, 3, 4)
"""Replicas with TLS 1.2 beside one with TLS 1.3 alone."""
_MODERN = (0x1301, 0x1302, 0x1303)
_AEAD = (0xC02F, 0xC030, 0xCCA8)
_CBC = (0xC013, 0x002F, 0x000A)
_ALLOWED = frozenset({*_MODERN, *_AEAD, 0xC02B, 0xC02C, 0xCCA9, 0x009E, 0x009F})
WEAK = ModelServer(
    suites={TLS13: _MODERN, TLS12: (*_AEAD, 0x009E, 0xC014, *_CBC), TLS11: _CBC, TLS10: _CBC},
    groups=(0x11EC, 0x001D, 0x0017, 0x0018),
)
OLD_REPLICA = ModelServer(suites={TLS12: (*_AEAD, 0x002F)}, groups=WEAK.groups)
MODERN_REPLICA = ModelServer(suites={TLS13: _MODERN}, groups=WEAK.groups)
QUESTIONS = (Question(mode="verdict", allowed=_ALLOWED), Question(mode="inventory", allowed=_ALLOWED))


def false_passes(listener: Callable[[int], Server], question: Question, seeds: int) -> float:
    """The share of conversations with ``listener`` of a seed that lead to a pass."""
    return sum(passes(listener(seed), question) for seed in range(seeds)) / seeds


def row(title: str, listener: Callable[[int], Server], seeds: int) -> None:
    """Print the rates of both modes."""
    rates = (false_passes(listener, question, seeds) for question in QUESTIONS)
    print(f"| {title} | {' | '.join(f'{rate:.2%}' for rate in rates)} |", flush=True)


def main() -> None:
    """Print the tables."""
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    print(f"| connections | {' | '.join(question.mode for question in QUESTIONS)} |  ({seeds} seeds)\n|---|---|---|")
    for alert in ALERTS:
        weak = replace(WEAK, accident=alert)
        for share in SHARES:
            row(f"{share:.0%} {alert.ending_kind}", partial(_at_random, weak, share), seeds)
        row(f"every second {alert.ending_kind}", partial(_alternating, weak), 2)
    for olds in REPLICAS:
        replicas = (MODERN_REPLICA, *[OLD_REPLICA] * olds)
        title = f"1 replica of {len(replicas)} is Modern"
        row(f"{title}, at random", partial(_balanced, replicas), seeds)
        row(f"{title}, in turn", partial(_in_turn, replicas), len(replicas))


def _at_random(server: ModelServer, share: float, seed: int) -> Server:
    return replace(server, accidents=share, random=Random(seed))


def _alternating(server: ModelServer, seed: int) -> Server:
    return replace(server, alternates="odd" if seed else "even")


def _balanced(servers: tuple[ModelServer, ...], seed: int) -> Server:
    return Balancer(servers=servers, random=Random(seed))


def _in_turn(servers: tuple[ModelServer, ...], seed: int) -> Server:
    return Balancer(servers=servers, random=None, connections=seed)


if __name__ == "__main__":
    main()
