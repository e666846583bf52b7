"""Change one line of the scanner at a time, and run the tests: a change that no test notices is a gap in the tests.

``make mutants N=150 SEED=7`` draws lines of the modules that decide verdicts, and one change for each. A change ends
with the first failing test: first come the tests of the module, then those of its package and of the packages that use
it, if they run the changed line. Slow tests come last, so that what ``make test`` notices is known. What stays alive is
printed; ``tests/mutants_equivalent.txt`` has the changes that no test can notice, with reasons.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import json
import multiprocessing
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from multiprocessing.pool import Pool
from pathlib import Path
from typing import Final, Literal, NamedTuple, TypeAlias

from coverage import CoverageData

ROOT: Final = Path(__file__).parents[1]
EQUIVALENT: Final = ROOT / "tests" / "mutants_equivalent.txt"
MUTATED: Final = ("judge", "expect", "probe", "pki", "discover", "kube/tls_profile.py")
"""Below ``scanner``: what decides a verdict."""
ABOVE: Final[Mapping[str, tuple[str, ...]]] = {
    "judge": ("tests/test_assessment.py", "tests/test_certificate_rules.py"),
    "expect": ("tests/judge",),
    "probe": ("tests/judge",),
    "pki": (
        "tests/test_certificates.py",
        "tests/test_certs.py",
        "tests/test_certificate_rules.py",
        "tests/lint/openshift",
    ),
    "discover": ("tests/expect", "tests/test_every_origin.py", "tests/test_jobs.py"),
    "kube": ("tests/expect", "tests/judge", "tests/lint/openshift"),
}
"""Tests of the packages that use each package, besides ``tests/test_scan.py`` and ``tests/test_numbers.py``."""
QUICK: Final = "not slow and not browser and not e2e"
SLOW: Final = "slow and not browser and not e2e"
_OPTIONS: Final = (
    "-x",
    "-q",
    "-p",
    "no:cacheprovider",
    "-p",
    "no:xdist",
    "--hypothesis-profile=quick",
    "--tb=line",
    "-W",
    "ignore::pytest.PytestAssertRewriteWarning",
)
_PATIENCE: Final = 5
_SHORTEST: Final = 60.0
_MEMORY: Final = 4 << 30
_FEW: Final = 200
_LIBRARIES: Final = (
    "_hypothesis_pytestplugin",
    "anyio.pytest_plugin",
    "cryptography.x509",
    "hypothesis",
    "msgspec",
    "pytest_cov.plugin",
    "pytest_trio.plugin",
    "trio.testing",
    "yaml",
)


# --- Mutations --------------------------------------------------------------------------------------------------------


class Mutation(NamedTuple):
    """Another text for a part of a file."""

    file: str
    line: int
    kind: str
    function: str
    start: int
    end: int
    text: str
    """Instead of the bytes from ``start`` to ``end``."""

    def applied(self, source: bytes) -> bytes:
        """The file with this change."""
        return source[: self.start] + self.text.encode() + source[self.end :]

    def difference(self, source: bytes) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The lines that it removes and adds."""
        before, after = source.decode().splitlines(), self.applied(source).decode().splitlines()
        lines = list(difflib.unified_diff(before, after, n=0, lineterm=""))[2:]
        return tuple(each[1:].strip() for each in lines if each[0] == "-"), tuple(
            each[1:].strip() for each in lines if each[0] == "+"
        )


_COMPARED: Final[Mapping[type[ast.cmpop], tuple[str, tuple[str, ...]]]] = {
    ast.Eq: ("==", ("!=",)),
    ast.NotEq: ("!=", ("==",)),
    ast.Lt: ("<", ("<=", ">=")),
    ast.LtE: ("<=", ("<", ">")),
    ast.Gt: (">", (">=", "<=")),
    ast.GtE: (">=", (">", "<")),
    ast.In: ("in", ("not in",)),
    ast.NotIn: (r"not\s+in", ("in",)),
    ast.Is: ("is", ("is not",)),
    ast.IsNot: (r"is\s+not", ("is",)),
}
_OPPOSITE: Final = {"any": "all", "all": "any", "min": "max", "max": "min"}
_EMPTY: Final = {
    "list": "[]",
    "dict": "{}",
    "set": "set()",
    "frozenset": "frozenset()",
    "tuple": "()",
    "Mapping": "{}",
    "Sequence": "()",
    "Iterable": "()",
    "Iterator": "iter(())",
}
_OPERATORS: Final = (ast.BitOr, ast.BitAnd, ast.Add, ast.Sub)
_Defaults: TypeAlias = Mapping[str, set[str]]


