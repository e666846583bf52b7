"""Words that messages, titles, help and docs must not contain: plain technical English, at first reading."""

from __future__ import annotations

import ast
import io
import json
import re
import tokenize
from collections.abc import Iterable, Iterator
from pathlib import Path

from scanner.data import data
from scanner.model.rule import rule_page
from tests.source_files import DOCS, ROOT, line_of, modules, nodes, pages, place, read

FORBIDDEN = re.compile(
    r"\b(?:nobody|somebody|anybody|everybody|whoever|of which|of whose|owe[sd]?|told|tells?|said of|made again"
    r"|has ended|mend(?:s|ed)?|be had|none of them|as each likes|on the way|witness(?:es)?|story|stories|strangers?"
    r"|wanted|given|standing|as a whole|the whole of|heard|talks?|manners?|sieve|patien(?:t|ce)|surprises?|voices?"
    r"|landscape|worlds?)\b",
    re.IGNORECASE,
)
"""Retired words, each with a plain one in its place."""
TO_DO = "write plain words; FORBIDDEN and QUESTION in tests/test_language.py have what is not used:"


def test_messages_have_plain_words() -> None:
    texts = ((path, line, text) for path in modules() for line, text in sentences(nodes(path)))
    refuse(f"{place(path, line)}: {words}: {text!r}" for path, line, text in texts if (words := retired(text)))


def refuse(offenders: Iterable[str]) -> None:
    """Fail with all offenders, if there is one."""
    found = list(offenders)
    assert not found, "\n".join((TO_DO, *found))


def sentences(tree: Iterable[ast.AST]) -> Iterator[tuple[int, str]]:
    """Every text in the code that a person may read: constants of several words, but for docstrings."""
    tree = tuple(tree)
    docs = {id(node.value) for node in tree if isinstance(node, ast.Expr)}
    for node in tree:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            yield node.lineno, node.value


def retired(text: str) -> list[str]:
    """The words of a text that are forbidden; a single word may be a key or a field."""
    return FORBIDDEN.findall(text) if " " in text.strip() or "{" in text else []


def test_docs_have_plain_words() -> None:
    texts = ((path, line, text) for path in modules() for line, text in docs(nodes(path), read(path)))
    refuse(
        f"{place(path, line)}: {words}: {text[:100]!r}" for path, line, text in texts if (words := unplain_words(text))
    )


QUESTION = re.compile(r"(?:What|Which|Whether|Of|Who|Whose|Where|When|How|Why)\b")
"""A docstring starts with what the thing is or does, and a field's with a noun."""


def unplain_words(text: str) -> list[str]:
    """The retired words of a sentence, and the word of a question at its beginning."""
    question = QUESTION.match(text)
    return [*FORBIDDEN.findall(text), *([question[0]] if question else [])]


def docs(tree: Iterable[ast.AST], text: str) -> Iterator[tuple[int, str]]:
    """Docstrings and the docs of fields, without code in them; then comments."""
    for node in tree:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.lineno, re.sub(r"``.*?``", "CODE", node.value.value, flags=re.DOTALL).strip()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def test_templates_have_plain_words() -> None:
    hidden = re.compile(r"{[{%#].*?[}%#]}|<style.*?</style>|<script.*?</script>", re.DOTALL)
    refuse(
        offender
        for path in sorted((ROOT / "reports/templates").rglob("*.*"))
        for offender in forbidden_in(path, hidden.sub(lines, read(path)))
    )


def lines(match: re.Match[str]) -> str:
    """The line ends of what is left out, so that what follows keeps its line."""
    return " " + "\n" * match[0].count("\n")


def forbidden_in(path: Path, text: str) -> Iterator[str]:
    return (f"{place(path, line_of(word))}: {word[0]!r}" for word in FORBIDDEN.finditer(text))


def test_titles_are_short_and_plain() -> None:
    titles = {path.stem: rule_page(path.stem).title for path in data("rules").glob("*.md") if path.stem != "README"}
    assert titles
    refuse(
        f"docs/rules/{rule}.md: title {title!r}: {words or f'more than {MOST_WORDS} words'}"
        for rule, title in sorted(titles.items())
        if (words := FORBIDDEN.findall(title)) or len(title.split()) > MOST_WORDS
    )


MOST_WORDS = 8
"""Of a title, which CI shows beside a red cross."""


def test_documents_have_plain_words() -> None:
    paths = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")]
    refuse(offender for path in (*paths, *pages()) for offender in forbidden_in(path, prose(read(path))))


def prose(page: str) -> str:
    """The sentences of a Markdown page: no front matter, no code, no targets of links."""
    page = re.sub(r"\A---\n.*?^---\n", lines, page, flags=re.MULTILINE | re.DOTALL)
    page = re.sub(r"^```.*?^```$|^    .*?$", lines, page, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"`[^`]*`|\]\([^)]*\)", lines, page)


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
        each for each in re.split(r"(?<=\.)\s+", text) if unplain_words(each) or len(each.split()) > LONGEST_SENTENCE
    ]


def test_schemas_have_plain_words() -> None:
    schemas = {path: dict(descriptions(json.loads(read(path)))) for path in sorted((DOCS / "schema").glob("*.json"))}
    assert schemas
    assert [path.name for path, texts in schemas.items() if not texts] == []
    refuse(
        f"{path.relative_to(ROOT)}#{name}: {each}"
        for path, texts in schemas.items()
        for name, text in texts.items()
        for each in unplain(text)
    )


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
