"""Manifests that cannot be read."""

from __future__ import annotations

from collections.abc import Iterator

from scanner.model.finding import Finding
from scanner.model.rule import ScanRule


def check_unreadable(rule: ScanRule, place: str, message: str, hint: str) -> Iterator[Finding]:
    """Every manifest can be read.

    ## What it requires

    That each file can be opened and is UTF-8, and YAML or JSON as an API server takes it: no key twice in one mapping,
    no anchors, aliases or tags, nested no deeper than 64 levels, no larger than 16 MiB. Every object says its
    `apiVersion` and has a name.

    ## Why

    What cannot be read is not applied, or applied as something else than it looks like: of a key that is there twice
    kubectl takes the last one. That document was not looked at, whatever else is in it; those before and behind it in
    the file were.

    ## What fails

    A document or file that breaks one of these: high. Whatever `--fail-on` says, the result is incomplete. Of a file
    with more than 20 of them, what is behind the last is not looked at, and the finding says so.

    ## What is inconclusive

    Nothing.

    ## How to fix

    The finding names line and column. Templates (Helm, Kustomize with variables) are no manifests: lint what they
    render, `helm template . | adhere lint -` or `kustomize build . | adhere lint -`.
    """
    yield Finding(
        rule=rule.id,
        severity=rule.severity,
        verdict="fail",
        status="violation",
        message=f"cannot be read: {message}",
        fix=hint or None,
        about=place,
    )


UNREADABLE = ScanRule(
    id="manifest-unreadable",
    title="Every manifest can be read",
    severity="high",
    check=check_unreadable,
    references=("YAML 1.2.2", "kubernetes.io, Server-side field validation"),
)
