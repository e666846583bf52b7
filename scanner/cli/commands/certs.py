"""``adhere certs``: the certificates in files and in the objects of a cluster, listed and judged."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Literal, TextIO, get_args

import click
from msgspec import Struct, field

from scanner.certificates import READS, Certificates, configuration_line, inventory_row
from scanner.cli.certificate_files import Files, password
from scanner.cli.inputs import check, earlier, load_policy, snapshots
from scanner.cli.output import print_report
from scanner.cli.shared_options import ClusterAsked, read_cluster
from scanner.cli.streams import colors, note, width
from scanner.errors import UsageError
from scanner.files import yaml_values
from scanner.files.source_positions import Located
from scanner.kube import cluster_facts
from scanner.kube.kinds import NAMESPACE, PKI, SECRET
from scanner.kube.maybe import Known, Unknown
from scanner.kube.snapshot import Origin, Snapshot, union
from scanner.model.held_certificate import HeldCertificate
from scanner.model.inventory import InventoryRow
from scanner.model.pki_config import PkiConfig, key_of
from scanner.model.report import EXIT_FINDINGS, EXIT_INCOMPLETE, EXIT_NOTHING, EXIT_OK, FailOn, FindingRow, fails
from scanner.pki.config import ALWAYS, pki_config_of_file
from scanner.pki.install_config import INSTALLATION, asked_of_installer, before_installation, install_config
from scanner.pki.inventory import Inventory
from scanner.pki.recognition import use_of
from scanner.pki.secret_references import TO_SECRETS
from scanner.report.escape import plain
from scanner.report.escape import width as columns
from scanner.report.formats.csv_table import write_table
from scanner.report.grouping import merged
from scanner.report.headline import importance
from scanner.report.page import Page, counted, exit_text, failures_text, no_failures_text, pad
from scanner.report.page import findings as write_findings
from scanner.report.rows import finding_row
from scanner.report.stream import dumps, write_document
from scanner.tls.certificate import CertificateFacts
from scanner.values import replace

OnCertificate = Callable[[HeldCertificate], None]
"""Called with every certificate in an object of the cluster."""

_NOTHING = PkiConfig(
    source="no PKI configuration", reason="absent", platform_said="neither a cluster nor a file sets requirements"
)


def basis(
    asked: ClusterAsked,
    *,
    policy_file: str | None,
    pki: str | None,
    install_config_file: str | None,
    on_certificate: OnCertificate,
) -> Certificates:
    """Return the certificates of the cluster, if one is selected, and the configuration that judges all others. Raises
    ``ScannerError``."""
    policy = load_policy(policy_file)
    configured = None if pki is None else pki_config_of_file(yaml_values.read(pki))
    day_one = None if install_config_file is None else install_config(yaml_values.read(install_config_file))
    for remark in (*(configured.remarks if configured else ()), *(day_one.remarks if day_one else ())):
        note(f"adhere: {plain(remark, 500)}")
    if asked.meant:
        snapshot, before = _cluster(asked)
        return Certificates(
            snapshot, policy, earlier=before, user_provided=configured, day_one=day_one, on_held=on_certificate
        )
    asked.refuse_cluster_options()
    provided = configured or (_installed(day_one) if day_one else _NOTHING)
    day_one = day_one if configured else None
    return Certificates(_empty(), policy, user_provided=provided, day_one=day_one, on_held=on_certificate)


def _cluster(asked: ClusterAsked) -> tuple[Snapshot, tuple[Snapshot, ...]]:
    """Return the selected cluster, and its earlier snapshots."""
    reads = union((READS, cluster_facts.READS, (NAMESPACE,), TO_SECRETS, (SECRET,)))
    before, found = earlier(asked.previous), snapshots(asked, reads)
    if len(found) > 1:
        raise UsageError(f"{len(found)} clusters are selected", hint="select one cluster: --context NAME")
    check(before, found)
    return found[0], before


def _empty() -> Snapshot:
    """Return an empty snapshot."""
    return Snapshot(
        taken_at=datetime.now(UTC),
        origin=Origin(name="files", replayed=True),
        objects=dict.fromkeys(READS, ()),
        absent=frozenset({PKI}),
    )


def _installed(day_one: PkiConfig) -> PkiConfig:
    """Date the configuration before everything that the installer issued."""
    return replace(day_one, since=ALWAYS)


@click.command()
@click.argument("paths", metavar="[PATH]...", nargs=-1)
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "json", "csv"]),
    default="text",
    show_default=True,
    help="A table, JSON, or CSV with a row for each certificate and finding.",
)
@click.option(
    "--password-file", "password_files", metavar="FILE", multiple=True,
    help="File whose first line is a password of PKCS #12; repeatable.",
)  # fmt: skip
@click.option("--policy", "policy_file", metavar="FILE", help="Policy file with the minimums (kind: ScanPolicy).")
@click.option("--pki", metavar="FILE", help="Judge with this PKI object or MicroShift file instead of the cluster's.")
@click.option(
    "--install-config",
    "install_config_file",
    metavar="FILE",
    help="Judge signers by this file (install-config.yaml).",
)
@click.option(
    "--fail-on",
    type=click.Choice(get_args(FailOn)),
    default="medium",
    show_default=True,
    help="Lowest severity that makes the exit code 1.",
)
@read_cluster
def certs(
    paths: Sequence[str],
    format_: Literal["text", "json", "csv"],
    password_files: Sequence[str],
    fail_on: FailOn,
    **options: object,
) -> int:
    """List and judge the certificates in files, in directories and in the objects of a cluster.

    Files: PEM, DER, PKCS #12, Java key stores, kubeconfig. Private keys are neither saved nor printed.
    With --cluster, --context or --snapshot, adhere applies the cluster's PKI object and reads its objects too:
    bundles of CAs, webhooks, aggregated APIs, signing requests, and with --secrets Secrets.

    Exit codes: 0 everything complies · 1 findings at or above --fail-on · 2 usage or configuration error ·
    3 something could not be read or judged, the rest is listed · 4 no certificate was found
    """
    by = {name: options.pop(name) for name in ("policy_file", "pki", "install_config_file")}
    asked = ClusterAsked(**options)  # type: ignore[arg-type] # click has checked the types
    search = _Search(Files(tuple(password(each) for each in password_files)))
    if not (paths or asked.meant):
        if by["install_config_file"] is None:
            raise UsageError("no path and no cluster is set", hint="run adhere certs PATH..., or add --cluster")
        asked.refuse_cluster_options()
        listing = _installation(yaml_values.read(str(by["install_config_file"])))
        return _end(listing, format_, fail_on, exit_code(listing, fail_on) if listing.findings else EXIT_OK)
    certificates = basis(asked, on_certificate=search.keep, **by)  # type: ignore[arg-type] # see above
    certificates.inventory  # noqa: B018 - reads the cluster now, before the files
    for path in paths:
        search.under(path, certificates)
    search.problems += _gaps(certificates.snapshot) if asked.meant else []
    listing = search.listing(certificates)
    return _end(listing, format_, fail_on, exit_code(listing, fail_on), search)


def _end(listing: Listing, format_: str, fail_on: FailOn, code: int, search: _Search | None = None) -> int:
    """Print the listing, the problems, and the exit line."""
    page = Page(out=sys.stdout, color=colors(sys.stdout), width=width())
    if format_ != "text":
        print_report(listing.write_json if format_ == "json" else listing.write_csv)
    else:
        listing.table(page)
    if search:
        search.say()
    if format_ == "text":
        if listing.certificates or listing.findings:
            page.line()
        page.folded(8, "", plain(exit_line(listing, fail_on, code), 2000))
    return code


def _installation(document: Located) -> Listing:
    """Judge an install-config before the installation."""
    findings = [finding_row(each) for _, each in before_installation(INSTALLATION, document)]
    asked = configuration_line(asked_of_installer(document))
    if not findings:
        note(f"adhere: {plain(asked, 500)}: the installer accepts it")
    return Listing(certificates=[], judged={}, findings=findings, problems=[], configuration=asked)


class _Search(Struct):
    """The certificates and problems found so far."""

    files: Files
    certificates: list[HeldCertificate] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def keep(self, certificate: HeldCertificate) -> None:
        """Add a certificate in one place."""
        self.certificates.append(without_bytes(certificate))
        self.problems += unread(certificate)

    def under(self, path: str, certificates: Certificates) -> None:
        """Add the certificates of a file or directory."""
        for each in self.files.under(path):
            if isinstance(each, Unknown):
                self.problems.append(each.reason)
            else:
                certificates.add(each)
                self.keep(each)

    def listing(self, certificates: Certificates) -> Listing:
        """Return the judged listing."""
        return Listing(
            certificates=self.certificates,
            judged=rows(certificates.inventory),
            findings=[finding_row(each) for each in certificates.findings()],
            problems=self.problems,
            configuration=certificates.configuration(),
        )

    def say(self) -> None:
        """Print the problems and the links that were not followed."""
        for problem in self.problems:
            note(f"adhere: {plain(problem, 500)}")
        links = self.files.links
        if links:
            more = f" and {len(links) - 1} more" if links[1:] else ""
            note(f"adhere: links that lead out of their directory were not followed: {plain(links[0], 200)}{more}")


def _gaps(snapshot: Snapshot) -> list[str]:
    """Return the kinds that were not read completely, and that the user asked for."""
    gaps = [each for each in snapshot.unreadable.values() if each.gap != "not-asked"]
    known = [f"{each.kind.resource}: {each.gap}: {each.reason}" for each in gaps if each.gap != "not-saved"]
    missing = ", ".join(each.kind.resource for each in gaps if each.gap == "not-saved")
    return [*known, f"the snapshot has none or only some of these: {missing}"] if missing else known


def exit_code(listing: Listing, fail_on: FailOn) -> int:
    """Return 1 for findings, else 3 for anything undecided, else 0; 4 without a certificate."""
    if any(fails(each, fail_on) for each in listing.findings):
        return EXIT_FINDINGS
    if listing.problems or any(map(_undecided, listing.findings)):
        return EXIT_INCOMPLETE
    return EXIT_OK if listing.certificates else EXIT_NOTHING


def exit_line(listing: Listing, fail_on: FailOn, code: int) -> str:
    """Return the exit line."""
    failing = [each for each in listing.findings if fails(each, fail_on)]
    undecided = sum(map(_undecided, listing.findings))
    rules = Counter(each["rule"] for each in failing)
    if failing:
        places = counted(len({each["about"] for each in failing}), "place")
        result = failures_text(rules, fail_on, f" on {places}")
    else:
        result = "no certificate was found" if code == EXIT_NOTHING else no_failures_text(fail_on)
    open_ends = ((undecided, "undecided finding"), (len(listing.problems), "reading problem"))
    short = ", ".join(counted(count, what) for count, what in open_ends if count)
    return exit_text(code, [result, f"not complete: {short}" if short else ""])


def _undecided(finding: FindingRow) -> bool:
    return finding["verdict"] == "inconclusive" and finding["severity"] != "info"


_HEADINGS = (
    "WHERE", "ROLE", "CATEGORY", "SUBJECT", "ISSUER", "KEY", "SIGNATURE", "NOT BEFORE", "NOT AFTER", "SHA-256",
    "STATUS", "NAME",
)  # fmt: skip
SCHEMA = "adhere.certs/v1"
COLUMNS = (
    "kind", "where", "verdict", "status", "rule", "severity", "message", "observed", "expected", "fix", "role",
    "category", "subject", "issuer", "serial", "names", "key", "signature", "not_before", "not_after", "ca",
    "extended_key_usage", "sha256", "key_matches", "certificate_names", "governed", "why", "component", "renewal",
)  # fmt: skip
"""Columns of CSV: keys of the findings and certificates in JSON."""
_WIDEST = 80
"""Characters of a name in the table; JSON has all."""
_LONGEST = 300
"""Characters of a name where it may be folded."""
_MOST = 200
"""Most findings in the text."""
_DIGEST = 16
"""Hexadecimal digits of a digest in the text."""


class Listing(Struct, frozen=True, kw_only=True):
    """Certificates in each of their places, with their rows and findings."""

    certificates: Sequence[HeldCertificate]
    judged: dict[str, InventoryRow]
    """By SHA-256."""
    findings: Sequence[FindingRow]
    problems: Sequence[str]
    """Problems of reading."""
    configuration: str
    """Configuration that judged them, in one line."""

    def table(self, page: Page) -> None:
        """Write a line for each certificate, then the findings. On a terminal that is too narrow: a paragraph for each
        certificate with its places."""
        rows = [_HEADINGS, *(tuple(plain(cell, _WIDEST) for cell in self._cells(each)) for each in self.certificates)]
        widths = [max(map(columns, column)) for column in zip(*rows, strict=True)]
        if page.width is not None and sum(widths) + 2 * len(widths) - 2 > page.width:
            self._paragraphs(page)
        elif self.certificates:
            for row in rows:
                page.line("  ".join(pad(cell, width) for cell, width in zip(row, widths, strict=True)))
        if self.findings:
            page.line()
            page.folded(12, "judged by   ", plain(self.configuration, 400))
            every = merged(self.findings)
            first = sorted(every, key=importance)[:_MOST]
            write_findings(page, first)
            if left := len(every) - len(first):
                page.line(f"  and {counted(left, 'finding')} more (--format json has all)")

    def _paragraphs(self, page: Page) -> None:
        places: dict[str, list[HeldCertificate]] = {}
        for each in self.certificates:
            places.setdefault(each.facts.sha256, []).append(each)
        for same in places.values():
            cells = dict(zip(_HEADINGS, (plain(cell, _LONGEST) for cell in self._cells(same[0])), strict=True))
            page.folded(2, "", cells["SUBJECT"] + (f"  ({cells['NAME']})" if cells["NAME"] != "-" else ""))
            dates = f"{cells['NOT BEFORE']} to {cells['NOT AFTER']}"
            page.folded(
                4, "    ", f"{cells['KEY']}, {cells['SIGNATURE']}, {dates}, {cells['STATUS']}, {cells['SHA-256']}"
            )
            if cells["ISSUER"] != cells["SUBJECT"]:
                page.folded(4, "    ", f"signed by {cells['ISSUER']}")
            for each in same:
                where, role, category, *_ = (plain(cell, _LONGEST) for cell in self._cells(each))
                page.folded(6, "    ", f"{category}, {role}: {where}")

    def write_json(self, out: TextIO) -> None:
        """Write JSON (``docs/schema/certs-v1.json``), a line for each certificate."""
        members: dict[str, object] = {
            "schema": SCHEMA,
            "certificates": (dumps(self.record(each)) for each in self.certificates),
            "findings": self.findings,
            "judged_by": self.configuration,
            "problems": self.problems,
        }
        write_document(out, members)

    def write_csv(self, out: TextIO) -> None:
        """Write CSV: a row for each certificate in each place, each finding, and each problem of reading."""
        problems = ({"verdict": "inconclusive", "status": "not-tested", "message": each} for each in self.problems)
        parts: tuple[tuple[str, Iterable[Mapping[str, object]]], ...] = (
            ("coverage", problems),
            ("object", ({**each, "where": each["about"]} for each in self.findings)),
            ("certificate", map(self.record, self.certificates)),
        )
        write_table(COLUMNS, ({**line, "kind": kind} for kind, lines in parts for line in lines), out)

    def record(self, certificate: HeldCertificate) -> dict[str, object]:
        """Return a certificate of the JSON document."""
        facts, place, judged = certificate.facts, certificate.place, self.judged[certificate.facts.sha256]
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
            "chain": [each.sha256 for each in certificate.chain],
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

    def _cells(self, certificate: HeldCertificate) -> tuple[str, ...]:
        facts, place, judged = certificate.facts, certificate.place, self.judged[certificate.facts.sha256]
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


def without_bytes(certificate: HeldCertificate) -> HeldCertificate:
    """Remove the DER, because 50,000 certificates would not fit into memory."""
    return replace(
        certificate,
        facts=replace(certificate.facts, der=b""),
        chain=tuple(replace(each, der=b"") for each in certificate.chain),
    )


def rows(inventory: Inventory) -> dict[str, InventoryRow]:
    """Return the row of each certificate by SHA-256."""
    return {each.sha256: inventory_row(each) for each in inventory.entries()}


def unread(certificate: HeldCertificate) -> Iterator[str]:
    """Yield the unreadable fields of a certificate, in one line."""
    reasons = dict.fromkeys(certificate.facts.unreadable.values())
    if reasons:
        yield f"{certificate.place}: {', '.join(certificate.facts.unreadable)}: {'; '.join(reasons)}"


def _key(facts: CertificateFacts) -> str | None:
    key: Known[object] = key_of(facts)
    return None if isinstance(key, Unknown) else str(key)


def _day(when: datetime | None) -> str | None:
    return when.strftime("%Y-%m-%d") if when else None
