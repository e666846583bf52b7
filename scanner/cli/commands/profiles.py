"""``adhere profiles``: the names that ``--profile`` takes, and what they mean."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import click

from scanner.cli.shared_options import PROFILES
from scanner.cli.streams import width
from scanner.kube.profile_catalogue import load_profile
from scanner.kube.profile_catalogue import profiles as shipped
from scanner.kube.tls_profile import Profile
from scanner.report.escape import plain
from scanner.tls.names import group_label, group_name, openssl_name, suite_name, version_name

_HEADINGS = ("PROFILE", "MINIMUM", "SUITES", "GROUPS", "SOURCE")
_LEAST = 3
"""Columns that every page has."""


@click.group(invoke_without_command=True)
@click.pass_context
def profiles(context: click.Context) -> None:
    """List the TLS profiles, or show one."""
    if context.invoked_subcommand is None:
        _print(table(shipped(), width()))


@profiles.command("list")
def list_() -> None:
    """List the TLS profiles."""
    _print(table(shipped(), width()))


@profiles.command(short_help="Print versions, suites and groups of a profile.")
@click.argument("profile", metavar="NAME|FILE", shell_complete=PROFILES)
def show(profile: str) -> None:
    """Print versions, suites and groups of the profile NAME, or of the tlsSecurityProfile in FILE."""
    _print(page(load_profile(profile)))


def _print(lines: Iterable[str]) -> None:
    for line in lines:
        click.echo(plain(line))


def table(listed: Iterable[Profile], width: int | None = None) -> list[str]:
    """Return a line for each profile: name, lowest version, number of suites, groups, source. A narrow page omits the
    last columns."""
    rows = [_HEADINGS, *(_row(profile) for profile in listed)]
    lines = list(_aligned(rows))
    while width is not None and max(map(len, lines)) > width and len(rows[0]) > _LEAST:
        rows = [row[:-1] for row in rows]
        lines = list(_aligned(rows))
    return lines


def _row(profile: Profile) -> tuple[str, ...]:
    groups = "any" if profile.groups is None else " ".join(map(group_name, profile.groups))
    return profile.name, version_name(profile.min_version), str(len(profile.suites)), groups, profile.source


def page(profile: Profile) -> Iterator[str]:
    """Yield the lines of a profile: every suite with its code point and both names, groups, source, notes."""
    yield profile.name
    yield f"  minimum version  {version_name(profile.min_version)}"
    yield f"  source           {profile.source}"
    yield ""
    yield f"cipher suites ({len(profile.suites)})"
    yield from _aligned([(f"  0x{code:04X}", suite_name(code), openssl_name(code) or "-") for code in profile.suites])
    yield ""
    if profile.groups is None:
        yield "groups: no list, every group is allowed"
    else:
        yield f"groups ({len(profile.groups)})"
        yield from (f"  {group_label(code)}" for code in profile.groups)
    if profile.notes:
        yield ""
        yield "notes"
        yield from (f"  {note}" for note in profile.notes)


def _aligned(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    """Yield rows in columns, without space at the end."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
