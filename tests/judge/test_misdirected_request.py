from __future__ import annotations

import pytest

from scanner.kube.hostnames import NO_SUCH_NAME
from scanner.kube.maybe import Known, Unknown
from scanner.model.expectation import Neighbour
from scanner.model.finding import Finding
from scanner.model.observation import Answered, HttpVersion
from tests.judge.cases import ENDPOINT, case, finding, findings

RULE = "tls-misdirected"
HERE = ENDPOINT.server_name or ""
OTHER = "other.example"
REFUSED = Unknown("alert 116 certificate_required")


def answers(
    crossed: Known[str],
    *,
    own: Known[str] = "200; etag: own",
    nobodys: Known[str] = "404",
    theirs: Known[str] = "200; etag: theirs",
    protocol: HttpVersion = "http/1.1",
) -> tuple[Answered, ...]:
    said = {(HERE, HERE): own, (HERE, NO_SUCH_NAME): nobodys, (HERE, OTHER): crossed, (OTHER, OTHER): theirs}
    return tuple(Answered(server_name=a, authority=b, answer=each, protocol=protocol) for (a, b), each in said.items())


def judged(answered: tuple[Answered, ...], *, alpn: Known[str | None] = None, guarded: bool = False) -> Finding:
    neighbour = Neighbour(name=OTHER, guarded=guarded, because="HTTPProxy/shop/other")
    seen = {"answered": answered, "alpn": alpn}
    return finding(RULE, case(expectation={"neighbours": (neighbour,)}, observation=seen))


def said(crossed: Known[str], *, guarded: bool = False, **others: Known[str]) -> Finding:
    return judged(answers(crossed, **others), guarded=guarded)  # type: ignore[arg-type] # fields by name


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


def to(name: str) -> str:
    return f"302; location: https://{name}/login"


def test_an_answer_that_repeats_the_name_it_was_asked_for_is_nobodys() -> None:
    """A redirect to whatever ``Host`` says comes from the same place for each name."""
    mine, nobodys = to(HERE), to(NO_SUCH_NAME)
    assert said(to(OTHER), own=mine, nobodys=nobodys, theirs="200").verdict == "pass"
    assert said(to(OTHER), own=mine, nobodys=nobodys, theirs=to(OTHER)).verdict == "inconclusive"
    assert said(to(OTHER), own=mine, nobodys=nobodys, theirs=REFUSED, guarded=True).verdict == "inconclusive"
    assert said(to(OTHER), theirs=to(OTHER)).verdict == "fail"
    assert said(to(HERE), own=to(HERE)).verdict == "pass"


@pytest.mark.parametrize("crossed", ["403", "403; content-length: 9", "500", "502; server: x", "503", "404; server: x"])
def test_a_refusal_in_other_words_is_not_the_content_of_a_guarded_neighbour(crossed: str) -> None:
    assert said(crossed, theirs=REFUSED, guarded=True).verdict == "inconclusive"


def test_a_page_of_another_length_for_each_name_is_not_the_content_of_a_guarded_neighbour() -> None:
    """As of an application that answers every name, and writes it into its pages."""
    mine, crossed, nobodys = (f'200; content-length: {length}; etag: "{length}"' for length in (90, 92, 95))
    assert said(crossed, theirs=REFUSED, guarded=True, own=mine, nobodys=nobodys).verdict == "inconclusive"
    assert said(crossed, theirs=REFUSED, guarded=True, own=mine).severity == "critical"


def test_behind_a_wildcard_for_both_names_another_page_of_the_same_kind_may_be_its_own() -> None:
    """As of an application for ``*.example`` that has a page for each name; nobody is at any other one."""
    mine, crossed = (f'200; content-length: {length}; etag: "{length}"; server: x' for length in (90, 92))
    neighbour = Neighbour(name=OTHER, guarded=True, because="Gateway/edge/front", covered=True)
    login, lost = "302; location: /login; server: x", "302; location: /login; server: x; etag: a"
    for answer, nobodys, verdict in (
        (crossed, "404", "inconclusive"),
        (login, "404", "fail"),
        (login, lost, "inconclusive"),  # as of every unknown name
    ):
        answered = answers(answer, theirs=REFUSED, own=mine, nobodys=nobodys)
        of = case(expectation={"neighbours": (neighbour,)}, observation={"answered": answered, "alpn": None})
        assert finding(RULE, of).verdict == verdict
    assert said(crossed, theirs=REFUSED, guarded=True, own=mine).severity == "critical"


def test_nothing_there_is_no_pass_where_the_neighbour_itself_says_just_that() -> None:
    theirs = "404; content-type: application/json"
    assert said(theirs, theirs=theirs).verdict == "fail"
    assert said("404", theirs="404").verdict == "inconclusive"
    assert said("404", theirs=REFUSED, guarded=True).verdict == "pass"


