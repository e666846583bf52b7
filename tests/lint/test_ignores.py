"""Waivers of the policy file for objects, comments and annotations that ignore findings, and what is wrong in them."""

from __future__ import annotations

import io
import json
import re
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from scanner.cluster.lint_input import read_manifests
from scanner.kube.kinds import TLS_CERTIFICATE_DELEGATION
from scanner.kube.objects import KubeObject
from scanner.linting import LINT_READS, declared, lint_report
from scanner.model.declared import Declared, LintSubject
from scanner.model.lint_report import LintReport, exit_code
from scanner.model.scan_policy import ScanPolicy, Selector, Waiver
from scanner.report import LINT_FORMATS
from scanner.report.formats.json_document import write_lint
from scanner.report.results import read_report
from scanner.values import replace
from tests.lint.examples import empty
from tests.schemas import errors

TODAY = datetime(2026, 11, 23, tzinfo=UTC)
NOTE = "adhere: ignore[field-unknown] our webhook reads it until 2027-01-31"
HEAD = "apiVersion: projectcontour.io/v1\nkind: TLSCertificateDelegation\n"
OBJECT = HEAD + "metadata: {name: a, namespace: shop, labels: {tier: web}}\nspec:\n  delegations: []\n  x: 1\n  y: 2\n"
WAIVER = Waiver(
    rule="field-*",
    selector=Selector(namespaces=("shop",)),
    reason="r",
    owner="o",
    expires=date(2027, 1, 31),
    source="adhere.yaml:4:3",
)


def linted(directory: Path, text: str, *waivers: Waiver, honoured: bool = True) -> LintReport:
    (directory / "a.yaml").write_text(text)
    given = read_manifests([str(directory / "a.yaml")], LINT_READS)
    policy = ScanPolicy(source="adhere.yaml" if waivers else "", waivers=waivers)
    about = declared(given, empty())
    return lint_report(about, given, started=TODAY, sources=(), arguments=(), policy=policy, honoured=honoured)


def waived(report: LintReport) -> list[str]:
    found = [each for row in report.objects for each in row["findings"]]
    assert all(bool(each["waiver"]) == (each["status"] == "waived") for each in found)
    assert all(each["verdict"] == "fail" for each in found if each["waiver"])
    return [each["field"] for each in found if each["waiver"]]


def told(report: LintReport) -> list[tuple[str, str, int, str]]:
    """Severity, rule, line and message of the findings without an object."""
    return [
        (each["severity"], each["rule"], each["place"]["line"] if each["place"] else 0, each["message"])
        for each in report.findings
    ]


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        (OBJECT.replace("x: 1", f"x: 1 # {NOTE}"), ["spec.x"]),
        (OBJECT.replace("  x: 1", f"  # {NOTE}\n  x: 1"), ["spec.x"]),
        (OBJECT.replace("  x: 1", f"  # {NOTE}\n\n  # another comment\n  x: 1"), ["spec.x"]),
        (f"# {NOTE}\n{OBJECT}", ["spec.x", "spec.y"]),
        (f"# {NOTE}\r\n---\r\n" + OBJECT.replace("\n", "\r\n"), ["spec.x", "spec.y"]),
        (f"\ufeff#{NOTE}\n{OBJECT}", ["spec.x", "spec.y"]),
        (OBJECT + f"---\n# {NOTE}\n" + HEAD + "metadata: {name: b}\nspec: {delegations: [], z: 1}\n", ["spec.z"]),
        (OBJECT.replace("kind:", f"# {NOTE}\nkind:"), []),
        (OBJECT.replace("x: 1", f"x: '# {NOTE}'"), []),
        (OBJECT.replace("x: 1", f"x: |\n    # {NOTE}\n    text"), []),
        (OBJECT.replace("x: 1", f"x: '#' # {NOTE}"), ["spec.x"]),
        (OBJECT.replace("x: 1", f"x: |\n    text\n  # {NOTE}"), ["spec.y"]),
        (OBJECT.replace("x: 1", f"x: 1 # as in: # {NOTE}"), []),
        (OBJECT.replace("x: 1", "x: 1 # adhere: ignore[field-type,field-unknown] why until 2026-11-23"), ["spec.x"]),
        (f"a: [\n---\n# {NOTE}\n{OBJECT}", ["spec.x", "spec.y"]),
        (OBJECT.replace("labels:", "annotations: {adhere.dev/ignore: field-unknown r until 2027-01-31}, labels:"),
         ["spec.x", "spec.y"]),
    ],
)  # fmt: skip
def test_a_comment_is_about_its_line_or_the_next_one_or_the_object(
    tmp_path: Path, text: str, fields: list[str]
) -> None:
    report = linted(tmp_path, text)
    assert waived(report) == fields
    assert report.waived == (None if not fields and report.waived is None else {"waivers": 0, "ignores": len(fields)})
    other = linted(tmp_path, text, honoured=False)
    assert waived(other) == []
    assert other.waived is None


