"""What the policy requires of a scan as a whole, in all three answers; and that every such rule is registered."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

import pytest

import scanner.judge
from scanner.judge import SCAN_RULES
from scanner.judge.require import Outcome, required
from scanner.kube.maybe import Unknown
from scanner.model.inventory import NamesRow
from scanner.model.rule import ScanRule
from scanner.model.scan_policy import Require
from scanner.values import replace

OUTCOME = Outcome(endpoints=10, inconclusive=2, strict=True, adherence="APIServer/cluster spec.tlsAdherence: x")
FEW, MANY = Require(min_endpoints=11), Require(max_inconclusive=1)
STRICT = Require(strict_adherence=True)
COVERED = Require(pki_coverage=True)
SEEN: NamesRow = {
    "cluster": None, "judged": ["etcd-signer"], "unknown": [], "never_seen": [], "elsewhere": [], "complete": True,
    "why": "",
}  # fmt: skip
UNSEEN: NamesRow = {**SEEN, "never_seen": ["root-ca"], "complete": False, "why": "names that were not found: 1"}


def test_nothing_is_required_by_default() -> None:
    assert required(Require(), OUTCOME) == ()


@pytest.mark.parametrize(
    ("policy", "outcome", "rule", "verdict"),
    [
        (Require(min_endpoints=10), OUTCOME, "require-endpoints", "pass"),
        (FEW, OUTCOME, "require-endpoints", "fail"),
        (FEW, replace(OUTCOME, interrupted="SIGTERM"), "require-endpoints", "inconclusive"),
        (Require(min_endpoints=10), replace(OUTCOME, interrupted="SIGTERM"), "require-endpoints", "pass"),
        (Require(max_inconclusive=2), OUTCOME, "require-determined", "pass"),
        (Require(max_inconclusive=0), replace(OUTCOME, inconclusive=0), "require-determined", "pass"),
        (MANY, OUTCOME, "require-determined", "fail"),
        (MANY, replace(OUTCOME, interrupted="SIGTERM"), "require-determined", "fail"),
        (Require(max_inconclusive=2), replace(OUTCOME, interrupted="x"), "require-determined", "inconclusive"),
        (STRICT, OUTCOME, "require-adherence", "pass"),
        (STRICT, replace(OUTCOME, strict=False), "require-adherence", "fail"),
        (STRICT, replace(OUTCOME, strict=Unknown("403")), "require-adherence", "inconclusive"),
        (COVERED, OUTCOME, "require-pki-coverage", "pass"),  # nothing is required of any name
        (COVERED, replace(OUTCOME, names_seen=(SEEN,)), "require-pki-coverage", "pass"),
        (COVERED, replace(OUTCOME, names_seen=(SEEN, UNSEEN)), "require-pki-coverage", "inconclusive"),
    ],
)
def test_each_requirement(policy: Require, outcome: Outcome, rule: str, verdict: str) -> None:
    (found,) = required(policy, outcome)
    assert (found.rule, found.verdict) == (rule, verdict)
    assert found.severity == "high"
    assert found.about == "require"
    assert found.message
    assert found.expected
    assert found.observed
    assert (found.fix is None) == (verdict == "pass")
    assert found.status == {"pass": "ok", "fail": "violation", "inconclusive": "not-tested"}[verdict]


def test_the_policy_says_how_severe_it_is() -> None:
    (found,) = required(replace(FEW, severity="low"), OUTCOME)
    assert found.severity == "low"


def test_what_is_not_known_says_why() -> None:
    (found,) = required(STRICT, replace(OUTCOME, strict=Unknown("apiservers cannot be read: forbidden")))
    assert found.message.endswith(": apiservers cannot be read: forbidden")


def test_the_object_that_decides_is_named() -> None:
    (found,) = required(
        STRICT, replace(OUTCOME, strict=False, adherence="APIServer/cluster spec.tlsAdherence: not set")
    )
    assert found.observed == ("APIServer/cluster spec.tlsAdherence: not set",)
    assert found.expected == ("APIServer/cluster spec.tlsAdherence: StrictAllComponents",)


def test_everything_at_once() -> None:
    policy = Require(min_endpoints=11, max_inconclusive=1, strict_adherence=True)
    found = required(policy, replace(OUTCOME, strict=False))
    assert [(each.rule, each.verdict) for each in found] == [
        ("require-endpoints", "fail"),
        ("require-determined", "fail"),
        ("require-adherence", "fail"),
    ]


# --- What every rule on a whole scan must have -----------------------------------------------------------------------


def test_ids_are_what_they_always_were() -> None:
    """Ids stand in baselines and dashboards: this list may only grow."""
    ids = [each.id for each in SCAN_RULES]
    assert ids == [
        "replicas-differ",
        "passthrough-backend",
        "tls-shared-connections",
        "profile-custom",
        "profile-names-dropped",
        "adherence-unknown",
        "require-endpoints",
        "require-determined",
        "require-adherence",
        "require-pki-coverage",
        "waiver-unused",
        "waiver-expired",
    ], "tests/judge/test_require.py: add the id of a new rule to this list, at its place in SCAN_RULES"


def test_every_rule_of_the_package_is_registered() -> None:
    modules = [import_module(f"scanner.judge.{found.name}") for found in iter_modules(scanner.judge.__path__)]
    written = {value.id for module in modules for value in vars(module).values() if isinstance(value, ScanRule)}
    assert written == {each.id for each in SCAN_RULES}


@pytest.mark.parametrize(
    ("strict", "message"),
    [
        (True, "every component must follow the cluster's profile"),
        (False, "not every component must follow the cluster's profile"),
        (Unknown("403"), "whether every component must follow the cluster's profile"),
    ],
)
def test_the_message_on_adherence_says_what_the_verdict_says(*, strict: bool | Unknown, message: str) -> None:
    (found,) = required(STRICT, replace(OUTCOME, strict=strict))
    assert message in found.message
    assert found.message.startswith("every") is (strict is True)
