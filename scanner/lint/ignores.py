"""Ignores: findings that a manifest's comment, or an annotation of the object, accepts until a day.

``# adhere: ignore[RULE] REASON until 2027-01-31`` is about its line, or alone in its line about the next one; above an
object, about the object. The annotation ``adhere.dev/ignore`` has a line ``RULE REASON until 2027-01-31`` for each.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from datetime import date
from itertools import islice
from typing import Final

from msgspec import Struct, field

from scanner.files.problems import did_you_mean
from scanner.files.source_positions import shown
from scanner.files.yaml_stream import Comment
from scanner.lint import RULES
from scanner.lint.manifest_rules import DUPLICATE
from scanner.model.declared import LintSubject, Place
from scanner.model.finding import Finding
from scanner.model.rule import ScanRule, current
from scanner.model.scan_policy import Selector, Waiver

WAIVABLE: Final = (*(each.id for each in RULES), DUPLICATE.id)
"""Ids of the rules that a waiver or an ignore may name."""
ANNOTATION: Final = "adhere.dev/ignore"
_MOST = 20
"""Lines of one annotation."""
_MOST_SUGGESTIONS = 20
"""Unknown rules with a similar one in the hint: it takes 10 ms to find, and tenants write annotations."""
_RULES: Final = re.compile(r"\[([^\]]*)\](.*)")
_DAY: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}\Z")
_WRITE = "write ignore[RULE] REASON until 2027-01-31"


class Ignore(Struct, frozen=True, kw_only=True):
    """One comment, or one line of an annotation."""

    place: Place | None
    """None for an object of a cluster."""
    about: str
    """Its place as text."""
    waivers: tuple[Waiver, ...] = ()
    """One for each rule."""
    problem: str = ""
    """The reason why it ignores nothing."""
    hint: str = ""
    line: int = 0
    """The line that a comment is about."""
    alone: bool = False
    """True for a comment without a value in its line."""


class Ignores(Struct):
    """All ignores of the objects to lint."""

    rules: Collection[str]
    """Ids of the rules that can be ignored."""
    every: list[Ignore] = field(default_factory=list)
    _by_line: dict[tuple[str, int], list[Ignore]] = field(default_factory=dict)
    _by_object: dict[int, list[Ignore]] = field(default_factory=dict)
    _suggestions: int = 0

    def add_comment(self, file: str, comment: Comment) -> None:
        """Read a comment of a file."""
        place = Place(file, *comment.mark)
        match = _RULES.match(comment.text.strip())
        rules, rest = (match[1], match[2]) if match else ("", "")
        found = self._read(rules.split(","), rest, place, str(place), line=comment.line, alone=comment.alone)
        self.every.append(found)
        self._by_line.setdefault((file, comment.line), []).append(found)

    def add_annotation(self, subject: LintSubject) -> None:
        """Read the annotation of an object."""
        text = subject.object.annotation(ANNOTATION)
        for number, each in enumerate(islice(filter(str.strip, text.splitlines()), _MOST), start=1):
            rules, _, rest = each[:1000].strip().partition(" ")
            place = subject.place(("metadata", "annotations", ANNOTATION))
            about = f"{place or subject.object.reference} {ANNOTATION} {number}"
            found = self._read(rules.strip("[]").split(","), rest, place, about)
            self.every.append(found)
            self._by_object.setdefault(id(subject), []).append(found)

    def of(self, subject: LintSubject, place: Place | None) -> Iterator[Waiver]:
        """Yield the ignores of a finding about ``subject`` at ``place``; a comment counts for objects of its file."""
        for each in self._by_object.get(id(subject), ()):
            yield from each.waivers
        start = subject.place()
        for mark, of_object in ((start, True), (place, False)):
            for each in self._by_line.get((mark.file, mark.line), ()) if mark else ():
                if each.alone or not of_object:
                    yield from each.waivers

    def problems(self, rule: ScanRule) -> Iterator[tuple[Finding, Place | None]]:
        """Yield a finding for each ignore that is not valid, and so ignores nothing."""
        for each in self.every:
            if each.problem:
                text = f"the ignore has no effect: {each.problem}"
                yield rule.finding(each.about, text, f"{each.about}: {each.hint}"), each.place

    def _read(
        self, rules: Iterable[str], rest: str, place: Place | None, about: str, *, line: int = 0, alone: bool = False
    ) -> Ignore:
        named = [current(each.strip()) for each in rules]
        reason, until, day = (each.strip() for each in rest.rpartition(" until "))
        problem, hint = "", _WRITE
        if "" in named:
            problem = "it names no rule"
        elif unknown := next((each for each in named if each not in self.rules), None):
            problem = f"no rule is called {shown(unknown)}"
            self._suggestions += 1
            known = self.rules if self._suggestions <= _MOST_SUGGESTIONS else ()
            hint = did_you_mean(unknown, known, otherwise="'adhere rules' lists them all")
        elif not (until and reason):
            problem = "it has no reason or no end"
        expires = _date(day)
        if not problem and expires is None:
            problem = f"{shown(day)} is no day"
        if problem or expires is None:
            return Ignore(place=place, about=about, problem=problem, hint=hint)
        waivers = tuple(
            Waiver(rule=each, selector=Selector(), reason=reason, owner="", expires=expires, source=about, ignore=True)
            for each in dict.fromkeys(named)
        )
        return Ignore(place=place, about=about, waivers=waivers, line=line, alone=alone)


def _date(text: str) -> date | None:
    try:
        return date.fromisoformat(text) if _DAY.match(text) else None
    except ValueError:  # the 31st of February
        return None
