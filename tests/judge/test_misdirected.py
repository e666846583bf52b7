from __future__ import annotations

import pytest

from scanner.model.expectation import Neighbour
from scanner.model.finding import Finding
from scanner.model.known import Known, Unknown
from scanner.model.names import NOBODYS
from scanner.model.observation import Answered
from tests.judge.cases import ENDPOINT, case, finding, findings

RULE = "tls-misdirected"
HERE = ENDPOINT.server_name or ""
OTHER = "other.example"
REFUSED = Unknown("alert 116 certificate_required")


def said(
    crossed: Known[str],
    *,
    own: Known[str] = "200; etag: own",
    nobodys: Known[str] = "404",
    theirs: Known[str] = "200; etag: theirs",
    guarded: bool = False,
) -> Finding:
    answers = {(HERE, HERE): own, (HERE, NOBODYS): nobodys, (HERE, OTHER): crossed, (OTHER, OTHER): theirs}
    answered = tuple(Answered(server_name=sni, authority=host, answer=each) for (sni, host), each in answers.items())
    neighbour = Neighbour(name=OTHER, guarded=guarded, because="HTTPProxy/shop/other")
    return finding(RULE, case(expectation={"neighbours": (neighbour,)}, observation={"answered": answered}))


@pytest.mark.parametrize("crossed", ["421", "404; server: x", "400", "200; etag: own"])
def test_other_answers_than_the_neighbours_content_pass(crossed: str) -> None:
    assert said(crossed).verdict == "pass"


def test_what_everybody_gets_passes() -> None:
    assert said("302; location: https://login", nobodys="302; location: https://login").verdict == "pass"


def test_the_neighbours_content_fails() -> None:
    found = said("200; etag: theirs")
    assert (found.verdict, found.severity, found.status) == ("fail", "medium", "violation")
    assert OTHER in found.observed[0]


def test_around_a_client_certificate_it_is_critical() -> None:
    assert said("200; etag: theirs", guarded=True).severity == "critical"
    found = said("200; etag: x", theirs=REFUSED, guarded=True)
    assert (found.verdict, found.severity) == ("fail", "critical")


@pytest.mark.parametrize(
    ("crossed", "others"),
    [
        (REFUSED, {}),
        ("200; etag: x", {}),
        ("200", {"own": "200", "theirs": "200"}),
        ("200", {"own": "200", "theirs": REFUSED}),
        ("200; etag: x", {"theirs": REFUSED}),
        ("200; etag: x", {"theirs": REFUSED, "guarded": True, "nobodys": REFUSED}),
    ],
)
def test_what_cannot_be_told_is_never_a_pass(crossed: Known[str], others: dict[str, Known[str]]) -> None:
    assert said(crossed, **others).verdict == "inconclusive"  # type: ignore[arg-type] # fields by name


def test_without_requests_nothing_is_said() -> None:
    neighbour = Neighbour(name=OTHER, guarded=True, because="x")
    assert findings(RULE, case(expectation={"neighbours": (neighbour,)})) == []
