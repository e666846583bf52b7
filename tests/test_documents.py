"""The documents beside the README: what the code refers to is there, and what they list is what there is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
DESIGN = (DOCS / "design.md").read_text()
PAGES = sorted(DOCS.rglob("*.md"))


def sources() -> Iterator[tuple[Path, str]]:
    for path in (*sorted((ROOT / "scanner").rglob("*.py")), *PAGES):
        yield path, path.read_text()


def test_every_rule_of_probing_that_is_referred_to_is_in_the_design() -> None:
    there = set(re.findall(r"^(\d+)\. \*\*", DESIGN, re.MULTILINE))
    meant = {number for _, text in sources() for number in re.findall(r"[Dd]esign,? rule (\d+)", text)}
    assert meant
    assert meant <= there


def test_every_document_that_the_code_points_to_is_there() -> None:
    meant = {name for _, text in sources() for name in re.findall(r"``(docs/[\w./-]+\.(?:md|json))``", text)}
    assert "docs/design.md" in meant
    assert [name for name in meant if not (ROOT / name).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_every_link_leads_somewhere(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text())
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_every_decision_is_in_the_list() -> None:
    pages = {path.name for path in (DOCS / "decisions").glob("[0-9]*.md")}
    listed = set(re.findall(r"\]\(([0-9][^)]*)\)", (DOCS / "decisions" / "README.md").read_text()))
    assert listed == pages


def test_the_picture_of_the_resolution_has_every_step() -> None:
    picture = (DOCS / "resolution-order.svg").read_text()
    steps = re.findall(r"^## (\d\. .*)$", (DOCS / "expectations.md").read_text(), re.MULTILINE)
    assert steps
    assert re.findall(r'class="step"[^>]*>(\d[^<]*)<', picture) == steps
