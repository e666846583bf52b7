"""docs/troubleshooting.md has a way out for each reason of an inconclusive result, and only reasons that exist."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from scanner.judge import reach
from tests.source_files import DOCS, SCANNER, modules, nodes, read

LEAST = 8
"""Characters of a part that is searched for."""
SHORTEST = 12
"""Characters of a text that says something alone; shorter ones join other reasons."""


def reasons_of_the_page() -> list[list[str]]:
    """The reasons in the tables, each as its fixed parts."""
    cells = re.findall(
        r"^\| (`.*?`) \| [^|]+ \|$", read(DOCS / "troubleshooting.md").split("## The exit code")[0], re.MULTILINE
    )
    found = [each for cell in cells for each in re.findall(r"`([^`]+)`", cell)]
    return [[part for part in each.split("...") if part.strip()] for each in found]


def fixed_part(node: ast.expr) -> Iterator[str]:
    """The longest fixed part of each text that the expression may be."""
    match node:
        case ast.Constant(value=str(text)):
            yield text
        case ast.JoinedStr(values=values):
            texts = (each.value for each in values if isinstance(each, ast.Constant))
            yield max((each for each in texts if isinstance(each, str)), key=len, default="")
        case ast.IfExp(body=body, orelse=other):
            yield from (*fixed_part(body), *fixed_part(other))
        case ast.BoolOp(values=values):
            for each in values:
                yield from fixed_part(each)
        case _:
            pass


def reasons_of_the_code() -> Iterator[tuple[str, str]]:
    """The texts of ``Unknown`` in the stages up to judging, of obstacles and of endings, each with its place."""
    for obstacle in reach._OBSTACLES.values():
        yield "judge/reach.py", obstacle.happened
    for path in (each for each in modules() if each.relative_to(SCANNER).parts[0] in ("judge", "probe", "expect")):
        for node in nodes(path):
            texts: list[str] = []
            line = getattr(node, "lineno", 0)
            if isinstance(node, ast.Call) and getattr(node.func, "id", None) == "Unknown" and node.args:
                texts = list(fixed_part(node.args[0]))
            elif isinstance(node, ast.FunctionDef) and node.name == "undecided" and path.name == "suite_enumeration.py":
                values = (value for each in ast.walk(node) if isinstance(each, ast.Dict) for value in each.values)
                texts = [text for value in values for text in fixed_part(value)]
            yield from ((f"{path.relative_to(SCANNER)}:{line}", each) for each in texts if len(each) >= SHORTEST)


def test_every_reason_has_a_way_out() -> None:
    known = [part.strip() for parts in reasons_of_the_page() for part in parts if len(part.strip()) >= LEAST]
    code = list(reasons_of_the_code())
    assert len(code) > 80
    missing = [
        f"{place}: {text}"
        for place, text in code
        if not any(part in text or (len(part) >= SHORTEST and text.strip(" :,;") in part) for part in known)
    ]
    assert not missing, "add a line to docs/troubleshooting.md:\n" + "\n".join(missing)


def test_every_reason_of_the_page_is_printed() -> None:
    texts = "\n".join(
        node.value
        for path in modules()
        for node in nodes(path)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )
    pages = reasons_of_the_page()
    assert len(pages) > 60
    assert [part for parts in pages for part in parts if part.strip() not in texts] == []
