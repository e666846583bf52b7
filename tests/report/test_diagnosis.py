"""Diagnoses as text, and bug reports as Markdown: numbers, the step that stopped, and nothing that commands."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from io import StringIO

from markdown_it import MarkdownIt

from scanner.kube.cluster_facts import ClusterFacts
from scanner.model.diagnosis import Answer, Diagnosis, Outcome, Step
from scanner.model.endpoint import Owner
from scanner.report.bug import Bug, bug_report
from scanner.report.diagnosis import write
from scanner.report.page import Page
from scanner.report.rows import endpoint_row
from tests.report import cluster_samples, samples
from tests.report.cluster_samples import OLD, STRICT
from tests.report.samples import HOSTILE

OWNER = Owner(kind="Deployment", namespace="openshift-monitoring", name="metrics-server")
CLUSTER = ClusterFacts(name=f"prod {HOSTILE}", distribution="openshift", version="4.22.3")


def diagnosis(*outcomes: Outcome, component: str = "etcd", said: str = "said", **fields: object) -> Diagnosis:
    steps = tuple(
        Step(name=f"step {n}", answer=Answer(outcome=each, lines=(said,)), commands=("oc get etcd",))
        for n, each in enumerate(outcomes, start=1)
    )
    return Diagnosis(component=component, operator="etcd", listeners=2, required="modern", steps=steps, **fields)  # type: ignore[arg-type]


def told(*found: Diagnosis, whole: bool = False) -> str:
    out = StringIO()
    write(Page(out=out, color=False, width=100), CLUSTER, found, whole=whole)
    return out.getvalue()


STOPPED = diagnosis("ok", "stopped", "unknown", said=f"because {HOSTILE}")
FINE = diagnosis("ok", "ok", "not-read", component="router")
DARK = diagnosis("ok", "unknown", "not-read", component="dns", place="HostedCluster/a/b")


def test_without_a_component_what_stopped_comes_first_and_in_whole() -> None:
    text = told(FINE, STOPPED, DARK)
    assert "3 components with listeners; the configuration does not reach 1 of them" in text
    assert "  etcd  stopped at step 2 (step 2)\n" in text
    assert "could not be determined (1): dns (HostedCluster/a/b)" in text
    assert "no problem found (1): router" in text
    assert "not checked for some or all of these: 3 step 3" in text
    assert text.count("$ oc get etcd") == 3
    assert "  2 stopped     step 2\n" in text


def test_one_component_is_told_whatever_became_of_it() -> None:
    assert "no problem found in the steps that were checked\n  not checked: 3 step 3" in told(FINE, whole=True)
    assert "could not be determined" in told(DARK, whole=True)
    assert "(not enforced)" in told(diagnosis("ok", bound=False), whole=True)


def test_very_long_answers_are_cut() -> None:
    long = Diagnosis(component="x", steps=(Step(name="s", answer=Answer(outcome="ok", lines=("line",) * 100)),))
    assert "and 60 more" in told(long, whole=True)


def test_no_control_character_is_written() -> None:
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", told(STOPPED))


def report(text: str = "it accepts TLS 1.0") -> str:
    finding = samples.finding("tls-version", "high", "fail", text, observed=(text,), reproduce="adhere ask x")
    where = cluster_samples.endpoint(OWNER, 10250, "10.128.0.7", "metrics-server")
    row = endpoint_row(where, STRICT, samples.speaking("x"), "fail", "violation", [finding, OLD])
    bug = Bug(cluster=CLUSTER, diagnosis=STOPPED, rows=[row] * 7, at=datetime(2026, 11, 21, tzinfo=UTC))
    return "\n".join(bug_report(bug))


def test_a_bug_report_has_what_its_reader_asks_for() -> None:
    text = report()
    for part in (
        "does not follow the required TLS profile",
        "`openshift 4.22.3`",
        "StrictAllComponents",
        "APIServer/cluster spec.tlsAdherence: StrictAllComponents",
        "it accepts TLS 1.0",
        "2 more addresses have the same result",
        "adhere ask tls://10.128.0.7:8443 --version 1.0",
        "It stopped at step 2 (step 2).",
    ):
        assert part in text


def test_a_hostile_bug_report_is_only_text() -> None:
    found = MarkdownIt("commonmark").parse(report(f"{HOSTILE} `` <b>x</b> [a](http://b) ![](c)\n\n# heading"))
    kinds = {token.type for top in found for token in (top, *(top.children or ()))}
    assert {"html_inline", "html_block", "link_open", "image"}.isdisjoint(kinds)
    assert sum(token.type == "heading_open" for token in found) == 5
