"""Requests for another server name on a connection that was opened for this one (RFC 9110, section 15.5.20)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final, TypeAlias

from scanner.judge import remediation
from scanner.judge.verdicts import Tally, Words, conclude, promised
from scanner.kube.hostnames import NO_SUCH_NAME
from scanner.kube.maybe import Known, Unknown
from scanner.model.expectation import Neighbour
from scanner.model.finding import Finding
from scanner.model.observation import HttpVersion, Observation
from scanner.model.rule import Case, Rule

AnswersByName: TypeAlias = Mapping[tuple[str, str], Known[str]]
"""Answers by the connection's server name and the request's authority."""
_PROTOCOL_NAMES: Mapping[HttpVersion, str] = {"http/1.1": "HTTP/1.1", "h2": "HTTP/2"}
_MISDIRECTED: Final = "421"
_NOTHING: Final = ("404", "400")
"""Answers without content, unless the neighbour itself answers the same."""
_CONTENT: Final = re.compile(r"2\d\d|3\d\d|401")
"""Status codes of a server that has content. Proxies refuse with many others, most often 403 and 503."""
_PASSING: Final = ("content-length: ", "etag: ", "last-modified: ")
"""Headers that may differ for each request."""


def check_misdirected(rule: Rule, case: Case) -> Iterator[Finding]:
    """A connection for one server name does not serve the content of another."""
    neighbours = case.expectation.neighbours
    if not neighbours or not case.observation.answered:
        return
    here, answers = case.endpoint.server_name or "", _answers(case.observation)
    results = [(http, each, _served(each, here, answers, http)) for http in answers for each in neighbours]
    guarded = any(each.guarded for _, each, wrong in results if isinstance(wrong, str))
    alpn = case.observation.alpn
    finding = conclude(
        rule,
        case,
        Tally(
            seen=tuple(wrong for *_, wrong in results if isinstance(wrong, str)),
            unknown=(
                *(wrong.reason for *_, wrong in results if isinstance(wrong, Unknown)),
                *((f"whether it supports HTTP/2: {alpn.reason}",) if isinstance(alpn, Unknown) else ()),
            ),
        ),
        Words(
            passed="a connection for this server name does not serve the content of other names on the port",
            failed="a connection for this server name also serves the content of another name",
            unclear="whether a connection for this server name also serves the content of another name could not be "
            "determined",
        ),
        severity="critical" if guarded else None,
        expected=(f"not the content of {each.name} ({each.because})" for each in neighbours),
        fix="configure the proxy to answer 421 if the request's authority differs from the connection's server name",
        reproduce=next(
            (
                remediation.head(case.endpoint, each.name, http=http)
                for http, each, wrong in results
                if isinstance(wrong, str)
            ),
            None,
        ),
    )
    yield promised(finding)


def _answers(observation: Observation) -> Mapping[HttpVersion, AnswersByName]:
    """The answers by protocol; HTTP/2 is included without answers if it was negotiated."""
    found: dict[HttpVersion, dict[tuple[str, str], Known[str]]] = {"h2": {}} if observation.alpn == "h2" else {}
    for each in observation.answered:
        found.setdefault(each.protocol, {})[each.server_name, each.authority] = each.answer
    return found


def _served(
    neighbour: Neighbour, here: str, answers: Mapping[HttpVersion, AnswersByName], protocol: HttpVersion
) -> str | Unknown | None:
    """The proof that the neighbour's content is served on a connection for ``here``; None if it is not."""
    own, version, missing = answers[protocol], _PROTOCOL_NAMES[protocol], Unknown("not tested")
    crossed = own.get((here, neighbour.name), missing)
    if isinstance(crossed, Unknown):
        return Unknown(f"{neighbour.name} over {version}: {crossed.reason}")
    status = _status(crossed)
    if status == _MISDIRECTED:
        return None
    harmless = {each: own.get((here, each), missing) for each in (here, NO_SUCH_NAME) if each}
    key = neighbour.name, neighbour.name
    theirs = own.get(key, missing)
    answered = f"{neighbour.name} over {version} is answered with {status}"
    known = [each[key] for each in answers.values() if not isinstance(each.get(key, missing), Unknown)]
    if any(_same(crossed, neighbour.name, answer, name) for name, answer in harmless.items()):
        # A guarded neighbour has no known answer of its own.
        nothing = status in _NOTHING and (neighbour.guarded or known)
        ambiguous = crossed in known or (isinstance(theirs, Unknown) and not nothing)
        return Unknown(f"{answered}, which both names may answer") if ambiguous else None
    if crossed in known:
        return f"{answered}, the same as on its own connection"
    if status in _NOTHING and not isinstance(theirs, Unknown):
        return None
    if neighbour.guarded and isinstance(theirs, Unknown) and _cannot_be_ours(crossed, neighbour, here, harmless):
        return f"{answered}, unlike this name and unknown names"
    return Unknown(f"{answered}; it is unknown whether this is its content")


def _status(answer: str) -> str:
    return answer.partition(";")[0]


def _same(answer: str, name: str, other: Known[str], others: str) -> bool:
    """True if the answers for two names are equal, apart from the requested name, which most redirects repeat."""
    if isinstance(other, Unknown):
        return False
    return answer == other or _neutral(answer, name) == _neutral(other, others)


def _neutral(answer: str, name: str) -> str:
    return answer.replace(name, "*") if name else answer


def _cannot_be_ours(answer: str, neighbour: Neighbour, here: str, harmless: Mapping[str, Known[str]]) -> bool:
    """True if ``answer`` is content of another kind than an unknown name gets. The length is not compared, because
    pages may contain their name or the time. If a wildcard covers both names, this name's own content is compared too.
    """
    known = {name: each for name, each in harmless.items() if not isinstance(each, Unknown)}
    if len(known) < len(harmless) or not _CONTENT.match(_status(answer)):
        return False
    kind = _kind(_neutral(answer, neighbour.name))
    others = (NO_SUCH_NAME, here) if neighbour.covered else (NO_SUCH_NAME,)
    return all(kind != _kind(_neutral(known[name], name)) for name in others if name in known)


def _kind(answer: str) -> list[str]:
    return [each for each in answer.split("; ") if not each.startswith(_PASSING)]


MISDIRECTED_REQUEST = Rule(id="tls-misdirected", check=check_misdirected)
