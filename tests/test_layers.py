"""The directory listing is the architecture: imports go down the ladder only, and each library stays in its stage."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

SCANNER = Path(__file__).parent.parent / "scanner"

ROWS: tuple[frozenset[str], ...] = (
    frozenset({"errors", "values"}),
    frozenset({"tls"}),
    frozenset({"data", "files"}),
    frozenset({"kube"}),
    frozenset({"model"}),
    frozenset({"config"}),
    frozenset({"cluster", "discover", "expect", "pki", "probe", "judge", "lint", "report", "metrics"}),
    frozenset(
        {"scan", "jobs", "assessment", "cross_endpoint", "saved_scan", "doctor", "demo"}
        | {"port_forward_route", "certificates", "linting", "known_findings", "custom_rules", "tls_scanner_results"}
        | {"recorded_observations", "sharding", "node", "object_store"}
    ),
    frozenset({"cli", "serve", "__main__"}),
)
"""From the bottom to the top (design, "Layout")."""

APART = ROWS[6]
"""Stages of one row that never import each other."""

HOMES: dict[str, frozenset[str]] = {
    "click": frozenset({"cli"}),
    "cel_expr_python": frozenset({"config/cel"}),
    "cryptography": frozenset(
        {
            "tls/certificate",
            "tls/revocation",
            "judge/chain",
            "probe/engine",
            "probe/sslyze_worker",
            "demo",
            "cli/targets",
            "cluster",
            "pki",
        }
    ),
    "fsspec": frozenset({"object_store"}),
    "h11": frozenset({"demo", "serve"}),
    "h2": frozenset({"probe/http2"}),
    "httpcore2": frozenset({"cluster"}),
    "httpx2": frozenset({"cluster"}),
    "idna": frozenset({"cli/targets"}),
    "jinja2": frozenset({"report"}),
    "OpenSSL": frozenset({"probe/engine", "probe/handshake", "probe/http1", "demo"}),
    "prometheus_client": frozenset({"metrics", "serve"}),
    "pydantic_core": frozenset({"cluster", "config"}),
    "pydantic": frozenset({"config"}),
    "rich": frozenset({"cli/progress"}),
    "sslyze": frozenset({"probe/sslyze_worker"}),
    "trio": frozenset({"cluster", "probe", "scan", "port_forward_route", "serve", "demo", "cli"}),
    "wsproto": frozenset({"cluster/portforward", "cluster/websocket"}),
    "yaml": frozenset({"files/yaml_values"}),
}
"""Where each third-party library may be imported: a package, or one module of it."""


def modules() -> list[Path]:
    return sorted(path for path in SCANNER.rglob("*.py") if "_data" not in path.parts)


def name_of(path: Path) -> str:
    """``probe/dial`` for scanner/probe/dial.py, ``probe`` for its package."""
    return str(path.relative_to(SCANNER).with_suffix("")).removesuffix("/__init__")


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def row(stage: str) -> int:
    for number, stages in enumerate(ROWS):
        if stage in stages:
            return number
    raise AssertionError(f"scanner/{stage} is in no row of the ladder")


def broken_rungs(importer: str, imported: str) -> bool:
    """Whether stage ``importer`` must not import stage ``imported``."""
    if importer == imported:
        return False
    if row(importer) == row(imported) == ROWS.index(APART):
        return True
    return row(imported) > row(importer)


@pytest.mark.parametrize("path", modules(), ids=name_of)
def test_imports_go_down_the_ladder(path: Path) -> None:
    stage = name_of(path).split("/")[0]
    if stage == "__init__":
        assert not [name for name in imports(path) if name.startswith("scanner")]
        return
    for name in imports(path):
        if name.startswith("scanner.") and name != "scanner.__version__":
            imported = name.split(".")[1]
            assert not broken_rungs(stage, imported), f"{name_of(path)} imports {name}"


@pytest.mark.parametrize("path", modules(), ids=name_of)
def test_libraries_stay_at_home(path: Path) -> None:
    name = name_of(path)
    for imported in imports(path):
        homes = HOMES.get(imported.split(".")[0])
        if homes is not None:
            assert name in homes or name.split("/")[0] in homes, f"{name} imports {imported}"


def test_the_ladder_can_be_broken() -> None:
    assert broken_rungs("tls", "model")
    assert broken_rungs("kube", "model")
    assert broken_rungs("probe", "judge")
    assert broken_rungs("report", "scan")
    assert not broken_rungs("scan", "probe")


UNTYPED = frozenset({"at", "has", "text", "number", "flag", "fields", "each", "texts", "words", "items"})
"""How ``kube.objects.Fields`` and a rule's ``Subject`` read a field by its name, which no type checker can see."""
READ_RAW = ("kube/", "cluster/", "lint/fields/")
"""Where that is the task: the typed views, the reader of clusters, and the walker of schemas."""
MOST_UNTYPED = 0
"""Such reads outside; the number only falls, and ends at 0."""


