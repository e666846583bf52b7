"""``adhere waive``: print the waiver of a finding, for a policy file."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from fnmatch import fnmatchcase
from glob import escape

import click

from scanner.cli.results_directory import read_results
from scanner.config.scan_policy import parse
from scanner.errors import UsageError
from scanner.files import yaml_values
from scanner.files.problems import did_you_mean
from scanner.files.source_positions import shown
from scanner.judge import WAIVABLE
from scanner.model.report import EXIT_OK
from scanner.model.report import SCHEMA as SCAN
from scanner.report.escape import json_text, plain
from scanner.report.results import Results

_MOST = 50
"""Endpoints that a waiver lists by id."""
_LINT = "use a report of a scan; docs/policy.md has a waiver for objects"
_WAIVER = """apiVersion: adhere/v1
kind: ScanPolicy
waivers:
  - rule: {rule}
    select:
      endpoints: {endpoints}
    expires: {until}
    owner: {owner}
    reason: {reason}
"""


@click.command()
@click.argument("results", metavar="RESULTS")
@click.option("--rule", metavar="ID", required=True, help="Rule of the finding.")
@click.option("--endpoint", metavar="GLOB", help="Ids of the endpoints.  [default: those that violate the rule]")
@click.option("--until", metavar="DATE", required=True, help="Last day of the waiver: 2027-03-31.")
@click.option("--owner", metavar="NAME", required=True, help="Person or team that answers for it.")
@click.option("--reason", metavar="TEXT", required=True, help="Reason why the finding is accepted.")
def waive(results: str, rule: str, endpoint: str | None, until: str, owner: str, reason: str) -> int:
    """Print a policy file with the waiver of a finding in RESULTS: a JSON report, or a directory of adhere scan --save.

    Use it as adhere scan --policy FILE, or add its entry to the waivers of your policy file. A waiver needs a failing
    finding; what is inconclusive cannot be waived.
    """
    found = read_results(results)
    if found.of != SCAN:
        raise UsageError(f"{results}: waivers are for scans, and this is of {found.of}", hint=_LINT)
    if rule not in WAIVABLE and not rule.startswith("custom/"):
        hint = did_you_mean(rule, WAIVABLE, otherwise="'adhere rules' lists them")
        raise UsageError(f"--rule: no rule on endpoints has the id {shown(rule)}", hint=hint)
    ids = _violating(found, rule, endpoint)
    if endpoint is None and len(ids) > _MOST:
        hint = "select them with --endpoint, which may have * and ?"
        raise UsageError(f"{len(ids)} endpoints violate {rule}, too many to list", hint=hint)
    patterns = [escape(each) for each in ids] if endpoint is None else [endpoint]
    texts = {"rule": rule, "endpoints": patterns, "until": until, "owner": owner, "reason": reason}
    quoted = {name: json_text(json.dumps(value, ensure_ascii=False)) for name, value in texts.items()}
    text = _WAIVER.format(**quoted)
    _check(text, ids, rule)
    click.echo(text, nl=False)
    return EXIT_OK


def _violating(found: Results, rule: str, pattern: str | None) -> list[str]:
    """Return the ids of the endpoints that violate the rule. Raises ``UsageError`` for none."""
    outcomes = {
        each.subject: each.outcome
        for each in found.entries.values()
        if each.finding["rule"] == rule and fnmatchcase(each.subject, pattern or "*")
    }
    ids = sorted(name for name, outcome in outcomes.items() if outcome == "fails")
    if ids:
        return ids
    where = f" on {shown(pattern)}" if pattern is not None else ""
    hint = "adhere diff and the report list the findings; a waiver would be unused"
    if "inconclusive" in outcomes.values():
        hint = "it is only inconclusive there, and a waiver accepts failures only"
    elif outcomes:
        hint = "it does not count there already: waived, readiness or a rollout in progress"
    raise UsageError(f"{plain(found.source, 200)}: {rule} does not fail{where}", hint=hint)


def _check(text: str, ids: list[str], rule: str) -> None:
    """Read the waiver as ``--policy`` does. Raises ``ScannerError`` for a value that it would refuse."""
    (waiver,) = parse(yaml_values.load(text.encode(), "waiver"), (rule,)).waivers
    if waiver.expires < datetime.now(UTC).date():
        raise UsageError(f"--until: {date.isoformat(waiver.expires)} is in the past", hint="choose a later day")
    missed = [each for each in ids if not any(fnmatchcase(each, one) for one in waiver.selector.endpoints)]
    assert not missed  # noqa: S101 - the patterns were made of these ids, or have matched them
