"""Change one line of the scanner at a time, and run the tests: a change that no test notices is a gap in the tests.

``make mutants N=150 SEED=7`` draws lines of the modules that decide verdicts, and one change for each. A change ends
with the first failing test: first come the tests that name the module, then those of its package, then those of the
packages that use it. Slow tests come last, so that what ``make test`` notices is known. What stays alive is printed;
``tests/mutants_equivalent.txt`` has the changes that no test can notice, with reasons.
"""

# ruff: noqa: T201
from __future__ import annotations

import argparse
import ast
import difflib
import importlib.util
import multiprocessing
import os
import random
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from multiprocessing.pool import Pool
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias, TypeVar

import pytest

ROOT: Final = Path(__file__).parents[1]
EQUIVALENT: Final = ROOT / "tests" / "mutants_equivalent.txt"
MUTATED: Final = ("judge", "expect", "probe", "pki", "discover", "kube/tls_profile.py")
"""Below ``scanner``: what decides a verdict."""
ABOVE: Final[Mapping[str, tuple[str, ...]]] = {
    "judge": ("test_assessment.py", "test_certificate_rules.py"),
    "expect": ("judge",),
    "probe": ("judge",),
    "pki": (
        *("test_certificates.py", "test_certs.py", "test_certificate_rules.py", "test_certificate_answers.py"),
        "lint/openshift",
    ),
    "discover": ("expect", "test_every_origin.py", "test_jobs.py"),
    "kube": ("expect", "judge", "lint/openshift"),
}
"""Tests of the packages that use each package, besides ``test_scan.py``."""
QUICK: Final = "not slow and not browser and not e2e"
SLOW: Final = "slow and not browser and not e2e"
_OPTIONS: Final = (
    *("-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--hypothesis-profile=quick", "--tb=line"),
    *("-W", "ignore::pytest.PytestAssertRewriteWarning"),
)
_PATIENCE: Final = 5
_SHORTEST: Final = 60.0
_MEMORY: Final = 4 << 30


# --- Mutations --------------------------------------------------------------------------------------------------------


