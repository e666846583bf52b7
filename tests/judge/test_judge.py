"""``scanner.judge`` itself: all rules together, and what every rule must have."""

from __future__ import annotations

import re
from datetime import timedelta
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any, get_args

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec import structs

import scanner.judge
from scanner.judge import RULES, SCAN_RULES, judge, rule
from scanner.kube.maybe import Unknown
from scanner.kube.objects import Reference
from scanner.kube.tls_profile import Profile
from scanner.model.endpoint import Certainty, Origin
from scanner.model.expectation import Binding, CertificateExpectation
from scanner.model.finding import SEVERITIES, Finding
from scanner.model.observation import JUDGEABLE, Answers, Reach
from scanner.model.rule import Case, Rule, ScanRule
from scanner.tls.certificate import parse_certificate
from scanner.tls.codepoints import TLS10, TLS12, TLS13, VERSIONS
from scanner.values import replace
from tests.certs import Authority
from tests.judge.cases import CONFORMING, EMPTY, LEAF, NOW, PROFILE, ROOT, answers, case, failing, forbidden_suites
from tests.properties import at_most

HERE = Path(__file__).parent
SECTIONS = ("## What it requires", "## Why", "## What fails", "## What is inconclusive", "## How to fix")
BAD_VERSIONS = {"versions": answers((TLS13, TLS12, TLS10), set(VERSIONS))}


def test_a_listener_without_fault_passes() -> None:
    judged = judge(case())
    assert failing() == []
    assert [f.rule for f in judged.findings if f.verdict == "pass"]
    assert (judged.verdict, judged.status) == ("pass", "ok")


def test_the_samples_have_every_fact() -> None:
    samples = (*structs.asdict(LEAF).items(), *structs.asdict(CONFORMING).items())
    empty = [name for name, value in samples if isinstance(value, Unknown) or value in (None, "", (), {})]
    assert sorted(empty) == sorted(EMPTY), "tests/judge/cases.py: give the field a value, or EMPTY the reason for none"


BEFORE = (replace(PROFILE, min_version=TLS10),)


@pytest.mark.parametrize(
    ("observation", "expectation", "verdict", "status"),
    [
        (BAD_VERSIONS, {}, "fail", "violation"),
        ({**BAD_VERSIONS, "chain": Unknown("x")}, {}, "fail", "violation"),
        ({"chain": Unknown("the handshake broke off")}, {}, "inconclusive", "not-tested"),
        (BAD_VERSIONS, {"binding": "not-enforced", "alternatives": BEFORE}, "fail", "readiness"),
        (BAD_VERSIONS, {"binding": "settling", "alternatives": BEFORE}, "fail", "converging"),
        (BAD_VERSIONS, {"binding": "settling"}, "inconclusive", "converging"),
    ],
    ids=["a failure", "a failure and what is unknown", "unknown", "not bound", "a rollout", "a rollout from unknown"],
)
def test_the_verdict_of_an_endpoint_is_that_of_its_rules(
    observation: dict[str, Any], expectation: dict[str, Any], verdict: str, status: str
) -> None:
    judged = judge(case(observation=observation, expectation=expectation))
    assert (judged.verdict, judged.status) == (verdict, status)
    failing = {f.rule for f in judged.findings if f.verdict == "fail"}
    assert failing == ({"tls-version"} if verdict == "fail" else set())


GATEWAY = Reference(kind="Gateway", name="front", namespace="shop")


@pytest.mark.crypto
@pytest.mark.parametrize(("subject", "status"), [(GATEWAY, "violation"), (None, "readiness")])
@pytest.mark.parametrize(
    "certificate",
    [CertificateExpectation(names=("b.example",)), CertificateExpectation(anchors=(Authority("Other", now=NOW).der,))],
    ids=["name", "anchor"],
)
def test_what_an_object_says_of_a_certificate_binds_users_too(
    certificate: CertificateExpectation, subject: Reference | None, status: str
) -> None:
    """Without such an object the name is that of the Service that leads there, and nobody declared it."""
    served = parse_certificate(Authority("Some CA", now=NOW).leaf(names=("a.example",)).der)
    judged = judge(
        case(
            observation={"chain": (served,)},
            expectation={"binding": "not-enforced", "certificate": certificate},
            endpoint={"subject": subject},
        )
    )
    (failed,) = [each for each in judged.findings if each.verdict == "fail"]
    assert (failed.rule in ("cert-name", "cert-chain"), failed.status, judged.status) == (True, status, status)


