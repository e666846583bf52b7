"""``python -m benchmarks.random_refusals [SEEDS]``: how often a weak listener passes that refuses at random.

On the model server of the tests, with TLS 1.0 to 1.3, CBC suites and RSA key exchange; a share of its connections, or
every second one, ends in handshake_failure. A pass needs every forbidden version and suite refused, and the full
handshake completed. The table stands in docs/decisions/0017-random-refusals.md.
"""

from __future__ import annotations

import sys
from random import Random

from scanner.probe.session import Question
from scanner.tls.codepoints import TLS10, TLS11, TLS12, TLS13
from scanner.values import replace
from tests.probe.model_server import HANDSHAKE_FAILURE, ModelServer, passes

SHARES = (0.1, 0.2, 0.3, 0.5, 0.7, 0.9)
_MODERN = (0x1301, 0x1302, 0x1303)
_AEAD = (0xC02F, 0xC030, 0xCCA8)
_CBC = (0xC013, 0x002F, 0x000A)
_ALLOWED = frozenset({*_MODERN, *_AEAD, 0xC02B, 0xC02C, 0xCCA9, 0x009E, 0x009F})
WEAK = ModelServer(
    suites={TLS13: _MODERN, TLS12: (*_AEAD, 0x009E, 0xC014, *_CBC), TLS11: _CBC, TLS10: _CBC},
    groups=(0x11EC, 0x001D, 0x0017, 0x0018),
    accident=HANDSHAKE_FAILURE,
)
QUESTIONS = (Question(mode="verdict", allowed=_ALLOWED), Question(mode="inventory", allowed=_ALLOWED))


def false_passes(server: ModelServer, question: Question, seeds: int) -> float:
    """The share of conversations with ``server`` that lead to a pass."""
    return sum(passes(replace(server, random=Random(seed)), question) for seed in range(seeds)) / seeds


def main() -> None:
    """Print the table."""
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    print(f"| share | {' | '.join(question.mode for question in QUESTIONS)} |  ({seeds} seeds)\n|---|---|---|")
    for share in SHARES:
        rates = (false_passes(replace(WEAK, accidents=share), question, seeds) for question in QUESTIONS)
        print(f"| {share:.0%} | {' | '.join(f'{rate:.2%}' for rate in rates)} |", flush=True)
    for which in ("odd", "even"):
        rates = (false_passes(replace(WEAK, alternates=which), question, 1) for question in QUESTIONS)
        print(f"| every second, {which} | {' | '.join('passes' if rate else 'never' for rate in rates)} |")


if __name__ == "__main__":
    main()
