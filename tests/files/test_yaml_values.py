"""Values as people expect them, positions as editors count them, and nothing that a hostile file could use."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from scanner.errors import InputError
from scanner.files import yaml_values
from scanner.files.source_positions import Located, Value, dotted, shown
from scanner.files.yaml_values import load, read

PLAIN: dict[str, Value] = {
    "": None,
    "~": None,
    "null": None,
    "true": True,
    "False": False,
    "no": "no",
    "on": "on",
    "0": 0,
    "-7": -7,
    "010": "010",
    "0x10": "0x10",
    "1_000": "1_000",
    "1:30": "1:30",
    "2026-01-02": "2026-01-02",
    "1.5": 1.5,
    "1e3": 1000.0,
    "1e999": "1e999",
    ".5": ".5",
    ".inf": ".inf",
    "9" * 19: int("9" * 19),
    "18446744073709551615": (1 << 64) - 1,
    "18446744073709551616": 2.0**64,
    "-9223372036854775808": -(1 << 63),
    "-9223372036854775809": -(2.0**63),
    "1" + "0" * 308: 1e308,
    "9" * 309: "9" * 309,
    "0." + "3" * 40: 1 / 3,
    "9" * 5000: "9" * 5000,
    "'12'": "12",
    '"no"': "no",
    '"a\\nb"': "a\nb",
    "=": "=",
    "é ü": "é ü",
}


@pytest.fixture(params=["libyaml", "python"])
def _loader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both parsers, where libyaml is there; without it PyYAML's own is the only one, and is tested twice."""
    if request.param == "python":
        monkeypatch.setattr(yaml_values, "_LOADER", yaml.SafeLoader)


@pytest.mark.usefixtures("_loader")
@pytest.mark.parametrize(("text", "value"), PLAIN.items(), ids=[text[:12] for text in PLAIN])
def test_scalars(text: str, value: Value) -> None:
    assert load(f"key: {text}\n".encode(), "f").value == {"key": value}


@pytest.mark.usefixtures("_loader")
def test_keys_are_text() -> None:
    assert load(b"on: 1\n1: 2\nnull: 3\n'<<': {a: 4}", "f").value == {"on": 1, "1": 2, "null": 3, "<<": {"a": 4}}


@pytest.mark.usefixtures("_loader")
@pytest.mark.parametrize("data", [b"", b"\n", b"# nothing\n", b"---\n", b"---\n...\n", b"\xef\xbb\xbf"])
def test_empty_is_null(data: bytes) -> None:
    document = load(data, "f")
    assert document.value is None
    assert document.position() in ("f:1:1", "f:2:1")


@pytest.mark.skipif(yaml_values._LOADER is yaml.SafeLoader, reason="PyYAML without libyaml takes no tabs in JSON")
def test_json() -> None:
    data = b'{\r\n\t"a": [1, -2.5e1, "x\\/y", null],\r\n\t"b": {"c": true}}'
    document = load(data, "f.json")
    assert document.value == {"a": [1, -25.0, "x/y", None], "b": {"c": True}}
    assert document.position(("a", 2)) == "f.json:2:19"
    assert document.position(("b", "c")) == "f.json:3:13"


@pytest.fixture
def document() -> Located:
    return load("é: 1\na:\n  - b: ü\n    c: [x, y]\n  -\n".encode(), "dir/f.yaml")


def test_positions(document: Located) -> None:
    assert document.position() == "dir/f.yaml:1:1"
    assert document.position(("é",)) == "dir/f.yaml:1:4"
    assert document.position(("a",)) == "dir/f.yaml:3:3"
    assert document.position(("a",), key=True) == "dir/f.yaml:2:1"
    assert document.position(("a", 0, "b")) == "dir/f.yaml:3:8"
    assert document.position(("a", 0, "c"), key=True) == "dir/f.yaml:4:5"
    assert document.position(("a", 0, "c", 1)) == "dir/f.yaml:4:12"


def test_what_is_missing_stands_where_it_would(document: Located) -> None:
    assert document.position(("a", 0, "z")) == "dir/f.yaml:3:5"
    assert document.position(("a", 0, "z", 3, "q"), key=True) == "dir/f.yaml:3:5"
    assert document.position(("z", "a"), key=True) == "dir/f.yaml:1:1"


def test_get_and_has(document: Located) -> None:
    assert document.get(()) == {"é": 1, "a": [{"b": "ü", "c": ["x", "y"]}, None]}
    assert document.get(("a", 0, "c", 0)) == "x"
    assert document.get(("a", 7, "c")) is None
    assert document.has(())
    assert document.has(("a", 1))
    assert not document.has(("a", 2))
    assert not document.has(("a", "0"))
    assert not document.has(("z", "a"))