def test_an_unknown_profile_never_passes() -> None:
    judged = judge(case(expectation={"profile": Unknown("the object cannot be read")}))
    assert judged.verdict == "inconclusive"
    unknown = {f.rule for f in judged.findings if f.verdict == "inconclusive"}
    assert unknown == {"tls-version", "tls-cipher-suite", "tls-group"}


def test_a_violation_that_was_seen_before_an_interruption_is_kept_and_a_pass_is_not() -> None:
    versions = Answers(accepted=(TLS12, TLS10), unasked="the deadline came first")
    judged = judge(case(observation={"reach": Reach.INTERRUPTED, "versions": versions}))
    assert judged.verdict == "fail"
    assert [(f.rule, f.verdict) for f in judged.findings] == [("tls-reach", "inconclusive"), ("tls-version", "fail")]


def test_a_candidate_that_is_closed_is_not_applicable() -> None:
    judged = judge(case(observation={"reach": Reach.CLOSED}, endpoint={"certainty": "candidate"}))
    assert (judged.verdict, judged.status, len(judged.findings)) == ("not_applicable", "unreachable", 1)


def _some(codes: list[int]) -> st.SearchStrategy[Answers]:
    """Anything from nothing known to nearly everything known."""
    return st.builds(
        lambda accepted, unknown: Answers(
            accepted=tuple(accepted), refused=frozenset(codes) - set(accepted) - unknown, unasked="why"
        ),
        st.lists(st.sampled_from(codes), unique=True, max_size=3),
        st.frozensets(st.sampled_from(codes), max_size=3),
    )


SUITES13, SUITES12 = (sorted(CONFORMING.suites[v].refused | set(CONFORMING.suites[v].accepted)) for v in (TLS13, TLS12))
GROUPS = sorted(CONFORMING.groups[TLS13].refused | set(CONFORMING.groups[TLS13].accepted))

DISTURBED: dict[str, st.SearchStrategy[Any]] = {
    "reach": st.sampled_from(Reach),
    "versions": _some(list(VERSIONS)),
    "suites": st.fixed_dictionaries(
        {}, optional={TLS13: _some(SUITES13), TLS12: _some(SUITES12), TLS10: _some(SUITES12)}
    ),
    "groups": st.fixed_dictionaries({}, optional={TLS13: _some(GROUPS), TLS12: _some(GROUPS)}),
    "chain": st.sampled_from([(), Unknown("x"), (replace(LEAF, is_ca=None),)]),
}
OBSERVATIONS = (
    st.lists(st.sampled_from(sorted(DISTURBED)), unique=True, max_size=2)
    .flatmap(lambda fields: st.fixed_dictionaries({name: DISTURBED[name] for name in fields}))
    .map(lambda changes: replace(CONFORMING, **changes))
)
"""A listener without fault of which at most two things are disturbed, so that many of them still pass."""

CASES = st.builds(
    lambda observation, certainty, enforced, profile, binding: replace(
        case(
            expectation={"profile": profile, "binding": binding},
            endpoint={"certainty": certainty},
            policy={"groups": enforced},
        ),
        observation=observation,
    ),
    OBSERVATIONS,
    st.sampled_from(get_args(Certainty)),
    st.sampled_from(["informational", "enforced"]),
    st.sampled_from([PROFILE, PROFILE, replace(PROFILE, min_version=TLS10), Unknown("x")]),
    st.sampled_from(get_args(Binding)),
)


@given(of=CASES)
@at_most(300)
def test_a_pass_means_that_everything_forbidden_is_known_to_be_refused(of: Case) -> None:
    judged = judge(of)
    if judged.verdict == "pass":
        profile, seen = of.expectation.profile, of.observation
        assert isinstance(profile, Profile)
        assert seen.reach in JUDGEABLE
        assert all(seen.versions.state(v) != "unknown" for v in VERSIONS)
        assert all(seen.versions.state(v) == "refused" for v in VERSIONS if v < profile.min_version)
        for version in (v for v in seen.versions.accepted if v >= profile.min_version):
            must = forbidden_suites(profile, version)
            assert all(seen.suites[version].state(code) == "refused" for code in must)
        assert seen.chain == CONFORMING.chain


ABORTED = {"reach": Reach.PLAINTEXT, "versions": answers((TLS10,))}


