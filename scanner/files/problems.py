"""Errors of a file, collected, so that its author sees all of them at once."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from msgspec import Struct, field

from scanner.errors import InputError
from scanner.files.source_positions import Document, Mark, Steps, dotted, shown

MOST = 20
"""Most errors to report."""


class Problem(Struct, frozen=True):
    """One error."""

    mark: Mark
    text: str
    hint: str


class Problems(Struct):
    """The errors of one file."""

    document: Document
    found: list[Problem] = field(default_factory=list)

    def add(self, steps: Steps, what: str, hint: str = "", *, key: bool = False) -> None:
        """Add an error about a value, or about its key. At ``MOST`` errors, raises them."""
        where = self.document.position(steps, key=key)
        path = dotted(steps)
        text = f"{where}: {path}: {what}" if path else f"{where}: {what}"
        if len(self.found) < MOST:
            self.found.append(Problem(self.document.mark(steps, key=key), text, hint))
        if len(self.found) >= MOST:
            self.raise_any()

    def unknown_fields(self, steps: Steps, known: Iterable[str], elsewhere: dict[str, str] | None = None) -> None:
        """Add an error for each field that is not ``known``; ``elsewhere`` has hints for some of them."""
        value = self.document.get(steps)
        for name in value if isinstance(value, dict) else ():
            if name not in known:
                hint = (elsewhere or {}).get(name) or did_you_mean(name, known)
                self.add((*steps, name), f"unknown field {shown(name)}", hint, key=True)

    def mapping(self, steps: Steps) -> bool:
        """True for a mapping. Adds an error for other values, but not for null or a missing one."""
        value = self.document.get(steps)
        if value is not None and not isinstance(value, dict):
            self.add(steps, f"must be a mapping, not {shown(value)}")
        return isinstance(value, dict)

    def texts(self, steps: Steps, most: int) -> list[str]:
        """A list of texts, empty for null or a missing one. Adds errors for other values; then it is empty too."""
        value = self.document.get(steps)
        if not isinstance(value, list | None):
            self.add(steps, f"must be a list, not {shown(value)}")
            return []
        if len(value or ()) > most:
            self.add(steps, f"has {len(value or ())} items, more than {most}")
            return []
        wrong = [index for index, item in enumerate(value or ()) if not isinstance(item, str)]
        for index in wrong:
            self.add((*steps, index), f"must be text, not {shown(self.document.get((*steps, index)))}")
        return [] if wrong else [str(item) for item in value or ()]

    def raise_any(self) -> None:
        """Raise ``InputError`` if there are errors: one line for each in the file's order, with its hint."""
        if len(self.found) == 1:
            raise InputError(self.found[0].text, hint=self.found[0].hint)
        if self.found:
            self.found.sort(key=lambda problem: problem.mark)
            raise InputError("\n".join(f"{each.text} ({each.hint})" if each.hint else each.text for each in self.found))


def did_you_mean(name: str, known: Iterable[str], *, otherwise: str | None = None) -> str:
    """A hint with the known name that is most similar to ``name``, else ``otherwise``, which is a list of all of
    them."""
    spellings = {each.lower(): each for each in known}
    close = get_close_matches(name[:80].lower(), spellings, n=1, cutoff=0.6)
    if close:
        return f"did you mean '{spellings[close[0]]}'?"
    return otherwise if otherwise is not None else f"use one of: {', '.join(spellings.values())}" if spellings else ""
