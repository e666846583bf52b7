"""Text on the certificates of a cluster: what there is, how it was judged, what is to come, what ends first."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from scanner.model.inventory import CertificateReport, InventoryRow, InventorySummary, NamesRow, key_name, moment
from scanner.report import certificates
from scanner.report.escape import plain
from scanner.report.page import Page
from scanner.report.wording import counted

_LABEL = 15
"""Columns before the text."""
_ENDING = 5
"""Certificates that are named because they end first; the JSON document has them all."""
_PENDING = 5
_KEYS = 12
"""Lines of keys."""
_NAME = 60
_SAID = frozenset({"not-governed", "unattributed"})
"""Statuses that the first line has counted."""


def write(page: Page, found: CertificateReport, now: str) -> None:
    """The section; ``now`` is the end of the scan, RFC 3339."""
    told = found.summary
    if not told["certificates"] and not told["names"]:
        return
    page.title("CERTIFICATES")
    page.folded(_LABEL, "  found        ", _whose(told))
    for line in told["configurations"][:20]:
        page.folded(_LABEL, "  configured   ", plain(line, 400))
    if told["certificates"]:
        _keys(page, told)
    judged = (one for one in certificates.statuses(told) if one[0] not in _SAID)
    said = ", ".join(f"{count} {plain(certificates.words(status), 40)}" for status, count in judged)
    page.folded(_LABEL, "  judged       ", said or "none")
    for names in told["names"][:20]:
        page.folded(_LABEL, "  names        ", _names(names, 30))
    if told["pending"]:
        page.folded(_LABEL, "  pending      ", _pending(found))
    for number, row in enumerate(certificates.ending(found.rows(), moment(now), _ENDING)):
        page.folded(_LABEL, " " * _LABEL if number else "  expires next ", _ends(row))
    page.line()


def _names(row: NamesRow, most: int) -> str:
    where = f"{plain(row['cluster'], 60)}: " if row["cluster"] else ""
    return f"{where}{plain(certificates.names_line(row, most), 2000)}"


def coverage(page: Page, found: CertificateReport) -> None:
    """What the summary of a report says of the names."""
    for row in found.summary["names"][:20]:
        page.folded(13, "  PKI names  ", _names(row, 0))


def _whose(told: InventorySummary) -> str:
    parts = (
        (told["governed"], "governed by the PKI configuration"),
        (told["not_governed"], "of others"),
        (told["unattributed"], "owner unknown"),
    )
    return f"{told['certificates']}: {', '.join(f'{count} {what}' for count, what in parts if count)}"


def _keys(page: Page, told: InventorySummary) -> None:
    """A line for each key, a column for each category."""
    columns = certificates.used_categories(told)
    lines = certificates.by_key(told["keys"])
    width = max(len(plain(key, 20)) for key in lines)
    head = "".join(f"{each:>9}" for each in columns)
    page.line("  keys         ", page.paint("quiet", f"{'':<{width}}{head}"))
    for key, counts in islice(lines.items(), _KEYS):
        cells = "".join(f"{counts.get(each) or '·':>9}" for each in columns)
        page.line(" " * _LABEL, f"{plain(key, 20):<{width}}{cells}")
    if len(lines) > _KEYS:
        page.line(" " * _LABEL, f"and {len(lines) - _KEYS} more keys (all of them are in the JSON report)")


def _pending(found: CertificateReport) -> str:
    """How many, until when, and which first."""
    told = found.summary
    until = f", the last of them renewed by {told['pending_until'][:10]}" if told["pending_until"] else ""
    names = ", ".join(islice(_waiting(found), _PENDING))
    more = told["pending"] - _PENDING
    return f"{counted(told['pending'], 'certificate')}{until}: {names}{f' and {more} more' if more > 0 else ''}"


def _waiting(found: CertificateReport) -> Iterator[str]:
    for row in found.rows():
        if row["status"] == "pending-rotation":
            by = row["renewal"]["by"] if row["renewal"] else None
            yield f"{plain(certificates.name(row), _NAME)}{f' by {by[:10]}' if by else ''}"


def _ends(row: InventoryRow) -> str:
    where = f", {plain(row['places'][0], 120)}" if row["places"] else ""
    more = f" and {counted(row['found'] - 1, 'more place')}" if row["found"] > 1 else ""
    what = f"{plain(certificates.name(row), _NAME)} ({row['category']}, {plain(key_name(row['key']), 30)})"
    return f"{(row['not_after'] or '')[:10]} {what}{where}{more}"
