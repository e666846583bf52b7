"""What ``adhere certs`` prints: a table with the findings below it, or one JSON document."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TextIO

from scanner.certificates import inventory_row
from scanner.kube.maybe import Known, Unknown
from scanner.model.held_certificate import HeldCertificate
from scanner.model.inventory import InventoryRow
from scanner.model.pki_config import key_of
from scanner.model.report import FindingRow
from scanner.pki.inventory import Inventory
from scanner.pki.recognition import use_of
from scanner.report.escape import plain
from scanner.report.escape import width as columns
from scanner.report.grouping import merged
from scanner.report.headline import importance
from scanner.report.page import Page, counted, pad
from scanner.report.page import findings as write_findings
from scanner.report.stream import dumps, write_document
from scanner.tls.certificate import CertificateFacts

_HEADINGS = (
    "WHERE", "ROLE", "CATEGORY", "SUBJECT", "ISSUER", "KEY", "SIGNATURE", "NOT BEFORE", "NOT AFTER", "SHA-256",
    "STATUS", "NAME",
)  # fmt: skip
SCHEMA = "adhere.certs/v1"
_WIDEST = 80
"""Characters of a name in the table; JSON has all of it."""
_LONGEST = 300
"""The same, where it may be folded."""
_MOST = 200
"""Findings in the text."""
_DIGEST = 16
"""Hexadecimal digits that tell certificates apart for people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """Certificates in each of their places, and what was said of them."""

    held: Sequence[HeldCertificate]
    judged: dict[str, InventoryRow]
    """By SHA-256."""
    findings: Sequence[FindingRow]
    problems: Sequence[str]
    """What could not be read."""
    configuration: str
    """What they were judged by, in a line."""

    def table(self, page: Page) -> None:
        """A line for each certificate, under headings, then the findings; nothing where there is none of either. On a
        terminal that is too narrow for the lines, a paragraph for each certificate with its places."""
        rows = [_HEADINGS, *(tuple(plain(cell, _WIDEST) for cell in self._cells(each)) for each in self.held)]
        widths = [max(map(columns, column)) for column in zip(*rows, strict=True)]
        if page.width is not None and sum(widths) + 2 * len(widths) - 2 > page.width:
            self._paragraphs(page)
        elif self.held:
            for row in rows:
                page.line("  ".join(pad(cell, width) for cell, width in zip(row, widths, strict=True)))
        if self.findings:
            page.line()
            page.folded(12, "judged by   ", plain(self.configuration, 400))
            told = merged(self.findings)
            first = sorted(told, key=importance)[:_MOST]
            write_findings(page, first)
            left = len(told) - len(first)
            if left:
                page.line(f"  and {counted(left, 'finding')} more (all of them are in --format json)")

    def _paragraphs(self, page: Page) -> None:
        places: dict[str, list[HeldCertificate]] = {}
        for each in self.held:
            places.setdefault(each.facts.sha256, []).append(each)
        for same in places.values():
            told = dict(zip(_HEADINGS, (plain(cell, _LONGEST) for cell in self._cells(same[0])), strict=True))
            page.folded(2, "", told["SUBJECT"] + (f"  ({told['NAME']})" if told["NAME"] != "-" else ""))
            dates = f"{told['NOT BEFORE']} to {told['NOT AFTER']}"
            page.folded(4, "    ", f"{told['KEY']}, {told['SIGNATURE']}, {dates}, {told['STATUS']}, {told['SHA-256']}")
            if told["ISSUER"] != told["SUBJECT"]:
                page.folded(4, "    ", f"signed by {told['ISSUER']}")
            for each in same:
                where, role, category, *_ = (plain(cell, _LONGEST) for cell in self._cells(each))
                page.folded(6, "    ", f"{category}, {role}: {where}")

    def write_json(self, out: TextIO) -> None:
        """JSON (``docs/schema/certs-v1.json``), a certificate a line."""
        members: dict[str, object] = {
            "schema": SCHEMA,
            "certificates": (dumps(self.record(each)) for each in self.held),
            "findings": self.findings,
            "judged_by": self.configuration,
            "problems": self.problems,
        }
        write_document(out, members)

    def record(self, held: HeldCertificate) -> dict[str, object]:
        """One certificate of the JSON document."""
        facts, place, judged = held.facts, held.place, self.judged[held.facts.sha256]
        return {
            "where": str(place),
            "role": place.role,
            "category": judged["category"] if judged["names"] else use_of(facts),
            "subject": facts.subject,
            "issuer": facts.issuer,
            "serial": None if facts.serial is None else str(facts.serial),
            "names": None if facts.sans is None else list(facts.sans),
            "key": _key(facts),
            "signature": facts.signature,
            "not_before": facts.not_before.isoformat() if facts.not_before else None,
            "not_after": facts.not_after.isoformat() if facts.not_after else None,
            "ca": facts.is_ca,
            "extended_key_usage": None if facts.extended_key_usage is None else list(facts.extended_key_usage),
            "sha256": facts.sha256,
            "chain": [each.sha256 for each in held.chain],
            "key_matches": place.key_matches,
            "certificate_names": judged["names"],
            "governed": judged["governed"],
            "why": judged["why"],
            "component": judged["component"],
            "renewal": judged["renewal"],
            "verdict": judged["verdict"],
            "status": judged["status"],
            "unreadable": dict(facts.unreadable),
        }

    def _cells(self, held: HeldCertificate) -> tuple[str, ...]:
        facts, place, judged = held.facts, held.place, self.judged[held.facts.sha256]
        return (
            str(place),
            place.role,
            judged["category"] if judged["names"] else use_of(facts),
            "-" if facts.subject == "" else facts.subject or "?",
            facts.issuer or "?",
            _key(facts) or "?",
            facts.signature or "?",
            _day(facts.not_before) or "?",
            _day(facts.not_after) or "?",
            facts.sha256[:_DIGEST],
            judged["status"],
            " or ".join(judged["names"]) or "-",
        )


def without_bytes(held: HeldCertificate) -> HeldCertificate:
    """As much of a certificate as is listed: 50,000 of them would not fit into memory otherwise."""
    return replace(
        held,
        facts=replace(held.facts, der=b""),
        chain=tuple(replace(each, der=b"") for each in held.chain),
    )


def rows(inventory: Inventory) -> dict[str, InventoryRow]:
    """How every certificate was judged, by SHA-256."""
    return {each.sha256: inventory_row(each) for each in inventory.entries()}


def unread(held: HeldCertificate) -> Iterator[str]:
    """What of a certificate could not be read, in one line."""
    reasons = dict.fromkeys(held.facts.unreadable.values())
    if reasons:
        yield f"{held.place}: {', '.join(held.facts.unreadable)}: {'; '.join(reasons)}"


def _key(facts: CertificateFacts) -> str | None:
    key: Known[object] = key_of(facts)
    return None if isinstance(key, Unknown) else str(key)


def _day(when: datetime | None) -> str | None:
    return when.strftime("%Y-%m-%d") if when else None
