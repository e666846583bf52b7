"""The documents beside the README: what the code refers to is there, and what they list is what there is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.source_files import DOCS, ROOT, line_of, modules, pages, place, read


def references(pattern: str, paths: Iterable[Path]) -> Iterator[tuple[Path, str, str]]:
    """What a pattern's group finds: the file, the place in it, and the text."""
    for path in paths:
        for match in re.finditer(pattern, read(path)):
            yield path, place(path, line_of(match)), match[1]


def test_every_rule_of_probing_that_is_referred_to_is_in_the_design() -> None:
    there = set(re.findall(r"^(\d+)\. \*\*", read(DOCS / "design.md"), re.MULTILINE))
    meant = list(references(r"[Dd]esign,? rule (\d+)", (*modules(), *pages())))
    assert meant
    missing = [f"{where}: rule {number}" for _, where, number in meant if number not in there]
    assert not missing, f"docs/design.md has no such rule: {missing}"


def test_every_document_that_the_code_points_to_is_there() -> None:
    meant = list(references(r"``(docs/[\w./-]+\.(?:md|json))``", (*modules(), *pages())))
    assert "docs/design.md" in {name for _, _, name in meant}
    missing = [f"{where}: {name}" for _, where, name in meant if not (ROOT / name).exists()]
    assert not missing, f"no such file: {missing}"


def test_every_link_leads_somewhere() -> None:
    links = references(r"\]\((?!https?:|#)([^)#]+)", pages())
    missing = [f"{where}: {link}" for page, where, link in links if not (page.parent / link).exists()]
    assert not missing, f"these links lead to no file: {missing}"


def test_every_decision_is_in_the_list() -> None:
    pages = {path.name for path in (DOCS / "decisions").glob("[0-9]*.md")}
    listed = set(re.findall(r"\]\(([0-9][^)]*)\)", (DOCS / "decisions" / "README.md").read_text()))
    assert listed == pages


def test_the_picture_of_the_resolution_has_every_step() -> None:
    picture = (DOCS / "resolution-order.svg").read_text()
    steps = re.findall(r"^## (\d\. .*)$", (DOCS / "expectations.md").read_text(), re.MULTILINE)
    assert steps
    assert re.findall(r'class="step"[^>]*>(\d[^<]*)<', picture) == steps
