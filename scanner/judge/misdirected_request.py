"""Requests for another name on a connection that was made for one (RFC 9110, section 15.5.20)."""

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

Heard: TypeAlias = Mapping[tuple[str, str], Known[str]]
"""Answers by the connection's name and the request's."""
_CALLED: Mapping[HttpVersion, str] = {"http/1.1": "HTTP/1.1", "h2": "HTTP/2"}
_MISDIRECTED: Final = "421"
_NOTHING: Final = ("404", "400")
"""Nothing there, or not understood: no content of anybody's, but where it is just what the neighbour itself says."""
_CONTENT: Final = re.compile(r"2\d\d|3\d\d|401")
"""What somebody answers who has it. Proxies refuse in many other words: 403 and 503 are the most frequent ones."""
_PASSING: Final = ("content-length: ", "etag: ", "last-modified: ")
"""What may be another one for each request."""


def check_misdirected(rule: Rule, case: Case) -> Iterator[Finding]:
    """A connection for one name does not give the content of another."""
    wanted = case.expectation.neighbours
    if not wanted or not case.observation.answered:
        return
    here, spoken = case.endpoint.server_name or "", _spoken(case.observation)
    told = [(http, each, _wrong(each, here, spoken, http)) for http in spoken for each in wanted]
    guarded = any(each.guarded for _, each, wrong in told if isinstance(wrong, str))
    finding = conclude(
        rule,
        case,
        Tally(
            seen=tuple(wrong for *_, wrong in told if isinstance(wrong, str)),
            unknown=(
                *(wrong.reason for *_, wrong in told if isinstance(wrong, Unknown)),
                *_unspoken(case.observation),
            ),
        ),
        Words(
            passed="requests for its neighbours are not answered with their content",
            failed="a connection for this name gives the content of another",
            unclear="whether a connection for this name gives the content of another could not be determined",
        ),
        severity="critical" if guarded else None,
        expected=(f"not the content of {each.name} ({each.because})" for each in wanted),
        fix="have the proxy answer 421 where the request's authority is not that of the connection",
        reproduce=next(
            (
                remediation.head(case.endpoint, each.name, http=http)
                for http, each, wrong in told
                if isinstance(wrong, str)
            ),
            None,
        ),
    )
    yield promised(finding)


def _spoken(observation: Observation) -> Mapping[HttpVersion, Heard]:
    """The answers in each protocol that there are any in or have to be."""
    heard: dict[HttpVersion, dict[tuple[str, str], Known[str]]] = {"h2": {}} if observation.alpn == "h2" else {}
    for each in observation.answered:
        heard.setdefault(each.protocol, {})[each.server_name, each.authority] = each.answer
    return heard


def _unspoken(observation: Observation) -> tuple[str, ...]:
    return (f"whether it speaks HTTP/2: {observation.alpn.reason}",) if isinstance(observation.alpn, Unknown) else ()


def _wrong(
    neighbour: Neighbour, here: str, spoken: Mapping[HttpVersion, Heard], protocol: HttpVersion
) -> str | Unknown | None:
    heard, called, missing = spoken[protocol], _CALLED[protocol], Unknown("not tested")
    crossed = heard.get((here, neighbour.name), missing)
    if isinstance(crossed, Unknown):
        return Unknown(f"{neighbour.name} in {called}: {crossed.reason}")
    status = _status(crossed)
    if status == _MISDIRECTED:
        return None
    harmless = {each: heard.get((here, each), missing) for each in (here, NO_SUCH_NAME) if each}
    key = neighbour.name, neighbour.name
    theirs = heard.get(key, missing)
    said = f"{neighbour.name} in {called}: {status}"
    known = [each[key] for each in spoken.values() if not isinstance(each.get(key, missing), Unknown)]
    if any(_alike(crossed, neighbour.name, answer, name) for name, answer in harmless.items()):
        # Of a guarded one nobody can know more.
        nothing = status in _NOTHING and (neighbour.guarded or known)
        alike = crossed in known or (isinstance(theirs, Unknown) and not nothing)
        return Unknown(f"{said}, as both names may answer") if alike else None
    if crossed in known:
        return f"{said}, as on a connection of its own"
    if status in _NOTHING and not isinstance(theirs, Unknown):
        return None
    if neighbour.guarded and isinstance(theirs, Unknown) and _cannot_be_ours(crossed, neighbour, here, harmless):
        return f"{said}, which neither this name nor an unknown name answers with"
    return Unknown(f"{said}, and whose content that is cannot be determined")


def _status(answer: str) -> str:
    return answer.partition(";")[0]


def _alike(answer: str, name: str, other: Known[str], others: str) -> bool:
    """Whether ``answer``, for ``name``, is ``other``, for ``others``: also where each only repeats what it was asked
    for, as most redirects do."""
    if isinstance(other, Unknown):
        return False
    return answer == other or _neutral(answer, name) == _neutral(other, others)


def _neutral(answer: str, name: str) -> str:
    return answer.replace(name, "*") if name else answer


def _cannot_be_ours(answer: str, neighbour: Neighbour, here: str, harmless: Mapping[str, Known[str]]) -> bool:
    """Whether ``answer`` is content, and of a kind with which a name that nobody has is not answered: a page that
    repeats its name, or the time, has another length for each, and says nothing. Where a wildcard stands for both
    names, so may this one's own content."""
    known = {name: each for name, each in harmless.items() if not isinstance(each, Unknown)}
    if len(known) < len(harmless) or not _CONTENT.match(_status(answer)):
        return False
    said, others = (
        _kind(_neutral(answer, neighbour.name)),
        (NO_SUCH_NAME, here) if neighbour.covered else (NO_SUCH_NAME,),
    )
    return all(said != _kind(_neutral(known[name], name)) for name in others if name in known)


def _kind(answer: str) -> list[str]:
    return [each for each in answer.split("; ") if not each.startswith(_PASSING)]


MISDIRECTED = Rule(id="tls-misdirected", check=check_misdirected)