class _Finder(ast.NodeVisitor):
    """The mutations of a file, except of annotations, class arguments, decorators, and texts."""

    def __init__(self, file: str, source: bytes, defaults: _Defaults) -> None:
        self.file, self.source, self.defaults = file, source, defaults
        self.found: list[Mutation] = []
        self.scope: list[str] = []
        self.returns: ast.expr | None = None
        starts = [0]
        for line in source.splitlines(keepends=True):
            starts.append(starts[-1] + len(line))
        self.starts = starts

    def _start(self, node: ast.expr | ast.stmt) -> int:
        return self.starts[node.lineno - 1] + node.col_offset

    def _end(self, node: ast.expr | ast.stmt) -> int:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self.starts[node.end_lineno - 1] + node.end_col_offset

    def _text(self, node: ast.expr | ast.stmt) -> str:
        return self.source[self._start(node) : self._end(node)].decode()

    def _add(self, kind: str, start: int, end: int, text: str, line: int = 0) -> None:
        line = line or self.source.count(b"\n", 0, start) + 1
        self.found.append(Mutation(self.file, line, kind, ".".join(self.scope), start, end, text))

    def _replace(self, kind: str, node: ast.expr | ast.stmt, *texts: str) -> None:
        for text in texts:
            self._add(kind, self._start(node), self._end(node), text)

    # Statements

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        if node.name in ("__repr__", "__str__"):
            return
        outer, self.returns = self.returns, node.returns
        self.scope.append(node.name)
        for default in (*node.args.defaults, *(each for each in node.args.kw_defaults if each)):
            self.visit(default)
        self._body(node.body)
        self.scope.pop()
        self.returns = outer

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self.visit_FunctionDef(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.scope.append(node.name)
        self._body(node.body)
        self.scope.pop()

    def _body(self, body: Sequence[ast.stmt]) -> None:
        for each in body:
            self.visit(each)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None and "TypeAlias" not in ast.dump(node.annotation):
            self.visit(node.value)

    def visit_Assign(self, node: ast.Assign) -> None:
        if not self.scope and isinstance(node.value, ast.BinOp | ast.Subscript):  # a type
            return
        if isinstance(node.targets[0], ast.Name) and node.targets[0].id.startswith("__"):
            return
        if isinstance(node.targets[0], ast.Attribute | ast.Subscript):
            self._replace("statement", node, "pass")
        self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Constant) or self._text(node).startswith(("log", "assert_never")):
            return
        self._replace("statement", node, "pass")
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self._replace("statement", node, "pass")
        self.visit(node.value)

    def visit_Raise(self, node: ast.Raise) -> None:
        self._replace("statement", node, "pass")

    def visit_Continue(self, node: ast.Continue) -> None:
        self._replace("statement", node, "pass")

    def visit_Break(self, node: ast.Break) -> None:
        self._replace("statement", node, "pass")

    def visit_Assert(self, node: ast.Assert) -> None:
        """For the type checker."""

    def visit_Return(self, node: ast.Return) -> None:
        if node.value is None:
            return
        for text in self._nothing():
            if self._text(node.value) != text:
                self._replace("return", node.value, text)
        self.visit(node.value)

    def _nothing(self) -> Iterator[str]:
        named = self.returns
        if isinstance(named, ast.BinOp):
            if ast.unparse(named).endswith("| None"):
                yield "None"
        elif isinstance(named, ast.Name) and named.id == "bool":
            yield from ("True", "False")
        elif isinstance(named, ast.Subscript | ast.Name):
            name = named.value if isinstance(named, ast.Subscript) else named
            if isinstance(name, ast.Name) and name.id in _EMPTY:
                yield _EMPTY[name.id]

    # Conditions

    def _condition(self, test: ast.expr, *texts: str) -> None:
        if isinstance(test, ast.Constant):
            return
        self._replace("condition", test, *texts)
        if not isinstance(test, ast.UnaryOp):
            self._replace("not", test, f"not ({self._text(test)})")

    def visit_If(self, node: ast.If) -> None:
        if "TYPE_CHECKING" in self._text(node.test):
            return
        self._condition(node.test, "True", "False")
        self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self._condition(node.test, "True", "False")
        self.generic_visit(node)

    def visit_While(self, node: ast.While) -> None:
        self._condition(node.test, "False")
        self.generic_visit(node)

    def visit_match_case(self, node: ast.match_case) -> None:
        if node.guard:
            self._condition(node.guard, "True", "False")
            self.visit(node.guard)
        self._body(node.body)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        for test in node.ifs:
            self._replace("filter", test, "True")
        self.generic_visit(node)

    # Expressions

    def visit_Compare(self, node: ast.Compare) -> None:
        operands = (node.left, *node.comparators)
        for left, right, operator in zip(operands, operands[1:], node.ops, strict=False):
            spelt, others = _COMPARED[type(operator)]
            start = self._end(left)
            between = self.source[start : self._start(right)].decode()
            found = re.search(spelt, between)
            assert found is not None
            for other in others:
                self._add("comparison", start + found.start(), start + found.end(), other)
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        texts = [self._text(each) for each in node.values]
        texts = [
            f"({each})" if isinstance(value, ast.BoolOp | ast.IfExp) else each
            for each, value in zip(texts, node.values, strict=True)
        ]
        swapped = " and " if isinstance(node.op, ast.Or) else " or "
        self._replace("and/or", node, f"({swapped.join(texts)})")
        word = " or " if isinstance(node.op, ast.Or) else " and "
        for number, value in enumerate(node.values):
            rest = texts[:number] + texts[number + 1 :]
            self._add("operand", self._start(node), self._end(node), f"({word.join(rest)})", value.lineno)
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Not):
            self._replace("not", node, f"({self._text(node.operand)})")
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        if isinstance(node.op, _OPERATORS) and not any(_is_text(each) for each in ast.walk(node)):
            self._replace("operand", node, self._text(node.left), self._text(node.right))
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, bool):
            self._replace("boolean", node, str(not node.value))
        elif isinstance(node.value, int):
            form = hex if self._text(node).startswith("0x") else str
            self._replace("integer", node, form(node.value + 1), form(node.value - 1))

    def visit_Tuple(self, node: ast.Tuple) -> None:
        self._elements(node, node.elts)

    def visit_List(self, node: ast.List) -> None:
        self._elements(node, node.elts)

    def visit_Set(self, node: ast.Set) -> None:
        self._elements(node, node.elts)

    def _elements(self, node: ast.Tuple | ast.List | ast.Set, elements: Sequence[ast.expr]) -> None:
        if isinstance(node, ast.Set) or isinstance(node.ctx, ast.Load):
            few = len(elements) < 2
            for number, each in enumerate(elements):
                if few and isinstance(node, ast.Set):
                    break
                if few:
                    self._replace("element", node, "()" if isinstance(node, ast.Tuple) else "[]")
                elif not number and len(elements) == 2 and isinstance(node, ast.Tuple):
                    self._add("element", self._start(each), self._end(elements[1]), f"{self._text(elements[1])},")
                elif number + 1 < len(elements):
                    self._add("element", self._start(each), self._start(elements[number + 1]), "")
                else:
                    self._add(
                        "element",
                        self._end(elements[number - 1]),
                        self._end(each),
                        "," if number == 1 and isinstance(node, ast.Tuple) else "",
                    )
        self._body(elements)  # type: ignore[arg-type]

    def visit_Dict(self, node: ast.Dict) -> None:
        for key, value in zip(node.keys, node.values, strict=True):
            if key is not None:
                tail = re.match(rb"\s*,?", self.source[self._end(value) :])
                assert tail is not None
                self._add("element", self._start(key), self._end(value) + tail.end(), "")
                self.visit(key)
            self.visit(value)

    def visit_Call(self, node: ast.Call) -> None:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if isinstance(node.func, ast.Name) and name in _OPPOSITE:
            self._replace("any/all, min/max", node.func, _OPPOSITE[name])
        for each in node.keywords:
            if each.arg in self.defaults.get(name, ()) and not _is_text(each.value):
                start = self.starts[each.lineno - 1] + each.col_offset
                tail = re.match(rb"\s*,?", self.source[self._end(each.value) :])
                assert tail is not None
                self._add("argument", start, self._end(each.value) + tail.end(), "")
        if name in ("TypeVar", "cast", "ParamSpec", "NewType"):
            return
        self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        if isinstance(node.slice, ast.Tuple):  # a key, whose elements belong together, or types
            self.visit(node.value)
            for each in node.slice.elts:
                self.visit(each)
        else:
            self.generic_visit(node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """A message."""


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str | bytes))


