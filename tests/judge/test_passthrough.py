"""What is passed through, against what its backends show."""

from __future__ import annotations

from typing import Any

import pytest

from scanner.judge import CROSS_ENDPOINT_RULES
from scanner.judge.passthrough import PassthroughBackends
from scanner.kube.maybe import Unknown
from scanner.model.expectation import Binding, Expectation, OtherName, PassedOn
from scanner.model.finding import Finding
from scanner.model.observation import Observation, Stray
from scanner.values import replace
from tests.judge.cases import CONFORMING, ENDPOINT, LEAF, PROFILE

NEAR, WEB, OTHER, ROUTER = (f"Deployment/{each}:443" for each in ("router#web", "web", "other", "router"))
SOURCE = "Route/shop/web spec.tls.termination"


def shows(name: str | None) -> Observation:
    chain = Unknown("it broke off") if name is None else (replace(LEAF, sha256=name * 64),)
    return replace(CONFORMING, chain=chain)


def told(
    near: Observation,
    *behind: tuple[str, Observation],
    backends: tuple[str, ...] = (WEB,),
    binding: Binding = "must-follow",
    prefix: str = "",
    **said: Any,  # noqa: ANN401 - fields of PassedOn
) -> tuple[Finding, ...]:
    """One instance of the near end, and whoever else was seen."""
    passages = PassthroughBackends()
    passed_on = PassedOn(source=SOURCE, here=NEAR, backends=backends, **{"name": ENDPOINT.server_name, **said})
    expectation = Expectation(profile=PROFILE, binding=binding, passed_on=passed_on)
    place = replace(ENDPOINT, id=f"{prefix}{NEAR}", instance=f"{prefix}{NEAR} @ 10.0.0.1:443")
    passages.add(place, expectation, near)
    for name, seen in behind:
        passages.add(replace(ENDPOINT, id=f"{prefix}{name}"), Expectation(profile=PROFILE), seen)
    return tuple(found for _, found in passages.findings())


def test_the_backends_certificate_is_as_it_should_be() -> None:
    assert told(shows("a"), (WEB, shows("a"))) == ()
    both = ((WEB, shows("a")), (OTHER, shows("b")))
    assert told(shows("b"), *both, backends=(WEB, OTHER)) == ()


def test_one_of_several_chains_of_a_backend_will_do() -> None:
    two = replace(shows("a"), other_chains=((replace(LEAF, sha256="b" * 64),),))
    assert told(shows("b"), (WEB, two)) == ()


def test_what_was_seen_of_a_name_does_not_say_what_else_it_shows() -> None:
    """TLS 1.2 shows the backend's certificate, and nobody knows which one TLS 1.3 has."""
    partly = replace(CONFORMING, chain=Unknown("it broke off"), other_chains=((replace(LEAF, sha256="a" * 64),),))
    (found,) = told(partly, (WEB, shows("a")))
    assert (found.verdict, found.observed) == ("inconclusive", (f"certificate {'a' * 64}",))
    (found,) = told(partly, (WEB, shows("b")))
    assert found.verdict == "fail"
    (found,) = told(shows("b"), (WEB, partly))
    assert found.verdict == "inconclusive"


def test_the_routers_own_fails_and_the_router_is_named() -> None:
    (found,) = told(shows("r"), (ROUTER, shows("r")), (WEB, shows("a")))
    assert (found.rule, found.verdict, found.status, found.severity) == (
        "passthrough-backend",
        "fail",
        "violation",
        "high",
    )
    assert found.about == NEAR
    assert SOURCE in found.message
    assert found.evidence == (f"the same certificate is shown by {ROUTER}",)
    assert "Route/shop/web" in (found.fix or "")
    assert found.reproduce == "adhere scan tls://127.0.0.1:443#a.example"


def test_another_name_that_is_passed_on_does_not_terminate_tls_for_this_one() -> None:
    """It shows what the listener at work shows."""
    passages, backends = PassthroughBackends(), (WEB, OTHER, *("DaemonSet/a/b:443",) * 4)
    for name in ("web", "two"):
        near = f"Deployment/router#{name}:443"
        passed_on = PassedOn(source=SOURCE, here=near, backends=backends, name=ENDPOINT.server_name)
        where = replace(ENDPOINT, id=near, instance=f"{near} @ 10.0.0.1:443")
        passages.add(where, Expectation(profile=PROFILE, passed_on=passed_on), shows("f"))
    for name in backends:
        passages.add(replace(ENDPOINT, id=name), Expectation(profile=PROFILE), shows("a"))
    for number in range(7):
        passages.add(replace(ENDPOINT, id=f"Deployment/{number}:443"), Expectation(profile=PROFILE), shows("f"))
    (instance, found), (_, second) = passages.findings()
    assert found == Finding(
        rule="passthrough-backend",
        severity="high",
        verdict="fail",
        status="violation",
        message=f"10.0.0.1:443 shows another certificate than its passthrough backends ({SOURCE})",
        expected=tuple(f"a certificate that {each} shows" for each in backends[:5]),
        observed=(f"certificate {'f' * 64}",),
        fix="find the listener that terminates TLS for this name, and check the status of Route/shop/web",
        reproduce="adhere scan tls://127.0.0.1:443#a.example",
        evidence=tuple(f"the same certificate is shown by Deployment/{number}:443" for number in range(5)),
        about="Deployment/router#web:443",
    )
    assert instance == "Deployment/router#web:443 @ 10.0.0.1:443"
    assert second == replace(found, about="Deployment/router#two:443")