@pytest.mark.parametrize(
    ("note", "message"),
    [
        ("ignore[field-unknwon] r until 2027-01-31", "no rule is called 'field-unknwon'"),
        ("ignore[] r until 2027-01-31", "it names no rule"),
        ("ignore r until 2027-01-31", "it names no rule"),
        ("ignore[field-unknown] until 2027-01-31", "it has no reason or no end"),
        ("ignore[field-unknown] for ever", "it has no reason or no end"),
        ("ignore[field-unknown] r until 2027-02-30", "'2027-02-30' is no day"),
        ("ignore[field-unknown] r until May", "'May' is no day"),
    ],
)
def test_an_ignore_that_is_not_complete_has_no_effect(tmp_path: Path, note: str, message: str) -> None:
    report = linted(tmp_path, OBJECT.replace("x: 1", f"x: 1 # adhere: {note}"))
    assert waived(report) == []
    assert told(report) == [("low", "waiver-unused", 6, f"the ignore has no effect: {message}")]


def test_many_unknown_rules_cost_little(tmp_path: Path) -> None:
    lines = "".join(f"  # adhere: ignore[field-unknwo{number}] r until 2027-01-31\n" for number in range(300))
    report = linted(tmp_path, OBJECT.replace("  x: 1\n", f"{lines}  x: 1\n"))
    hints = [each["fix"] or "" for each in report.findings]
    assert (len(hints), sum("did you mean" in each for each in hints)) == (300, 20)


def test_an_expired_ignore_waives_nothing(tmp_path: Path) -> None:
    report = linted(tmp_path, OBJECT.replace("x: 1", "x: 1 # adhere: ignore[field-unknown] r until 2026-11-22"))
    assert waived(report) == []
    assert [each[:3] for each in told(report)] == [("medium", "waiver-expired", 6)]
    assert exit_code(report, "medium") == 1
    found = next(each for each in report.every() if each["field"] == "spec.x")
    assert "the ignore has expired: ignored until 2026-11-22: r" in found["evidence"][-1]


@pytest.mark.parametrize("name", LINT_FORMATS)
def test_every_format_has_the_reason(tmp_path: Path, name: str) -> None:
    text = OBJECT.replace("x: 1", "x: 1 # adhere: ignore[field-unknown] a::b | <i>|\u202e until 2027-01-31")
    unused = f"---\n# {NOTE}\n{HEAD}metadata: {{name: b}}\nspec: {{delegations: []}}\n"
    out = io.StringIO()
    LINT_FORMATS[name].write(linted(tmp_path, text + unused), out)
    assert "waiver-unused" in out.getvalue()
    assert "waived" in out.getvalue() or "uppressions" in out.getvalue() or name == "gitlab"
    assert "\u202e" not in out.getvalue() or name == "json"


def test_the_json_has_its_schema_and_is_complete(tmp_path: Path) -> None:
    out = io.StringIO()
    write_lint(linted(tmp_path, OBJECT.replace("x: 1", f"x: 1 # {NOTE}\n  delegation: [] # {NOTE}")), out)
    assert errors(json.loads(out.getvalue()), "lint-v1") == []
    (tmp_path / "r.json").write_text(out.getvalue())
    assert read_report(tmp_path / "r.json").shortfall == ""