@cache
def _defaults() -> _Defaults:
    """Arguments that may be left out, by the name of what is called."""
    found: dict[str, set[str]] = {}
    for path in (ROOT / "scanner").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                names = found.setdefault(node.name, set())
                named, given = [*node.args.posonlyargs, *node.args.args], node.args.defaults
                names.update(each.arg for each in named[len(named) - len(given) :])
                names.update(
                    each.arg for each, value in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True) if value
                )
            elif isinstance(node, ast.ClassDef):
                names = found.setdefault(node.name, set())
                fields = (each for each in node.body if isinstance(each, ast.AnnAssign) and each.value is not None)
                names.update(each.target.id for each in fields if isinstance(each.target, ast.Name))
    return found


@cache
def _source(file: str) -> bytes:
    """As it was at the start, whatever is edited meanwhile."""
    return (ROOT / file).read_bytes()


@cache
def mutations(file: str) -> list[Mutation]:
    """Every mutation of a file, by line. Some do not compile."""
    return mutations_of(file, _source(file))


def mutations_of(file: str, source: bytes) -> list[Mutation]:
    """Every mutation of a text, by line."""
    finder = _Finder(file, source, _defaults())
    finder.visit(ast.parse(source))
    return sorted(set(finder.found), key=lambda each: (each.line, each.start, each.end, each.kind, each.text))


