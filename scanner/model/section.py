"""One mapping of a file that a user writes, read field by field: what is wrong is complained about at its place.

A reader names every field that it knows, so that nobody's typing mistake is silently without effect. After a complaint
the value that comes back is empty and means nothing: whoever reads calls ``Problems.raise_any`` before using any.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Final, TypeVar

from scanner.files.problems import Problems, did_you_mean
from scanner.files.source_positions import Steps, shown
from scanner.model.selector import Selector

Word = TypeVar("Word", bound=str)

API_VERSION: Final = "adhere/v1"
"""Of every kind of file that adhere defines."""
MOST_ITEMS: Final = 1000
"""Of one list."""
MOST_TEXT: Final = 1000
"""Characters of one text."""
SELECTOR: Final = ("namespaces", "kinds", "names", "components", "labels", "ports", "endpoints")

_RANGE: Final = re.compile(r"([0-9]{1,5})-([0-9]{1,5})\Z")


@dataclass(frozen=True, slots=True)
class Section:
    """The mapping at ``steps``; anything else there was complained about, and reads as an empty one."""

    problems: Problems
    steps: Steps = ()

    @property
    def place(self) -> str:
        """``adhere.yaml:12:5``."""
        return self.problems.document.position(self.steps)

    def wrong(self, name: str, what: str, hint: str = "", *, key: bool = False) -> None:
        """Complain about the field ``name``: about its value, or about the name itself (``key``)."""
        self.problems.add((*self.steps, name), what, hint, key=key)

    def knows(self, known: Iterable[str], elsewhere: dict[str, str] | None = None) -> None:
        """Complain about every other field; ``elsewhere`` has hints for some of them."""
        self.problems.unknown_fields(self.steps, tuple(known), elsewhere)

    def has(self, name: str) -> bool:
        """Whether something other than null is there."""
        return self.problems.document.get((*self.steps, name)) is not None

    def names(self) -> tuple[str, ...]:
        """The fields that it has."""
        value = self.problems.document.get(self.steps)
        return tuple(value) if isinstance(value, dict) else ()

    def section(self, name: str) -> Section:
        """The mapping under ``name``; an empty one where there is none."""
        inner = Section(self.problems, (*self.steps, name))
        self.problems.mapping(inner.steps)
        return inner

    def each(self, name: str) -> Iterator[Section]:
        """The mappings of the list under ``name``."""
        value = self.problems.document.get((*self.steps, name))
        if not isinstance(value, list | None):
            self.wrong(name, f"must be a list, not {shown(value)}")
        elif value and len(value) > MOST_ITEMS:
            self.wrong(name, f"has {len(value)} items, more than {MOST_ITEMS}")
        else:
            for index, item in enumerate(value or ()):
                steps = (*self.steps, name, index)
                if isinstance(item, dict):
                    yield Section(self.problems, steps)
                else:
                    self.problems.add(steps, f"must be a mapping, not {shown(item)}")

    def text(self, name: str, *, required: str = "") -> str:
        """The text under ``name``, or "". ``required`` says what it is for, where it may not be missing."""
        value = self.problems.document.get((*self.steps, name))
        if value is None:
            if required:
                self.problems.add(self.steps, f"{name} is missing", required)
        elif not isinstance(value, str):
            hint = "put it in quotes" if isinstance(value, int | float) else ""
            self.wrong(name, f"must be text, not {shown(value)}", hint)
        elif not value.strip():
            self.wrong(name, "must be some text", required)
        elif len(value) > MOST_TEXT:
            self.wrong(name, f"is longer than {MOST_TEXT} characters")
        else:
            return value.strip()
        return ""

    def choice(self, name: str, words: Collection[Word]) -> Word | None:
        """One of ``words``, or None where nothing is there."""
        value = self.problems.document.get((*self.steps, name))
        for word in words:
            if value == word:
                return word
        if value is not None:
            hint = did_you_mean(value, words) if isinstance(value, str) else f"one of {', '.join(words)}"
            self.wrong(name, f"{shown(value)} is not known here", hint)
        return None

    def flag(self, name: str) -> bool | None:
        """True or false, or None where nothing is there."""
        value = self.problems.document.get((*self.steps, name))
        if isinstance(value, bool | None):
            return value
        self.wrong(name, f"must be true or false, not {shown(value)}")
        return None

    def number(self, name: str, least: int, most: int) -> int | None:
        """A whole number from ``least`` to ``most``, or None where nothing is there."""
        value = self.problems.document.get((*self.steps, name))
        if value is None:
            return None
        if not isinstance(value, int) or isinstance(value, bool):
            self.wrong(name, f"must be a whole number, not {shown(value)}")
        elif not least <= value <= most:
            self.wrong(name, f"must be from {least} to {most}, not {value}")
        else:
            return value
        return None

    def texts(self, name: str, *, required: bool = False) -> tuple[str, ...]:
        """The list of texts under ``name``, none of them empty."""
        found = self.problems.texts((*self.steps, name), MOST_ITEMS)
        for index, each in enumerate(found):
            if not each.strip() or len(each) > MOST_TEXT:
                self.problems.add((*self.steps, name, index), "must be some text, and not a long one")
        if required and not self._listed(name):
            self.problems.add(self.steps, f"{name} is missing or empty")
        return tuple(found)

    def ports(self, name: str, *, required: bool = False) -> tuple[int, ...]:
        """The list of ports under ``name``: numbers, and ranges as in ``9200-9219``."""
        value = self.problems.document.get((*self.steps, name))
        if not isinstance(value, list | None):
            self.wrong(name, f"must be a list of ports, not {shown(value)}", f"write {name}: [{shown(value)}]")
            return ()
        if required and not value:
            self.problems.add(self.steps, f"{name} is missing or empty", "for example ports: [8443, 9200-9219]")
        if value and len(value) > MOST_ITEMS:
            self.wrong(name, f"has {len(value)} items, more than {MOST_ITEMS}")
            return ()
        found: dict[int, None] = {}
        for index, item in enumerate(value or ()):
            ports = _ports(item)
            if not ports:
                what = f"{shown(item)} is no port"
                self.problems.add((*self.steps, name, index), what, "a number from 1 to 65535, or a range 9200-9219")
            found.update(dict.fromkeys(ports))
        return tuple(found)

    def words(self, name: str) -> tuple[tuple[str, str], ...]:
        """The mapping of names to texts under ``name``, as labels are."""
        inner = self.section(name)
        pairs = ((key, self.problems.document.get((*inner.steps, key))) for key in inner.names())
        found = []
        for key, value in pairs:
            if isinstance(value, str):
                found.append((key, value))
            else:
                inner.wrong(key, f"must be text, not {shown(value)}", "put it in quotes")
        return tuple(found)

    def selector(self) -> Selector:
        """This section as a selector. One that says nothing would mean everything, by mistake more often than not."""
        self.knows(SELECTOR, _SINGULAR)
        if self.problems.document.has(self.steps) and not any(map(self._listed, self.names())):
            self.problems.add(self.steps, "selects nothing in particular", 'for every endpoint write endpoints: ["*"]')
        return Selector(
            namespaces=self.texts("namespaces"),
            kinds=self.texts("kinds"),
            names=self.texts("names"),
            components=self.texts("components"),
            labels=self.words("labels"),
            ports=self.ports("ports"),
            endpoints=self.texts("endpoints"),
        )

    def _listed(self, name: str) -> bool:
        return self.problems.document.get((*self.steps, name)) not in (None, [], {})


def header(top: Section, kind: str) -> None:
    """Complain unless ``apiVersion`` and ``kind`` say that the file is a ``kind`` of ours."""
    for name, meant in (("apiVersion", API_VERSION), ("kind", kind)):
        said = top.text(name, required=f"write {name}: {meant}")
        if said and said != meant:
            top.wrong(name, f"must be {meant}, not {shown(said)}")


_SINGULAR = {
    "namespace": "write namespaces: [NAME]",
    "kind": "write kinds: [KIND]",
    "name": "write names: [NAME]",
    "component": "write components: [NAME]",
    "label": "write labels: {NAME: VALUE}",
    "port": "write ports: [NUMBER]",
    "endpoint": "write endpoints: [ID]",
}


def _ports(item: object) -> range:
    """The ports that one item means; none where it means none."""
    first = last = 0
    if isinstance(item, int) and not isinstance(item, bool):
        first = last = item
    elif isinstance(item, str) and (match := _RANGE.match(item)):
        first, last = int(match[1]), int(match[2])
    return range(first, last + 1) if 1 <= first <= last <= 65535 else range(0)