@given(of=CASES)
@example(of=case(observation=ABORTED, expectation={"binding": "settling"}, endpoint={"certainty": "candidate"}))
@at_most(300)
def test_whatever_was_accepted_and_is_forbidden_fails(of: Case) -> None:
    """But for what may have been right before a change that is on its way, of which nobody can tell."""
    profile, seen = of.expectation.profile, of.observation
    if isinstance(profile, Profile) and any(v < profile.min_version for v in seen.versions.accepted):
        may = of.expectation.binding == "settling" and all(v >= TLS10 for v in seen.versions.accepted)
        assert judge(of).verdict in (("fail", "inconclusive") if may else ("fail",))


@given(of=CASES)
@at_most(200)
def test_every_finding_is_whole(of: Case) -> None:
    for found in judge(of).findings:
        assert found.message
        assert found.severity in SEVERITIES
        if found.verdict == "fail":
            assert found.observed
            assert found.expected
            assert found.fix
            assert found.reproduce
            assert found.reproduce.startswith(("adhere ask ", "adhere scan ", "curl -", "openssl req "))
        if found.verdict == "inconclusive":
            assert ": " in found.message, "what could not be determined, and why"


def test_rule_by_id() -> None:
    assert rule("tls-version").id == "tls-version"
    with pytest.raises(KeyError):
        rule("tls-versions")


def test_ids_are_what_they_always_were() -> None:
    """Ids stand in baselines, waivers and dashboards: this list may only grow."""
    ids = [each.id for each in RULES]
    always = [
        "tls-reach",
        "tls-version",
        "tls-cipher-suite",
        "tls-group",
        "tls-pq-readiness",
        "tls-client-certificate",
        "tls-untrusted-client",
        "tls-other-names",
        "tls-subdomain",
        "tls-cleartext",
        "http-redirect",
        "tls-misdirected",
        "cert-expired",
        "cert-not-yet-valid",
        "cert-expiring",
        "cert-name",
        "cert-key-size",
        "cert-signature",
        "cert-ca-as-leaf",
        "cert-chain",
        "cert-clients",
        "cert-stored",
        "cert-stored-chain",
        "cert-not-granted",
        "tls-withheld",
        "backend-identity",
        "backend-fail-open",
        "policy-override",
    ]
    assert [each for each in always if each not in ids] == [], "scanner/judge/__init__.py: RULES lacks these"
    assert ids == always, "tests/judge/test_judge.py: add the id of a new rule to this list, at its place in RULES"


@pytest.mark.parametrize("each", [*RULES, *SCAN_RULES], ids=lambda each: each.id)
def test_every_rule_explains_itself(each: Rule | ScanRule) -> None:
    positions = [each.page.find(section) for section in SECTIONS]
    assert -1 not in positions, f"docs/rules/{each.id}.md: a section is missing of {SECTIONS}"
    assert positions == sorted(positions), f"docs/rules/{each.id}.md: the order is {SECTIONS}"
    assert each.title
    assert each.references


@pytest.mark.parametrize("each", RULES, ids=lambda each: each.id)
def test_every_rule_is_tested_by_name(each: Rule) -> None:
    tests = [path for path in HERE.glob("test_*.py") if path != Path(__file__)]
    assert any(re.search(rf'"{each.id}"', path.read_text()) for path in tests), f'no test in {HERE} has "{each.id}"'


def test_every_rule_of_the_package_is_registered() -> None:
    modules = [import_module(f"scanner.judge.{found.name}") for found in iter_modules(scanner.judge.__path__)]
    written = {value.id for module in modules for value in vars(module).values() if isinstance(value, Rule)}
    assert written == {each.id for each in RULES}, "add it to RULES in scanner/judge/__init__.py"


def test_a_finding_of_each_rule_carries_its_id() -> None:
    found: list[Finding] = [f for each in RULES for f in each.check(each, case())]
    assert {f.rule for f in found} <= {each.id for each in RULES}
    # Names, Secrets, chains, permissions, clients, client certificates, other names, HTTP (twice), backends and
    # overrides: only where something is expected.
    assert len(found) >= len(RULES) - 16


EXPIRED = replace(LEAF, der=b"other leaf", not_after=LEAF.not_before)


@pytest.mark.parametrize(("chain", "beside"), [((LEAF,), (EXPIRED,)), ((EXPIRED,), (LEAF,))])
def test_every_chain_that_is_served_is_judged(chain: tuple[Any, ...], beside: tuple[Any, ...]) -> None:
    result = judge(case(observation={"chain": chain, "other_chains": (beside,)}))
    assert result.verdict == "fail"
    (expired,) = (each for each in result.findings if each.rule == "cert-expired")
    assert expired.verdict == "fail"


