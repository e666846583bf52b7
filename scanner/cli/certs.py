"""``adhere certs``: the certificates in files, as an inventory."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Literal

import click

from scanner.cli.certificate_files import Files, password
from scanner.cli.streams import say
from scanner.model.held_certificate import HeldCertificate
from scanner.model.key import key_of
from scanner.model.known import Known, Unknown
from scanner.model.report import EXIT_INCOMPLETE, EXIT_OK
from scanner.pki.recognition import use_of
from scanner.report.escape import json_text, plain
from scanner.tls.certificate import CertificateFacts

_HEADINGS = ("WHERE", "ROLE", "CATEGORY", "SUBJECT", "ISSUER", "KEY", "SIGNATURE", "NOT BEFORE", "NOT AFTER", "SHA-256")
_WIDEST = 80
"""Characters of a name in the table; JSON has all of it."""
_DIGEST = 16
"""Hexadecimal digits that tell certificates apart for people."""


@click.command()
@click.argument("paths", metavar="PATH...", nargs=-1, required=True)
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="A table, or JSON.",
)
@click.option(
    "--password-file", "password_files", metavar="FILE", multiple=True,
    help="Whose first line opens PKCS #12; repeatable.",
)  # fmt: skip
def certs(paths: Sequence[str], format_: Literal["text", "json"], password_files: Sequence[str]) -> int:
    """List the certificates in files and below directories: PEM, DER, PKCS #12, Java key stores, kubeconfig.

    Keys are neither kept nor printed. Exits with 3 where something could not be read; the rest is listed.
    """
    files = Files(tuple(password(each) for each in password_files))
    found: list[HeldCertificate] = []
    problems = []
    for path in paths:
        for each in files.under(path):
            if isinstance(each, Unknown):
                problems.append(each.reason)
            else:
                found.append(each)
                problems += unread(each)
    for line in document(found, problems) if format_ == "json" else table(found):
        click.echo(line)
    for problem in problems:
        say(f"adhere: {plain(problem, 500)}")
    if files.links:
        more = f" and {len(files.links) - 1} more" if files.links[1:] else ""
        say(f"adhere: links that lead out of their directory were not followed: {plain(files.links[0], 200)}{more}")
    return EXIT_INCOMPLETE if problems else EXIT_OK


def unread(held: HeldCertificate) -> Iterator[str]:
    """What of a certificate could not be read, in one line."""
    reasons = dict.fromkeys(held.facts.unreadable.values())
    if reasons:
        yield f"{held.place}: {', '.join(held.facts.unreadable)}: {'; '.join(reasons)}"


def table(found: Sequence[HeldCertificate]) -> Iterator[str]:
    """A line for each certificate, under headings; nothing where there is none."""
    rows = [_HEADINGS, *(tuple(plain(cell, _WIDEST) for cell in _cells(each)) for each in found)]
    if not found:
        return
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _cells(held: HeldCertificate) -> tuple[str, ...]:
    facts, place = held.facts, held.place
    return (
        str(place),
        place.role,
        use_of(facts),
        "-" if facts.subject == "" else facts.subject or "?",
        facts.issuer or "?",
        _key(facts) or "?",
        facts.signature or "?",
        _day(facts.not_before) or "?",
        _day(facts.not_after) or "?",
        facts.sha256[:_DIGEST],
    )


def _key(facts: CertificateFacts) -> str | None:
    key: Known[object] = key_of(facts)
    return None if isinstance(key, Unknown) else str(key)


def _day(when: datetime | None) -> str | None:
    return when.strftime("%Y-%m-%d") if when else None


def document(found: Iterable[HeldCertificate], problems: Sequence[str]) -> Iterator[str]:
    """JSON, a certificate a line: what cannot be read is null, and ``unreadable`` says why."""
    yield '{"certificates": ['
    before = None
    for held in found:
        if before is not None:
            yield f"{before},"
        before = _json(record(held))
    if before is not None:
        yield before
    yield f'], "problems": {_json(list(problems))}}}'


def record(held: HeldCertificate) -> dict[str, object]:
    """One certificate of the JSON document."""
    facts, place = held.facts, held.place
    return {
        "where": str(place),
        "role": place.role,
        "category": use_of(facts),
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
        "unreadable": dict(facts.unreadable),
    }


def _json(value: object) -> str:
    return json_text(json.dumps(value, ensure_ascii=False))
