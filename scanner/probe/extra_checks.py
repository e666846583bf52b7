"""What is asked beside a listener's own name and profile, where an object says what it owes there: other server names,
and a client certificate that nobody trusts.

A refusal counts by the same rule as everywhere (``docs/design.md``, the ten rules of probing, 6): an alert that says so
at once, an end without a word only where it comes again, and silence never.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final, Literal

from scanner.kube.hostnames import NO_SUCH_NAME
from scanner.kube.maybe import Known, Unknown
from scanner.model.observation import Answered, ClientCertificate, HttpVersion, Stray
from scanner.probe import http1, http2
from scanner.probe.converse import Peer
from scanner.probe.engine import Identity, stranger
from scanner.probe.evidence import NO_REQUEST, Evidence
from scanner.probe.handshake import Full, handshake
from scanner.probe.http1 import cleartext, plain_port
from scanner.probe.offers import AGAIN, WORDLESS
from scanner.probe.session import Question
from scanner.tls.certificate import parsed_once
from scanner.tls.codepoints import TLS13

_REFUSING: Final = frozenset({40, 70, 71, 112})
"""Alerts that refuse a name by themselves; others, such as internal_error, have to come again."""


async def asides(peer: Peer, question: Question, evidence: Evidence) -> None:
    """Ask ``peer`` what ``question`` has beside the rest."""
    if question.cleartext and peer.transport == "tls":
        evidence.cleartext = Unknown("the time was over before it was asked")
        evidence.cleartext = await cleartext(peer, evidence.attempts)
    if question.plain_port is not None:
        evidence.plain_port = Unknown("the time was over before it was asked")
        evidence.plain_port = await plain_port(peer, *question.plain_port, evidence.attempts)
    await _requests(peer, question.authorities, evidence)
    for name in question.strays:
        evidence.strays.append(await _stray(replace(peer, server_name=name), peer, evidence))
    if question.untrusted_client:
        evidence.untrusted_client = Unknown("the time was over before it was tried")
        evidence.untrusted_client = await _untrusted(peer, evidence)
        if question.client_requests:
            await _client_requests(peer, evidence)


async def _client_requests(peer: Peer, evidence: Evidence) -> None:
    """Some proxies let every client shake hands, and refuse its requests: nginx with ``ssl_verify_client``."""
    if evidence.client_certificate == "requested":
        evidence.request_without_certificate = await _answer(peer, None, evidence)
    if evidence.untrusted_client == "accepted":
        evidence.request_untrusted = await _answer(peer, stranger(), evidence)


async def _answer(peer: Peer, identity: Identity | None, evidence: Evidence) -> Known[str]:
    """The status, or ``closed`` where the connection ends without an answer each time."""
    found: Known[str] = http1.CLOSED
    for _ in range(AGAIN):
        authority = peer.server_name or peer.host or peer.where.address
        found = await http1.head(peer, authority, evidence.attempts, identity)
        if found is not http1.CLOSED:
            return found if isinstance(found, Unknown) else found.partition(";")[0]
    return "closed"


async def _requests(peer: Peer, authorities: tuple[str, ...], evidence: Evidence) -> None:
    """For this name, for nobody's, and for each neighbour both here and where it belongs."""
    here = peer.server_name
    own = (here,) if here is not None else ()
    connections = ((here, (*own, NO_SUCH_NAME, *authorities)), *((name, (name,)) for name in authorities))
    for server_name, named in connections if authorities else ():
        asked = replace(peer, server_name=server_name)
        for authority in named:
            answer = await http1.head(asked, authority, evidence.attempts)
            _answered(evidence, server_name, {authority: answer}, "http/1.1")
        if evidence.alpn == "h2":
            shared: dict[str, Known[str]] = {}
            try:
                await http2.heads(asked, named, evidence.attempts, shared)
            finally:
                _answered(evidence, server_name, shared, "h2")


