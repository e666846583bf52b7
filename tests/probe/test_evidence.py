"""The observation of a probe, complete or interrupted."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from trio.testing import assert_checkpoints

from scanner.kube.maybe import Known, Unknown
from scanner.model.observation import (
    Answered,
    Attempt,
    ClientCertificate,
    Negotiated,
    Observation,
    Reach,
    Stray,
)
from scanner.probe.evidence import CHAINS_LENGTH, OTHER_CHAINS, Evidence
from scanner.probe.offers import Ending, Reply
from scanner.probe.suite_enumeration import Tally
from scanner.tls.codepoints import SSL2, TLS10, TLS12, TLS13

pytestmark = pytest.mark.crypto

AT = datetime(2026, 1, 2, tzinfo=UTC)
YES = Reply("hello", version=TLS12, suite=0xC02F, group=0x001D, done=True)
NO = Reply("alert", alert=40)
FIN = Reply("fin")
HIDDEN = "no TLS 1.3 handshake was completed, which is required for this: "


def noted(*replies: Reply, unfinished: str | None = None) -> Evidence:
    """``unfinished``: why no full handshake of TLS 1.3 was completed, as it was in most tests."""
    evidence = Evidence(unfinished=unfinished)
    for reply in replies:
        evidence.add_reply(reply)
    return evidence


def conclude(evidence: Evidence) -> Observation:
    return evidence.conclude("instance", AT)


@pytest.mark.parametrize(
    ("replies", "reach", "detail"),
    [
        ([YES], Reach.TLS, ""),
        ([NO, FIN, YES], Reach.TLS, ""),
        ([NO], Reach.REJECTED, "alert 40 handshake_failure"),
        ([FIN, NO], Reach.REJECTED, "alert 40 handshake_failure"),
        ([Reply("alert", alert=112)], Reach.NAME_REQUIRED, "alert 112 unrecognized_name"),
        ([FIN], Reach.HUNG_UP, ""),
        ([Reply("declined", text="greeting: 421", protocol="smtp")], Reach.REJECTED, "greeting: 421"),
        ([Reply("unnamed", text="host-unknown", protocol="xmpp")], Reach.NAME_REQUIRED, "host-unknown"),
        ([Reply("rst"), FIN], Reach.RESET, ""),
        ([Reply("silence")], Reach.SILENT, ""),
        ([Reply("closed")], Reach.CLOSED, ""),
        ([Reply("filtered")], Reach.FILTERED, ""),
        ([Reply("unreachable")], Reach.UNREACHABLE, ""),
        ([Reply("malformed", text="what?")], Reach.MALFORMED, "what?"),
        ([Reply("hello", version=TLS12, suite=0xC02F)], Reach.MALFORMED, ""),
        ([Reply("plaintext", text="HTTP/1.1 400", protocol="http")], Reach.PLAINTEXT, "HTTP/1.1 400"),
        ([Reply("plaintext", text="220 mail", protocol="smtp")], Reach.STARTTLS_NEEDED, "220 mail"),
        ([], Reach.INTERRUPTED, ""),
    ],
)
def test_reach(replies: list[Reply], reach: Reach, detail: str) -> None:
    seen = conclude(noted(*replies))
    assert (seen.reach, seen.detail) == (reach, detail)


ORDER = [
    Reply("plaintext", text="HTTP/1.1 400", protocol="http"),
    NO,
    Reply("unnamed"),
    Reply("declined"),
    Reply("unoffered"),
    Reply("malformed"),
    Reply("rst"),
    FIN,
    Reply("silence"),
    Reply("hello", version=TLS12, suite=0xC02F),
    Reply("closed"),
    Reply("filtered"),
    Reply("unreachable"),
]


@pytest.mark.parametrize("place", range(len(ORDER)))
def test_of_several_failures_the_one_that_says_most_is_the_reach(place: int) -> None:
    """Whatever came first: a port that answered plaintext once must not be called closed."""
    alone, rest = conclude(noted(ORDER[place])), ORDER[place:]
    for replies in (rest, rest[::-1]):
        seen = conclude(noted(*replies))
        assert (seen.reach, seen.detail, seen.protocol) == (alone.reach, alone.detail, alone.protocol)
        assert seen.protocol == ORDER[place].protocol


def test_everything_that_was_recorded_is_in_the_observation() -> None:
    """What is lost here no rule can judge."""
    evidence = noted(YES)
    recorded: dict[str, Any] = {
        "preference": {TLS12: "client"},
        "client_certificate": "requested",
        "alpn": "h2",
        "ocsp_stapled": True,
        "negotiated": Negotiated(version=TLS12, suite=0xC02F, group=0x001D),
        "untrusted_client": "refused",
        "request_without_certificate": "HTTP/1.1 200",
        "request_untrusted": "HTTP/1.1 403",
        "cleartext": "HTTP/1.1 301",
        "plain_port": None,
    }
    for name, value in recorded.items():
        setattr(evidence, name, value)
    evidence.answered = [Answered(server_name="a", authority="b", answer="200")]
    evidence.strays = [Stray(name=None, answer="served")]
    evidence.attempts = [Attempt(offer="TLSv1.2", reply="fin", seconds=0.1)]
    seen = conclude(evidence)
    assert {name: getattr(seen, name) for name in recorded} == recorded
    assert [*seen.answered, *seen.strays, *seen.attempts] == [*evidence.answered, *evidence.strays, *evidence.attempts]


def test_a_full_handshake_alone_is_tls() -> None:
    """All other offers may have been refused."""
    evidence = noted(NO)
    evidence.negotiated = Negotiated(version=TLS12, suite=0xC02F, group=None)
    assert (conclude(evidence).reach, conclude(evidence).detail) == (Reach.TLS, "")


@pytest.mark.parametrize("state", ["refused", "unknown"])
def test_nothing_is_hidden_by_a_tls13_that_was_never_accepted(state: str) -> None:
    """Without any accepted version the reason is that no handshake was made."""
    evidence = noted(NO, unfinished="the full handshake failed: no answer in time")
    if state == "refused":
        evidence.versions.refuse([TLS13], NO)
    seen = conclude(evidence)
    assert seen.chain == Unknown("no certificate was seen")
    assert seen.alpn == seen.ocsp_stapled == Unknown("no full handshake was made")


def test_a_request_for_a_certificate_is_not_certain_while_tls13_hides_its_own() -> None:
    in_clear = Reply("hello", version=TLS12, suite=0xC02F, done=True, certificate_requested=True)
    evidence = noted(in_clear, Reply("hello", version=TLS13, suite=0x1301), unfinished="it broke off")
    assert conclude(evidence).certificate_requested is False
    evidence.unfinished = None
    assert conclude(evidence).certificate_requested is True


@pytest.mark.parametrize("ending", ["fin", "malformed"])
def test_only_a_selected_suite_is_a_dead_end(ending: Ending) -> None:
    """Else a refusal of it would be taken back, and a compliant listener stay unknown."""
    evidence = noted(YES, Reply(ending, version=TLS10, suite=0x000A), Reply("hello"), Reply("hello", version=TLS10))
    evidence.versions.refuse([TLS10], NO)
    evidence.versions.complete = True
    seen = conclude(evidence).versions
    assert (seen.refused, seen.unasked) == (frozenset({TLS10}), None)


def test_what_was_not_asked_has_that_as_its_reason() -> None:
    seen = conclude(noted(YES))
    assert (seen.versions.unasked, seen.suites[TLS12].unasked, seen.groups[TLS12].unasked) == ("not asked",) * 3
    assert seen.certificate_requested is False


def test_a_version_without_a_group_has_no_groups() -> None:
    seen = conclude(noted(Reply("hello", version=TLS12, suite=0x002F, done=True)))
    assert seen.groups == {}


def test_the_conclusions_of_equal_replies_are_adopted_whole_and_stay_apart() -> None:
    """Listeners share plans: what is lost would stay unknown for the second, and what is shared would leak."""
    first = noted(YES, Reply("hello", version=TLS10, suite=0x000A))
    first.preference[TLS12], first.interrupted, first.asked = "server", "cut", True
    first.refusals.doubt(FIN)
    second = Evidence(unfinished=None)
    second.adopt(first)
    for name in ("versions", "suites", "groups", "preference", "refusals", "dead_ends", "interrupted", "asked"):
        assert getattr(second, name) == getattr(first, name) != getattr(Evidence(), name), name
    before = conclude(first)
    second.add_reply(Reply("hello", version=TLS12, suite=0x002F, group=0x0017, done=True))
    second.add_reply(Reply("hello", version=TLS10, suite=0x0005))
    second.preference[TLS12] = "client"
    second.refusals.doubt(NO)
    assert conclude(first) == before
    assert (first.refusals.doubtful, first.dead_ends) == ({"fin"}, {TLS10: {0x000A}})


def test_a_required_client_certificate_is_its_own_reach() -> None:
    evidence = noted(YES)
    evidence.client_certificate = "required"
    assert conclude(evidence).reach is Reach.CLIENT_CERTIFICATE_REQUIRED


def test_a_deadline_leaves_what_was_seen_and_says_why_the_rest_is_missing() -> None:
    evidence = noted(YES, unfinished="no full handshake was made")
    evidence.interrupted = "the deadline (5 s) was reached"
    seen = conclude(evidence)
    assert seen.reach is Reach.TLS
    assert (seen.versions.accepted, seen.suites[TLS12].accepted, seen.groups[TLS12].accepted) == (
        (TLS12,),
        (0xC02F,),
        (0x001D,),
    )
    assert seen.versions.unasked == seen.suites[TLS12].unasked == "the deadline (5 s) was reached"
    assert seen.chain == Unknown(f"{HIDDEN}the deadline (5 s) was reached")


def test_interrupted_before_anything_came() -> None:
    evidence = Evidence(interrupted="the deadline (5 s) was reached")
    seen = conclude(evidence)
    assert (seen.reach, seen.detail) == (Reach.INTERRUPTED, "the deadline (5 s) was reached")


def test_what_was_asked_to_the_end_has_no_reason() -> None:
    evidence = noted(YES)
    tally = evidence.suites[TLS12]
    tally.refuse([0x000A], NO)
    tally.complete = True
    assert conclude(evidence).suites[TLS12].unasked is None
    assert conclude(evidence).suites[TLS12].refused == {0x000A}


def test_refusals_are_taken_back_when_their_ending_becomes_doubtful() -> None:
    evidence = noted(YES)
    evidence.suites[TLS12] = Tally(accepted=[0xC02F], complete=True)
    evidence.suites[TLS12].refuse([0x000A], FIN)
    evidence.suites[TLS12].refuse([0x002F], NO)
    evidence.versions.refuse([TLS10], FIN)
    assert conclude(evidence).suites[TLS12].refused == {0x000A, 0x002F}
    evidence.refusals.doubt(FIN)
    seen = conclude(evidence)
    assert seen.suites[TLS12].refused == {0x002F}
    assert seen.suites[TLS12].unasked == "the listener ends accepted offers in the same way as refused ones"
    assert seen.versions.refused == frozenset()


def test_what_was_accepted_once_is_never_refused() -> None:
    evidence = noted(YES)
    evidence.suites[TLS12].refused[0xC02F] = "alert 40"
    evidence.versions.refused[TLS12] = "alert 40"
    seen = conclude(evidence)
    assert seen.suites[TLS12].refused == seen.versions.refused == frozenset()
    assert seen.suites[TLS12].state(0xC02F) == "accepted"


def test_what_was_selected_once_and_not_gone_on_with_is_not_refused_either() -> None:
    evidence = noted(YES, Reply("hello", version=TLS10, suite=0x000A))
    evidence.versions.refuse([TLS10], NO)
    evidence.suites[TLS10] = Tally(complete=True)
    evidence.suites[TLS10].refuse([0x000A, 0x002F], NO)
    seen = conclude(evidence)
    assert seen.versions.state(TLS10) == seen.suites[TLS10].state(0x000A) == "unknown"
    assert seen.suites[TLS10].refused == {0x002F}
    assert seen.versions.unasked == "the listener selected it, but did not continue the handshake"


def test_answers_are_in_the_order_of_the_listener_and_versions_from_the_latest() -> None:
    seen = conclude(
        noted(
            Reply("hello", version=TLS12, suite=0xC030, done=True),
            Reply("hello", version=TLS13, suite=0x1302),
            Reply("hello", version=TLS12, suite=0xC02F, done=True),
            Reply("hello", version=TLS12, suite=0xC030, done=True),
        )
    )
    assert list(seen.suites) == [TLS13, TLS12]
    assert seen.suites[TLS12].accepted == (0xC030, 0xC02F)


def test_an_sslv2_answer_has_no_suite() -> None:
    seen = conclude(noted(Reply("hello", version=SSL2, done=True)))
    assert seen.versions.accepted == (SSL2,)
    assert seen.suites[SSL2].accepted == ()


@pytest.mark.parametrize(
    ("requested", "expected"),
    [
        (False, "none"),
        (True, Unknown("a client certificate is requested; whether it is required needs a full handshake")),
        (None, Unknown("no full handshake was made")),
    ],
)
def test_a_client_certificate_that_is_asked_for_in_the_clear(requested: bool | None, expected: object) -> None:
    evidence = noted(Reply("hello", version=TLS12, suite=0xC02F, done=True, certificate_requested=requested))
    assert conclude(evidence).client_certificate == expected


def test_every_chain_is_kept_once_and_garbage_in_it_is_no_crash() -> None:
    first = Reply("hello", version=TLS12, suite=0xC02F, done=True, chain=(b"\x30\x00garbage", b""))
    second = Reply("hello", version=TLS12, suite=0xC030, done=True, chain=(b"other",))
    observed = conclude(noted(first, second, first))
    assert not isinstance(observed.chain, Unknown)
    assert [certificate.der for certificate in observed.chain] == [b"other"]
    (beside,) = observed.other_chains
    assert [certificate.der for certificate in beside] == [b"\x30\x00garbage", b""]


def test_the_chain_of_the_full_handshake_is_the_one_shown() -> None:
    evidence = noted(*(Reply("hello", version=TLS12, suite=0xC02F, done=True, chain=(der,)) for der in (b"a", b"b")))
    evidence.add_chain((b"a",))
    observed = conclude(evidence)
    assert not isinstance(observed.chain, Unknown)
    assert [certificate.der for certificate in observed.chain] == [b"a"]
    assert [[certificate.der for certificate in chain] for chain in observed.other_chains] == [[b"b"]]


def tls13(state: str) -> Evidence:
    """TLS 1.2 in order, with its certificate in clear, and TLS 1.3 ``accepted``, ``refused`` or ``unknown``."""
    in_clear = Reply("hello", version=TLS12, suite=0xC02F, done=True, chain=(b"leaf",), certificate_requested=False)
    evidence = noted(in_clear, unfinished="the full handshake failed: no answer in time")
    if state == "accepted":
        evidence.add_reply(Reply("hello", version=TLS13, suite=0x1301))
    elif state == "refused":
        evidence.versions.refuse([TLS13], NO)
    evidence.versions.complete = True
    return evidence


@pytest.mark.parametrize("state", ["accepted", "unknown"])
def test_what_tls13_hides_is_unknown_until_one_of_its_handshakes_is_completed(state: str) -> None:
    """TLS 1.2 shows its own certificate, and nothing of the one that TLS 1.3 has."""
    seen = conclude(tls13(state))
    unknown = Unknown(f"{HIDDEN}the full handshake failed: no answer in time")
    assert [seen.chain, seen.client_certificate, seen.alpn, seen.ocsp_stapled] == [unknown] * 4
    assert [[certificate.der for certificate in chain] for chain in seen.other_chains] == [[b"leaf"]]


def test_what_is_in_clear_is_enough_without_tls13() -> None:
    seen = conclude(tls13("refused"))
    assert not isinstance(seen.chain, Unknown)
    assert seen.client_certificate == "none"
    assert seen.other_chains == ()


def test_a_version_that_cannot_be_told_hides_nothing_from_a_handshake_that_offered_it() -> None:
    evidence = tls13("unknown")
    evidence.negotiated = Negotiated(version=TLS12, suite=0xC02F, group=None)
    assert not isinstance(conclude(evidence).chain, Unknown)


def test_a_client_certificate_is_not_known_to_be_required_by_one_version_of_two() -> None:
    evidence = tls13("accepted")
    evidence.client_certificate = "required"  # in TLS 1.2
    seen = conclude(evidence)
    assert isinstance(seen.client_certificate, Unknown)
    assert seen.reach is Reach.TLS


@pytest.mark.parametrize("asked_for", ["required", "requested", "none"])
def test_a_client_certificate_that_is_asked_for_now_and_then(asked_for: ClientCertificate) -> None:
    """A client that can choose the version or suite can choose whether a certificate is needed."""
    for in_clear in (True, False):
        evidence = noted(Reply("hello", version=TLS12, suite=0xC02F, done=True, certificate_requested=in_clear))
        evidence.client_certificate = asked_for
        found = conclude(evidence).client_certificate
        assert isinstance(found, Unknown) is (in_clear is (asked_for == "none"))


@pytest.mark.parametrize(
    ("in_clear", "in_full", "asked_for", "certain"),
    [
        ((True,), False, Unknown(""), True),
        ((), True, Unknown(""), True),
        ((), True, "requested", True),
        ((), False, Unknown(""), False),
        ((True, False), True, Unknown(""), False),
        ((False,), True, Unknown(""), False),
        ((True,), False, "none", False),
    ],
)
def test_that_one_is_asked_for_is_certain_where_it_always_was(
    in_clear: tuple[bool, ...], in_full: bool, asked_for: Known[ClientCertificate], certain: bool
) -> None:
    evidence = noted(
        *(Reply("hello", version=TLS12, suite=0xC02F, done=True, certificate_requested=each) for each in in_clear)
    )
    evidence.client_certificate, evidence.requested = asked_for, in_full
    assert conclude(evidence).certificate_requested is certain


@pytest.mark.parametrize("suite", [0x0034, 0xC018, 0x008C])
def test_suites_without_a_certificate_say_nothing_of_the_clients(suite: int) -> None:
    """DH_anon, ECDH_anon, PSK: no CertificateRequest may be sent with them (RFC 5246, section 7.4.4)."""
    evidence = noted(Reply("hello", version=TLS12, suite=suite, done=True, certificate_requested=False))
    assert isinstance(conclude(evidence).client_certificate, Unknown)


@pytest.mark.parametrize(("count", "size"), [(30, 10), (4, CHAINS_LENGTH // 3)])
def test_a_certificate_for_each_connection_fills_no_memory(count: int, size: int) -> None:
    """An unread certificate may have any fault, so the others prove nothing."""
    served = [(b"%06d" % number + b"\0" * size,) for number in range(count)]
    evidence = noted(*(Reply("hello", version=TLS12, suite=0xC02F, done=True, chain=each) for each in served))
    seen = conclude(evidence)
    assert seen.chain == Unknown("the listener serves too many different certificates")
    assert len(seen.other_chains) == min(1 + OTHER_CHAINS, CHAINS_LENGTH // (size + 6))
    assert seen.other_chains[-1][0].der == served[-1][0]


def test_what_the_full_handshake_contradicts_takes_the_ending_back() -> None:
    """TLS 1.3 was called refused by an alert, and the full handshake ends in it: that alert proves nothing."""
    evidence = noted(YES)
    evidence.versions.refuse([TLS13, TLS10], NO)
    evidence.suites[TLS12] = Tally(accepted=[0xC02F], complete=True)
    evidence.suites[TLS12].refuse([0x000A], NO)
    evidence.asked = True
    evidence.add_reply(Reply("hello", version=TLS13, suite=0x1301))
    seen = conclude(evidence)
    assert (seen.versions.refused, seen.suites[TLS12].refused) == (frozenset(), frozenset())


def test_while_plans_run_they_ask_again_what_was_refused_of_a_set() -> None:
    evidence = noted(YES)
    evidence.suites[TLS12].refuse([0x000A], NO)
    evidence.add_reply(Reply("hello", version=TLS12, suite=0x000A, done=True))
    assert not evidence.refusals.doubtful
    evidence.suites[TLS12].refuse([0x002F], NO)
    evidence.asked = True
    evidence.add_reply(Reply("hello", version=TLS12, suite=0x002F, done=True))
    assert evidence.refusals.doubtful == {"alert 40"}


@pytest.mark.parametrize(("accepted", "doubtful"), [(0xC02F, {"alert 40"}), (0x0081, set())])
def test_the_full_handshake_is_a_control(accepted: int, doubtful: set[str]) -> None:
    """An alert instead of it, where suites of today are accepted, befell something that is otherwise accepted."""
    evidence = noted(Reply("hello", version=TLS12, suite=accepted, done=True))
    evidence.control_failed(40)
    assert evidence.refusals.doubtful == doubtful


async def test_every_certificate_is_parsed_before_anything_is_concluded() -> None:
    """One step each, so that other tasks do not wait for all of them."""
    evidence = noted()
    evidence.add_chain((b"leaf", b"issuer"))
    evidence.add_chain((b"other", b"issuer"))
    with assert_checkpoints():
        await evidence.read_certificates()
    assert set(evidence.facts) == {b"leaf", b"issuer", b"other"}
