"""Names that clients may share a connection for."""

from __future__ import annotations

from typing import Any

import pytest

from scanner.judge.connection_coalescing import ConnectionCoalescing
from scanner.kube.maybe import Known, Unknown
from scanner.kube.objects import Reference
from scanner.model.endpoint import Endpoint
from scanner.model.expectation import Expectation, PassedOn
from scanner.model.finding import Finding
from scanner.model.observation import Observation
from scanner.values import replace
from tests.judge.cases import CONFORMING, ENDPOINT, LEAF, PROFILE

RULE = "tls-shared-connections"
PLAIN = Expectation(profile=PROFILE)
GATEWAY = Reference(kind="Gateway", name="front", namespace="edge")
ROUTE = Reference(kind="Route", name="web", namespace="shop")


def at(name: str | None, **said: Any) -> Endpoint:  # noqa: ANN401 - fields of an endpoint
    whole = {"segment": "Frontend", "subject": GATEWAY, **said}
    return replace(ENDPOINT, id=f"Deployment/front:443#{name}", server_name=name, **whole)


def shows(*names: str, alpn: Known[str | None] = "h2", leaf: str = "a") -> Observation:
    return replace(CONFORMING, chain=(replace(LEAF, dns_names=names, sha256=leaf * 64),), alpn=alpn)


def told(*seen: tuple[Endpoint, Observation], expectation: Expectation = PLAIN) -> tuple[Finding, ...]:
    sharing = ConnectionCoalescing()
    for endpoint, observation in seen:
        sharing.add(endpoint, expectation if endpoint.subject else PLAIN, observation)
    findings = sharing.findings()
    assert {each.rule for each in findings} <= {RULE}
    return findings


BESIDE = at("two.example"), shows("two.example", leaf="b")


@pytest.mark.parametrize("covers", [("one.example", "two.example"), ("*.example",), ("ONE.example", "Two.Example")])
def test_a_certificate_that_covers_another_name_is_noted(covers: tuple[str, ...]) -> None:
    (found,) = told((at("one.example"), shows(*covers)), BESIDE)
    assert (found.verdict, found.severity, found.status) == ("pass", "info", "informational")
    assert found.message == (
        "clients may use an HTTP/2 connection to Deployment/front:443#one.example also for 1 "
        "other server name on its port"
    )
    assert found.observed == ("two.example",)
    assert found.about == "Deployment/front:443#one.example"


@pytest.mark.parametrize(
    ("endpoint", "observation"),
    [
        (at("one.example"), shows("one.example")),
        (at("one.example"), shows("*.other.example", "example", "*.two.example")),
        (at("one.example"), shows("*.example", alpn="http/1.1")),
        (at("one.example"), shows("*.example", alpn=None)),
        (at("one.example"), shows("*.example", alpn=Unknown("not tested"))),
        (at("one.example", port=8443), shows("*.example")),
        (at("one.example", address="127.0.0.2"), shows("*.example")),
        (at("one.example", segment="Backend"), shows("*.example")),
        (at("one.example"), replace(shows("*.example"), chain=Unknown("it broke off"))),
        (at("one.example"), replace(shows("*.example"), chain=(replace(LEAF, dns_names=None),))),
    ],
)
def test_what_is_not_shared_is_not_noted(endpoint: Endpoint, observation: Observation) -> None:
    assert told((endpoint, observation), BESIDE) == ()


def test_replicas_and_names_with_one_certificate_are_one_finding() -> None:
    one, both = at("one.example"), shows("*.example")
    two = at("two.example", expects="required")
    moved = {"address": "127.0.0.2"}
    (found,) = told((one, both), (two, both), (replace(one, **moved), both), (replace(two, **moved), both))  # type: ignore[arg-type] # fields by name
    assert found.observed == ("two.example",)
    assert "for 1 other server name on its port; 1 of all these names requires a client certificate" in found.message


def test_names_behind_another_address_are_not_on_its_port() -> None:
    """Two Gateways with the same certificate for everything."""
    both = shows("*.example")
    there = {"address": "127.0.0.2", "port": 8443}
    others = [replace(at(f"{name}.example", **there), id=f"Deployment/back:8443#{name}.example") for name in "cd"]
    here = [at("a.example"), at("b.example")]
    found = told(*((each, both) for each in (*here, *others)))
    assert [each.observed for each in found] == [("d.example",), ("b.example",)]


# --- OpenShift's router -----------------------------------------------------------------------------------------------

NAMELESS = at(None, subject=None)


def test_a_router_that_offers_h2_with_its_default_certificate_fails() -> None:
    default = shows("*.apps.example", leaf="d")
    route = at("web.apps.example", subject=ROUTE)
    (found,) = told((NAMELESS, default), (route, default))[:1]
    assert (found.verdict, found.severity, found.status) == ("fail", "low", "violation")
    assert found.observed == ("no server name", "web.apps.example")
    assert found.reproduce == "adhere scan tls://127.0.0.1:443"


def test_with_a_certificate_of_its_own_a_route_may_have_h2() -> None:
    plain = shows("*.apps.example", leaf="d", alpn=None)
    own = shows("web.apps.example", leaf="o")
    assert told((NAMELESS, plain), (at("web.apps.example", subject=ROUTE), own)) == ()


def test_a_backend_that_has_the_default_certificate_may_have_h2() -> None:
    """As OpenShift's OAuth server, which is given a copy and to which its Route passes everything through."""
    source = "Route/shop/web spec.tls.termination"
    through = replace(PLAIN, passed_on=PassedOn(source=source, here="r", backends=("b",), name="web.apps.example"))
    plain, copy = shows("*.apps.example", leaf="d", alpn=None), shows("*.apps.example", leaf="d")
    assert told((NAMELESS, plain), (at("web.apps.example", subject=ROUTE), copy), expectation=through) == ()


def test_elsewhere_a_default_certificate_may_have_h2() -> None:
    assert told((NAMELESS, shows("one.example", leaf="d")), (at("one.example"), shows("one.example", leaf="d"))) == ()


def test_nothing_is_known_of_whoever_gave_no_certificate() -> None:
    missing = replace(shows(), chain=Unknown("it broke off"))
    assert told((NAMELESS, missing), (at("web.apps.example", subject=ROUTE), missing)) == ()