REFUSED = {
    "merge key": (b"a:\n  <<: {b: 1}\n", "f:2:3: merge keys (<<) are not supported", "a key of that name needs quotes"),
    "duplicate key": (
        b"a: 1\nb:\n  c: 1\n  'c': 2\n",
        "f:4:3: duplicate key 'c'",
        "the first one is in line 3",
    ),
    "alias bomb": (b"a: &a [x]\nb: [*a, *a]\n", "f:1:4: anchors (&) are not supported", "needs quotes"),
    "alias": (b"b: *a\n", "f:1:4: aliases (*) are not supported", "write the value out"),
    "tag": (b"a: !!python/object/apply:os.system [id]\n", "f:1:4: tags (!) are not supported", "needs quotes"),
    "exclusion": (b"- !AES128-SHA\n", "f:1:3: tags (!) are not supported", "needs quotes"),
    "tab": (b"a:\n\tb: 1\n", "f:2:1: found character '\\t'", "spaces, never with tabs"),
    "two documents": (b"a: 1\n---\na: 2\n", "f:2:1: a second document begins", "keep one"),
    "open bracket": (b"a: [1, 2\n", "f:2:1: ", "bracket is not closed"),
    "IPv6 address": (b"- [::1]:443\n", "f:1:4: did not find", "text that starts with ["),
    "colon": (b"a: b: c\n", "f:1:5: mapping values are not allowed", "put quotes around"),
    "list as key": (b"? [a]\n: 1\n", "f:1:3: a key must be text", ""),
    "too deep": (b"[" * 65, "f:1:65: nested more than 64 deep", ""),
    "far too deep": (b"[" * 900, "f:1:65: nested more than 64 deep", ""),
    "deep by dashes": (b"- " * 100_000, "f:1:129: nested more than 64 deep", ""),
    "too large": (b"#" * (yaml_values.MAX_BYTES + 1), "f: larger than 1024 KiB", "check the path"),
    "UTF-16": (b"\xff\xfea\x00:\x00", "f:1:1: not UTF-8", "PowerShell"),
    "Latin-1": (b"a: b\nc: d\xe9\n", "f:2:5: not UTF-8", "save it as UTF-8"),
    "control character": (b"a: b\r\nc: \x1b[2J\n", "f:2:4: control character U+001B", "escape in double quotes"),
    "NUL": (b"\0", "f:1:1: control character U+0000", ""),
    "binary": (b"\x7fELF", "f:1:1: control character U+007F", ""),
}


@pytest.mark.parametrize(("data", "message", "hint"), REFUSED.values(), ids=REFUSED)
def test_refused(data: bytes, message: str, hint: str) -> None:
    with pytest.raises(InputError) as caught:
        load(data, "f")
    if "'\\t'" in message:  # PyYAML names the tab, libyaml does not
        message = "f:2:1: found character"
    assert caught.value.message.startswith(message)
    assert hint in caught.value.hint


def test_what_is_too_deep_for_libyaml_too_has_the_same_message() -> None:
    """It reads ahead, and newer versions have a limit of their own: the column is theirs."""
    with pytest.raises(InputError, match=r"\Af:1:\d+: nested more than 64 deep"):
        load(b"[" * yaml_values.MAX_BYTES, "f")


@pytest.mark.parametrize("data", [data for data, *_ in REFUSED.values() if len(data) < 500])
def test_refused_without_libyaml(data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml_values, "_LOADER", yaml.SafeLoader)
    with pytest.raises(InputError, match=r"\Af:[0-9]+:[0-9]+: "):
        load(data, "f")


@given(st.binary(max_size=200) | st.text("ab:-?[]{}&*!|>'\"%@`#,\n\t 01\\", max_size=60).map(str.encode))
def test_any_bytes_load_or_say_where_they_are_wrong(data: bytes) -> None:
    try:
        document = load(data, "f")
    except InputError as error:
        assert error.message.startswith("f:")  # noqa: PT017  either outcome is right
    else:
        assert document.mark() >= (1, 1)


def test_read(tmp_path: Path) -> None:
    path = tmp_path / "f.yaml"
    path.write_text("a: [")
    with pytest.raises(InputError, match=r"/f\.yaml:2:1: "):
        read(str(path))
    path.write_text("a: 1")
    assert read(str(path)).position(("a",)) == f"{path}:1:4"


@pytest.mark.parametrize(("name", "reason"), [("none.yaml", "No such file"), (".", "directory"), ("a\0b", "null byte")])
def test_unreadable(name: str, reason: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"cannot be read: .*{reason}"):
        read(str(tmp_path / name))


def test_a_file_without_end_is_not_read_to_it() -> None:
    with pytest.raises(InputError, match="larger than 1024 KiB"):
        read("/dev/zero")


def test_dotted_and_shown() -> None:
    assert dotted(("spec", "custom", "ciphers", 1)) == "spec.custom.ciphers[1]"
    assert dotted((0, "a")) == "[0].a"
    assert dotted(("a", "\x1b[2J", "b.c")) == r"a['\x1b[2J']['b.c']"
    assert dotted(("a" * 1000,)) == f"['{'a' * 58}…]"
    assert shown("a\x1b\n") == r"'a\x1b\n'"
    assert shown("x" * 1000) == "'" + "x" * 58 + "…"
    assert shown([1]) == "[1]"
