"""Rules on manifests: one that cannot be read, an API that does not exist, and an object that is defined twice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from scanner.lint import Linted, Placed
from scanner.model.declared import Declared, Identity, LintSubject, identity, listed
from scanner.model.finding import Finding
from scanner.model.rule import ScanRule

_COMPARED = 20
"""Different definitions of one name that each further one is compared with."""


def check_unreadable(rule: ScanRule, place: str, message: str, hint: str) -> Iterator[Finding]:
    """Every manifest can be read."""
    yield rule.finding(place, f"cannot be read: {message}", hint or None)


def check_kind(rule: ScanRule, place: str, message: str, hint: str) -> Iterator[Finding]:
    """Every object is of an API that exists."""
    yield rule.finding(place, f"was not checked: {message}", hint or None)


def check_duplicates(rule: ScanRule, definitions: Sequence[LintSubject]) -> Iterator[Finding]:
    """No object is defined twice with different content."""
    *first, last = definitions
    about = str(last.object.reference)
    remedy = "remove one, or lint separately what is applied separately (kustomize: the output of each overlay)"
    message = f"{about} is defined again, and differs from {listed(first)}"
    yield rule.finding(about, message, f"{about}: {remedy}")
    for each in first:
        others = listed(other for other in definitions if other is not each)
        message = f"unknown: anything about {about}, which differs from {others}"
        yield rule.finding(about, message, verdict="inconclusive")


UNREADABLE = ScanRule(id="manifest-unreadable", check=check_unreadable)
KIND_UNKNOWN = ScanRule(id="kind-unknown", check=check_kind)
DUPLICATE = ScanRule(id="object-twice", check=check_duplicates)


def split_duplicates(
    subjects: Iterable[LintSubject],
) -> tuple[tuple[LintSubject, ...], dict[Identity, tuple[LintSubject, ...]]]:
    """Objects with one definition, and the different definitions of the others. Equal definitions count as one.

    The order is that of the file names, whatever the order of the arguments.
    """
    named: dict[Identity, list[LintSubject]] = {}
    for each in sorted(subjects, key=lambda each: each.located.file if each.located else ""):
        others = named.setdefault(identity(each.object), [])
        if all(each.object.raw != other.object.raw for other in others[:_COMPARED]):
            others.append(each)
    single = tuple(several[0] for several in named.values() if len(several) == 1)
    return single, {name: tuple(several) for name, several in named.items() if len(several) > 1}


def lint_duplicates(declared: Declared) -> Iterator[Linted]:
    """Apply ``object-twice`` to each object with different definitions."""
    for several in declared.twice.values():
        findings = DUPLICATE.check(DUPLICATE, several)
        for each, finding in zip((several[-1], *several[:-1]), findings, strict=True):
            yield Linted(subject=each, passed=(), findings=(Placed(finding=finding, place=each.place(), field=""),))
