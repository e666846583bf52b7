"""Whether the install-config asks for the signers that the PKI object asks for. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from scanner.files.source_positions import Located, Steps, dotted
from scanner.kube.maybe import Unknown
from scanner.model.finding import Finding
from scanner.model.key import Key
from scanner.model.pki_config import PkiConfig, Required
from scanner.model.rule import ScanRule
from scanner.pki.configuration import Configuration
from scanner.pki.day_one import asked_of_installer, install_config_of_cluster
from scanner.pki.resolution import required


def check_installation(rule: ScanRule, about: Configuration) -> Iterator[Finding]:
    """The install-config asks for the same signers as the PKI object."""
    day_one = about.day_one or install_config_of_cluster(about.snapshot)
    if day_one is None or day_one.reason == "empty" or day_one == about.config:
        return
    for each in day_one.problems:
        yield _finding(rule, day_one.source, f"the installer refuses {each}", "correct the file")
    asked = day_one.categories.get("signer")
    if asked is not None and not isinstance(asked.key, Unknown):
        yield from _compared(rule, day_one, asked.field, asked.key, about.config)


def before_installation(rule: ScanRule, document: Located) -> Iterator[tuple[Steps, Finding]]:
    """What the installer does not take in a file that nothing was installed from yet, with the field of each."""
    day_one = asked_of_installer(document)
    for each in day_one.problems:
        fix = f"correct {dotted(each.steps)}"
        yield each.steps, rule.finding(day_one.source, f"the installer refuses {each}", fix, severity="high")
    for remark in day_one.remarks:
        yield ("pki",), rule.finding(day_one.source, remark, "set featureSet, or remove pki", severity="medium")
    for field in day_one.unknown_fields:
        yield ("pki",), rule.finding(day_one.source, f"unknown field {field}: the installer ignores it", "remove it")


def _compared(rule: ScanRule, day_one: PkiConfig, field: str, key: Key, config: PkiConfig) -> Iterator[Finding]:
    wanted = required(config, "signer")
    said = f"{field} asks for {key} keys of signers"
    if wanted.unknown is not None:
        told = f"{said}, and what {config.source} requires is unknown: {wanted.unknown}"
        yield replace(_finding(rule, day_one.source, told), verdict="inconclusive", status="not-tested")
    elif wanted.key != key:
        told = f"{said}, and {config.source} for {_asked(wanted)}"
        yield _finding(rule, day_one.source, told, f"say the same in {config.source} and in the install-config")


def _asked(wanted: Required) -> str:
    if wanted.key is None:
        return "nothing"
    return str(wanted.key) if wanted.exact else f"nothing, which leaves {wanted.key}"


def _finding(rule: ScanRule, about: str, said: str, fix: str | None = None) -> Finding:
    return rule.finding(about, f"{about}: {said}", fix)


INSTALLATION = ScanRule(
    id="pki-install-config",
    check=check_installation,
)
