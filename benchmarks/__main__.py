"""``python -m benchmarks``: measure, print the tables as they fill, keep the numbers in benchmarks/results/."""

from __future__ import annotations

import argparse
import os
import platform
import sys
import time
from pathlib import Path

from benchmarks.parts import Memory, Row, as_json, connection_cost, memory, tools_compared
from benchmarks.tools import TOOLS, Tool
from benchmarks.truth import KINDS
from tests.zoo import golang

RESULTS = Path(__file__).parent / "results"
_HEADER = (
    "tool",
    "endpoints/s",
    "adhere-verdict is",
    "adhere-inventory is",
    "conn/endpoint",
    "signatures",
    "CPU ms/endpoint",
    "server CPU ms",
    "peak MiB",
)


def main() -> int:
    """Exit code 2 where nothing can be measured, else 0: a benchmark informs, it does not judge."""
    options = _options()
    if not golang.go():
        print("the farm needs go: install Go, or `uv sync --group go`", file=sys.stderr)
        return 2
    tools = [tool for tool in TOOLS if any(tool.name.startswith(name) for name in options.tools)]
    for tool in tools:
        if reason := tool.missing():
            print(f"{tool.name}: left out, {reason}")
    client, server = _cores()
    os.sched_setaffinity(0, {client})  # inherited by every tool
    rows = _compare(options, tools, server)
    cost = memories = None
    if options.own and any(tool.program == "adhere" and tool.path() for tool in tools):
        cost = connection_cost(server, 2000 if options.quick else 8000)
        print(f"\nclient CPU a connection: bare trio {cost.floor:.0f} us, adhere {cost.adhere:.0f} us "
              f"({cost.adhere / cost.floor:.2f} times) over {cost.connections} connections")  # fmt: skip
        print(f"a conversation alone: refused {cost.refused:.0f} us ({cost.refused / cost.floor:.2f} times), "
              f"accepted {cost.accepted:.0f} us ({cost.accepted / cost.floor:.2f} times)")  # fmt: skip
        memories = _memory(server, [100, 1000] if options.quick else [100, 1000, 10_000])
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{time.strftime('%Y%m%dT%H%M%S')}.json"
    path.write_text(as_json(rows, cost, memories or [], _machine()))
    print(f"\nnumbers: {path}")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--endpoints", type=_numbers, default=[1, 50, 200], help="sizes of the farm: 1,50,200")
    parser.add_argument("--tools", type=lambda text: text.split(","), default=[""], help="by name: adhere,sslscan")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each, of which the median is printed (3)")
    parser.add_argument(
        "--quick", action="store_true", help="one run of each, and smaller measurements of adhere alone"
    )
    parser.add_argument("--no-own", dest="own", action="store_false", help="only the comparison with other tools")
    options = parser.parse_args()
    if options.quick:
        options.repeat = 1
    if options.repeat < 1:
        parser.error("--repeat: at least 1")
    return options


def _numbers(text: str) -> list[int]:
    numbers = sorted(int(word) for word in text.split(","))
    if numbers[0] < 1:
        raise ValueError(text)
    return numbers


def _cores() -> tuple[int, int]:
    """One for the client and one for the servers; the same where there is only one."""
    cores = sorted(os.sched_getaffinity(0))
    return cores[0], cores[-1]


def _machine() -> dict[str, object]:
    return {
        "cores": os.cpu_count(),
        "load": os.getloadavg(),
        "system": platform.platform(),
        "python": platform.python_version(),
    }


def _compare(options: argparse.Namespace, tools: list[Tool], core: int) -> list[Row]:
    rows: list[Row] = []
    for row in tools_compared(options.endpoints, tools, options.repeat, core):
        if not rows or rows[-1].endpoints != row.endpoints:
            print(f"\n{row.endpoints} endpoint{'s' if row.endpoints > 1 else ''}")
            print("  ".join(f"{word:>19}" for word in _HEADER))
        rows.append(row)
        print("  ".join(f"{word:>19}" for word in _cells(row, rows)), flush=True)
        if row.failed:
            print(f"    {row.tool}: {row.failed}")
    print("\nreported, of what is configured; -: does not ask; wrong: reported, but not configured")
    print("  ".join(f"{word:>19}" for word in ("tool", "endpoints", *KINDS, "wrong")))
    for row in rows:
        print("  ".join(f"{word:>19}" for word in _found(row)))
    return rows


def _found(row: Row) -> list[str]:
    shares = [row.found.get(kind) for kind in KINDS]
    # What is forbidden is counted as a version or a suite.
    wrong = sum(share.wrong for kind, share in row.found.items() if kind != "forbidden")
    return [
        row.tool,
        str(row.endpoints),
        *(f"{share.right} of {share.configured}" if share else "-" for share in shares),
        str(wrong),
    ]


def _cells(row: Row, rows: list[Row]) -> list[str]:
    def times(name: str) -> str:
        ours = [one.speed for one in rows if one.tool == name and one.endpoints == row.endpoints]
        ratio = ours[0] / row.speed if ours else 0.0
        return f"{ratio:.{1 if ratio >= 1 else 2}f} times" if ours else "-"

    return [
        row.tool,
        f"{row.speed:.1f}",
        times("adhere-verdict"),
        times("adhere-inventory"),
        f"{row.connections / row.endpoints:.1f}",
        f"{row.signatures / row.endpoints:.1f}",
        f"{row.cpu / row.endpoints * 1e3:.1f}",
        f"{row.server_cpu / row.endpoints * 1e3:.1f}",
        f"{row.peak:.0f}",
    ]


def _memory(core: int, sizes: list[int]) -> list[Memory]:
    found = []
    for one in memory(core, sizes):
        found.append(one)
        print(
            f"{one.targets} targets: peak {one.peak:.0f} MiB in {one.wall:.1f} s"
            + (f" ({one.failed})" if one.failed else "")
        )
    return found


if __name__ == "__main__":
    sys.exit(main())
