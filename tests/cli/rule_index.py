"""The index of the rules' pages by topic: ``python -m tests.cli.rule_index`` renews it in ``docs/rules/README.md``."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import Final

from scanner.cli.commands.rules import ALL
from scanner.model.rule import AnyRule, rule_page

INDEX: Final = Path(__file__).parents[2] / "docs" / "rules" / "README.md"
TOPICS: Final = (
    "TLS versions, suites and groups",
    "Served certificates",
    "Declared against served",
    "Internal PKI",
    "Policy",
    "Gateway API",
    "Kubernetes objects",
    "Contour",
    "OpenShift Routes",
    "OpenShift configuration",
    "Manifests",
)
_BEGIN, _END = "## Rules by topic\n", "## Retired ids\n"


def index() -> str:
    """One table a topic, in the order of ``TOPICS``; the rules in the order of their ids."""
    found = {topic: list(rules) for topic, rules in groupby(sorted(ALL, key=_place), key=_topic)}
    head = "| rule | severity | requirement |\n|---|---|---|\n"
    tables = [f"### {topic}\n\n{head}{_rows(found[topic])}" for topic in TOPICS]
    return f"{_BEGIN}\n" + "\n".join(tables) + "\n"


def written() -> str:
    """The index as it stands in the documentation."""
    text = INDEX.read_text(encoding="utf-8")
    return text[text.index(_BEGIN) : text.index(_END)]


def _topic(rule: AnyRule) -> str:
    return rule_page(rule.id).topic


def _place(rule: AnyRule) -> tuple[int, str]:
    if (topic := _topic(rule)) not in TOPICS:
        raise ValueError(
            f"docs/rules/{rule.id}.md: unknown topic {topic!r}: TOPICS in tests/cli/rule_index.py has {TOPICS}"
        )
    return TOPICS.index(topic), rule.id


def _rows(rules: list[AnyRule]) -> str:
    return "".join(f"| [`{each.id}`]({each.id}.md) | {each.severity} | {each.title} |\n" for each in rules)


if __name__ == "__main__":
    INDEX.write_text(INDEX.read_text(encoding="utf-8").replace(written(), index()), encoding="utf-8")
