"""The identity of a finding in several runs, and the baseline of known findings (``docs/schema/baseline-v1.json``).

An identity has the rule, the listener or object and the field: no address, date, number or message. So it is the same
after pods were replaced, and when lines move.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from typing import Final, TypedDict

from msgspec import Struct

from scanner.model.finding import SEVERITIES
from scanner.model.row import FindingRow

SCHEMA: Final = "adhere.baseline/v1"

_POSITION = re.compile(r":\d+:\d+\Z")
"""Line and column after a file."""
_CODE_POINT = re.compile(r"0x[0-9A-Fa-f]{4}\b")
"""Versions, suites and groups in observed items: ``TLSv1 (VersionTLS10, 0x0301)``."""


def fingerprint(finding: FindingRow, endpoint: str, file: str = "") -> str:
    """Identify a finding, by its endpoint if it is about nothing else. ``file``: that of a manifest, because the same
    object in another file is another one."""
    about = _POSITION.sub("", finding["about"] or endpoint)
    if finding["rule"].startswith("waiver-") and finding["evidence"]:
        about = finding["evidence"][0].rpartition(" (")[0]  # the waiver without its place in the policy file
    stable = "\0".join((finding["rule"], about, file))
    return hashlib.sha256(stable.encode("utf-8", "replace")).hexdigest()[:32]


def code_points(finding: FindingRow) -> set[str]:
    """Return the versions, suites and groups that were observed, without the addresses beside them."""
    return {code for item in finding["observed"] for code in _CODE_POINT.findall(item)}


def is_requirement(rule: str) -> bool:
    """True for a requirement or waiver of the policy file. The user changes it there, so no baseline has it: else a
    requirement on what must be determined would pass for ever."""
    return rule.startswith(("require-", "waiver-"))


class KnownRow(TypedDict):
    """One finding of a baseline."""

    fingerprint: str
    rule: str
    subject: str
    """Endpoint or object, for the reader: the fingerprint decides."""
    severity: str
    code_points: list[str]
    """Versions, suites and groups that were observed."""
    count: int
    """Number of such findings on one object."""


def covers(known: KnownRow, now: KnownRow) -> bool:
    """True if a finding is not worse than the known one: not more severe, not more often, and without another version,
    suite or group."""
    return (
        SEVERITIES.index(now["severity"]) <= SEVERITIES.index(known["severity"])
        and set(now["code_points"]) <= set(known["code_points"])
        and now["count"] <= known["count"]
    )


class Baseline(Struct, frozen=True, kw_only=True):
    """The known findings of a scan, or of lint."""

    source: str
    """The file."""
    of: str
    """Schema of the results."""
    known: Mapping[str, KnownRow]
    """Findings by fingerprint."""

    def recognised(self, found: Iterable[KnownRow]) -> frozenset[str]:
        """Return the fingerprints of those findings that are known."""
        names = ((each["fingerprint"], each) for each in found)
        return frozenset(name for name, each in names if name in self.known and covers(self.known[name], each))


class BaselineRow(TypedDict):
    """The baseline in a report."""

    known: int
    """Findings that are known; replicas of a listener count once."""
    new: int
    """Failing findings that are not."""
    absent: int
    """Findings of the baseline that this run does not have."""
