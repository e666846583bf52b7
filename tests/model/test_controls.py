"""Published controls: what an endpoint shows of each, and that unknown is never a pass."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from scanner.model.controls import Answer, Control, catalogues, controls_of_rules
from scanner.model.report import EndpointRow
from scanner.tls.names import group_code, suite_code, version_code
from tests.report import samples
from tests.report.sample_reports import row

GOOD = row("a:443", *samples.PASSED, verdict="pass")


INDEPENDENT = {"cert-chain", "cert-expired", "cert-not-yet-valid"}
"""Rules that depend neither on the profile of the endpoint nor on the policy."""


def control(**checks: Any) -> Control:  # noqa: ANN401 - as the file has them
    return Control(id="1", title="t", components=(), ports=(), checks=checks, related=(), not_tested="")


def changed(path: str, value: object) -> EndpointRow:
    """The good endpoint with another value of ``observed``."""
    copied: Any = deepcopy(GOOD)
    at = copied["observed"]
    *way, last = path.split("/")
    for name in way:
        at = at[name]
    at[last] = value
    return copied  # type: ignore[no-any-return]


SAID: Any = GOOD["observed"]["versions"]
SAID["SSLv2"] = {**SAID["SSLv3"]}
LISTED = {name: SAID[name]["suites"] for name in ("TLSv1.2", "TLSv1.3")}
ACCEPTED: Any = {"suites": None, "refused": [], "enumerated": False, "preference": None, "groups": None}


@pytest.mark.parametrize(
    ("checks", "seen", "answer"),
    [
        ({"refused": ["TLSv1", "TLSv1.1"]}, GOOD, "pass"),
        ({"refused": ["TLSv1", "TLSv1.2"]}, GOOD, "fail"),
        ({"refused": ["TLSv1"]}, changed("versions/TLSv1", None), "unknown"),
        ({"refused": ["TLSv1", "TLSv1.2"]}, changed("versions/TLSv1", None), "fail"),
        ({"refused": ["TLSv1"]}, changed("versions", None), "unknown"),
        ({"accepted": ["TLSv1.3"]}, GOOD, "pass"),
        ({"accepted": ["TLSv1.1"]}, GOOD, "fail"),
        ({"accepted": ["TLSv1.3"]}, changed("versions/TLSv1.3", None), "unknown"),
        ({"suites": LISTED}, GOOD, "pass"),
        ({"suites": LISTED}, changed("versions/TLSv1.2/enumerated", False), "unknown"),
        ({"suites": LISTED}, changed("versions/TLSv1.2/suites", None), "unknown"),
        ({"suites": {**LISTED, "TLSv1.2": LISTED["TLSv1.2"][1:]}}, GOOD, "fail"),
        ({"suites": {**LISTED, "TLSv1": []}}, GOOD, "pass"),
        ({"suites": {"TLSv1.2": LISTED["TLSv1.2"]}}, GOOD, "fail"),
        ({"suites": LISTED}, changed("versions/SSLv3", ACCEPTED), "fail"),
        ({"suites": LISTED}, changed("versions/SSLv2", ACCEPTED), "fail"),
        ({"suites": LISTED}, changed("versions/SSLv2", None), "unknown"),
        ({"suites": LISTED}, changed("versions", None), "unknown"),
        ({"groups": ["secp256r1"]}, GOOD, "pass"),
        ({"groups": ["ffdhe2048"]}, GOOD, "fail"),
        ({"groups": ["ffdhe2048"]}, changed("groups", None), "unknown"),
        ({"client_certificate": "required"}, GOOD, "fail"),
        ({"client_certificate": "required"}, changed("client_certificate", "required"), "pass"),
        ({"client_certificate": "required"}, changed("client_certificate", None), "unknown"),
        ({"certificate": "served"}, GOOD, "pass"),
        ({"certificate": "served"}, changed("chain", None), "unknown"),
        ({"rules": ["tls-version"]}, GOOD, "pass"),
        ({"rules": ["tls-version", "vuln-robot"]}, GOOD, "unknown"),
        ({}, GOOD, "unknown"),
    ],
)
def test_answers(checks: dict[str, Any], seen: EndpointRow, answer: Answer) -> None:
    assert control(**checks).answer(seen) == answer


@pytest.mark.parametrize(
    ("verdicts", "answer"),
    [
        (["fail"], "fail"),
        (["pass", "fail"], "fail"),
        (["pass", "inconclusive"], "unknown"),
        (["not_applicable"], "unknown"),
        (["pass", "pass"], "pass"),
    ],
)
def test_a_rule_with_several_findings(verdicts: list[Any], answer: Answer) -> None:
    seen = row("a:1", *(samples.finding("r", "high", each, "m") for each in verdicts))
    assert control(rules=["r"]).answer(seen) == answer


def test_a_waived_failure_is_a_failure() -> None:
    seen = row("a:1", samples.finding("r", "high", "fail", "m", status="waived"))
    assert control(rules=["r"]).answer(seen) == "fail"


def test_a_control_has_its_components_and_ports() -> None:
    etcd: Any = {**GOOD, "component": "etcd", "port": 2379}
    (client,) = [
        each for one in catalogues() if one.title.startswith("CIS Kub") for each in one.controls if each.id == "2.2"
    ]
    assert client.answer(etcd) == "fail"
    others: list[dict[str, Any]] = [{"component": None}, {"port": 2380}, {"verdict": "not_applicable"}]
    for other in others:
        changed_row: Any = etcd | other
        assert client.answer(changed_row) is None


def test_a_version_that_no_list_has_fails_every_list_of_suites() -> None:
    kubelet: Any = deepcopy(GOOD) | {"component": "kubelet", "port": 10250}
    (listed,) = [each for one in catalogues() for each in one.controls if each.id == "4.2.12"]
    only = {**kubelet["observed"]["versions"]["TLSv1.2"], "suites": ["TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"]}
    kubelet["observed"]["versions"]["TLSv1.2"] = only
    assert listed.answer(kubelet) == "pass"
    kubelet["observed"]["versions"]["SSLv3"] = ACCEPTED
    assert listed.answer(kubelet) == "fail"


def test_every_catalogue_names_what_exists() -> None:
    assert [each.title for each in catalogues()] == [
        "CIS Kubernetes Benchmark", "CIS OpenShift Benchmark", "NIST SP 800-52", "PCI DSS"
    ]  # fmt: skip
    from scanner.judge import RULES as JUDGED

    known = {each.id for each in JUDGED}
    for catalogue in catalogues():
        assert catalogue.source
        assert catalogue.version
        for each in catalogue.controls:
            assert each.checks, each.id
            assert set(each.rules) <= known
            assert set(each.checks.get("rules", ())) <= INDEPENDENT, f"{each.id}: by a profile or a policy"
            assert 0 < len(each.title.split()) <= 12
            versions = {
                *each.checks.get("refused", ()),
                *each.checks.get("accepted", ()),
                *each.checks.get("suites", ()),
            }
            assert all(version_code(name) for name in versions)
            for suites in each.checks.get("suites", {}).values():
                assert all(suite_code(name) is not None for name in suites)
            assert all(group_code(name) is not None for name in each.checks.get("groups", ()))


def test_a_rule_has_its_controls() -> None:
    assert "NIST SP 800-52 Revision 2 3.1" in controls_of_rules()["tls-version"]
    assert "CIS Kubernetes Benchmark v1.11 2.2 (etcd)" in controls_of_rules()["tls-client-certificate"]
