"""The examples on pages of rules on a scan as a whole: its policy, its cluster's objects and its listeners, each a
document, judged as a scan judges them.

A document with ``listener`` describes one by the words of ``examples``; ``kind: ScanPolicy`` is the policy file; every
other one is an object.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import yaml

from scanner.assessment import Viewpoint, assess, surroundings
from scanner.config.scan_policy import parse
from scanner.cross_endpoint import CrossEndpoint, cross_endpoint
from scanner.files.yaml_values import load
from scanner.jobs import Surroundings
from scanner.judge import RULES, WAIVABLE, judge, judgement
from scanner.model.finding import Finding
from scanner.model.rule import Case, ScanRule
from scanner.model.scan_policy import ScanPolicy
from tests.expect.stories import snapshot_of
from tests.judge.cases import NOW
from tests.judge.examples import case_of

_APART = re.compile(r"^---\n", re.MULTILINE)
_POLICY = "ScanPolicy"


def findings(rule: ScanRule, text: str) -> list[Finding]:
    """What ``rule`` says of the scan that ``text`` describes."""
    return [each for each in scanned(text) if each.rule == rule.id]


def scanned(text: str) -> tuple[Finding, ...]:
    """The findings without an endpoint, and those that depend on other endpoints."""
    documents = [(each, yaml.safe_load(each)) for each in _APART.split(text)]
    cases = [case_of(each) for each, said in documents if "listener" in said]
    policies = [each for each, said in documents if said.get("kind") == _POLICY]
    objects = [said for _, said in documents if "listener" not in said and said["kind"] != _POLICY]
    policy = parse(load(policies[0].encode(), "policy.yaml"), WAIVABLE) if policies else ScanPolicy()
    return _scanned(policy, objects, cases)


def _scanned(policy: ScanPolicy, objects: list[Any], cases: list[Case]) -> tuple[Finding, ...]:
    """Findings that need several listeners, or none, as ``scan.py`` comes by them."""
    view = Viewpoint(policy=policy)
    around = surroundings([assess(snapshot_of(objects), view)]) if objects else Surroundings()
    of_all = cross_endpoint(policy, NOW.date())
    verdicts = Counter(_verdicts(of_all, cases))
    late = tuple(of_all.on_endpoints().values())
    return (*late, *of_all.findings(around, verdicts, applied=RULES)[0])


def _verdicts(of_all: CrossEndpoint, cases: list[Case]) -> Iterator[str]:
    for case in cases:
        result = judgement(of_all.ledger.waive(judge(case).findings, case.endpoint))
        of_all.replicas.add(case.endpoint, case.expectation, case.observation)
        of_all.passages.add(case.endpoint, case.expectation, case.observation)
        of_all.sharing.add(case.endpoint, case.expectation, case.observation)
        yield result.verdict
