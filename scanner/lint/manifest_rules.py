"""Manifests that cannot be read, or are of no API that there is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from scanner.lint import Linted, Placed
from scanner.model.declared import Declared, Given, Identity, identity, listed
from scanner.model.finding import Finding
from scanner.model.rule import ScanRule


def check_unreadable(rule: ScanRule, place: str, message: str, hint: str) -> Iterator[Finding]:
    """Every manifest can be read."""
    yield rule.finding(place, f"cannot be read: {message}", hint or None)


UNREADABLE = ScanRule(id="manifest-unreadable", check=check_unreadable)


def check_kind(rule: ScanRule, place: str, message: str, hint: str) -> Iterator[Finding]:
    """Every object is of an API that there is."""
    yield rule.finding(place, f"was not looked at: {message}", hint or None)


KIND_UNKNOWN = ScanRule(id="kind-unknown", check=check_kind)


_COMPARED = 20
"""Of one name. Whoever has more of them has no equal ones in mind."""


def told_apart(given: Iterable[Given]) -> tuple[tuple[Given, ...], dict[Identity, tuple[Given, ...]]]:
    """What there is once, and what there is more than once and not the same. Of equal ones the first counts.

    In an order that is that of the files' names, whatever the order in which they were given.
    """
    named: dict[Identity, list[Given]] = {}
    for each in sorted(given, key=lambda each: each.located.file if each.located else ""):
        others = named.setdefault(identity(each.object), [])
        if all(each.object.raw != other.object.raw for other in others[:_COMPARED]):
            others.append(each)
    once = tuple(several[0] for several in named.values() if len(several) == 1)
    return once, {name: tuple(several) for name, several in named.items() if len(several) > 1}


def check_twice(rule: ScanRule, several: Sequence[Given]) -> Iterator[Finding]:
    """No object is given twice with different content."""
    *first, last = several
    about = str(last.object.reference)
    remedy = "remove one, or lint apart what is applied apart; of kustomize's overlays what each renders"
    message = f"{about} is defined again, and differs from {listed(first)}"
    yield rule.finding(about, message, f"{about}: {remedy}")
    for each in first:
        others = listed(other for other in several if other is not each)
        message = f"not decided: anything about {about}, which differs from {others}"
        yield rule.finding(about, message, verdict="inconclusive")


TWICE = ScanRule(id="object-twice", check=check_twice)


def given_twice(declared: Declared) -> Iterator[Linted]:
    """What is said of each object that is given more than once."""
    for several in declared.twice.values():
        for given, finding in zip((several[-1], *several[:-1]), TWICE.check(TWICE, several), strict=True):
            yield Linted(given=given, passed=(), findings=(Placed(finding=finding, place=given.place(), field=""),))