def test_the_fix_of_an_expired_certificate_names_the_mounted_secret() -> None:
    secret = Reference(kind="Secret", namespace="shop", name="web-tls")
    mount = Origin(role="mount", through=secret)
    result = judge(case(observation={"chain": (EXPIRED,)}, endpoint={"origins": (mount,)}))
    (expired,) = (each for each in result.findings if each.rule == "cert-expired")
    assert expired.fix == "renew the certificate (Secret/shop/web-tls is mounted there) and reload the listener"


def test_two_chains_that_fail_are_one_finding_with_both() -> None:
    another = replace(EXPIRED, der=b"a third", subject="CN=another")
    result = judge(case(observation={"chain": (EXPIRED,), "other_chains": ((another,), (LEAF,))}))
    (expired,) = (each for each in result.findings if each.rule == "cert-expired")
    assert [seen.split(":")[0] for seen in expired.observed] == ["leaf CN=a.example", "leaf CN=another"]


def test_the_severest_of_two_failures_and_what_is_not_known_of_another_chain_count() -> None:
    old = replace(LEAF, not_before=NOW - timedelta(days=200))
    soon, sooner = (replace(old, not_after=NOW + timedelta(days=each)) for each in (20, 1))
    for chain, beside in ((soon, sooner), (sooner, soon)):
        result = judge(case(observation={"chain": (chain,), "other_chains": ((beside,),)}))
        (expiring,) = (each for each in result.findings if each.rule == "cert-expiring")
        assert (expiring.severity, len(expiring.observed)) == ("high", 2)
    odd = replace(LEAF, not_after=None)
    for chain, beside in ((LEAF, odd), (odd, LEAF)):
        result = judge(case(observation={"chain": (chain,), "other_chains": ((beside,),)}))
        (expired,) = (each for each in result.findings if each.rule == "cert-expired")
        (unknown, *where) = expired.evidence
        assert unknown.startswith("leaf CN=a.example: ")
        assert where == (["in another chain that the listener also serves"] if beside is odd else [])


def test_a_chain_beside_the_one_shown_changes_nothing_that_is_not_about_certificates() -> None:
    weak = {"versions": answers((TLS13, TLS12, TLS10), set(VERSIONS))}
    one, two = (judge(case(observation=weak | {"other_chains": beside})) for beside in ((), ((EXPIRED,),)))
    for before, after in zip(one.findings, two.findings, strict=True):
        assert before == after or before.rule.startswith("cert-")
    assert "fail" in {each.verdict for each in one.findings if each.rule == "tls-version"}


UNSEEN = Unknown("no handshake of TLS 1.3 was completed")
HIDDEN = {"chain": UNSEEN, "client_certificate": UNSEEN, "alpn": UNSEEN}


def test_a_certificate_that_nobody_saw_passes_no_rule() -> None:
    """The one of TLS 1.2 is in order, and says nothing of the one that TLS 1.3 hides."""
    certificate = CertificateExpectation(names=("a.example",), anchors=(ROOT.der,))
    expected = {"client_certificate": "none", "certificate": certificate}
    result = judge(case(expectation=expected, observation={**HIDDEN, "other_chains": ((LEAF,),)}))
    verdicts = {each.rule: each.verdict for each in result.findings if each.verdict != "not_applicable"}
    of_certificates = {name: said for name, said in verdicts.items() if name.startswith("cert-")}
    assert {"cert-expired", "cert-not-yet-valid", "cert-expiring", "cert-name", "cert-chain"} < {*of_certificates}
    assert set(of_certificates.values()) == {"inconclusive"}
    assert verdicts["tls-client-certificate"] == "inconclusive"
    assert result.verdict == "inconclusive"


def test_a_certificate_that_was_seen_fails_whatever_was_not_seen() -> None:
    result = judge(case(observation={**HIDDEN, "other_chains": ((LEAF,), (EXPIRED,))}))
    (expired,) = (each for each in result.findings if each.rule == "cert-expired")
    assert (result.verdict, expired.verdict) == ("fail", "fail")
    assert expired.evidence[-1] == "in one of the served chains"


def test_a_rule_may_find_nothing_where_no_certificate_was_seen() -> None:
    """An address is compared with a certificate only: a scan that is stopped has seen that of TLS 1.2."""
    result = judge(case(endpoint={"host": "127.0.0.1"}, observation={**HIDDEN, "other_chains": ((LEAF,), (LEAF,))}))
    assert [each.verdict for each in result.findings if each.rule == "cert-name"] == ["not_applicable"]
