"""Replicas that differ, and those that only seem to."""

from __future__ import annotations

from typing import Any

import pytest

from scanner.judge.replicas import Replicas
from scanner.kube.maybe import Unknown
from scanner.model.expectation import Binding, Expectation, Lever
from scanner.model.finding import Finding
from scanner.model.observation import Answers, Observation, Reach
from scanner.tls.codepoints import TLS12, TLS13
from scanner.values import replace
from tests.judge.cases import CONFORMING, ENDPOINT, ISSUER, LEAF, PROFILE

TLS10 = 0x0301
OPEN = replace(CONFORMING, versions=Answers(accepted=(TLS13, TLS12, TLS10)))


def findings(*seen: Observation, bindings: tuple[Binding, ...] = ("must-follow",)) -> tuple[Finding, ...]:
    """Of one workload, a replica for each observation."""
    replicas = Replicas()
    for number, each in enumerate(seen):
        endpoint = replace(ENDPOINT, instance=f"{ENDPOINT.id} @ 10.0.0.{number}:443")
        binding = bindings[number % len(bindings)]
        replicas.add(endpoint, Expectation(profile=PROFILE, binding=binding), each)
    return replicas.findings()


def test_kubelets_that_are_configured_differently_are_not_stuck() -> None:
    """One has weaker flags, which its own finding names."""
    replicas = Replicas()
    for told, seen in (("", CONFORMING), ("VersionTLS10, 1 cipher suite", OPEN), ("", CONFORMING)):
        lever = Lever(where="the kubelet of Node/w", minimum="tlsMinVersion", told=told)
        replicas.add(ENDPOINT, Expectation(profile=PROFILE, lever=lever), seen)
    assert replicas.findings() == ()


def leaf(name: str, **more: Any) -> Observation:  # noqa: ANN401 - fields of a certificate
    return replace(CONFORMING, chain=(replace(LEAF, sha256=name * 64, **more),))


def test_one_of_five_accepts_what_the_others_refuse() -> None:
    (only,) = findings(CONFORMING, CONFORMING, OPEN, CONFORMING, CONFORMING)
    assert (only.rule, only.verdict, only.status, only.severity) == ("replicas-differ", "fail", "violation", "medium")
    assert only.about == ENDPOINT.id
    (item,) = only.observed
    assert item == "TLSv1 (VersionTLS10, 0x0301): accepted by 10.0.0.2:443, refused by 10.0.0.0:443 and 3 more"
    assert len(only.evidence) == 2
    assert "5 replicas" in only.message


def test_suites_and_groups_are_compared_by_version() -> None:
    other = replace(
        CONFORMING,
        suites={**CONFORMING.suites, TLS12: Answers(accepted=(0x002F,))},
        groups={**CONFORMING.groups, TLS13: Answers(refused=frozenset({0x11EC}))},
    )
    (only,) = findings(CONFORMING, other)
    assert [item.split(": accepted")[0] for item in only.observed] == [
        "TLS_RSA_WITH_AES_128_CBC_SHA (AES128-SHA, 0x002F) in TLSv1.2",
        "X25519MLKEM768 (0x11EC) in TLSv1.3",
    ]


@pytest.mark.parametrize(
    "other",
    [
        CONFORMING,
        replace(CONFORMING, versions=Answers(accepted=(TLS12,), unasked="the deadline came")),
        replace(CONFORMING, suites={}, groups={}),
        replace(OPEN, reach=Reach.CLOSED),
        replace(CONFORMING, chain=Unknown("it broke off")),
        replace(CONFORMING, chain=()),
        leaf("b", dns_names=("b.example",)),
        leaf("b", dns_names=None),
    ],
)
def test_what_is_not_known_or_belongs_to_a_node_is_no_difference(other: Observation) -> None:
    assert findings(CONFORMING, other) == ()


def test_two_certificates_for_the_same_names() -> None:
    (only,) = findings(leaf("a"), leaf("b"), leaf("b"))
    assert (only.severity, len(only.observed)) == ("low", 2)
    behind = (replace(ISSUER, dns_names=None),)
    one, other = (replace(each, chain=(*each.chain, *behind)) for each in (leaf("a"), leaf("b")))  # type: ignore[misc]
    assert [each.observed for each in findings(one, other)] == [only.observed]
    assert "different certificates" in only.message


@pytest.mark.parametrize(
    ("bindings", "status"),
    [
        (("must-follow",), "violation"),
        (("must-follow", "settling"), "converging"),
        (("not-enforced",), "readiness"),
        (("not-enforced", "must-follow"), "violation"),
    ],
)
def test_the_binding_decides_whether_it_counts(bindings: tuple[Binding, ...], status: str) -> None:
    (only,) = findings(CONFORMING, OPEN, bindings=bindings)
    assert only.status == status


def test_other_ids_are_other_workloads() -> None:
    replicas = Replicas()
    for number, each in enumerate((CONFORMING, OPEN)):
        endpoint = replace(ENDPOINT, id=f"Deployment/shop/web-{number}:443")
        replicas.add(endpoint, Expectation(profile=PROFILE), each)
    assert replicas.findings() == ()


def test_replicas_that_owe_something_else_may_differ() -> None:
    """Kubelets of two pools, of which one has a KubeletConfig."""
    replicas = Replicas()
    old = replace(PROFILE, name="openshift/4.22/old")
    replicas.add(ENDPOINT, Expectation(profile=PROFILE), CONFORMING)
    replicas.add(replace(ENDPOINT, instance="other"), Expectation(profile=old), OPEN)
    assert replicas.findings() == ()
    replicas.add(replace(ENDPOINT, instance="third"), Expectation(profile=old), CONFORMING)
    (only,) = replicas.findings()
    assert "the 2 replicas" in only.message


def test_many_replicas_cost_their_names() -> None:
    replicas = Replicas()
    for number in range(1000):
        seen = replace(CONFORMING, suites=dict(CONFORMING.suites))
        replicas.add(replace(ENDPOINT, instance=str(number)), Expectation(profile=PROFILE), seen)
    assert len(replicas._behaviours) == 1
    assert replicas.findings() == ()
