"""Everything that is wrong is said at once, in the file's order, each with its hint, and not without end."""

from __future__ import annotations

import pytest

from scanner.errors import InputError
from scanner.files.problems import MOST, Problems, did_you_mean
from scanner.files.yaml_values import load


def problems(text: str) -> Problems:
    return Problems(load(text.encode(), "f"))


def test_several_come_in_the_order_of_the_file_with_their_hints() -> None:
    found = problems("a: 1\nb: 2\nc: 3\n")
    found.add(("c",), "third", "mend it")
    found.add(("a",), "first", "mend it")
    found.add(("b",), "second", key=True)
    with pytest.raises(InputError) as caught:
        found.raise_any()
    assert caught.value.message == "f:1:4: a: first (mend it)\nf:2:1: b: second\nf:3:4: c: third (mend it)"
    assert caught.value.hint == ""


def test_a_single_one_has_its_hint_apart() -> None:
    found = problems("a: 1\n")
    found.add(("a",), "wrong", "mend it")
    with pytest.raises(InputError) as caught:
        found.raise_any()
    assert (caught.value.message, caught.value.hint) == ("f:1:4: a: wrong", "mend it")


def test_nothing_wrong_raises_nothing() -> None:
    problems("").raise_any()


def test_twenty_are_enough() -> None:
    found = problems("[" + "1," * 1000 + "]")
    with pytest.raises(InputError) as caught:
        found.texts((), 2000)
    assert caught.value.message.count("\n") == MOST - 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: x", "f:1:4: a: must be a list, not 'x'"),
        ("a: [x, 1, null]", "f:1:8: a[1]: must be text, not 1\nf:1:11: a[2]: must be text, not None"),
        ("a: [x, y, z, x]", "f:1:4: a: has 4 items, more than 3"),
    ],
)
def test_texts(text: str, message: str) -> None:
    found = problems(text)
    assert found.texts(("a",), 3) == []
    with pytest.raises(InputError) as caught:
        found.raise_any()
    assert caught.value.message == message


def test_texts_that_are_missing_or_null_are_none() -> None:
    found = problems("a:\n")
    assert found.texts(("a",), 3) == found.texts(("b",), 3) == []
    found.raise_any()


def test_did_you_mean() -> None:
    assert did_you_mean("fail-on", ("fail_on", "formats")) == "did you mean 'fail_on'?"
    assert did_you_mean("MODE", ("mode",)) == "did you mean 'mode'?"
    assert did_you_mean("xyz", ("mode", "rate")) == "use one of: mode, rate"
    assert did_you_mean("xyz", ()) == ""
    assert did_you_mean("xyz", ("mode",), otherwise="no") == "no"