class Mutation(NamedTuple):
    """A change of a file. Its text is that of ``ast.unparse``, which has one line for each statement."""

    file: str
    line: int
    kind: str
    function: str
    old: str
    new: str
    """The lines that differ."""
    text: str
    """The changed file."""

    @property
    def package(self) -> str:
        return self.file.split("/")[1]

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What names a mutation although line numbers change."""
        return self.file, self.function, self.old, self.new

    def __str__(self) -> str:
        old, new = (each.replace("\n", f"\n  {sign} ") for each, sign in ((self.old, "-"), (self.new, "+")))
        return f"{self.file}:{self.line} {self.function} ({self.kind})\n  - {old}\n  + {new}"


class Change(NamedTuple):
    """Another value for a field of a node."""

    line: int
    kind: str
    function: str
    node: ast.AST
    field: str
    value: object


class Module:
    """A file as ``ast.unparse`` writes it, and its changes, each with the number of its part."""

    def __init__(self, file: str, source: str) -> None:
        self.file = file
        self.parts = [ast.Module([each], []) for each in ast.parse(source).body]
        self.texts = [ast.unparse(each) for each in self.parts]
        self.text = "\n".join(self.texts)
        self.changes = [(number, each) for number, part in enumerate(self.parts) for each in _changes(part)]

    def mutations(self, function: str | None = None) -> Iterator[Mutation]:
        """All, or those of a function."""
        made = (self.changed(*each) for each in self.changes if function in (None, each[1].function))
        yield from dict.fromkeys(filter(None, made))

    def changed(self, number: int, change: Change) -> Mutation | None:
        """The mutation, if it makes a difference."""
        former = getattr(change.node, change.field)
        setattr(change.node, change.field, change.value)
        text = ast.unparse(self.parts[number])
        setattr(change.node, change.field, former)
        lines = list(difflib.unified_diff(self.texts[number].splitlines(), text.splitlines(), n=0, lineterm=""))[2:]
        before, after = ("\n".join(each[1:].strip() for each in lines if each[0] == sign) for sign in "-+")
        whole = "\n".join(_replaced(self.texts, number, text))
        return Mutation(self.file, *change[:3], before, after, whole) if lines else None


_COMPARED: Final[Sequence[tuple[type[ast.cmpop], type[ast.cmpop]]]] = (
    (ast.Eq, ast.NotEq),
    (ast.In, ast.NotIn),
    (ast.Is, ast.IsNot),
    (ast.Lt, ast.LtE),
    (ast.Lt, ast.GtE),
    (ast.Gt, ast.GtE),
    (ast.Gt, ast.LtE),
)
"""Each becomes the other."""
_OPPOSITE: Final = {"any": "all", "all": "any", "min": "max", "max": "min"}
_EMPTY: Final = {"bool": "True False", "Mapping": "{}", "Sequence": "()", "Iterable": "()", "Iterator": "iter(())"} | {
    "list": "[]",
    "dict": "{}",
    "set": "set()",
    "frozenset": "frozenset()",
    "tuple": "()",
}
_TYPES: Final = ("annotation", "returns", "decorator_list", "bases", "pattern")
_SHOWN: Final = ("message", "text", "fix", "detail", "reproduce", "remarks", "strict")
"""Arguments that are texts for display, and that of ``zip``, which is an assertion."""
_T = TypeVar("_T")
_Found: TypeAlias = tuple[str, ast.AST, ast.expr | ast.stmt]
"""The kind, what comes instead, and the node whose line it counts for."""


def _changes(parent: ast.AST, names: tuple[str, ...] = (), returns: ast.expr | None = None) -> Iterator[Change]:
    """All changes below a node, except of types and of texts for display."""
    for field, value in ast.iter_fields(parent):
        if field in _TYPES or (field == "keywords" and isinstance(parent, ast.ClassDef)):
            continue
        for number, node in enumerate(value if isinstance(value, list) else [value]):
            if not isinstance(node, ast.AST) or _stays(node, at_top=not names) or (field == "upper" and _is_long(node)):
                continue
            if not (field == "slice" and isinstance(node, ast.Tuple)):  # a key, whose elements belong together
                for kind, new, at in (*_of_statement(node, returns), *_of_operation(node), *_of_parts(node)):
                    changed = _replaced(value, number, new) if isinstance(value, list) else new
                    yield Change(at.lineno, kind, ".".join(names), parent, field, changed)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                yield from _changes(node, (*names, node.name), getattr(node, "returns", None))
            else:
                yield from _changes(node, names, returns)


def _stays(node: ast.AST, *, at_top: bool = False) -> bool:
    match node:
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)) if at_top:
            own = name.lstrip("_")
            is_type = own[0].isupper() and not own.isupper()
            return is_type or name.startswith("__") or (own.isupper() and _is_number(node.value))
        case ast.FunctionDef(name=name) | ast.Call(func=ast.Name(id=name)):
            return name in ("__repr__", "__str__", "TypeVar", "cast", "ParamSpec", "NewType", "assert_never")
        case ast.If(test=test):
            return ast.unparse(test) == "TYPE_CHECKING"
        case ast.Expr(value=value):
            return isinstance(value, ast.Constant) or ast.unparse(value).startswith("log")
        case ast.IfExp(body=body, orelse=orelse):
            return isinstance(body, ast.JoinedStr) or isinstance(orelse, ast.JoinedStr)
    return isinstance(node, ast.JoinedStr | ast.Assert) or getattr(node, "arg", "") in _SHOWN


def _is_number(value: ast.expr | None) -> bool:
    """A limit is a choice: a test that has its value again proves nothing."""
    if isinstance(value, ast.BinOp):
        return _is_number(value.left) and _is_number(value.right)
    if isinstance(value, ast.Call) and ast.unparse(value.func) == "timedelta":
        return all(_is_number(each.value) for each in value.keywords)
    return isinstance(value, ast.Constant) and type(value.value) is int


def _is_long(node: ast.AST) -> bool:
    """The end of a slice that is a limit, as ``text[:200]``."""
    return isinstance(node, ast.Constant) and isinstance(node.value, int) and node.value > 9


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str | bytes))


def _with(node: ast.AST, **fields: object) -> ast.AST:
    return type(node)(**{**dict(ast.iter_fields(node)), **fields})


def _replaced(items: Sequence[_T], index: int, *new: _T) -> list[_T]:
    return [*items[:index], *new, *items[index + 1 :]]


def _of_statement(node: ast.AST, returns: ast.expr | None) -> Iterator[_Found]:
    match node:
        case ast.Assign(targets=[ast.Name() | ast.Tuple(), *_]):
            return
        case ast.Expr() | ast.Assign() | ast.AugAssign() | ast.Raise() | ast.Continue() | ast.Break():
            yield "statement", ast.Pass(), node
        case ast.Return(value=ast.expr()) if returns:
            named = ast.unparse(returns)
            empty = "None" if named.endswith("| None") else _EMPTY.get(named.partition("[")[0], "")
            for text in empty.split():
                yield "return", ast.Return(ast.parse(text, mode="eval").body), node
        case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test) | ast.match_case(guard=ast.expr() as test):
            field = "guard" if isinstance(node, ast.match_case) else "test"
            for value in (False,) if isinstance(node, ast.While) else (True, False):
                yield "condition", _with(node, **{field: ast.Constant(value)}), test
            if not isinstance(test, ast.UnaryOp):
                yield "not", _with(node, **{field: ast.UnaryOp(ast.Not(), test)}), test
        case ast.comprehension(ifs=tests):
            for number, test in enumerate(tests):
                yield "filter", _with(node, ifs=_replaced(tests, number)), test


def _of_operation(node: ast.AST) -> Iterator[_Found]:
    match node:
        case ast.Compare(ops=ops, comparators=comparators):
            for number, right in enumerate(comparators):
                now = type(ops[number])
                for other in (other for pair in _COMPARED if now in pair for other in pair if other is not now):
                    yield "comparison", _with(node, ops=_replaced(ops, number, other())), right
        case ast.BoolOp(op=operator, values=values):
            yield "and/or", _with(node, op=ast.And() if isinstance(operator, ast.Or) else ast.Or()), node
            for number, value in enumerate(values):
                if getattr(values[0], "attr", "") == "namespace" and ast.unparse(value) == "''":
                    continue  # for the type alone: an object of a kind with namespaces has one
                rest = _replaced(values, number)
                yield "operand", _with(node, values=rest) if len(rest) > 1 else rest[0], value
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield "not", operand, node
        case ast.BinOp(op=ast.BitOr() | ast.BitAnd() | ast.Add() | ast.Sub()) if not any(map(_is_text, ast.walk(node))):
            yield "operand", node.left, node
            yield "operand", node.right, node
        case ast.Constant(value=bool(value)):
            yield "boolean", ast.Constant(not value), node
        case ast.Constant(value=int(value)):
            yield "integer", ast.Constant(value + 1), node
            yield "integer", ast.Constant(value - 1), node


def _of_parts(node: ast.AST) -> Iterator[_Found]:
    match node:
        case ast.Tuple(elts=elements) | ast.List(elts=elements) | ast.Set(elts=[_, _, *_] as elements):
            for number, each in enumerate(elements):
                if not isinstance(each, ast.JoinedStr) and isinstance(getattr(node, "ctx", None), ast.Load | None):
                    yield "element", _with(node, elts=_replaced(elements, number)), each
        case ast.Dict(keys=keys, values=values):
            for number, key in enumerate(keys):
                if key is not None:
                    yield "element", _with(node, keys=_replaced(keys, number), values=_replaced(values, number)), key
        case ast.Call(func=function, keywords=keywords):
            name = ast.unparse(function).rpartition(".")[2]
            if isinstance(function, ast.Name) and name in _OPPOSITE:
                yield "any/all, min/max", _with(node, func=ast.Name(_OPPOSITE[name])), node
            for number, keyword in enumerate(keywords):
                if keyword.arg in _optional().get(name, ()) and not (_stays(keyword) or _is_text(keyword.value)):
                    yield "argument", _with(node, keywords=_replaced(keywords, number)), keyword.value


@cache
def _optional() -> Mapping[str, set[str]]:
    """Arguments that may be left out, by the name of what is called."""
    found: dict[str, set[str]] = defaultdict(set)
    for node in (node for path in (ROOT / "scanner").rglob("*.py") for node in ast.walk(ast.parse(path.read_bytes()))):
        match node:
            case ast.FunctionDef(name=name, args=of) | ast.AsyncFunctionDef(name=name, args=of):
                pairs = (
                    *zip(reversed(of.args), of.defaults, strict=False),
                    *zip(of.kwonlyargs, of.kw_defaults, strict=True),
                )
                found[name].update(each.arg for each, default in pairs if default)
            case ast.ClassDef(name=name, body=body):
                fields = (each for each in body if isinstance(each, ast.AnnAssign) and each.value)
                found[name].update(ast.unparse(each.target) for each in fields)
    return found


@cache
def module(file: str) -> Module:
    """As it was at the start, whatever is edited meanwhile."""
    return Module(file, (ROOT / file).read_text())


def files() -> list[str]:
    """The modules that decide verdicts."""
    paths = [ROOT / "scanner" / each for each in MUTATED]
    found = [each for path in paths for each in ([path] if path.is_file() else path.rglob("*.py"))]
    return sorted(str(each.relative_to(ROOT)) for each in found)


def draw(count: int, seed: int) -> list[Mutation]:
    """``count`` different mutations: each line that has any is equally likely, then each of its changes."""
    lines: dict[tuple[str, int], list[tuple[int, Change]]] = {}
    for file in files():
        for each in module(file).changes:
            lines.setdefault((file, each[1].line), []).append(each)
    chance, places, drawn = random.Random(seed), list(lines), dict[Mutation, None]()
    while len(drawn) < count:
        place = chance.choice(places)
        mutation = module(place[0]).changed(*chance.choice(lines[place]))
        drawn |= {mutation: None} if mutation else {}
    return list(drawn)


def equivalent() -> dict[tuple[str, str, str, str], str]:
    """The reasons of the mutations that no test can notice, by key."""
    found = {}
    for block in EQUIVALENT.read_text().split("\n\n"):
        lines = [each for each in block.splitlines() if not each.startswith("#")]
        if lines:
            file, _, function = lines[0].partition(" ")
            old, new = ("\n".join(each[2:] for each in lines if each.startswith(sign)) for sign in ("- ", "+ "))
            reason = " ".join(each for each in lines[1:] if not each.startswith(("- ", "+ ")))
            found[file, function, old, new] = reason
    return found


# --- Runs of the tests ------------------------------------------------------------------------------------------------


class Run(NamedTuple):
    """A run of pytest, with its seconds."""

    state: str
    failed: str
    processor: float
    elapsed: float
    output: str


def groups(file: str) -> list[str]:
    """The tests of its package and of those above it."""
    package = file.split("/")[1]
    return [f"tests/{each}" for each in (package, *ABOVE[package], "test_scan.py")]


@cache
def naming(file: str) -> list[str]:
    """The test files of a module: they import it or have its name."""
    parent, _, name = file.removesuffix(".py").removesuffix("/__init__").replace("/", ".").rpartition(".")
    imported = re.compile(rf"from {parent}(\.{name} import | import .*\b{name}\b)")
    tests = (ROOT / "tests" / file.split("/")[1]).glob("test_*.py")
    found = (each for each in tests if each.name.startswith(f"test_{name}") or imported.search(each.read_text()))
    return sorted(str(each.relative_to(ROOT)) for each in found)


def _start(parent: Path) -> None:
    """Make a copy of the tree, and import the libraries; each run of the tests is a fork of this process."""
    place = Path(tempfile.mkdtemp(dir=parent))
    shutil.copytree(ROOT, place, ignore=shutil.ignore_patterns(".*", "build", "node_modules"), dirs_exist_ok=True)
    os.chdir(place)
    for file in files():
        naming(file)  # as it is now
        _write(file, module(file).text)
    os.environ["PYTHONPATH"] = str(place)
    sys.path[:] = [str(place), *(each for each in sys.path if Path(each).resolve() != ROOT)]
    for name in [each for each in sys.modules if each.partition(".")[0] in ("tests", "scanner")]:
        del sys.modules[name]
    for name in ("cryptography.x509", "hypothesis", "msgspec", "pytest_trio.plugin", "trio.testing", "yaml"):
        importlib.import_module(name)


def _write(file: str, text: str) -> None:
    Path(file).write_text(text)
    Path(importlib.util.cache_from_source(file)).unlink(missing_ok=True)


def _run(arguments: Sequence[str], most: float) -> Run:
    """Run pytest for at most these seconds."""
    output, began = Path("output.txt"), time.monotonic()
    child = os.fork()
    if not child:
        _run_tests(arguments, output, int(most))
    try:
        _, status, usage = os.wait4(child, 0)
    finally:  # also after Ctrl-C, and what the tests started
        with suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
    code, text = os.waitstatus_to_exitcode(status), output.read_text(errors="replace")[-5000:]
    failed = re.search(r"^(?:FAILED|ERROR) (.*?)(?: - .*)?$", text, re.MULTILINE)
    state = {0: "alive", 5: "alive", -signal.SIGALRM: "timed out"}.get(code, "killed")  # 5: no test of this lane
    by = failed[1] if failed else f"exit code {code}"
    return Run(state, by, usage.ru_utime + usage.ru_stime, time.monotonic() - began, text)


def _run_tests(arguments: Sequence[str], output: Path, most: int) -> None:
    code = 70
    try:
        with output.open("wb") as file:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
        os.setsid()
        signal.alarm(most)
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
        code = int(pytest.main([*_OPTIONS, *arguments]))
    except BaseException:  # noqa: BLE001 - a fork must not go on as its parent
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _try(work: tuple[Mutation, str, float]) -> tuple[Mutation, str, str]:
    """The mutation, what became of it, and the test that failed."""
    mutation, lane, most = work
    first, (package, *above) = naming(mutation.file), groups(mutation.file)
    stages = (first or [package], [package, *(f"--ignore={each}" for each in first)], above)
    _write(mutation.file, mutation.text)
    runs = (_run(["-m", lane, *tests], most) for tests in stages)
    state, failed = next(((each.state, each.failed) for each in runs if each.state != "alive"), ("alive", ""))
    _write(mutation.file, module(mutation.file).text)
    return mutation, state, failed


# --- The command ------------------------------------------------------------------------------------------------------


def _summary(results: Mapping[Mutation, tuple[str, str]]) -> Iterator[str]:
    alive = [each for each, (_, state) in results.items() if state == "alive"]
    for title in ("kind", "package"):
        left = Counter(getattr(each, title) for each in alive)
        yield f"{title:20} killed  of"
        for name, count in sorted(Counter(getattr(each, title) for each in results).items()):
            yield f"{name:20} {count - left[name]:6} {count:3}"
    late = sum(state == "timed out" for _, state in results.values())
    quick = sum(lane == QUICK for lane, _ in results.values())
    every = len(results) or 1
    yield f"{len(results)} mutants: {len(results) - len(alive)} killed, {late} of them timed out; {len(alive)} alive"
    yield f"killed: {1 - len(alive) / every:.1%}; by the tests of `make test` alone: {quick / every:.1%}"


def _works(pool: Pool, mutants: Sequence[Mutation], lane: str) -> Iterator[tuple[Mutation, str, float]]:
    """Each mutation with its limit, after a run of its tests without a change."""
    needed = sorted({group for each in mutants for group in groups(each.file)})
    runs = dict(zip(needed, pool.starmap(_run, [(["-m", lane, each], 3600) for each in needed], 1), strict=True))
    for group, each in runs.items():
        if each.state != "alive":
            raise SystemExit(f"{group} fails without a change:\n{each.output}")
    print(f"without a change: {sum(each.processor for each in runs.values()):.0f} CPU seconds ({lane})", flush=True)
    for mutation in mutants:
        usual = sum(runs[each].elapsed for each in groups(mutation.file))
        yield mutation, lane, max(_SHORTEST, _PATIENCE * usual)


def tried(chosen: Sequence[Mutation], workers: int) -> Mapping[Mutation, tuple[str, str]]:
    """Try all with the quick tests, and what is left with the slow ones: the last lane of each, and its state."""
    results = dict.fromkeys(chosen, ("", "alive"))
    with (
        tempfile.TemporaryDirectory(prefix="mutants-") as parent,
        multiprocessing.get_context("fork").Pool(workers, _start, [Path(parent)]) as pool,
    ):
        for lane in (QUICK, SLOW):
            left = [each for each, (_, state) in results.items() if state == "alive"]
            for mutation, state, failed in pool.imap_unordered(_try, list(_works(pool, left, lane))):
                results[mutation] = lane, state
                print(f"{mutation}\n  {state} {f'by {failed}' if failed else f'after the tests ({lane})'}", flush=True)
    return results


def main() -> None:
    """Draw, run and print; the exit code is 0 whatever lives, and 1 where a test fails without a change."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("count", type=int, nargs="?", default=150)
    parser.add_argument("seed", type=int, nargs="?", default=1)
    parser.add_argument("--only", metavar="FILE:LINE", default="", help="try all mutations of a line, or of a file")
    parser.add_argument("--list", action="store_true", help="print the mutations without running a test")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    options = parser.parse_args()
    file, _, line = options.only.partition(":")
    drawn = list(module(file).mutations()) if file else draw(options.count, options.seed)
    drawn = [each for each in drawn if line in ("", str(each.line))]
    excuses = equivalent()
    chosen = [each for each in drawn if each.key not in excuses]
    print("\n".join(map(str, chosen) if options.list else _summary(tried(chosen, options.workers))))
    print(f"{len(drawn) - len(chosen)} more are in {EQUIVALENT.name}")


if __name__ == "__main__":
    main()
