"""Every rule of this stage, by its subject."""

from __future__ import annotations

from collections.abc import Iterator

from scanner.model.finding import Finding
from scanner.model.rule import ScanRule
from scanner.pki.chain_rules import REUSE, SIGNATURE, SIGNERS, impossible_signatures
from scanner.pki.compliance import KEY
from scanner.pki.install_config import INSTALLATION
from scanner.pki.inventory_index import InventoryIndex
from scanner.pki.key_strength import CONFIGURED, MINIMUM, STRENGTH
from scanner.pki.listener_profile import PROFILE, Serving
from scanner.pki.object_rules import ADMISSION, DEFINITIONS, OBJECT, PAIRS, Configuration
from scanner.pki.renewal import LIFE, RENEWAL
from scanner.pki.subject import Subject

OBJECT_RULES: tuple[ScanRule, ...] = (OBJECT, DEFINITIONS, ADMISSION, CONFIGURED, INSTALLATION, PAIRS)
"""On the objects that configure keys, and those that hold them: ``check(rule, Configuration)``."""

CERTIFICATE_RULES: tuple[ScanRule, ...] = (KEY, MINIMUM, STRENGTH, RENEWAL, LIFE, SIGNATURE)
"""On one certificate in one place: ``check(rule, Subject)``."""

TOGETHER_RULES: tuple[ScanRule, ...] = (SIGNERS, REUSE)
"""On all certificates at once: ``check(rule, InventoryIndex)``."""

LISTENER_RULES: tuple[ScanRule, ...] = (PROFILE,)
"""On a listener of the platform: ``check(rule, Serving)``."""

PKI_RULES: tuple[ScanRule, ...] = (*OBJECT_RULES, *CERTIFICATE_RULES, *TOGETHER_RULES, *LISTENER_RULES)
"""In the order in which ``adhere rules`` lists them."""


def of_objects(about: Configuration) -> Iterator[Finding]:
    """Findings on the objects."""
    for rule in OBJECT_RULES:
        yield from rule.check(rule, about)


def of_certificate(subject: Subject) -> Iterator[Finding]:
    """Findings on one certificate."""
    for rule in CERTIFICATE_RULES:
        yield from rule.check(rule, subject)


def of_listener(serving: Serving) -> Iterator[Finding]:
    """Findings on a listener's certificates and profile together."""
    for rule in LISTENER_RULES:
        yield from rule.check(rule, serving)


def of_all(index: InventoryIndex) -> Iterator[Finding]:
    """Findings across all certificates."""
    for rule in TOGETHER_RULES:
        yield from sorted(rule.check(rule, index), key=_order)
    yield from sorted(impossible_signatures(index), key=_order)


def _order(finding: Finding) -> tuple[object, ...]:
    """Sort key, because listeners answer in any order."""
    return finding.message, finding.evidence, finding.observed, finding.about or ""
