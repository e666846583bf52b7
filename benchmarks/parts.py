"""The three measurements: against other tools, the cost of a connection, and memory over the number of targets."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path

from benchmarks import truth
from benchmarks.farm import Farm, farm, listeners, mixed, stubs
from benchmarks.measure import Command, Cost, run
from benchmarks.tools import TOOLS, Tool

LIMIT = 900.0
"""Seconds that any one command may take."""
FARM_CORE = -1
"""The core of the servers: the last. The first one scans."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One tool against one farm: the median run by wall time."""

    tool: str
    endpoints: int
    wall: float
    cpu: float
    server_cpu: float
    connections: int
    signatures: int
    peak: float
    failed: str | None
    found: dict[str, truth.Share]
    """By kind of fact; without those for which the tool does not ask."""

    @property
    def speed(self) -> float:
        """Endpoints a second."""
        return self.endpoints / self.wall


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionCost:
    """Microseconds of client CPU a connection, against a server that answers at once."""

    floor: float
    """Bare connect, send, receive, close under trio."""
    refused: float
    """A conversation that ends in an alert, by itself."""
    accepted: float
    """A conversation that ends in ServerHelloDone, by itself."""
    adhere: float
    """The whole program, without its start: the difference between many targets and few."""
    connections: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """Peak memory over the number of targets."""

    targets: int
    peak: float
    wall: float
    failed: str | None


def compare(tool: Tool, program: str, served: Farm, configured: Mapping[str, truth.Facts], repeat: int) -> Row:
    """Run one tool on the listeners of ``configured``, ``repeat`` times."""
    targets = [(address, served.port) for address in configured]
    rows = []
    for _ in range(repeat):
        with tempfile.TemporaryDirectory(prefix="bench-") as name:
            before = served.counts()
            cost = run(tool.commands(program, targets, Path(name)), at_once=tool.at_once, limit=LIMIT, fine=tool.fine)
            after = served.counts()
            found: dict[str, truth.Share] = {}
            if not cost.failed:
                try:
                    found = truth.found(dict(tool.report(Path(name))), configured)
                except (AttributeError, LookupError, OSError, SyntaxError, TypeError, ValueError) as error:
                    cost = replace(cost, failed=f"its report is not readable: {error!r}")
        rows.append(
            Row(
                tool=tool.name,
                endpoints=len(targets),
                server_cpu=after.cpu - before.cpu,
                connections=after.connections - before.connections,
                signatures=after.signatures - before.signatures,
                found=found,
                **asdict(cost),
            )
        )
    return sorted(rows, key=lambda row: row.wall)[(repeat - 1) // 2]


def tools_compared(sizes: Iterable[int], tools: Iterable[Tool], repeat: int, core: int) -> Iterable[Row]:
    """Every tool on every size, on the same listeners; rows as they come."""
    chosen = [(tool, program) for tool in tools if (program := tool.path())]
    wanted = list(sizes)
    settings = mixed(max(wanted))
    with tempfile.TemporaryDirectory(prefix="bench-") as name, farm(listeners(settings), Path(name), core) as served:
        configured = {address: truth.configured(one) for address, one in zip(served.addresses, settings, strict=True)}
        one = dict(islice(configured.items(), 1))
        for tool, program in chosen:
            if tool.most is None:
                compare(tool, program, served, one, 1)  # not counted: fills the caches of disk and bytecode
        for size in wanted:
            for tool, program in chosen:
                if tool.most is None or size <= tool.most:
                    yield compare(tool, program, served, dict(islice(configured.items(), size)), repeat)


def _adhere(served: Farm, targets: int, directory: Path) -> tuple[Cost, int]:
    """One verdict scan of ``targets`` names spread over the stub listeners: cost and connections."""
    tool = TOOLS[0]
    program = tool.path()
    assert program, "adhere is not installed beside this Python"
    listed = directory / "names.txt"
    size = len(served.addresses)
    listed.write_text(
        "".join(f"tls://{served.addresses[n % size]}:{served.port}#n{n}.example\n" for n in range(targets))
    )
    (command,) = tool.commands(program, [], directory)
    words: Command = [str(listed) if word.endswith("targets.txt") else word for word in command]
    before = served.counts()
    cost = run([words], at_once=1, limit=LIMIT, fine=frozenset({0, 1, 3}))
    return cost, served.counts().connections - before.connections


def alone(program: str, served: Farm, count: int) -> tuple[float, ...]:
    """The microseconds that one of our small programs prints."""
    argv = [sys.executable, "-m", f"benchmarks.{program}", served.addresses[0], str(served.port), str(count)]
    return tuple(map(float, subprocess.run(argv, check=True, capture_output=True, text=True).stdout.split()))


def connection_cost(core: int, count: int) -> ConnectionCost:
    """Adhere against the floor, on the stub. ``count``: connections of the floor; adhere makes about as many."""
    with tempfile.TemporaryDirectory(prefix="bench-") as name, farm(stubs(50), Path(name), core) as served:
        alone = [(*alone("floor", served, count), *alone("conversation", served, count)) for _ in range(3)]
        _adhere(served, 1, Path(name))  # fills the caches
        few, made_few = _adhere(served, 50, Path(name))
        many, made_many = _adhere(served, 50 + count // 8, Path(name))
    floor, refused, accepted = map(statistics.median, zip(*alone, strict=True))
    return ConnectionCost(
        floor=floor,
        refused=refused,
        accepted=accepted,
        adhere=(many.cpu - few.cpu) / (made_many - made_few) * 1e6,
        connections=made_many - made_few,
    )


def memory(core: int, sizes: Iterable[int]) -> Iterable[Memory]:
    """Peak memory of a verdict scan, for each number of targets."""
    with tempfile.TemporaryDirectory(prefix="bench-") as name, farm(stubs(50), Path(name), core) as served:
        for size in sizes:
            cost, _ = _adhere(served, size, Path(name))
            yield Memory(targets=size, peak=cost.peak, wall=cost.wall, failed=cost.failed)


def as_json(rows: Iterable[Row], cost: ConnectionCost | None, memories: Iterable[Memory], machine: object) -> str:
    """Everything that was measured, for a later comparison."""
    document = {
        "machine": machine,
        "tools": [asdict(row) for row in rows],
        "connection": asdict(cost) if cost else None,
        "memory": [asdict(one) for one in memories],
    }
    return json.dumps(document, indent=2) + "\n"