def untyped_reads(tree: ast.AST) -> int:
    """Count the calls that read a field by a literal name or by a tuple of steps."""
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call) and node.args)
    return sum(
        isinstance(call.func, ast.Attribute)
        and call.func.attr in UNTYPED
        and (
            isinstance(call.args[0], ast.Starred)
            or (isinstance(call.args[0], ast.Constant) and isinstance(call.args[0].value, str))
        )
        for call in calls
    )


def test_fields_are_read_by_their_types() -> None:
    found = {name_of(path): untyped_reads(ast.parse(path.read_text())) for path in modules()}
    outside = {name: count for name, count in found.items() if count and not name.startswith(READ_RAW)}
    assert sum(outside.values()) <= MOST_UNTYPED, outside


def test_untyped_reads_are_counted() -> None:
    assert untyped_reads(ast.parse("item.text('spec', 'host'); item.at(*steps); dict.items(); at('x')")) == 2


def graph(sources: dict[str, str]) -> dict[str, set[str]]:
    """The modules that each module imports: at its top, in a function, or for types only."""
    found: dict[str, set[str]] = {}
    for module, source in sources.items():
        nodes = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ImportFrom) and node.module)
        names = ((f"{node.module}.{alias.name}", str(node.module)) for node in nodes for alias in node.names)
        found[module] = {own if own in sources else parent for own, parent in names} & sources.keys() - {module}
    return found


def cycle(imported: dict[str, set[str]]) -> list[str]:
    """The modules of one cycle of imports; empty where there is none."""
    try:
        TopologicalSorter(imported).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_imports_have_no_cycle() -> None:
    sources = {f"scanner.{name_of(path).replace('/', '.')}": path.read_text() for path in modules()}
    assert cycle(graph(sources)) == []


def test_a_cycle_of_types_is_found() -> None:
    lazy = "def f():\n    from scanner.b import c"
    typed = "if TYPE_CHECKING:\n    from scanner import a"
    assert set(cycle(graph({"scanner.a": lazy, "scanner.b": typed}))) == {"scanner.a", "scanner.b"}
    assert cycle(graph({"scanner.a": lazy, "scanner.b": "import ast"})) == []


SAME_NAME = {
    "backend_tls": 2,
    "certificates": 4,
    "contour": 2,
    "declared_certificate": 2,
    "diagnosis": 2,
    "events": 2,
    "gateway": 2,
    "http_redirect": 2,
    "inventory": 2,
    "kubelet": 2,
    "passthrough": 2,
    "rbac": 3,
    "references": 2,
    "rules": 2,
    "saved_scan": 2,
    "scan": 2,
    "scan_policy": 2,
    "snapshot": 2,
    "unmatched_sni": 2,
    "whatif": 2,
}
"""How often a file name stands in ``scanner/`` where it is not unique: the package says the rest. The list only gets
shorter and its numbers smaller."""


def repeated_names(paths: list[Path]) -> dict[str, int]:
    """The file names that stand more than once, with how often."""
    counted = Counter(path.stem for path in paths if not path.stem.startswith("__"))
    return {name: times for name, times in counted.items() if times > 1}


def test_file_names_stand_once() -> None:
    more = {name: times for name, times in repeated_names(modules()).items() if times > SAME_NAME.get(name, 1)}
    assert not more, f"name these modules by what they are: {more}"


def test_repeated_names_are_counted() -> None:
    paths = [Path("a/text.py"), Path("b/text.py"), Path("a/__init__.py"), Path("b/__init__.py"), Path("rows.py")]
    assert repeated_names(paths) == {"text": 2}