def test_a_replica_that_was_not_asked_for_the_name_may_show_it() -> None:
    """Its time was over; the other one showed a certificate of its own."""
    passages, name = PassthroughBackends(), ENDPOINT.server_name
    passed_on = PassedOn(source=SOURCE, here=NEAR, backends=(WEB,), name=name)
    passages.add(replace(ENDPOINT, id=NEAR), Expectation(profile=PROFILE, passed_on=passed_on), shows("b"))
    wanted = Expectation(profile=PROFILE, other_names=(OtherName(name=name, owed="compared", because=SOURCE),))
    stray = Stray(name=name, answer="served", leaf=replace(LEAF, sha256="a" * 64))
    nameless = replace(ENDPOINT, id=WEB, server_name=None)
    passages.add(nameless, wanted, replace(shows("d"), strays=(stray,)))
    assert [each.verdict for _, each in passages.findings()] == ["fail"]
    passages.add(nameless, wanted, shows("d"))
    assert [each.verdict for _, each in passages.findings()] == ["inconclusive"]


@pytest.mark.parametrize(
    ("binding", "status"), [("settling", "converging"), ("not-enforced", "violation"), ("must-follow", "violation")]
)
def test_what_an_object_asks_for_binds_whoever_no_profile_does(binding: Binding, status: str) -> None:
    (found,) = told(shows("r"), (WEB, shows("a")), binding=binding)
    assert found.status == status


@pytest.mark.parametrize(
    ("near", "behind", "said", "why"),
    [
        (None, ((WEB, shows("a")),), {}, "the server name showed no certificate"),
        ("r", (), {"backends": ()}, "none of its backends is a known listener"),
        ("r", (), {}, f"not all of its backends were scanned ({WEB})"),
        ("r", ((WEB, shows("a")), (WEB, shows(None))), {}, f"not all of its backends showed a certificate ({WEB})"),
        ("r", ((WEB, shows("a")),), {"backends": (WEB, OTHER)}, f"were scanned ({OTHER})"),
        ("r", ((WEB, shows(None)),), {"backends": (WEB, OTHER)}, f"were scanned ({OTHER})"),
        ("r", ((WEB, shows("a")),), {"name": "other.example"}, "with other server names"),
    ],
)
def test_what_cannot_be_told_is_never_a_pass(
    near: str | None, behind: tuple[tuple[str, Observation], ...], said: dict[str, Any], why: str
) -> None:
    (found,) = told(shows(near), *behind, **said)
    assert (found.verdict, found.status, found.severity) == ("inconclusive", "not-tested", "info")
    assert found.message.startswith("whether 10.0.0.1:443 shows the certificate of its backends could not be")
    assert why in found.message
    assert found.observed == ((f"certificate {near * 64}",) if near else ())
    assert found.fix


@pytest.mark.parametrize("prefix", ["", "east/"])
def test_of_a_backend_that_was_left_out_it_says_how_to_ask_it(prefix: str) -> None:
    """Of several clusters each has its own selectors, for ids as the cluster has them."""
    (left_out,) = told(shows("r"), (ROUTER, shows("r")), backends=(WEB, OTHER), prefix=prefix)
    assert f"({prefix}{WEB} and 1 more)" in left_out.message
    assert f"(add --include endpoint={WEB})" in (left_out.fix or "")
    assert "terminates" not in (left_out.fix or "")


@pytest.mark.parametrize(
    ("near", "behind", "fix"),
    [
        ("r", shows(None), f"find out why {WEB} shows no certificate"),
        (None, shows("a"), "find out why it shows no certificate"),
    ],
)
def test_where_somebody_shows_nothing_it_says_where_to_look(near: str | None, behind: Observation, fix: str) -> None:
    (found,) = told(shows(near), (WEB, behind))
    assert (found.fix or "").startswith(fix)


def test_a_backend_that_was_asked_for_the_name_too_decides() -> None:
    """A server with a certificate of its own for each name."""

    def asked(leaf: str | None) -> Observation:
        answer = Stray(name="other.example", answer="refused")
        if leaf:
            answer = Stray(name="other.example", answer="served", leaf=replace(LEAF, sha256=leaf * 64))
        return replace(shows("a"), strays=(answer,))

    assert told(shows("b"), (WEB, asked("b")), name="other.example") == ()
    (found,) = told(shows("r"), (WEB, asked("b")), name="other.example")
    assert found.verdict == "fail"
    (found,) = told(shows("r"), (WEB, asked(None)), name="other.example")
    assert found.verdict == "inconclusive"


def test_ids_that_begin_with_a_clusters_name_find_their_backends() -> None:
    assert told(shows("a"), (WEB, shows("a")), prefix="east/") == ()
    (found,) = told(shows("r"), (WEB, shows("a")), prefix="east/")
    assert found.about == f"east/{NEAR}"


def test_every_rule_across_endpoints_is_listed() -> None:
    assert [each.id for each in CROSS_ENDPOINT_RULES] == [
        "replicas-differ",
        "passthrough-backend",
        "tls-shared-connections",
    ]
