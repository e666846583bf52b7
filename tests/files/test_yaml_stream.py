"""A file of many documents: each is read on its own, and says where it stands in the file."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scanner.errors import InputError
from scanner.files import yaml_stream
from scanner.files.source_positions import Located, Mark, Node, Value
from scanner.files.yaml_stream import MOST_BAD, stream
from scanner.files.yaml_values import documents, positions

LIMIT = 1 << 20


def told(data: bytes) -> list[Value | str]:
    """Every value, or what is wrong."""
    found = list(stream(data, "f", LIMIT))
    return [each.message if isinstance(each, InputError) else each.value for each in found]


TOLD: list[tuple[str, bytes, list[object]]] = [
    ("nothing", b"", []),
    ("one", b"a: 1\n", [{"a": 1}]),
    ("two", b"a: 1\n---\nb: 2\n", [{"a": 1}, {"b": 2}]),
    ("marks at both ends", b"---\na: 1\n---\n", [{"a": 1}, None]),
    ("on the marker's line", b"--- {a: 1}\n--- # comment\nb: 2\n", [{"a": 1}, {"b": 2}]),
    ("byte order mark", b"\xef\xbb\xbfa: 1\n---\nb: 2\n", [{"a": 1}, {"b": 2}]),
    ("Windows", b"a: 1\r\n---\r\nb: 2\r\n", [{"a": 1}, {"b": 2}]),
    ("ends marked", b"a: 1\n...\n---\nb: 2\n...\n", [{"a": 1}, {"b": 2}]),
    ("directive", b"%YAML 1.1\n# c\n\n---\na: 1\n---\nb: 2\n", [{"a": 1}, {"b": 2}]),
    ("directive between", b"a: 1\n...\n%YAML 1.1\n---\nb: 2\n---\nc: 3\n", [{"a": 1}, {"b": 2}, {"c": 3}]),
    ("no marker", b"a: |\n  ---\n  b\nc: ---d\n", [{"a": "---\nb\n", "c": "---d"}]),
    ("a bad one first", b"a: *x\n---\nb: 2\n", ["f:1:4: aliases (*) are not supported", {"b": 2}]),
    ("a bad one between", b"a: 1\n---\nb: [\n---\nc: 3\n", [{"a": 1}, "f:4:1: did not find", {"c": 3}]),
    ("a bad one last", b"a: 1\n---\nb: 2\nb: 3\n", [{"a": 1}, "f:4:1: duplicate key 'b'"]),
    ("no UTF-8", b"a: 1\n---\nb: \xff\n---\nc: 3\n", [{"a": 1}, "f:3:4: not UTF-8", {"c": 3}]),
    ("NUL", b"a: 1\n---\nb: \0\n---\nc: 3\n", [{"a": 1}, "f:3:4: control character U+0000", {"c": 3}]),
    ("tab", b"a: 1\n---\nb:\n\tc: 1\n---\nd: 3\n", [{"a": 1}, "f:4:1: found character that", {"d": 3}]),
    ("unclosed quote", b'a: "1\n---\nb: 2\n', ["f:2:1: found unexpected end of stream", {"b": 2}]),
    ("UTF-16", "a: 1\n---\n".encode("utf-16"), ["f:1:1: not UTF-8"]),
    ("too large", b"#" * (LIMIT + 1), ["f: larger than 1024 KiB"]),
    ("JSON", b'{"a": [1, 2.5, null, "x\\/"]}', [{"a": [1, 2.5, None, "x/"]}]),
    ("JSON of jq", b'{"a": 1}\n{"b": 2} {"c": 3}\n', [{"a": 1}, {"b": 2}, {"c": 3}]),
    ("JSON between markers", b'{"a": 1}\n---\n{"b": 2}\n', [{"a": 1}, {"b": 2}]),
    ("JSON with a pair", b'{"a": "\\ud83d\\ude00"}', [{"a": "\U0001f600"}]),
    ("JSON with half a pair", b'{"a": "\\ud83d"}', ["f:1:10: found invalid Unicode"]),
    ("JSON twice", b'{"a": 1,\n "a": 2}', ["f:2:2: duplicate key 'a'"]),
    ("JSON broken", b'{"a": 1,\n "b": }', [{"a": 1, "b": None}]),  # as YAML, which it is
    ("JSON open", b'{"a": 1,\n "b": [1', ["f:3:1: did not find expected ',' or"]),
    ("JSON deep", b'{"a":' + b"[" * 64 + b"]" * 64 + b"}", ["f:1:69: nested more than 64 deep"]),
    ("JSON far too deep", b'{"a":' + b"[" * 900, ["f:1:69: nested more than 64 deep"]),
    ("JSON beyond numbers", b'{"a": NaN, "b": 1e999}', [{"a": "NaN", "b": "1e999"}]),
]


@pytest.mark.parametrize(("data", "expected"), [each[1:] for each in TOLD], ids=[each[0] for each in TOLD])
def test_every_document_or_what_is_wrong_with_it(data: bytes, expected: list[object]) -> None:
    found = told(data)
    assert len(found) == len(expected)
    for each, meant in zip(found, expected, strict=True):
        if isinstance(meant, str):
            assert isinstance(each, str)
            assert each.startswith(meant)
        else:
            assert each == meant


PLACES: list[tuple[bytes, int, tuple[str | int, ...], str]] = [
    (b"a: 1\n---\nb:\n- c: 2\n", 1, ("b", 0, "c"), "f:4:6"),
    (b"a: 1\n...\n---\nb: 2\n", 1, ("b",), "f:4:4"),
    (b"--- {a: 1}\n--- {b: 2}\n", 1, ("b",), "f:2:9"),
    (b'{"a": 1} {"b": [1,\n2]}', 1, ("b", 1), "f:2:1"),
    (b'{"a": 1} {"b": 2}', 1, ("b",), "f:1:16"),
    (b'\n{"\\ud83d\\ude00": 1, "b": {"c": 2}}', 0, ("b", "c"), "f:2:32"),
    (b'# c\n{\n\t"a": 1}', 0, ("a",), "f:3:7"),
]


@pytest.mark.parametrize(("data", "number", "steps", "place"), PLACES)
def test_places_are_those_in_the_file(data: bytes, number: int, steps: tuple[str | int, ...], place: str) -> None:
    found = list(stream(data, "f", LIMIT))[number]
    assert isinstance(found, Located)
    assert found.has(steps)
    assert found.position(steps) == place


def test_objects_of_json_in_one_line_are_placed_each_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """An object costs what it is long, wherever in the line it stands; where it begins costs nothing."""
    looked: list[str] = []

    def noted(text: str, number: int, first: int, before: int) -> Node:
        looked.append(text)
        return positions(text, number, first, before)

    monkeypatch.setattr(yaml_stream, "positions", noted)
    found = [each for each in stream(b'{"a": 1} ' * 100, "f", LIMIT) if isinstance(each, Located)]
    assert [each.position() for each in found] == [f"f:1:{9 * index + 1}" for index in range(100)]
    assert looked == []
    assert found[-1].position(("a",)) == "f:1:898"
    assert looked == ['{"a": 1}']


def test_complaints_about_one_file_have_an_end() -> None:
    found = told(b"*a\n---\n" * 1000 + b"a: 1\n")
    assert len(found) == MOST_BAD + 1
    assert found[-1] == f"f:38:1: {MOST_BAD} documents cannot be read; those after this line were not read"


@pytest.mark.slow
def test_many_documents_take_no_longer_than_their_bytes() -> None:
    assert told(b"%YAML 1.1\n---\n...\n" * 20_000) == [None] * 20_000
    assert len(told(b"%a\n---\n" * 20_000)) == MOST_BAD + 1
    assert len(told(b"---\n" * 20_000)) == 20_000


@given(
    st.lists(st.sampled_from(["---", "--- a", "...", "a: 1", "- b", "%YAML 1.1", "# c", "", " x", "'", "|", "{", "}"]))
)
def test_what_can_be_read_in_one_go_reads_the_same_in_parts(lines: list[str]) -> None:
    data = "\n".join(lines).encode()
    try:
        whole = [each for each in documents(data, "f") if each is not None]
    except InputError:
        return
    found = [each for each in told(data) if each is not None]
    if not any("expected <document start>" in str(each) for each in found):  # a directive without ``...`` before it
        assert found == whole


WRITABLE = st.text(st.characters(max_codepoint=0xD7FF), max_size=5)
"""JSON texts without single surrogates, which are no characters."""
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | WRITABLE,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WRITABLE, inner, max_size=3),
    max_leaves=10,
)


@given(st.lists(st.dictionaries(WRITABLE, PLAIN, max_size=3), max_size=3))
def test_json_is_what_it_is(values: list[dict[str, object]]) -> None:
    data = "\n".join(json.dumps(each) for each in values)
    assert told(data.encode()) == values


@given(st.binary(max_size=200) | st.text("ab:-?[]{}&*!|>'\"%@`#,\n\t 01\\.", max_size=60).map(str.encode))
def test_any_bytes_are_told_with_their_place(data: bytes) -> None:
    for each in stream(data, "f", LIMIT):
        if isinstance(each, InputError):
            assert each.message.startswith("f:")
        else:
            assert each.mark() >= (1, 1)


# --- Lines as editors count them -------------------------------------------------------------------------------------

BREAKS = ["\n", "\r\n", "\r", "\x85", "\u2028", "\u2029"]
"""All end a line of YAML 1.1; only the first two end one of an editor, of ``grep -n`` and of SARIF."""
NOTES = st.text("a\U0001f600\xe9 ", max_size=3).map(lambda text: f" # {text}")
LINES = st.lists(
    st.tuples(st.sampled_from(["", "\u2028\u2028", "  "]), NOTES, st.sampled_from(BREAKS)), min_size=1, max_size=8
)


@given(LINES, st.sampled_from(["", "---\n", "x: 1\n---\n", "x: 1\r---\r\n"]))
def test_places_are_those_that_editors_show(lines: list[tuple[str, str, str]], head: str) -> None:
    text = head + "".join(f"{before}key{n}: 'v{n}'{note}{end}" for n, (before, note, end) in enumerate(lines)).lstrip()
    for found in stream(text.encode(), "f", LIMIT):
        if isinstance(found, InputError):
            continue  # an indented key
        for key, value in found.value.items() if isinstance(found.value, dict) else ():
            if key != "x":
                assert shown_at(text, found.mark((key,), key=True)).startswith(f"{key}: ")
                assert shown_at(text, found.mark((key,))).startswith(f"'{value}'")


def shown_at(text: str, mark: Mark) -> str:
    """The text at a position, as an editor shows it."""
    return text.split("\n")[mark.line - 1][mark.column - 1 :]


@pytest.mark.parametrize("odd", BREAKS[2:])
def test_what_is_wrong_is_said_to_be_where_editors_show_it(odd: str) -> None:
    text = f"a: 'x{odd}y'\n# {odd}b: 1\nc: *d\n---\ne: 1\ne: 2\n---\nf: [{odd}\n"
    assert [
        each.message.partition(": ")[0] for each in stream(text.encode(), "f", LIMIT) if isinstance(each, InputError)
    ] == [
        "f:3:4",
        "f:6:1",
        "f:9:1",
    ]


@pytest.mark.parametrize("odd", BREAKS[3:])
def test_json_has_the_lines_of_editors_too(odd: str) -> None:
    text = '{"a": "xODDy", "b":\n 2}\n{"c": "ODD",\n"d": 4}'.replace("ODD", odd)
    one, other = (each for each in stream(text.encode(), "f", LIMIT) if isinstance(each, Located))
    assert shown_at(text, one.mark(("b",))) == "2}"
    assert shown_at(text, other.mark(("d",))) == "4}"
