"""``adhere import tls-scanner-policy``: the rules of openshift/tls-scanner's ``policy.yaml`` as a policy of adhere.

Its shape is that of ``internal/scanner/policy.go`` and ``policy.yaml`` (commit 78fd85a, 2026): a list of rules, and
the first that matches applies. A rule for ``apiserver``, ``ingress`` or ``kubelet`` names the object with the profile,
which adhere finds itself. ``exempt`` becomes waivers, if a selector has the same meaning as the rule.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Literal

from pydantic import Field

from scanner.config.file_reader import FileSection, Several, Text, parse_file
from scanner.config.scan_policy import parse
from scanner.errors import UsageError
from scanner.files import yaml_values

_RULES = ("tls-version", "tls-cipher-suite")
"""tls-scanner judges versions and suites by a profile; its check of groups has no exemptions."""
_GLOB = re.compile(r"(?:[A-Za-z0-9_-]|\\[.-]|\.\*|\.\+|\.)+")
_PIECE = re.compile(r"\\([.-])|(\.\*)|(\.\+)|(\.)")
_LITERAL = re.compile(r"(?:[A-Za-z0-9_-]|\\[.-])+")
_MATCHERS = ("namespace", "process", "component")


class _Rule(FileSection):
    namespace: Text | None = None
    process: Text | None = None
    component: Text | None = None
    port: Annotated[int, Field(ge=1, le=65535)] | None = None
    profile: Literal["apiserver", "ingress", "kubelet", "exempt"] = Field(
        description="write apiserver, ingress, kubelet or exempt"
    )

    @property
    def said(self) -> str:
        """``exempt {namespace: test-.*}``."""
        conditions = (f"{name}: {value}" for name, value in self.given().items() if name != "profile")
        return f"{self.profile} {{{', '.join(conditions)}}}"

    def apart(self, other: _Rule) -> bool:
        """True if no listener matches both."""
        literal = any(
            one != two and _LITERAL.fullmatch(one) and _LITERAL.fullmatch(two)
            for one, two in ((getattr(self, name) or "", getattr(other, name) or "") for name in _MATCHERS)
        )
        return literal or bool(self.port and other.port and self.port != other.port)

    def selector(self) -> dict[str, list[object]] | None:
        """Return the selector of exactly these listeners, or None if there is none."""
        found: dict[str, list[object]] = {}
        for name, field in (("namespace", "namespaces"), ("component", "components")):
            pattern = getattr(self, name)
            alternatives = pattern.split("|") if pattern else []
            if self.process or not all(map(_GLOB.fullmatch, alternatives)):
                return None
            if alternatives:
                found[field] = [_PIECE.sub(_glob, each) for each in alternatives]
        return ({**found, "ports": [self.port]} if self.port else found) or None


class _Policy(FileSection):
    rules: Several[_Rule] = Field(description="write rules: with a list")


def _glob(match: re.Match[str]) -> str:
    escaped, any_text, some_text, _ = match.groups()
    return escaped or ("*" if any_text else "?*" if some_text else "?")


def policy_of(path: str, accepted: Mapping[str, str] | None) -> tuple[str, list[str]]:
    """Return the text of the policy, and a note for each rule that is not in it.

    ``accepted``: ``reason``, ``owner`` and ``expires`` of the waivers. Raises ``ScannerError``.
    """
    rules = parse_file(yaml_values.read(path), _Policy, "policy of tls-scanner").rules
    text, waivers, notes = "apiVersion: adhere/v1\nkind: ScanPolicy\n", "", []
    for number, rule in enumerate(rules):
        selector = rule.selector()
        if rule.profile != "exempt":
            why = "adhere takes the profile from the cluster's objects"
        elif accepted is None:
            why = "a waiver needs --owner, --until and --reason"
        elif selector is None:
            why = "no selector has the same meaning; write the waiver yourself"
        elif any(each.profile != "exempt" and not rule.apart(each) for each in rules[:number]):
            why = "a rule above it may match first; move it to the top of the file"
        else:
            select = ", ".join(f"{name}: {json.dumps(values)}" for name, values in selector.items())
            more = "".join(f"    {name}: {json.dumps(value)}\n" for name, value in accepted.items())
            waivers += "".join(f"  - rule: {each}\n    select: {{{select}}}\n{more}" for each in _RULES)
            continue
        notes.append(f"left out: {rule.said}: {why}")
    text += f"waivers:\n{waivers}" if waivers else ""
    for waiver in parse(yaml_values.load(text.encode(), "waiver"), _RULES).waivers:  # as --policy does
        if waiver.expires < datetime.now(UTC).date():
            raise UsageError(f"--until: {waiver.expires.isoformat()} is in the past", hint="choose a later day")
    return text, notes
