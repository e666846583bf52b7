from __future__ import annotations

import pytest

from scanner.judge import judge
from scanner.kube.objects import Reference
from scanner.model.endpoint import Certainty, Origin, Tunnel
from scanner.model.expectation import Binding
from scanner.model.observation import Answers, Reach
from scanner.tls.codepoints import TLS10
from tests.judge.cases import case, finding

NOTHING = {"versions": Answers(unasked="no conversation"), "suites": {}, "groups": {}}

UNREACHED = {
    Reach.CLOSED: "unreachable",
    Reach.FILTERED: "unreachable",
    Reach.UNREACHABLE: "unreachable",
    Reach.HUNG_UP: "not-tested",
    Reach.RESET: "not-tested",
    Reach.SILENT: "not-tested",
    Reach.REJECTED: "not-tested",
    Reach.NAME_REQUIRED: "not-tested",
    Reach.MALFORMED: "not-tested",
    Reach.INTERRUPTED: "not-tested",
}


@pytest.mark.parametrize("reach", [Reach.TLS, Reach.CLIENT_CERTIFICATE_REQUIRED])
def test_a_conversation_passes(reach: Reach) -> None:
    assert finding("tls-reach", case(observation={"reach": reach})).verdict == "pass"


@pytest.mark.parametrize("reach", UNREACHED)
@pytest.mark.parametrize("certainty", ["declared", "hinted"])
def test_no_conversation_is_inconclusive_and_says_what_to_do(reach: Reach, certainty: Certainty) -> None:
    found = finding("tls-reach", case(observation={"reach": reach, "detail": "x"}, endpoint={"certainty": certainty}))
    assert (found.verdict, found.status) == ("inconclusive", UNREACHED[reach])
    assert ": " in found.message
    assert found.observed == (reach.value,)
    assert found.evidence == ("x",)


def test_every_outcome_has_a_verdict() -> None:
    judged = {Reach.TLS, Reach.CLIENT_CERTIFICATE_REQUIRED, Reach.PLAINTEXT, Reach.STARTTLS_NEEDED}
    assert judged | set(UNREACHED) == set(Reach)


@pytest.mark.parametrize("reach", sorted(set(Reach) - {Reach.TLS, Reach.CLIENT_CERTIFICATE_REQUIRED}))
@pytest.mark.parametrize("certainty", ["declared", "hinted", "candidate"])
@pytest.mark.parametrize("plaintext", ["not_applicable", "warn", "fail"])
def test_without_a_conversation_nothing_passes(reach: Reach, certainty: Certainty, plaintext: str) -> None:
    judged = judge(
        case(
            observation={"reach": reach, **NOTHING},
            endpoint={"certainty": certainty},
            policy={"plaintext_candidate": plaintext},
        )
    )
    assert judged.verdict != "pass"
    assert all(f.verdict != "pass" for f in judged.findings)


@pytest.mark.parametrize("reach", [Reach.PLAINTEXT, Reach.STARTTLS_NEEDED])
def test_plaintext_on_a_declared_listener_fails(reach: Reach) -> None:
    found = finding("tls-reach", case(observation={"reach": reach, "protocol": "smtp", "detail": "220 hello"}))
    assert (found.verdict, found.severity, found.status) == ("fail", "high", "not-tls")
    assert "smtp" in found.message
    assert found.fix
    assert found.reproduce == "adhere ask tls://127.0.0.1:443#a.example"


@pytest.mark.parametrize(("binding", "status"), [("settling", "converging"), ("not-enforced", "not-tls")])
def test_plaintext_where_an_object_declares_tls_counts_for_users_too(binding: Binding, status: str) -> None:
    found = finding("tls-reach", case(observation={"reach": Reach.PLAINTEXT}, expectation={"binding": binding}))
    assert (found.verdict, found.status) == ("fail", status)


def test_plaintext_is_mended_at_the_object_that_declares_tls_and_may() -> None:
    route, gateway = (Reference(kind=kind, name="web", namespace="shop") for kind in ("Route", "Gateway"))
    theirs, cluster = Origin(role="backend", reference=route, foreign=True), Origin(role="api-server")
    own = Origin(role="listener", reference=gateway)
    plain = {"reach": Reach.PLAINTEXT}
    found = finding("tls-reach", case(observation=plain, endpoint={"origins": (theirs, cluster, own)}))
    assert "correct Gateway/shop/web, which declares TLS there" in (found.fix or "")
    found = finding("tls-reach", case(observation=plain, endpoint={"origins": (theirs, cluster)}))
    assert "remove it from the targets" in (found.fix or "")


def test_plaintext_where_only_the_name_hints_at_tls_is_inconclusive() -> None:
    found = finding("tls-reach", case(observation={"reach": Reach.PLAINTEXT}, endpoint={"certainty": "hinted"}))
    assert (found.verdict, found.status) == ("inconclusive", "not-tls")