def leave_open(peer: Peer, question: Question, evidence: Evidence) -> None:
    """Say of the requests that were to be sent and were not why that is so: nobody shall think that they were not
    wanted. A listener that never spoke TLS has nothing that they could show."""
    why = Unknown(evidence.interrupted or "it came to nothing before it was asked")
    if not evidence.versions.accepted:
        return
    if question.cleartext and peer.transport == "tls" and evidence.cleartext is NO_REQUEST:
        evidence.cleartext = why
    if question.plain_port is not None and evidence.plain_port is NO_REQUEST:
        evidence.plain_port = why
    if question.authorities and not evidence.answered:
        _answered(evidence, peer.server_name, {question.authorities[0]: why}, "http/1.1")


def _answered(
    evidence: Evidence, server_name: str | None, answers: Mapping[str, Known[str]], protocol: HttpVersion
) -> None:
    evidence.answered += [
        Answered(server_name=server_name or "", authority=authority, answer=answer, protocol=protocol)
        for authority, answer in answers.items()
    ]


async def _stray(peer: Peer, known: Peer, evidence: Evidence) -> Stray:
    """One other name, or none; ``known``: the peer by its own. Where every connection ended in words that an accident
    may have, that one still has to be served."""
    label = f"server name {peer.server_name}" if peer.server_name else "no server name"
    full = Full()
    for _ in range(AGAIN):
        full = await _attempt(peer, label, None, evidence)
        if full.chain:
            leaf = parsed_once(full.chain[0])
            served: Literal["served"] = "served"
            return Stray(name=peer.server_name, answer=served, leaf=leaf, client_certificate=full.client_certificate)
        if full.alert in _REFUSING or (full.alert is None and full.ending not in WORDLESS):
            return Stray(name=peer.server_name, answer=_refusal(full))
    control = await _attempt(known, "control", None, evidence)
    answer = _refusal(full) if control.chain else Unknown(f"every name is refused now: {control.summary}")
    return Stray(name=peer.server_name, answer=answer)


def _refusal(full: Full) -> Known[Literal["refused"]]:
    if full.alert is not None or full.ending in WORDLESS:
        return "refused"
    return Unknown(full.failure or "it completed a handshake without a certificate")


async def _untrusted(peer: Peer, evidence: Evidence) -> Known[Literal["refused", "accepted"]]:
    """A handshake with a certificate that nobody has signed but itself.

    TLS 1.3 shows the refusal on the first read after it (RFC 8446, section 4.4.2.4). Where the connection then ends
    without a word, the client says none either from there on: an end can then be no answer to its goodbye.
    """
    label, full = "untrusted client certificate", Full()
    for number in range(AGAIN + 1):
        full = await _attempt(peer, label, stranger(), evidence, goodbye=number == 0)
        if full.completed and not full.presented:
            return Unknown("the listener asked for no client certificate")
        if full.presented and full.alert is not None:
            return "refused"
        if _went_on(full):
            return "accepted"
        if not full.presented or full.ending not in WORDLESS:
            return Unknown(f"what it did with one does not say whether it was accepted: {_did(full)}")
    return "refused"


async def insist(peer: Peer, evidence: Evidence) -> Known[ClientCertificate]:
    """Whether a client certificate is required by a listener that asks for one, and ended without a word."""
    full = Full()
    for _ in range(AGAIN):
        full = await _attempt(peer, "no client certificate", None, evidence, goodbye=False)
        if not full.requested:
            return Unknown("a client certificate is asked for now and then")
        if full.alert is not None:
            return "required"
        if _went_on(full):
            return "requested"
        if full.ending not in WORDLESS:
            return Unknown(f"a client certificate is asked for, and whether one is required is not known: {_did(full)}")
    return "required"


def _went_on(full: Full) -> bool:
    """Up to TLS 1.2 the server's Finished comes after it has seen the client's certificate."""
    old = full.negotiated is not None and full.negotiated.version < TLS13
    return full.completed and (full.settled or old)


def _did(full: Full) -> str:
    return full.failure or "it did nothing, and waited for a request"


async def _attempt(
    peer: Peer, label: str, identity: Identity | None, evidence: Evidence, *, goodbye: bool = True
) -> Full:
    return await handshake(peer, identity, goodbye=goodbye, offer=label, attempts=evidence.attempts)