def test_an_ignore_without_a_finding_is_reported(tmp_path: Path) -> None:
    report = linted(tmp_path, OBJECT.replace("delegations: []", f"delegations: [] # {NOTE}"))
    assert told(report) == [("low", "waiver-unused", 5, "the ignore of field-unknown matches no finding")]
    assert exit_code(report, "medium") == 0


def test_what_is_undecided_cannot_be_ignored(tmp_path: Path) -> None:
    text = (
        "# adhere: ignore[gateway-certificate-ref] later until 2027-01-31\n"
        "apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {name: edge, namespace: shop}\n"
        "spec:\n  gatewayClassName: e\n  listeners:\n"
        "  - {name: a, port: 443, protocol: HTTPS, hostname: a.example, tls: {certificateRefs: [{name: t}]}}\n"
    )
    (tmp_path / "a.yaml").write_text(text)
    given = read_manifests([str(tmp_path / "a.yaml")], LINT_READS)
    report = lint_report(declared(given, None), given, started=TODAY, sources=(), arguments=())
    found = [each for each in report.every() if each["rule"] == "gateway-certificate-ref"]
    assert [(each["verdict"], each["waiver"]) for each in found] == [("inconclusive", None)]
    assert "waives failures only" in found[0]["evidence"][-1]
    assert exit_code(report, "medium") == 3


def test_a_comment_in_a_file_does_not_reach_an_object_of_the_cluster(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(f"# {NOTE}\n{OBJECT}")
    given = read_manifests([str(tmp_path / "a.yaml")], LINT_READS)
    metadata: dict[str, object] = {"name": "a", "namespace": "shop"}
    raw: dict[str, object] = {"metadata": metadata, "spec": {"delegations": [], "x": 1}}
    subject = LintSubject(object=KubeObject(raw, TLS_CERTIFICATE_DELEGATION))
    about = Declared(subjects=(subject,), known=empty())
    report = lint_report(about, given, started=TODAY, sources=(), arguments=())
    assert waived(report) == []
    metadata["annotations"] = {"adhere.dev/ignore": "field-unknown r until 2027-01-31"}
    report = lint_report(about, None, started=TODAY, sources=(), arguments=())
    assert waived(report) == ["spec.x"]


@pytest.mark.parametrize(
    ("selector", "matches"),
    [
        (Selector(namespaces=("sh*",)), True),
        (Selector(kinds=("TLSCertificateDelegation",), names=("a",), labels=(("tier", "web"),)), True),
        (Selector(files=("*/a.yaml",)), True),
        (Selector(files=("*/b.yaml",)), False),
        (Selector(kinds=("Gateway",)), False),
        (Selector(labels=(("tier", "db"),)), False),
        (Selector(namespaces=("shop",), ports=(443,)), False),
        (Selector(namespaces=("shop",), endpoints=("*",)), False),
    ],
)
def test_a_waiver_selects_objects(tmp_path: Path, selector: Selector, *, matches: bool) -> None:
    waiver = replace(WAIVER, selector=selector)
    report = linted(tmp_path, OBJECT, waiver)
    assert waived(report) == (["spec.x", "spec.y"] if matches else [])
    assert report.waived == {"waivers": 2 if matches else 0, "ignores": 0}
    assert [each[:2] for each in told(report)] == ([] if matches else [("info", "waiver-unused")])


def test_a_waiver_of_another_command_is_not_reported(tmp_path: Path) -> None:
    waiver = replace(WAIVER, rule="tls-version")
    assert told(linted(tmp_path, OBJECT, waiver)) == []


def test_the_example_of_the_page_is_waived(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs/lint.md").read_text()
    (block,) = (
        each for each in re.findall(r"^```yaml\n(.*?)^```$", page, re.DOTALL | re.MULTILINE) if "# adhere" in each
    )
    assert waived(linted(tmp_path, block)) == ["spec.flavour"]