def files() -> list[str]:
    """The modules that decide verdicts."""
    found: list[Path] = []
    for each in MUTATED:
        path = ROOT / "scanner" / each
        found += [path] if path.is_file() else path.rglob("*.py")
    return sorted(str(each.relative_to(ROOT)) for each in found)


def _compiles(mutation: Mutation) -> bool:
    source = _source(mutation.file)
    try:
        changed = ast.parse(mutation.applied(source))
    except SyntaxError:
        return False
    return ast.dump(changed) != ast.dump(ast.parse(source))


def draw(count: int, seed: int) -> list[Mutation]:
    """``count`` different mutations: each line that has any is equally likely, then each of its mutations."""
    lines: dict[tuple[str, int], list[Mutation]] = {}
    for file in files():
        for each in mutations(file):
            lines.setdefault((file, each.line), []).append(each)
    chance, places, drawn = random.Random(seed), list(lines), dict[Mutation, None]()
    while len(drawn) < count:
        mutation = chance.choice(lines[chance.choice(places)])
        if _compiles(mutation):
            drawn[mutation] = None
    return list(drawn)


# --- Equivalent mutations ---------------------------------------------------------------------------------------------

_Key: TypeAlias = tuple[str, str, tuple[str, ...], tuple[str, ...]]


def equivalent() -> dict[_Key, str]:
    """The reasons of the mutations that no test can notice: blocks of file, function, old and new lines, reason."""
    found: dict[_Key, str] = {}
    for block in EQUIVALENT.read_text().split("\n\n"):
        lines = [each for each in block.splitlines() if not each.startswith("#")]
        if lines:
            file, _, function = lines[0].partition(" ")
            old = tuple(each[2:] for each in lines if each.startswith("- "))
            new = tuple(each[2:] for each in lines if each.startswith("+ "))
            found[file, function, old, new] = " ".join(each for each in lines[1:] if each[:2] not in ("- ", "+ "))
    return found


def key(mutation: Mutation) -> _Key:
    """What names a mutation although line numbers change."""
    return mutation.file, mutation.function, *mutation.difference(_source(mutation.file))


# --- Runs of the tests ------------------------------------------------------------------------------------------------

State: TypeAlias = Literal["killed", "timeout", "alive"]


