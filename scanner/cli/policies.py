"""``--policy FILE``: the scan's policy."""

from __future__ import annotations

from scanner.model.scan_policy import ScanPolicy


def load_policy(path: str | None) -> ScanPolicy:
    """The policy in ``path``, or the default one. Raises ``InputError`` with everything that is wrong in the file."""
    if path is None:
        return ScanPolicy()
    # Pydantic takes 60 ms that most commands do not need.
    from scanner.model.scan_policy_file import load_scan_policy  # noqa: PLC0415

    return load_scan_policy(path, rule_ids())


def rule_ids() -> frozenset[str]:
    """The id of every rule that a waiver may name."""
    from scanner.cli.rules import ALL  # noqa: PLC0415 - see above

    return frozenset(rule.id for rule in ALL)
