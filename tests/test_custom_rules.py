"""Custom rules: the examples of the page on objects and endpoints, and nothing that is unknown passes."""

from __future__ import annotations

import io
import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest

from scanner.cluster.lint_input import read_manifests
from scanner.config.scan_policy import parse
from scanner.custom_rules import of_endpoint
from scanner.errors import InputError
from scanner.files.yaml_values import load
from scanner.judge import WAIVABLE
from scanner.kube.kinds import ROUTE
from scanner.kube.maybe import Unknown
from scanner.kube.objects import KubeObject
from scanner.lint.ignores import WAIVABLE as OF_LINT
from scanner.linting import LINT_READS, declared, lint_report
from scanner.model.declared import Declared, LintSubject
from scanner.model.lint_report import LintReport, exit_code
from scanner.model.observation import Answers, Reach
from scanner.model.scan_policy import ScanPolicy
from scanner.report.formats.json_document import write_lint
from scanner.tls.codepoints import TLS12
from scanner.values import replace
from tests.judge.cases import CONFORMING, ENDPOINT
from tests.judge.cases import case as judged
from tests.lint.examples import empty
from tests.schemas import errors

pytest.importorskip("cel_expr_python")

PAGE = (Path(__file__).parents[1] / "docs/custom-rules.md").read_text()
HEAD = "apiVersion: adhere/v1\nkind: ScanPolicy\n"
ON_OBJECTS, ON_ENDPOINTS = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
RULE = """\
customRules:
- {id: custom/a, title: A title, severity: %s, on: [%s], message: a message, fix: a fix, expression: '%s'}
"""
TODAY = datetime(2026, 11, 23, tzinfo=UTC)
ROUTE_TEXT = """\
apiVersion: route.openshift.io/v1
kind: Route
metadata: {name: %s, namespace: %s, labels: {%s}}
spec: {host: a.example.com, to: {kind: Service, name: a}, tls: {termination: %s}}
"""


def policy(text: str, waivers: str = "") -> ScanPolicy:
    return parse(load((HEAD + text + waivers).encode(), "adhere.yaml"), (*WAIVABLE, *OF_LINT))


def linted(directory: Path, text: str, of: ScanPolicy) -> LintReport:
    (directory / "a.yaml").write_text(text)
    given = read_manifests([str(directory / "a.yaml")], LINT_READS)
    return lint_report(declared(given, empty()), given, started=TODAY, sources=(), arguments=(), policy=of)


def custom(report: LintReport) -> list[tuple[str, str, str, str]]:
    """Name of the object, rule, verdict and status."""
    return [
        (each["object"]["name"], found["rule"], found["verdict"], found["status"])
        for each in report.objects
        for found in each["findings"]
        if found["rule"].startswith("custom/")
    ]


def test_the_examples_on_objects(tmp_path: Path) -> None:
    routes = [
        ("a", "payments", "owner: me", "edge"),
        ("b", "shop", "", "edge"),
        ("c", "payments", "owner: me", "reencrypt"),
    ]
    report = linted(tmp_path, "---\n".join(ROUTE_TEXT % each for each in routes), policy(ON_OBJECTS))
    assert custom(report) == [
        ("a", "custom/no-edge", "fail", "violation"),
        ("b", "custom/route-owner", "fail", "violation"),
    ]
    (found,) = (each for each in report.every() if each["rule"] == "custom/no-edge")
    assert (found["severity"], found["fix"]) == ("high", "set spec.tls.termination to reencrypt or passthrough")
    assert found["place"] == {"file": str(tmp_path / "a.yaml"), "line": 1, "column": 1}
    assert "adhere.yaml:11:5" in found["evidence"][0]
    passed = {each["object"]["name"]: each["passed"] for each in report.objects}
    assert {"custom/no-edge", "custom/route-owner"} <= set(passed["c"])
    assert [each["title"] for each in report.rules][-2:] == [
        "Routes have an owner",
        "Routes of payments are re-encrypted",
    ]
    assert exit_code(report, "high") == 1
    out = io.StringIO()
    write_lint(report, out)
    assert errors(json.loads(out.getvalue()), "lint-v1") == []


def test_a_missing_field_is_inconclusive(tmp_path: Path) -> None:
    text = ROUTE_TEXT.replace(", tls: {termination: %s}", "") % ("a", "payments", "owner: me")
    report = linted(tmp_path, text, policy(ON_OBJECTS))
    assert custom(report) == [("a", "custom/no-edge", "inconclusive", "not-tested")]
    assert exit_code(report, "medium") == 3


@pytest.mark.parametrize("whole", [True, False])
def test_what_adhere_reads_in_part_is_inconclusive(tmp_path: Path, *, whole: bool) -> None:
    """Of a Route of a cluster adhere has not read every field: that one is missing proves nothing."""
    of = policy(RULE % ("medium", "Route, Secret", "!has(object.spec.extra)"))
    if whole:
        secret = "---\napiVersion: v1\nkind: Secret\nmetadata: {name: s}\ntype: kubernetes.io/tls\n"
        report = linted(tmp_path, ROUTE_TEXT % ("a", "shop", "", "edge") + secret, of)
        assert custom(report) == [("s", "custom/a", "inconclusive", "not-tested")]
    else:
        raw: dict[str, object] = {"metadata": {"name": "a", "namespace": "shop"}, "spec": {}}
        about = Declared(subjects=(LintSubject(object=KubeObject(raw, ROUTE)),), known=empty())
        report = lint_report(about, None, started=TODAY, sources=(), arguments=(), policy=of)
        assert custom(report) == [("a", "custom/a", "inconclusive", "not-tested")]