class Result(NamedTuple):
    """The end of a mutation."""

    mutation: Mutation
    state: State
    lane: str = ""
    """Markers of the tests that noticed it."""
    by: str = ""
    """The test that failed, or what ran."""


class Cost(NamedTuple):
    """What tests cost without a mutation, in seconds."""

    processor: float = 0
    elapsed: float = 0


def package_of(file: str) -> str:
    """``judge`` of ``scanner/judge/reach.py``."""
    return file.split("/")[1]


def groups(file: str) -> tuple[str, ...]:
    """The tests of its package and of those above it."""
    package = package_of(file)
    return ("tests/test_numbers.py", f"tests/{package}", *ABOVE[package], "tests/test_scan.py")


@cache
def naming(file: str) -> tuple[str, ...]:
    """The test files of a module: they import it or have its name."""
    module = file.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
    parent, _, name = module.rpartition(".")
    imported = re.compile(rf"(from {module} import|import {module}\b|from {parent} import .*\b{name}\b)")
    tests = ROOT / "tests" / package_of(file)
    found = {path for path in tests.glob("test_*.py") if imported.search(path.read_text())}
    found.update(tests.glob(f"test_{name}*.py"))
    return tuple(sorted(str(each.relative_to(ROOT)) for each in found))


def _lines(mutation: Mutation) -> range:
    """The lines of the statement that changes; of a compound one, those before its body."""
    found = range(mutation.line, mutation.line + 1)
    for node in ast.walk(ast.parse(_source(mutation.file))):
        if isinstance(node, ast.stmt | ast.match_case):
            start = node.lineno if isinstance(node, ast.stmt) else node.pattern.lineno
            inside = getattr(node, "body", None)
            end = max(start, inside[0].lineno - 1) if inside else getattr(node, "end_lineno", start)
            if start <= mutation.line <= end:
                found = range(start, end + 1)
    return found


@cache
def _recorded(data: Path) -> CoverageData:
    found = CoverageData(data)
    found.read()
    return found


def _covering(mutation: Mutation, recorded: Iterable[Path]) -> list[str]:
    """The tests that run the statement; empty if that is not known, as of what runs at import."""
    found: dict[str, None] = {}
    for data in filter(Path.exists, recorded):
        for name in _recorded(data).measured_files():
            if name.endswith(f"/{mutation.file}"):
                lines = _recorded(data).contexts_by_lineno(name)
                contexts = (context for line in _lines(mutation) for context in lines.get(line, ()))
                found.update(dict.fromkeys(each.rpartition("|")[0] for each in contexts if each))
    return list(found) if mutation.function else []


class _Runner:
    """A copy of the tree, and tests that run in it. It has imported the libraries, and each run is a fork of it."""

    def __init__(self, parent: Path) -> None:
        self.place = Path(tempfile.mkdtemp(dir=parent))
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, stdout=-1, check=True
        )
        for name in filter(None, listed.stdout.decode().split("\0")):
            if (ROOT / name).is_file():
                (self.place / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, self.place / name)
        os.chdir(self.place)
        os.environ["PYTHONPATH"] = str(self.place)
        sys.path[:] = [str(self.place), *(each for each in sys.path if Path(each).resolve() != ROOT)]
        for name in [each for each in sys.modules if each.partition(".")[0] in ("tests", "scanner")]:
            del sys.modules[name]
        sys.dont_write_bytecode = False
        for name in _LIBRARIES:
            __import__(name)
        self.stamp = int(time.time())

    def change(self, file: str, text: bytes) -> None:
        """Write a file so that no saved bytecode of the same second and size counts for it."""
        self.stamp += 1
        (self.place / file).write_bytes(text)
        os.utime(self.place / file, (self.stamp, self.stamp))

    def run(self, arguments: Iterable[str], most: Cost, environment: Mapping[str, str] | None = None) -> _Run:
        """Run pytest for at most these seconds."""
        output, began = self.place / "output.txt", time.monotonic()
        child = os.fork()
        if not child:
            os.environ.update(environment or {})
            _run_tests([*_OPTIONS, *arguments], output, int(most.processor))
        status, used = None, 0.0
        while time.monotonic() < began + most.elapsed:
            ended, code, usage = os.wait4(child, os.WNOHANG)
            if ended:
                status, used = os.waitstatus_to_exitcode(code), usage.ru_utime + usage.ru_stime
                break
            time.sleep(0.02)
        with suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        if status is None:
            os.waitpid(child, 0)
        text = output.read_text(errors="replace")[-5000:] if output.exists() else ""
        return _Run(status, Cost(used, time.monotonic() - began), text)


