"""Connections to the real servers of the zoo, and correct results: ``python -m benchmarks.zoo``.

Every configuration is asked for its inventory, and for a verdict under each of three profiles; the answers are compared
with what is configured, as the conformance tests do.
"""

from __future__ import annotations

import statistics
from collections import Counter

import trio

from scanner.probe.session import Mode
from tests.zoo.cases import CASES, PROGRAMS, Case, running
from tests.zoo.observing import PROFILES, ask, endpoint, judged


async def measure(case: Case, connections: dict[Mode, list[int]], wrong: Counter[str]) -> None:
    """Ask one server everything."""
    async with running(case) as server:
        target, truth = endpoint(server, server.server_name), server.truth
        seen = await ask(target, "inventory")
        connections["inventory"].append(seen.connections)
        wrong["refused and accepted"] += len(seen.versions.refused & truth.versions) + sum(
            len(answers.refused & truth.suites.get(version, frozenset())) for version, answers in seen.suites.items()
        )
        for profile in PROFILES.values():
            seen = await ask(target, "verdict", profile)
            connections["verdict"].append(seen.connections)
            verdict = judged(target, seen, profile).verdict
            weak = bool(truth.violations(profile.min_version, profile.suites))
            wrong["false pass"] += weak and verdict == "pass"
            wrong["false fail"] += not weak and verdict == "fail"
            wrong["inconclusive"] += verdict == "inconclusive"


def main() -> None:
    """Print the numbers."""
    connections: dict[Mode, list[int]] = {"inventory": [], "verdict": []}
    wrong: Counter[str] = Counter({"refused and accepted": 0, "false pass": 0, "false fail": 0, "inconclusive": 0})
    cases = [case for case in CASES if PROGRAMS[case.program].missing() is None]
    for case in cases:
        trio.run(measure, case, connections, wrong)
    print(f"{len(cases)} of {len(CASES)} configurations, {len(connections['verdict'])} verdicts")
    for mode, counts in connections.items():
        high = statistics.quantiles(counts, n=20)[-1]
        print(f"{mode}: median {statistics.median(counts):g}, 95th percentile {high:g}, at most {max(counts)}")
    for what, count in wrong.items():
        print(f"{what}: {count}")


if __name__ == "__main__":
    main()