@pytest.mark.parametrize("own", ["200", "404"])
def test_nothing_there_is_no_pass_where_nobody_knows_what_the_neighbour_says(own: str) -> None:
    """It may be its own: most applications have nothing at ``/``."""
    late = Unknown("the time was over before it was asked")
    assert said("404", theirs=late, own=own).verdict == "inconclusive"
    in_both = (*answers("421", theirs="404"), *answers("404", theirs=late, own=own, protocol="h2"))
    assert judged(in_both, alpn="h2").verdict == "inconclusive"
    otherwise = (*answers("421"), *answers("404", theirs=late, own=own, protocol="h2"))
    assert judged(otherwise, alpn="h2").verdict == "pass"


@pytest.mark.parametrize(
    ("crossed", "verdict"), [("404", "pass"), ("200; etag: theirs", "fail"), ("200; etag: x", "inconclusive")]
)
def test_without_a_name_there_is_no_content_of_its_own(crossed: str, verdict: str) -> None:
    answers = {("", NO_SUCH_NAME): "404", ("", OTHER): crossed, (OTHER, OTHER): "200; etag: theirs"}
    answered = tuple(Answered(server_name=a, authority=b, answer=each) for (a, b), each in answers.items())
    neighbour = Neighbour(name=OTHER, guarded=False, because="HTTPProxy/shop/other")
    seen = {"answered": answered, "alpn": None}
    of = case(endpoint={"server_name": None}, expectation={"neighbours": (neighbour,)}, observation=seen)
    assert finding(RULE, of).verdict == verdict


# --- in HTTP/2 as well ------------------------------------------------------------------------------------------------

APART = answers("421")


@pytest.mark.parametrize(
    ("crossed", "verdict", "words"),
    [
        ("421", "pass", ()),
        (
            "200; etag: theirs",
            "fail",
            (f"{OTHER} over HTTP/2 is answered with 200, the same as on its own connection",),
        ),
        (Unknown("no answer in time"), "inconclusive", (f"{OTHER} over HTTP/2: no answer in time",)),
    ],
)
def test_each_protocol_is_judged_by_itself(crossed: Known[str], verdict: str, words: tuple[str, ...]) -> None:
    found = judged((*APART, *answers(crossed, protocol="h2")), alpn="h2")
    assert (found.verdict, found.observed or found.evidence) == (verdict, words)
    assert verdict != "fail" or " --http2 " in str(found.reproduce)


def test_a_failure_in_one_of_them_fails() -> None:
    found = judged((*answers("200; etag: theirs"), *answers("421", protocol="h2")), alpn="h2")
    assert (found.verdict, found.observed) == (
        "fail",
        (f"{OTHER} over HTTP/1.1 is answered with 200, the same as on its own connection",),
    )
    assert found.reproduce
    assert found.reproduce.startswith("curl -gskI --http1.1 --resolve a.example:443:127.0.0.1 -H 'Host: other.example'")


def test_the_content_of_a_name_that_does_not_speak_it_by_itself_is_known_from_the_other() -> None:
    shared = answers("200; etag: theirs", theirs=Unknown("HTTP/2 was not negotiated"), protocol="h2")
    assert judged((*APART, *shared), alpn="h2").verdict == "fail"
    alike = answers("200; etag: own", theirs=Unknown("HTTP/2 was not negotiated"), protocol="h2")
    assert judged((*APART, *alike), alpn="h2").verdict == "inconclusive"


@pytest.mark.parametrize("alpn", ["h2", Unknown("the full handshake failed")])
def test_what_was_not_asked_in_it_does_not_pass(alpn: Known[str | None]) -> None:
    """As of a scan that was saved before it could be."""
    assert judged(APART, alpn=alpn).verdict == "inconclusive"
    assert judged(answers("200; etag: theirs"), alpn=alpn).verdict == "fail"


def test_without_requests_nothing_is_said() -> None:
    neighbour = Neighbour(name=OTHER, guarded=True, because="x")
    assert findings(RULE, case(expectation={"neighbours": (neighbour,)})) == []


@pytest.mark.parametrize("header", ["content-length: ", "etag: ", "last-modified: "])
def test_a_header_that_differs_for_each_page_does_not_tell_whose_content_it_is(header: str) -> None:
    """An application that answers every name would be reported as a leak of the guarded neighbour's content."""
    mine, crossed, nobodys = (f"200; server: x; {header}{value}" for value in ("1", "2", "3"))
    assert said(crossed, theirs=REFUSED, guarded=True, own=mine, nobodys=nobodys).verdict == "inconclusive"
    other = crossed.replace("server: x", "server: y")
    assert said(other, theirs=REFUSED, guarded=True, own=mine, nobodys=nobodys).verdict == "fail"
