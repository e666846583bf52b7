"""Does a connection that was made for one name give the content of another?"""

from __future__ import annotations

from collections.abc import Iterator

from scanner.judge import remedy
from scanner.judge.verdicts import Tally, Words, conclude, promised
from scanner.model.expectation import Neighbour
from scanner.model.finding import Finding
from scanner.model.known import Known, Unknown
from scanner.model.names import NOBODYS
from scanner.model.rule import Case, Rule

_ELSEWHERE = ("421", "404", "400")
"""Misdirected Request, nothing there, or not understood: no content of anybody's."""


def check_misdirected(rule: Rule, case: Case) -> Iterator[Finding]:
    """A connection for one name does not give the content of another.

    ## What it requires

    With `--active-http`, for up to three neighbours of a name, on the same port and of another listener of a Gateway or
    another HTTPProxy: a `HEAD` request for the neighbour on a connection that was made for this name is not answered
    with the neighbour's content. 421 is what it should be, but the specifications do not insist: 404, 400, this name's
    own answer, and the one for a name that nobody has will do.

    What is whose content is told by status, `ETag`, `Location`, `Content-Type`, `Content-Length`, `Last-Modified`,
    `Server` and the names of cookies, compared with what each name answers on its own connection. The requests are in
    HTTP/1.1: HTTP/2, in which clients share connections by themselves, is not spoken here, and a listener that tells
    them apart is seen by half. Nothing is expected of OpenShift's router and of Ingress controllers, which choose by
    `Host` and may. Without the option nothing is sent and nothing is reported.

    ## Why

    What is agreed upon in TLS (whose certificate, whether the client had to show one) holds for the name of the
    connection. If requests for other names are answered on it, a name whose clients need a certificate can be read by
    everybody, through a neighbour that asks for none.

    ## What fails

    The neighbour's content: medium; critical if the neighbour asks its clients for a certificate and this name
    does not.

    ## What is inconclusive

    A request without an answer, names that answer alike so that nobody can tell whose it is, and an answer that is
    nobody's known one.

    ## How to fix

    Have the proxy compare the request's authority with the server name and answer 421 (Contour does; Gateways by
    `GatewayHTTPSListenerDetectMisdirectedRequests`), or give names with client validation a port of their own.
    """
    wanted = case.expectation.neighbours
    if not wanted or not case.observation.answered:
        return
    heard = {(each.server_name, each.authority): each.answer for each in case.observation.answered}
    told = [(each, _wrong(each, case.endpoint.server_name or "", heard)) for each in wanted]
    guarded = any(each.guarded for each, wrong in told if isinstance(wrong, str))
    finding = conclude(
        rule,
        case,
        Tally(
            seen=tuple(wrong for _, wrong in told if isinstance(wrong, str)),
            unknown=tuple(wrong.reason for _, wrong in told if isinstance(wrong, Unknown)),
        ),
        Words(
            passed="requests for its neighbours are not answered with their content",
            failed="a connection for this name gives the content of another",
            unclear="whether a connection for this name gives the content of another could not be told",
        ),
        severity="critical" if guarded else None,
        expected=(f"not the content of {each.name} ({each.because})" for each in wanted),
        fix="have the proxy answer 421 where the request's authority is not that of the connection",
        reproduce=remedy.scan(case.endpoint),
    )
    yield promised(finding)


def _wrong(neighbour: Neighbour, here: str, heard: dict[tuple[str, str], Known[str]]) -> str | Unknown | None:
    missing = Unknown("not tested")
    crossed = heard.get((here, neighbour.name), missing)
    if isinstance(crossed, Unknown):
        return Unknown(f"{neighbour.name}: {crossed.reason}")
    if crossed.partition(";")[0] in _ELSEWHERE:
        return None
    harmless = [heard.get(pair, missing) for pair in ((here, here), (here, NOBODYS))]
    theirs = heard.get((neighbour.name, neighbour.name), missing)
    said = f"{neighbour.name}: {crossed.partition(';')[0]}"
    if crossed in harmless:
        alike = isinstance(theirs, Unknown) or theirs == crossed
        return Unknown(f"{said}, as both names may answer") if alike else None
    if crossed == theirs:
        return f"{said}, as on a connection of its own"
    if neighbour.guarded and isinstance(theirs, Unknown) and not any(isinstance(each, Unknown) for each in harmless):
        return f"{said}, which neither this name nor one that nobody has answers with"
    return Unknown(f"{said}, and whose content that is cannot be told")


MISDIRECTED = Rule(
    id="tls-misdirected",
    title="A connection for one name does not give another's content",
    severity="medium",
    check=check_misdirected,
    references=(
        "RFC 9110, section 15.5.20, and RFC 9113, section 9.1.2",
        "Gateway API, Listener.hostname; GEP-91 and GEP-3567",
    ),
)