@pytest.mark.parametrize(
    ("policy", "verdict", "severity"),
    [("not_applicable", "not_applicable", "info"), ("warn", "fail", "low"), ("fail", "fail", "high")],
)
def test_plaintext_on_a_discovered_port_is_what_the_policy_says(policy: str, verdict: str, severity: str) -> None:
    of = case(
        observation={"reach": Reach.PLAINTEXT, "protocol": "http"},
        endpoint={"certainty": "candidate"},
        policy={"plaintext_candidate": policy},
    )
    found = finding("tls-reach", of)
    assert (found.verdict, found.status, found.severity) == (verdict, "not-tls", severity)
    assert judge(of).verdict == verdict


def test_a_closed_discovered_port_is_not_applicable() -> None:
    of = case(observation={"reach": Reach.CLOSED, **NOTHING}, endpoint={"certainty": "candidate"})
    judged = judge(of)
    assert (judged.verdict, judged.status) == ("not_applicable", "unreachable")
    assert [f.rule for f in judged.findings] == ["tls-reach"]


def test_a_filtered_discovered_port_is_inconclusive() -> None:
    of = case(observation={"reach": Reach.FILTERED, **NOTHING}, endpoint={"certainty": "candidate"})
    assert judge(of).verdict == "inconclusive"


@pytest.mark.parametrize("certainty", ["declared", "hinted", "candidate"])
def test_what_was_not_dialled_is_said_to_be_that_and_nobody_is_told_to_dial_it(certainty: Certainty) -> None:
    refusal = "not dialled: it is not the cluster's (--allow-external dials it)"
    reference = Reference(kind="ValidatingWebhookConfiguration", name="corporate-policy")
    found = finding(
        "tls-reach",
        case(
            observation={"reach": Reach.UNREACHABLE, "dialled": False, "detail": refusal, **NOTHING},
            endpoint={
                "address": "198.51.100.7",
                "certainty": certainty,
                "origins": (Origin(role="webhook", reference=reference, part="check"),),
            },
        ),
    )
    assert (found.verdict, found.status, found.message) == ("inconclusive", "unreachable", refusal)
    assert found.reproduce is None
    assert found.fix == f"if the address in {reference} is intended, use --allow-external; otherwise correct it"


def test_a_loopback_address_needs_the_option_for_loopback() -> None:
    reference = Reference(kind="Pod", namespace="shop", name="web")
    found = finding(
        "tls-reach",
        case(
            observation={"reach": Reach.UNREACHABLE, "dialled": False, "detail": "not dialled", **NOTHING},
            endpoint={"address": "127.0.0.7", "origins": (Origin(role="port", reference=reference, part="https"),)},
        ),
    )
    assert found.fix is not None
    assert "--allow-loopback" in found.fix
    assert "--allow-external" not in found.fix


def test_what_only_a_port_forward_reaches_points_nowhere_wrong() -> None:
    refusal = "not dialled: only a port-forward leads there (--via port-forward)"
    found = finding(
        "tls-reach",
        case(
            observation={"reach": Reach.UNREACHABLE, "dialled": False, "detail": refusal, **NOTHING},
            endpoint={
                "tunnel": Tunnel(namespace="shop", pod="web", port=8443),
                "origins": (Origin(role="user", part="Pod/web"),),
            },
        ),
    )
    assert (found.message, found.fix, found.reproduce) == (refusal, None, None)


@pytest.mark.parametrize("reach", [Reach.TLS, Reach.CLIENT_CERTIFICATE_REQUIRED])
def test_one_of_several_that_may_have_answered_is_no_pass(reach: Reach) -> None:
    """A balanced address of which no backend is known: the next connection may reach another one."""
    sampled = case(observation={"reach": reach}, endpoint={"sampled": True})
    found = finding("tls-reach", sampled)
    assert (found.verdict, found.status) == ("inconclusive", "sampled")
    assert judge(sampled).verdict == "inconclusive"


def test_a_deadline_names_its_option() -> None:
    found = finding(
        "tls-reach", case(observation={"reach": Reach.INTERRUPTED, "detail": "the deadline (30 s) was reached"})
    )
    message = "not finished: the deadline was reached; raise --deadline, or --time-limit of adhere node"
    assert (found.status, found.message) == ("not-tested", message)


@pytest.mark.parametrize("reach", [Reach.INTERRUPTED, Reach.SILENT, Reach.TLS])
def test_a_stopped_scan_leaves_one_open_finding_and_is_no_deadline(reach: Reach) -> None:
    unasked = Answers(unasked="SIGINT")
    judged = judge(case(observation={"reach": reach, "versions": unasked, "stopped": "SIGINT"}))
    assert (judged.verdict, judged.status) == ("inconclusive", "interrupted")
    (found,) = (each for each in judged.findings if each.verdict == "inconclusive")
    assert (found.rule, found.message) == ("tls-reach", "not finished: the scan was stopped (SIGINT)")
    assert [each.rule for each in judged.findings].count("tls-reach") == 1


def test_what_failed_before_the_stop_still_fails() -> None:
    seen = Answers(accepted=(TLS10,), unasked="SIGINT")
    judged = judge(case(observation={"versions": seen, "stopped": "SIGINT"}))
    assert (judged.verdict, judged.status) == ("fail", "violation")
    assert [each.status for each in judged.findings if each.verdict == "inconclusive"] == ["interrupted"]


def test_a_stop_takes_no_answer_back() -> None:
    assert judge(case(observation={"stopped": "SIGINT"})) == judge(case())
