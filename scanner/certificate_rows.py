"""Certificates of an inventory as rows of the report, and the PKI configuration in a line. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from scanner.kube.maybe import Unknown
from scanner.model.finding import SEVERITIES, Finding
from scanner.model.inventory import InventoryRow, RenewalRow
from scanner.model.pki_config import Key, PkiConfig, Rule
from scanner.model.report import NEVER_FAILS, VERDICTS
from scanner.pki.compliance import KEY
from scanner.pki.inventory import Entry
from scanner.pki.renewal import renewal
from scanner.report.rows import finding_row, timestamp

_OVERRIDES = 20
"""Overrides that the line of a configuration names."""


def inventory_row(entry: Entry, cluster: str | None = None) -> InventoryRow:
    """One certificate. ``cluster``: its name, where a report has several."""
    classified = entry.classified
    verdict, status = _judged(entry)
    return InventoryRow(
        sha256=entry.sha256,
        cluster=cluster,
        names=[each.name for each in classified.names],
        category=classified.category,
        governed=classified.governed,
        why=classified.why,
        component=" or ".join(dict.fromkeys(each.owner.component for each in classified.names)) or None,
        namespace=_namespace(entry),
        subject=entry.subject,
        issuer=entry.issuer,
        key={
            "algorithm": entry.key.algorithm if entry.key else None,
            "size": entry.key.size if entry.key else None,
            "curve": entry.key.curve if entry.key else None,
        },
        not_before=timestamp(entry.not_before) if entry.not_before else None,
        not_after=timestamp(entry.not_after) if entry.not_after else None,
        verdict=verdict,
        status=status,
        renewal=_renewal(entry),
        findings=[finding_row(each) for each in entry.findings],
        places=list(entry.places),
        found=entry.count,
    )


def _namespace(entry: Entry) -> str | None:
    """Where the operators of its names keep it, if that is one namespace: a bundle elsewhere has a copy of it."""
    homes = {each.namespace for each in entry.classified.names}
    return homes.pop() if len(homes) == 1 and None not in homes else entry.namespace


def _renewal(entry: Entry) -> RenewalRow | None:
    if not entry.classified.names:
        return None
    found = renewal(entry.classified.names, entry.not_before, entry.not_after)
    return RenewalRow(rotates=found.rotates, by=timestamp(found.by) if found.by else None)


def _judged(entry: Entry) -> tuple[str, str]:
    """Verdict and status of the finding that matters most; without one, why there is none. A remark judges nothing, but
    for the one that a key is stronger than configured."""
    judging = [each for each in entry.findings if each.status != "informational" or each.rule == KEY.id]
    if entry.superseded:
        return "not_applicable", "superseded"
    if entry.unproven and all(each.verdict == "pass" for each in judging):
        return "inconclusive", "unattributed"  # the policy's minimum is not what the PKI object asks for
    if judging:
        worst = min(judging, key=_importance)
        return worst.verdict, worst.status
    if entry.classified.governed is None:
        return "inconclusive", "unattributed"
    return "not_applicable", "not-required" if entry.classified.governed else "not-governed"


def _importance(finding: Finding) -> tuple[int, bool, int]:
    """The most important first."""
    return VERDICTS.index(finding.verdict), finding.status in NEVER_FAILS, -SEVERITIES.index(finding.severity)


def inventory_rows(entries: Iterable[Entry], cluster: str | None = None) -> Iterator[InventoryRow]:
    """A row for each."""
    return (inventory_row(each, cluster) for each in entries)


def configuration_line(config: PkiConfig) -> str:
    """What it asks for: ``PKI/cluster: defaults RSA 2048, signer RSA 4096, since 2026-01-01``."""
    rules = [("defaults", config.defaults), *config.categories.items(), *list(config.overrides.items())[:_OVERRIDES]]
    asked = [f"{name} {_key(rule)}" for name, rule in rules if rule]
    if config.reason or not asked:
        return f"{config.source}: {config.platform_said or 'nothing is configured'}"
    more = len(config.overrides) - _OVERRIDES
    asked += [f"{more} more overrides"] if more > 0 else []
    return f"{config.source}: {', '.join(asked)}{_since(config)}"


def _since(config: PkiConfig) -> str:
    if config.since is None or config.since.year == 1:  # an install-config's, which held from the beginning
        return ""
    day = config.since.date().isoformat()
    return f"; changed after {day}, the time is unknown" if config.since_vague else f"; last changed {day}"


def _key(rule: Rule) -> str:
    key: Key | Unknown = rule.key
    return f"unknown ({key.reason})" if isinstance(key, Unknown) else str(key)