class _Run(NamedTuple):
    """A run of pytest. ``code`` is None if it took too long."""

    code: int | None
    cost: Cost
    output: str

    @property
    def state(self) -> State:
        if self.code in (None, -signal.SIGXCPU):
            return "timeout"
        return "alive" if self.code in (0, 5) else "killed"  # 5: no test of this lane

    @property
    def failed(self) -> str:
        found = re.findall(r"^(?:FAILED|ERROR) (.*?)(?: - .*)?$", self.output, re.MULTILINE)
        return found[0] if found else f"exit code {self.code}"


def _run_tests(arguments: list[str], output: Path, seconds: int) -> None:
    import pytest

    try:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
        with output.open("wb") as file:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
        code = int(pytest.main(arguments))
    except BaseException:  # noqa: BLE001 - a fork must not go on as its parent
        traceback.print_exc()
        code = 70
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


_runner: _Runner | None = None


def _start(parent: Path) -> None:
    global _runner  # noqa: PLW0603
    _runner = _Runner(parent)


def _data(kept: Path, group: str, lane: str) -> Path:
    return kept / f"{group.replace('/', '-')}.{lane.partition(' ')[0]}"


def _record(kept: Path, group: str, lane: str) -> Path:
    data = _data(kept, group, lane)
    return data.with_name(f"{data.name}.json")


def _measure(work: tuple[Path, str, str]) -> tuple[str, _Run]:
    """Run tests without a mutation, and record which lines each of them runs."""
    assert _runner is not None
    kept, group, lane = work
    coverage = ["--cov=scanner", "--cov-report=", "--cov-context=test"]
    data = _data(kept, group, lane)
    run = _runner.run(["-m", lane, *coverage, group], Cost(3600, 3600), {"COVERAGE_FILE": str(data)})
    _record(kept, group, lane).write_text(json.dumps(run))
    return group, run


def _attempts(mutation: Mutation, lane: str, kept: Path) -> Iterator[tuple[list[str], str]]:
    """Arguments of each run, and a text on them: first what is cheap, then what may notice it at all.

    What a test kept for those after it (``functools.cache``) is not in their record, so that whole files run, too.
    """
    first = list(naming(mutation.file))
    if first and lane == QUICK:
        yield first, ""
    every = groups(mutation.file)
    tests = _covering(mutation, [_data(kept, each, lane) for each in every])
    if not tests:
        yield list(every), f"all tests of {', '.join(every)}"
        return
    if len(tests) <= _FEW:
        yield tests, ""
    counted = Counter(each.partition("::")[0] for each in tests)
    paths = [path for path, _ in counted.most_common() if path not in first or lane != QUICK]
    yield paths or first, f"{len(tests)} tests that run it, in {len(counted)} files"


def _try(work: tuple[Mutation, str, Path, Cost]) -> Result:
    assert _runner is not None
    mutation, lane, kept, most = work
    source, ran = _source(mutation.file), ""
    _runner.change(mutation.file, mutation.applied(source))
    try:
        for arguments, text in _attempts(mutation, lane, kept):
            run, ran = _runner.run(["-m", lane, *arguments], most), text
            if run.state != "alive":
                return Result(mutation, run.state, lane, run.failed)
        return Result(mutation, "alive", lane, ran)
    finally:
        _runner.change(mutation.file, source)


# --- The command ------------------------------------------------------------------------------------------------------


def described(mutation: Mutation) -> str:
    """Place, old and new lines."""
    old, new = mutation.difference(_source(mutation.file))
    lines = [f"{mutation.file}:{mutation.line} {mutation.function} ({mutation.kind})"]
    lines += [f"  - {each}" for each in old] + [f"  + {each}" for each in new]
    return "\n".join(lines)


