"""``adhere rules``: list the rules, and print their pages."""

from __future__ import annotations

from difflib import get_close_matches

import click

from scanner.cli.shared_options import completion
from scanner.errors import UsageError
from scanner.judge import RULES, SCAN_RULES
from scanner.judge.sslyze_result import DEEP_RULES
from scanner.lint import RULES as LINT_RULES
from scanner.lint.manifest_rules import DUPLICATE, KIND_UNKNOWN, UNREADABLE
from scanner.model.rule import AnyRule, current
from scanner.pki.rules import PKI_RULES
from scanner.report.escape import plain

ALL: tuple[AnyRule, ...] = (
    *RULES,
    *DEEP_RULES,
    *SCAN_RULES,
    *PKI_RULES,
    UNREADABLE,
    KIND_UNKNOWN,
    DUPLICATE,
    *LINT_RULES,
)
"""All rules: on endpoints, with ``--deep``, on the scan, and of lint."""


@click.group(invoke_without_command=True)
@click.pass_context
def rules(context: click.Context) -> None:
    """List the rules, or show the page of one."""
    if context.invoked_subcommand is None:
        click.echo(table())


@rules.command()
@click.argument("rule_id", metavar="ID", shell_complete=completion(lambda _: (each.id for each in ALL)))
def show(rule_id: str) -> None:
    """Print the page of the rule ID, in Markdown."""
    click.echo(page(find(rule_id)))


def table() -> str:
    """Return a line for each rule: id, severity, title."""
    width = max(len(each.id) for each in ALL)
    return "\n".join(f"{each.id:<{width}}  {each.severity:<8}  {each.title}" for each in ALL)


def page(each: AnyRule) -> str:
    """Return a rule's page for the terminal, with title, severity and references."""
    references = "\n".join(f"* {reference}" for reference in each.references)
    head = f"# {each.title}\n\nRule `{each.id}`, severity {each.severity}."
    return f"{head}\n\n{each.page}\n\n## References\n\n{references}"


def find(rule_id: str) -> AnyRule:
    """Return the rule with this id, or its successor. Raises ``UsageError`` with similar ids."""
    known = {each.id: each for each in ALL}
    rule_id = current(rule_id)
    if rule_id in known:
        return known[rule_id]
    close = get_close_matches(rule_id.lower(), known, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(close)}?" if close else "'adhere rules' lists all rules"
    raise UsageError(f"unknown rule '{plain(rule_id, 60)}'", hint=hint)
