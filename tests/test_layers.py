"""The directory listing is the architecture: imports go down the ladder only, and each library stays in its stage."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from tests.source_files import SCANNER, modules, nodes, place

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


def test_imports_are_absolute() -> None:
    found = [
        place(path, node.lineno)
        for path in modules()
        for node in nodes(path)
        if isinstance(node, ast.ImportFrom) and node.level
    ]
    assert not found, f"write the imported module in full: {found}"


def imported_names(path: Path) -> Iterator[tuple[str, str]]:
    """What a module imports, each with its place."""
    for node in nodes(path):
        if isinstance(node, ast.Import):
            yield from ((place(path, node.lineno), alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((place(path, node.lineno), f"{node.module}.{alias.name}") for alias in node.names)


def test_imports_go_down_the_ladder() -> None:
    found = [
        f"{where} imports {name}"
        for path in modules()
        for where, name in imported_names(path)
        if name.startswith("scanner.") and name != "scanner.__version__"
        if broken_rungs(name_of(path).split("/")[0], name.split(".")[1])
    ]
    assert not found, "\n".join(("imports go down ROWS of tests/test_layers.py only:", *found))


def name_of(path: Path) -> str:
    """``probe/dial`` for scanner/probe/dial.py, ``probe`` for its package."""
    return str(path.relative_to(SCANNER).with_suffix("")).removesuffix("/__init__")


def row(stage: str) -> int:
    for number, stages in enumerate(ROWS):
        if stage in stages:
            return number
    raise AssertionError(f"scanner/{stage} is in no row of the ladder: add it to ROWS of tests/test_layers.py")


def broken_rungs(importer: str, imported: str) -> bool:
    """Whether stage ``importer`` must not import stage ``imported``; the top of the package imports no stage."""
    if importer == imported:
        return False
    if importer == "__init__":
        return True
    if row(importer) == row(imported) == ROWS.index(APART):
        return True
    return row(imported) > row(importer)


def test_libraries_stay_at_home() -> None:
    found = [
        f"{where} imports {name}"
        for path in modules()
        for where, name in imported_names(path)
        if not at_home(name_of(path), name.split(".")[0])
    ]
    assert not found, "\n".join(("HOMES in tests/test_layers.py has the modules of each library:", *found))


def at_home(importer: str, library: str) -> bool:
    homes = HOMES.get(library)
    return homes is None or importer in homes or importer.split("/", maxsplit=1)[0] in homes


def test_the_ladder_can_be_broken() -> None:
    assert broken_rungs("tls", "model")
    assert broken_rungs("kube", "model")
    assert broken_rungs("probe", "judge")
    assert broken_rungs("report", "scan")
    assert broken_rungs("__init__", "errors")
    assert not broken_rungs("scan", "probe")


def test_a_library_can_be_away_from_home() -> None:
    assert at_home("probe/http2", "h2")
    assert at_home("serve/server", "h11")
    assert not at_home("probe/http1", "h2")


UNTYPED = frozenset({"at", "has", "text", "number", "flag", "fields", "each", "texts", "words", "items"})
"""How ``kube.objects.Fields`` and a rule's ``Subject`` read a field by its name, which no type checker can see."""
READ_RAW = ("kube/", "cluster/", "lint/fields/")
"""Where that is the task: the typed views, the reader of clusters, and the walker of schemas."""


def untyped_reads(tree: Iterable[ast.AST]) -> list[int]:
    """The lines of calls that read a field by a literal name or by a tuple of steps."""
    return [
        call.lineno
        for call in tree
        if isinstance(call, ast.Call)
        and call.args
        and isinstance(call.func, ast.Attribute)
        and call.func.attr in UNTYPED
        and (
            isinstance(call.args[0], ast.Starred)
            or (isinstance(call.args[0], ast.Constant) and isinstance(call.args[0].value, str))
        )
    ]


def test_fields_are_read_by_their_types() -> None:
    outside = (path for path in modules() if not name_of(path).startswith(READ_RAW))
    found = [place(path, line) for path in outside for line in untyped_reads(nodes(path))]
    assert not found, f"read the field through a class of scanner/kube: {found}"


def test_untyped_reads_are_found() -> None:
    tree = ast.walk(ast.parse("item.text('spec', 'host')\nitem.at(*steps)\ndict.items()\nat('x')"))
    assert sorted(untyped_reads(tree)) == [1, 2]


def graph(sources: Mapping[str, Iterable[ast.AST]]) -> dict[str, set[str]]:
    """The modules that each module imports: at its top, in a function, or for types only."""
    found: dict[str, set[str]] = {}
    for module, tree in sources.items():
        froms = (node for node in tree if isinstance(node, ast.ImportFrom) and node.module)
        names = ((f"{node.module}.{alias.name}", str(node.module)) for node in froms for alias in node.names)
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
    assert cycle(graph({f"scanner.{name_of(path).replace('/', '.')}": nodes(path) for path in modules()})) == []


def test_a_cycle_of_types_is_found() -> None:
    lazy = "def f():\n    from scanner.b import c"
    typed = "if TYPE_CHECKING:\n    from scanner import a"
    assert set(cycle(graph(parsed({"scanner.a": lazy, "scanner.b": typed})))) == {"scanner.a", "scanner.b"}
    assert cycle(graph(parsed({"scanner.a": lazy, "scanner.b": "import ast"}))) == []


def parsed(sources: dict[str, str]) -> dict[str, Iterable[ast.AST]]:
    return {module: ast.walk(ast.parse(source)) for module, source in sources.items()}


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


def repeated_names(paths: Iterable[Path]) -> dict[str, int]:
    """The file names that stand more than once, with how often."""
    counted = Counter(path.stem for path in paths if not path.stem.startswith("__"))
    return {name: times for name, times in counted.items() if times > 1}


def test_file_names_stand_once() -> None:
    more = {name: times for name, times in repeated_names(modules()).items() if times > SAME_NAME.get(name, 1)}
    assert not more, f"name these modules by what they are: {more}"


def test_repeated_names_are_counted() -> None:
    paths = [Path("a/text.py"), Path("b/text.py"), Path("a/__init__.py"), Path("b/__init__.py"), Path("rows.py")]
    assert repeated_names(paths) == {"text": 2}