def test_it_can_be_waived_and_ignored(tmp_path: Path) -> None:
    waiver = "waivers: [{rule: custom/a, select: {names: [a]}, reason: r, owner: o, expires: 2027-01-31}]\n"
    of = policy(RULE % ("medium", "Route", 'object.metadata.name == "x"'), waiver)
    second = "---\n# adhere: ignore[custom/a] soon until 2027-01-31\n" + ROUTE_TEXT % ("b", "shop", "", "edge")
    report = linted(tmp_path, ROUTE_TEXT % ("a", "shop", "", "edge") + second, of)
    assert [each[3] for each in custom(report)] == ["waived", "waived"]
    assert report.waived == {"waivers": 1, "ignores": 1}
    assert report.findings == []


def of(text: str, **observation: object) -> list[tuple[str, str]]:
    """Rule and verdict of the custom rules on the listener without fault."""
    seen = replace(CONFORMING, **cast("Any", observation))
    found = list(of_endpoint(policy(text), ENDPOINT, judged().expectation, seen))
    assert all((each.verdict == "pass") == (each.status == "ok") for each in found)
    return [(each.rule, each.verdict) for each in found]


def test_the_examples_on_endpoints() -> None:
    assert of(ON_ENDPOINTS) == [("custom/forward-secrecy", "pass"), ("custom/names-in-our-domain", "pass")]
    rsa = {**CONFORMING.suites, TLS12: replace(CONFORMING.suites[TLS12], accepted=(0x009C,))}
    assert of(ON_ENDPOINTS, suites=rsa)[0] == ("custom/forward-secrecy", "fail")


def test_what_the_scan_did_not_determine_is_inconclusive() -> None:
    partial = {**CONFORMING.suites, TLS12: replace(CONFORMING.suites[TLS12], unasked="stopped")}
    assert of(ON_ENDPOINTS, suites=partial)[0] == ("custom/forward-secrecy", "inconclusive")
    absent = {key: value for key, value in CONFORMING.suites.items() if key != TLS12}
    assert of(ON_ENDPOINTS, suites=absent)[0] == ("custom/forward-secrecy", "inconclusive")
    every = RULE % ("high", "endpoint", "observed.versions.all(v, observed.versions[v].suites.size() < 90)")
    assert of(every) == [("custom/a", "pass")]
    assert of(every, versions=Answers(unasked="stopped"), suites={}) == [("custom/a", "inconclusive")]
    none = RULE % ("high", "endpoint", 'observed.chain.all(c, c.subject != "x")')
    assert of(none, chain=Unknown("stopped")) == [("custom/a", "inconclusive")]


@pytest.mark.parametrize("reach", [Reach.CLOSED, Reach.PLAINTEXT, Reach.REJECTED, Reach.INTERRUPTED])
def test_an_endpoint_without_tls_is_not_judged(reach: Reach) -> None:
    assert of(ON_ENDPOINTS, reach=reach) == []


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        (RULE % ("high", "endpoint", 'port == "443"'),
         "adhere.yaml:4:110: customRules[0].expression: line 1, column 6"),
        (RULE % ("high", "endpoint", "object.x == 1"), "undeclared reference to 'object"),
        (RULE % ("high", "Route", "port == 443"), "undeclared reference to 'port'"),
        (RULE % ("high", "Rout", "true"), "customRules[0].on[0]: unknown kind 'Rout'"),
        (RULE % ("high", "endpoint, Route", "true"), "mixes endpoints and objects"),
        (RULE % ("high", "", "true"), "lists nothing"),
        (RULE % ("urgent", "Route", "true"), "customRules[0].severity: must be"),
        (RULE.replace("custom/a", "tls-version") % ("high", "Route", "true"), "invalid id 'tls-version'"),
        (RULE.replace("fix:", "fixx:") % ("high", "Route", "true"), "unknown field 'fixx'"),
        (RULE % ("high", "Route", "true") + (RULE % ("low", "Route", "true")).splitlines()[1],
         "custom/a is there twice"),
        (RULE % ("high", "Route", "true || " * 130 + "true"), "longer than 1000 characters"),
    ],
)  # fmt: skip
def test_a_mistake_is_refused_with_its_place(text: str, wrong: str) -> None:
    with pytest.raises(InputError) as caught:
        policy(text)
    assert wrong in caught.value.message
    assert caught.value.message.startswith(("adhere.yaml:4:", "adhere.yaml:5:"))


def test_rules_have_other_severities_or_are_off(tmp_path: Path) -> None:
    """Beside custom rules: the levels are of all rules that judge an object."""
    text = "apiVersion: projectcontour.io/v1\nkind: TLSCertificateDelegation\nmetadata: {name: a}\n"
    text += "spec: {delegations: [], x: 1}\n"
    usual = linted(tmp_path, text, policy(""))
    assert [(each["rule"], each["severity"]) for each in usual.every()] == [("field-unknown", "low")]
    other = linted(tmp_path, text, policy("rules: {field-unknown: high, 'field-*': off}\n"))
    assert [(each["rule"], each["severity"]) for each in other.every()] == [("field-unknown", "high")]
    assert exit_code(other, "high") == 1
    info = linted(tmp_path, text, policy("rules: {field-unknown: info}\n"))
    assert [each["status"] for each in info.every()] == ["informational"]
    assert exit_code(info, "low") == 0
    gone = linted(tmp_path, text, policy("rules: {'field-*': off}\n"))
    assert gone.every() == []
    assert not any(
        each.startswith("field-") for each in (*gone.objects[0]["passed"], *(one["id"] for one in gone.rules))
    )
