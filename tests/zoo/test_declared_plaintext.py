"""Plaintext HTTP, against HAProxy as OpenShift's router and Envoy as Contour's proxy."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import pytest

from scanner.values import replace
from tests.zoo import test_declared_envoy, test_declared_router
from tests.zoo.envoy import Chain
from tests.zoo.processes import free_address
from tests.zoo.test_declared_router import APPS

pytestmark = pytest.mark.zoo

RULE = "http-redirect"


# --- OpenShift's router -----------------------------------------------------------------------------------------------


class Router(test_declared_router.Case):
    """Its pod has a second port; three Routes say three things of it."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.plain = free_address()[1]
        self.router = replace(
            self.router,
            plain=f"{self.places['router'].rpartition(':')[0]}:{self.plain}",
            insecure={f"plain.{APPS}": "Redirect", f"inline.{APPS}": "Allow"},
        )

    active_http = True

    def _replaced(self) -> dict[str, str]:
        """Longer texts before those that are in them."""
        first = "{name: https, containerPort: 10443}"
        policies = {
            "to: {kind: Service, name: web}, tls: {termination: edge}}": "Redirect",
            "tls: {termination: edge, certificate: INLINE-CERTIFICATE}}": "Allow",
        }
        said = {text: f"{text[:-2]}, insecureEdgeTerminationPolicy: {each}}}}}" for text, each in policies.items()}
        return {first: f"{first}, {{name: http, containerPort: {self.plain}}}", **said, **super()._replaced()}


@pytest.fixture
def router(tmp_path: Path) -> Router:
    return Router(tmp_path)


async def test_a_router_that_does_what_its_routes_say(router: Router) -> None:
    told = await router.told()
    names = ("plain", "own", "inline", "through", "again")
    found = {name: told.verdict(f"{name}.{APPS}", RULE) for name in names}
    assert found == {"plain": "pass", "own": "pass", "inline": "fail", "through": "pass", "again": "pass"}
    allowed = told.rows[f"inline.{APPS}"][RULE]
    assert "as declared by Route/shop/inline spec.tls.insecureEdgeTerminationPolicy: Allow" in allowed["message"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["own", "plain"])
async def test_a_router_that_serves_what_its_routes_do_not_allow(router: Router, name: str) -> None:
    router.router = replace(router.router, insecure={f"{name}.{APPS}": "Allow"})
    found = (await router.told()).rows[f"{name}.{APPS}"][RULE]
    assert (found["verdict"], found["severity"], found["status"]) == ("fail", "medium", "violation")
    assert "as declared by Route" not in found["message"]


@pytest.mark.slow
async def test_what_is_allowed_and_not_there_today_is_not_known(router: Router) -> None:
    router.router = replace(router.router, insecure={})
    assert (await router.told()).verdict(f"inline.{APPS}", RULE) == "inconclusive"


@pytest.mark.slow
async def test_a_router_without_that_port_serves_nothing_there(router: Router) -> None:
    router.router = replace(router.router, plain="")
    assert (await router.told()).verdict(f"plain.{APPS}", RULE) == "pass"


@pytest.mark.slow
async def test_without_the_option_nothing_is_asked(router: Router) -> None:
    router.active_http = False
    assert (await router.told()).verdict(f"plain.{APPS}", RULE) is None


# --- Contour's Envoy --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("answers", "verdict"), [({}, "pass"), ({"plain.example": 200}, "fail")])
async def test_envoy_leads_to_tls_or_does_not(
    tmp_path: Path, answers: Mapping[str, int], verdict: Literal["pass", "fail"]
) -> None:
    case = test_declared_envoy.Contour(tmp_path)
    case.active_http = True
    address, tls = case.where["front"]
    case.where["plain"] = (address, free_address()[1])
    case.chains["plain"] = [Chain(plain=True, answers=answers)]
    pod = f"ports: [{{containerPort: {tls}}}"
    case.texts = {pod: f"{pod}, {{name: http, containerPort: {case.where['plain'][1]}}}"}
    told = await case.all()
    assert told.verdict("plain.example", RULE) == verdict, told.rows["plain.example"]
    assert told.verdict("strict.example", RULE) == "pass"
    assert told.verdict("through.example", RULE) is None


# --- a Gateway's ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(("answers", "verdict"), [({}, "pass"), ({"one.example": 200}, "fail")])
async def test_a_gateways_listener_of_protocol_http(
    tmp_path: Path, answers: Mapping[str, int], verdict: Literal["pass", "fail"]
) -> None:
    """By the Service that leads to both ports; the listener has one of the two names."""
    case = test_declared_envoy.Gateway(tmp_path)
    case.active_http = True
    address, tls = case.where["front"]
    plain = free_address()[1]
    case.where["plain"] = (address, plain)
    case.chains["plain"] = [Chain(plain=True, answers=answers)]
    listener, leads = "- {name: one, hostname: one.example, port: 443", f"name: https, port: 443, targetPort: {tls}"
    piece = f"ports: [{{name: https, port: {tls}, protocol: TCP}}, {{name: tls"
    case.texts = {
        listener: f"- {{name: plain, hostname: one.example, port: 80, protocol: HTTP}}\n  {listener}",
        leads: f"name: http, port: 80, protocol: TCP}}, {{{leads}",
        piece: piece.replace("{name: tls", f"{{name: http, port: {plain}, protocol: TCP}}, {{name: tls"),
    }
    told = await case.all()
    assert told.verdict("one.example", RULE) == verdict, told.rows["one.example"]
    assert told.verdict("two.example", RULE) is None
