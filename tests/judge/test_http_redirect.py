from __future__ import annotations

from typing import Any, Literal

import pytest

from scanner.kube.maybe import Unknown
from scanner.model.expectation import PlainPort
from scanner.model.finding import Finding
from scanner.values import replace
from tests.judge.cases import case, finding, findings

RULE = "http-redirect"


def port(owed: Literal["nothing", "redirect", "served"] | None) -> PlainPort:
    return PlainPort(port=8080, path="/", owed=owed, because="Route/shop/web says so")


def said(
    seen: Any,  # noqa: ANN401 - known or unknown
    owed: Literal["nothing", "redirect", "served"] | None = "redirect",
    binding: str = "must-follow",
) -> Finding:
    expected = {"plain_port": port(owed), "binding": binding}
    return finding(RULE, case(expectation=expected, observation={"plain_port": seen}))


NOWHERE = (None, "HTTP/1.1 404", "HTTP/1.1 421", "HTTP/1.1 426", "HTTP/1.0 503", "HTTP/1.1 400")
AWAY = ("HTTP/1.1 301 to https://a.example", "HTTP/1.1 308 to https://other.example:8443")
CONTENT = (
    "HTTP/1.1 200",
    "HTTP/1.1 204",
    "HTTP/1.1 401",
    "HTTP/1.1 403",
    "HTTP/1.1 500",
    "HTTP/1.1 302",
    "HTTP/1.1 302 to http://a.example",
    "HTTP/1.1 200 to https://a.example",
    "HTTP/1.1 304 to https://a.example",
)


@pytest.mark.parametrize("owed", ["nothing", "redirect", None])
@pytest.mark.parametrize("seen", [*NOWHERE, *AWAY])
def test_nothing_and_a_redirect_to_https_pass(seen: str | None, owed: Any) -> None:  # noqa: ANN401 - a literal
    assert said(seen, owed).verdict == "pass"


@pytest.mark.parametrize("owed", ["nothing", "redirect", "served", None])
@pytest.mark.parametrize("seen", CONTENT)
def test_anything_else_fails(seen: str, owed: Any) -> None:  # noqa: ANN401 - a literal
    found = said(seen, owed)
    assert (found.verdict, found.severity, found.status) == ("fail", "medium", "violation")
    assert seen in found.observed[0]
    assert found.reproduce == "curl -gsI --http1.1 --resolve a.example:8080:127.0.0.1 http://a.example:8080/"
    assert ("as declared by Route/shop/web says so" in found.message) == (owed == "served")


def test_what_an_object_promises_binds_whoever_wrote_it() -> None:
    """What it allows is what the profile's reader makes of it."""
    assert said("HTTP/1.1 200", "redirect", binding="not-enforced").status == "violation"
    assert said("HTTP/1.1 200", "served", binding="not-enforced").status == "readiness"


@pytest.mark.parametrize("seen", NOWHERE)
def test_nothing_today_of_what_is_allowed_is_not_known(seen: str | None) -> None:
    assert said(seen, "served").verdict == "inconclusive"


def test_a_redirect_of_what_is_allowed_passes() -> None:
    assert said(AWAY[0], "served").verdict == "pass"


def test_a_redirect_of_what_is_allowed_under_conditions_that_no_request_met_is_not_known() -> None:
    for seen, verdict in ((AWAY[0], "inconclusive"), ("HTTP/1.1 200", "fail")):
        wanted = replace(port("served"), conditional=True)
        of = case(expectation={"plain_port": wanted}, observation={"plain_port": seen})
        assert finding(RULE, of).verdict == verdict


@pytest.mark.parametrize("seen", ["HTTP/1.1 404", "HTTP/1.1 503"])
def test_nothing_at_one_path_is_no_pass_where_there_may_be_others(seen: str) -> None:
    wanted = replace(port(None), conditional=True)
    for answer, verdict in ((seen, "inconclusive"), (None, "pass"), (AWAY[0], "pass"), ("HTTP/1.1 200", "fail")):
        of = case(expectation={"plain_port": wanted}, observation={"plain_port": answer})
        assert finding(RULE, of).verdict == verdict


def test_silence_is_not_known() -> None:
    assert said(Unknown("no answer in time")).verdict == "inconclusive"


def test_without_the_option_or_the_port_nothing_is_said() -> None:
    assert findings(RULE, case(expectation={"plain_port": port("redirect")})) == []
    assert findings(RULE, case(observation={"plain_port": "HTTP/1.1 200"})) == []
