"""Words that messages, titles, help and docs must not contain: plain technical English, at first reading."""

from __future__ import annotations

import ast
import io
import json
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

from scanner.data import data
from scanner.model.rule import rule_page

TOP = Path(__file__).parent.parent
SCANNER = TOP / "scanner"

FORBIDDEN = re.compile(
    r"\b(?:nobody|somebody|anybody|everybody|whoever|of which|of whose|owe[sd]?|told|tells?|said of|made again"
    r"|has ended|mend(?:s|ed)?|be had|none of them|as each likes|on the way|witness(?:es)?|story|stories|strangers?"
    r"|wanted|given|standing|as a whole|the whole of|heard|talks?|manners?|sieve|patien(?:t|ce)|surprises?|voices?"
    r"|landscape|worlds?)\b",
    re.IGNORECASE,
)
"""Retired words, each with a plain one in its place."""
MOST_WORDS = 8
"""Of a title, which CI shows beside a red cross."""


def sentences(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Every text in the code that a person may read: constants of several words, but for docstrings."""
    docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            yield node.lineno, node.value


def retired(text: str) -> list[str]:
    """The words of a text that are forbidden; a single word may be a key or a field."""
    return FORBIDDEN.findall(text) if " " in text.strip() or "{" in text else []


def modules() -> list[Path]:
    return sorted(path for path in SCANNER.rglob("*.py") if "_data" not in path.parts)


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SCANNER)))
def test_messages_have_plain_words(path: Path) -> None:
    found = [(line, words, text) for line, text in sentences(ast.parse(path.read_text())) if (words := retired(text))]
    assert not found, "\n".join(f"{path}:{line}: {words}: {text!r}" for line, words, text in found)


@pytest.mark.parametrize("path", sorted((TOP / "reports/templates").rglob("*.*")), ids=lambda path: path.name)
def test_templates_have_plain_words(path: Path) -> None:
    shown = re.sub(r"{[{%#].*?[}%#]}|<style.*?</style>|<script.*?</script>", " ", path.read_text(), flags=re.DOTALL)
    assert not FORBIDDEN.findall(shown)


@pytest.mark.parametrize("path", sorted(data("rules").glob("*.md")), ids=lambda path: path.stem)
def test_titles_are_short_and_plain(path: Path) -> None:
    if path.stem == "README":
        return
    title = rule_page(path.stem).title
    assert len(title.split()) <= MOST_WORDS
    assert not FORBIDDEN.findall(title)


def prose(page: str) -> str:
    """The sentences of a Markdown page: no front matter, no code, no targets of links."""
    page = re.sub(r"\A---\n.*?^---\n", "", page, flags=re.MULTILINE | re.DOTALL)
    page = re.sub(r"^```.*?^```$|^    .*?$", "", page, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"`[^`]*`|\]\([^)]*\)", "", page)


PAGES = [TOP / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")]


@pytest.mark.parametrize(
    "path", [*PAGES, *sorted((TOP / "docs").rglob("*.md"))], ids=lambda path: str(path.relative_to(TOP))
)
def test_documents_have_plain_words(path: Path) -> None:
    assert not FORBIDDEN.findall(prose(path.read_text()))


QUESTION = re.compile(r"(?:What|Which|Whether|Of|Who|Whose|Where|When|How|Why)\b")
"""A docstring starts with what the thing is or does, and a field's with a noun."""


def docs(path: Path) -> Iterator[tuple[int, str]]:
    """Docstrings and the docs of fields, without code in them; then comments."""
    text = path.read_text()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.lineno, re.sub(r"``.*?``", "CODE", node.value.value, flags=re.DOTALL).strip()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SCANNER)))
def test_docs_have_plain_words(path: Path) -> None:
    found = [(line, text) for line, text in docs(path) if FORBIDDEN.search(text) or QUESTION.match(text)]
    assert not found, "\n".join(f"{path}:{line}: {text[:100]!r}" for line, text in found)


LONGEST_SENTENCE = 25
"""Words of a sentence in a schema."""


def descriptions(schema: object, path: str = "") -> Iterator[tuple[str, str]]:
    """The texts of a JSON schema for its reader, each with its path."""
    members = schema.items() if isinstance(schema, dict) else enumerate(schema) if isinstance(schema, list) else ()
    for name, value in members:
        if name in ("title", "description", "$comment") and isinstance(value, str):
            yield f"{path}/{name}", value
        else:
            yield from descriptions(value, f"{path}/{name}")


def unplain(text: str) -> list[str]:
    """The sentences of a description with a retired word, with the beginning of a question, or with too many words."""
    return [
        each
        for each in re.split(r"(?<=\.)\s+", text)
        if FORBIDDEN.search(each) or QUESTION.match(each) or len(each.split()) > LONGEST_SENTENCE
    ]


@pytest.mark.parametrize("path", sorted((TOP / "docs/schema").glob("*.json")), ids=lambda path: path.name)
def test_schemas_have_plain_words(path: Path) -> None:
    texts = dict(descriptions(json.loads(path.read_text())))
    assert texts
    found = [f"{path}#{place}: {each}" for place, text in texts.items() for each in unplain(text)]
    assert not found, "\n".join(found)


def test_the_list_finds_words() -> None:
    assert retired("nobody told it") == ["nobody", "told"]
    assert not retired("told")
    assert FORBIDDEN.findall(prose("---\nid: told\n---\nWhoever `told` it:\n\n```yaml\nnobody: told\n```\n")) == [
        "Whoever"
    ]


def test_a_schema_is_searched_to_its_leaves() -> None:
    schema = {
        "title": "Fine",
        "properties": {
            "title": {"description": "Whether it passes."},
            "state": {"oneOf": [{"$comment": "It is owed."}]},
        },
    }
    assert {place: unplain(text) for place, text in descriptions(schema)} == {
        "/title": [],
        "/properties/title/description": ["Whether it passes."],
        "/properties/state/oneOf/0/$comment": ["It is owed."],
    }
    assert unplain("Port. What else.") == ["What else."]
    longest = "word " * LONGEST_SENTENCE
    assert not unplain(f"One. {longest}")
    assert unplain(f"{longest} more")
