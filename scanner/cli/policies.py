"""``--policy FILE``: the scan's policy."""

from __future__ import annotations

from scanner.model.scan_policy import ScanPolicy


def load_policy(path: str | None) -> ScanPolicy:
    """The policy in ``path``, or the default one. Raises ``InputError`` with everything that is wrong in the file."""
    if path is None:
        return ScanPolicy()
    from scanner.config.scan_policy import load_scan_policy  # noqa: PLC0415
    from scanner.judge.scan_rules import WAIVABLE  # noqa: PLC0415 - most scans have no such file

    return load_scan_policy(path, WAIVABLE)
