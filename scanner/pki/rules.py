"""Every rule of this stage, by what it looks at."""

from __future__ import annotations

from collections.abc import Iterator

from scanner.model.finding import Finding
from scanner.model.rule import ScanRule
from scanner.pki.admission import ADMISSION
from scanner.pki.compliance import KEY, Subject
from scanner.pki.configuration import DEFINITIONS, OBJECT, Configuration

OBJECT_RULES: tuple[ScanRule, ...] = (OBJECT, DEFINITIONS, ADMISSION)
"""On the objects that configure keys: ``check(rule, Configuration)``."""

CERTIFICATE_RULES: tuple[ScanRule, ...] = (KEY,)
"""On one certificate in one place: ``check(rule, Subject)``."""

PKI_RULES: tuple[ScanRule, ...] = (*OBJECT_RULES, *CERTIFICATE_RULES)
"""In the order in which ``adhere rules`` lists them."""


def of_objects(about: Configuration) -> Iterator[Finding]:
    """What the objects themselves have wrong."""
    for rule in OBJECT_RULES:
        yield from rule.check(rule, about)


def of_certificate(subject: Subject) -> Iterator[Finding]:
    """What every rule on one certificate says of it."""
    for rule in CERTIFICATE_RULES:
        yield from rule.check(rule, subject)