def _summary(results: Sequence[Result], excused: int) -> Iterator[str]:
    for title, name in (
        ("kind", lambda each: each.mutation.kind),
        ("package", lambda each: package_of(each.mutation.file)),
    ):
        yield f"{title:20} killed  of"
        count, dead = Counter(map(name, results)), Counter(name(each) for each in results if each.state != "alive")
        yield from (f"{each:20} {dead[each]:6} {count[each]:3}" for each in sorted(count))
    states = Counter(each.state for each in results)
    quick = sum(each.state != "alive" and each.lane == QUICK for each in results)
    every = len(results) or 1
    yield (
        f"{len(results) + excused} mutants, {excused} equivalent; the others: {states['killed']} killed, "
        f"{states['timeout']} timed out, {states['alive']} alive"
    )
    yield f"killed: {1 - states['alive'] / every:.1%}; by the tests of `make test` alone: {quick / every:.1%}"


def _show(text: str) -> None:
    print(text, flush=True)  # noqa: T201


def _measured(pool: Pool, mutants: Iterable[Mutation], lane: str, kept: Path) -> dict[str, Cost]:
    """The cost of each group of tests; a record of a former run is used again."""
    missing, costs = [], {}
    for group in sorted({group for each in mutants for group in groups(each.file)}):
        former = _record(kept, group, lane)
        if former.exists():
            costs[group] = Cost(*json.loads(former.read_text())[1])
        else:
            missing.append((kept, group, lane))
    for group, run in pool.imap_unordered(_measure, missing):
        if run.state != "alive":
            raise SystemExit(f"{group} fails without a change:\n{run.output}")
        costs[group] = run.cost
    return costs


def _most(file: str, costs: Mapping[str, Cost]) -> Cost:
    every = [costs[each] for each in groups(file)]
    return Cost(
        max(_SHORTEST, _PATIENCE * sum(each.processor for each in every) / 2),
        max(_SHORTEST, _PATIENCE * sum(each.elapsed for each in every)),
    )


def run(chosen: Sequence[Mutation], workers: int, kept: Path) -> list[Result]:
    """Try all, each with the quick tests, and what is left with the slow ones."""
    results: list[Result] = []
    left = list(chosen)
    for each in chosen:  # as they are now: the copies are made once
        naming(each.file)
        _source(each.file)
    with (
        tempfile.TemporaryDirectory(prefix="mutants-") as parent,
        multiprocessing.get_context("fork").Pool(workers, _start, [Path(parent)]) as pool,
    ):
        for lane in (QUICK, SLOW):
            costs = _measured(pool, left, lane, kept)
            works = [(each, lane, kept, _most(each.file, costs)) for each in left]
            left = []
            for result in pool.imap_unordered(_try, works):
                if result.state == "alive" and lane == QUICK:
                    left.append(result.mutation)
                else:
                    results.append(result)
                if result.state == "alive":
                    _show(f"{described(result.mutation)}\n  alive after {result.by} ({lane.partition(' and')[0]})")
                else:
                    _show(f"{result.mutation.file}:{result.mutation.line} {result.state} by {result.by}")
    return results


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("count", type=int, nargs="?", default=150)
    parser.add_argument("seed", type=int, nargs="?", default=1)
    parser.add_argument("--only", metavar="FILE:LINE", help="try all mutations of a line, or of a file")
    parser.add_argument("--list", action="store_true", help="print the mutations without running a test")
    parser.add_argument("--kept", type=Path, help="directory for the record of what each test runs, used again")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    return parser.parse_args()


def _chosen(only: str) -> Iterator[Mutation]:
    file, _, line = only.partition(":")
    found = (each for each in mutations(file) if not line or each.line == int(line))
    yield from filter(_compiles, found)


def main() -> None:
    """Draw, run and print; the exit code is 0 whatever lives."""
    options = _arguments()
    drawn = list(_chosen(options.only)) if options.only else draw(options.count, options.seed)
    excuses = equivalent()
    chosen = [each for each in drawn if key(each) not in excuses]
    if options.list:
        _show("\n".join(map(described, chosen)))
        return
    with tempfile.TemporaryDirectory(prefix="mutants-record-") as record:
        kept = (options.kept or Path(record)).absolute()
        kept.mkdir(exist_ok=True)
        results = run(chosen, options.workers, kept)
    _show("\n".join(_summary(results, len(drawn) - len(chosen))))


if __name__ == "__main__":
    main()
