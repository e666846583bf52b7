"""Every rule on declared objects: its page, its examples, and that no object is too odd for it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scanner.kube.kinds import Kind
from scanner.kube.objects import KubeObject
from scanner.kube.snapshot import Origin, Snapshot
from scanner.lint import READS, RULES, lint
from scanner.model.declared import Declared, LintSubject
from scanner.model.object_rule import ObjectRule
from tests.cluster.odd_values import JSON
from tests.lint.examples import authority, examples, linted

pytestmark = pytest.mark.crypto

SECTIONS = ("What it requires", "Why", "What fails", "What is inconclusive", "How to fix")
EACH = pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)


def test_ids_are_unique() -> None:
    assert len({rule.id for rule in RULES}) == len(RULES)


def test_a_page_says_everything() -> None:
    missing = [
        f"docs/rules/{rule.id}.md: {what}"
        for rule in RULES
        for what, found in (
            *((f"## {each}", f"## {each}\n" in rule.page) for each in SECTIONS),
            ("references", rule.references),
            ("an example that fails", examples(rule, "fails")),
            ("an example that passes", examples(rule, "passes")),
        )
        if not found
    ]
    assert not missing, f"these pages lack: {missing}"


@EACH
def test_the_example_that_fails_does_with_the_rule_and_a_field_that_is_there(rule: ObjectRule, tmp_path: Path) -> None:
    for text in examples(rule, "fails"):
        found, given = linted(tmp_path, text, [rule])
        assert not given.bad
        findings = [each for one in found for each in one.findings]
        assert "fail" in [each.finding.verdict for each in findings], text
        for each in findings:
            assert each.finding.rule == rule.id
            assert each.place is not None
            assert each.finding.message
            assert "KubeObject(" not in each.finding.message
            assert each.finding.about


@EACH
def test_the_example_that_passes_does(rule: ObjectRule, tmp_path: Path) -> None:
    for text in examples(rule, "passes"):
        found, given = linted(tmp_path, text, [rule])
        assert not given.bad
        assert found, "no object that the rule looks at"
        assert [each.finding for one in found for each in one.findings] == [], text


NAMES = ("edge", "shop", "web", "a", "tls", "web.shop.example")
WORDS = sorted(
    {word for rule in RULES for text in (*examples(rule, "fails"), *examples(rule, "passes")) for word in text.split()}
)
LIKELY = st.recursive(
    st.sampled_from([*(word.strip("{}[],:-\"'") for word in WORDS), *NAMES, ""])
    | st.integers(0, 70000)
    | st.booleans(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from([word.strip("{}[],:-\"'") for word in WORDS]), inner, max_size=5)
    ),
    max_leaves=25,
)


@given(st.lists(st.tuples(st.sampled_from(READS), LIKELY | JSON, LIKELY | JSON, st.sampled_from(NAMES)), max_size=5))
def test_no_object_is_too_odd(objects: list[tuple[Kind, object, object, str]]) -> None:
    made = [
        KubeObject({"metadata": {"name": name, "namespace": "shop"}, "spec": spec, "data": data}, kind)
        for kind, spec, data, name in objects
    ]
    snapshot = Snapshot(
        taken_at=authority().now,
        origin=Origin(name="odd"),
        objects={kind: tuple(each for each in made if each.kind == kind) for kind in READS},
        unreadable={},
    )
    found = list(lint(Declared(subjects=tuple(LintSubject(object=each) for each in made), known=snapshot)))
    assert all(each.finding.message for one in found for each in one.findings)
