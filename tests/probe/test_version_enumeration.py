"""No plan ever reports refused what the server accepts: against a model of servers with every quirk that we know."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from random import Random
from typing import Literal, get_args

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from scanner.model.observation import ENOUGH, Observation, Reach
from scanner.probe import candidates
from scanner.probe import interview as plans
from scanner.probe.evidence import Evidence
from scanner.probe.offers import Ending, Offer, Plan, Reply
from scanner.probe.session import Question, as_long_as
from scanner.probe.version_enumeration import MOST_OFFERS, interrogate
from scanner.tls.codepoints import (
    ALPN,
    ENCRYPT_THEN_MAC,
    EXTENDED_MASTER_SECRET,
    RECORD_SIZE_LIMIT,
    SERVER_NAME,
    SESSION_TICKET,
    SIGNATURE_ALGORITHMS,
    SIGNED_CERTIFICATE_TIMESTAMP,
    SSL2,
    SSL3,
    STATUS_REQUEST,
    STATUS_REQUEST_V2,
    TLS10,
    TLS11,
    TLS12,
    TLS13,
    VERSIONS,
)
from scanner.tls.names import authentication, is_tls13, needs_credentials
from scanner.values import replace
from tests.probe.model_server import (
    ALL_GROUPS,
    COMPRESSED,
    DECODE_ERROR,
    FIN,
    HANDSHAKE_FAILURE,
    HYBRIDS,
    ILLEGAL_PARAMETER,
    INSUFFICIENT_SECURITY,
    INTERNAL_ERROR,
    KINDS,
    NAMED_FIELDS,
    PROTOCOL_VERSION,
    RST,
    SECP256R1,
    SILENCE,
    X25519,
    Balancer,
    Interview,
    ModelServer,
    Order,
    interview,
    is_srp,
    needs_group,
    passes,
)
from tests.properties import at_most

pytestmark = pytest.mark.crypto

AT = datetime(2026, 1, 2, tzinfo=UTC)

TLS13_SUITES = (0x1301, 0x1302, 0x1303)
ECDHE_RSA_AEAD = (0xC02F, 0xC030, 0xCCA8)
INTERMEDIATE = frozenset({*TLS13_SUITES, 0xC02B, 0xC02C, 0xCCA9, *ECDHE_RSA_AEAD, 0x009E, 0x009F})
MODERN = frozenset(TLS13_SUITES)
OLD = (
    INTERMEDIATE
    | {*(0xC023, 0xC027, 0xC009, 0xC013, 0xC024, 0xC028, 0xC00A, 0xC014)}
    | {*(0x0067, 0x006B, 0x009C, 0x009D, 0x003C, 0x003D, 0x002F, 0x0035, 0x000A)}
)
GROUPS = (0x11EC, X25519, SECP256R1, 0x0018)

INVENTORY = Question(mode="inventory")
VERDICT = Question(mode="verdict", allowed=INTERMEDIATE, min_version=TLS12)
VERDICT_OLD = Question(mode="verdict", allowed=OLD, min_version=TLS10)
VERDICT_MODERN = Question(mode="verdict", allowed=MODERN, min_version=TLS13)
VERDICT_GROUPS = replace(VERDICT, groups=frozenset(GROUPS))
QUESTIONS = (INVENTORY, VERDICT, VERDICT_OLD, VERDICT_MODERN, VERDICT_GROUPS)

# --- models ---------------------------------------------------------------------------------------------------------

ALERTS = (HANDSHAKE_FAILURE, INSUFFICIENT_SECURITY, PROTOCOL_VERSION, INTERNAL_ERROR, ILLEGAL_PARAMETER)
REFUSALS = (*ALERTS, FIN, RST, SILENCE)
CURVES = tuple(code for code in ALL_GROUPS if code < 0x0100)
ECDSA_CURVES = (SECP256R1, 0x0018, 0x0019, 0x001A, 0x0016)
UNLIKELY_GROUPS = tuple(
    code for code in ALL_GROUPS if code not in {*candidates.LEAN_GROUPS, *candidates.LEAN_GROUPS_TLS13}
)
LEGACY = (TLS12, TLS11, TLS10, SSL3)


def suites_of(version: int) -> st.SearchStrategy[tuple[int, ...]]:
    """Some suites of ``version`` in some order: likely ones, unlikely ones, and such that need credentials."""
    if version == SSL2:
        return st.just(())
    if version == TLS13:
        one = st.sampled_from(candidates.suites(version))
    else:
        one = st.one_of(
            st.sampled_from([code for code in candidates.LIKELY if not is_tls13(code)]),
            st.sampled_from(candidates.suites(version)),
            st.sampled_from(candidates.credential_suites(version)),
        )
    return st.lists(one, min_size=1, max_size=9, unique=True).map(tuple)


@st.composite
def plain_servers(
    draw: st.DrawFn, refusals: Iterable[Reply] = (HANDSHAKE_FAILURE, INSUFFICIENT_SECURITY)
) -> ModelServer:
    """Servers without quirks: they differ in what they are configured to accept, and in their words for no."""
    versions = draw(st.sets(st.sampled_from(VERSIONS), min_size=1))
    group = st.sampled_from((*candidates.LIKELY_GROUPS, *ALL_GROUPS))
    kinds = draw(st.sampled_from((("RSA",), ("ECDSA",), ("RSA", "ECDSA"))))
    groups = draw(st.lists(group, min_size=1, max_size=6, unique=True))
    curve = draw(st.sampled_from([*(code for code in groups if code < 0x0100), *ECDSA_CURVES]))
    suites = {version: draw(suites_of(version)) for version in sorted(versions)}
    unusable = {"RSA", "ECDSA"} - set(kinds)
    return ModelServer(
        suites={
            version: tuple(code for code in codes if authentication(code) not in unusable)
            for version, codes in suites.items()
        },
        groups=tuple(groups),
        order=draw(st.sampled_from(("server", "client"))),
        curves={"ECDSA": curve} if "ECDSA" in kinds else {},
        refusal=draw(st.sampled_from(tuple(refusals))),
        version_refusal=draw(st.sampled_from((PROTOCOL_VERSION, HANDSHAKE_FAILURE, INTERNAL_ERROR))),
    )


def maybe(strategy: st.SearchStrategy[object], otherwise: object = None) -> st.SearchStrategy[object]:
    """Quirks are rare: most models should have few."""
    return st.one_of(st.just(otherwise), st.just(otherwise), strategy)


@st.composite
def odd_servers(draw: st.DrawFn) -> ModelServer:
    """Any combination of quirks."""
    server = draw(plain_servers(REFUSALS))
    own = sorted({code for codes in server.suites.values() for code in codes})
    quirks = {
        "version_refusal": st.sampled_from(REFUSALS),
        "reads": maybe(st.integers(32, 250)),
        "most": maybe(st.integers(32, 250)),
        "too_many": st.sampled_from((RST, ILLEGAL_PARAMETER, FIN)),
        "longest": maybe(st.integers(200, 900)),
        "hangs": maybe(st.just(True), False),
        "srp": st.sampled_from(("chosen", "anywhere")),
        "name": st.sampled_from(("model.example", None, "a-rather-long-name.of-a-service.in-a-namespace.svc.example")),
        "needs": maybe(
            st.sets(st.sampled_from((EXTENDED_MASTER_SECRET, SERVER_NAME, SIGNATURE_ALGORITHMS))).map(frozenset),
            frozenset(),
        ),
        "no_retry": maybe(st.sampled_from(("empty", "ever")), ""),
        "no_retry_ending": st.sampled_from((HANDSHAKE_FAILURE, DECODE_ERROR)),
        "dead_ends": maybe(st.sets(st.sampled_from(own or [0]), max_size=3).map(frozenset), frozenset()),
        "tolerates": maybe(st.sampled_from((TLS12, TLS11, TLS10)), TLS13),
        "intolerance": st.sampled_from(REFUSALS),
        "named": maybe(st.sets(st.sampled_from(candidates.suites(TLS12))).map(frozenset), frozenset()),
        "psk_fails": maybe(st.just(server.refusal != INTERNAL_ERROR), False),
        "chokes": maybe(st.sets(st.sampled_from(UNLIKELY_GROUPS), min_size=1, max_size=2).map(frozenset), frozenset()),
        "finite_fields": maybe(st.just(True), False),
        "hybrids_close": maybe(st.just(True), False),
        "curves_read": maybe(st.just(11)),
        "schemes_read": maybe(st.integers(16, 21)),
        "strict": maybe(st.just(True), False),
    }
    for quirk, strategy in quirks.items():
        setattr(server, quirk, draw(strategy))
    if server.named:
        names_its_own(server)
    else:  # both together would need a client with a shape and an order of its own
        decides_by_extension(draw, server)
    if server.refusal == INTERNAL_ERROR:
        server.chokes = frozenset()
    server.chokes -= frozenset(server.groups)  # else it could never select a suite that needs one of its groups
    if server.curves_read:
        server.groups = tuple(code for code in server.groups if code in candidates.LIKELY_CURVES or code >= 0x0100)
        server.curves = {kind: code for kind, code in server.curves.items() if code in candidates.LIKELY_CURVES}
    return enabled(server)


IN_ONE_SHAPE = (NAMED_FIELDS, ENCRYPT_THEN_MAC, ALPN)
IN_WIDE_HELLOS = (COMPRESSED, STATUS_REQUEST, STATUS_REQUEST_V2, SIGNED_CERTIFICATE_TIMESTAMP, RECORD_SIZE_LIMIT)
IN_BOTH = (EXTENDED_MASTER_SECRET, SESSION_TICKET)


def decides_by_extension(draw: st.DrawFn, server: ModelServer) -> None:
    """An extension that OpenSSL, GnuTLS, NSS, Go, BoringSSL or Java sends decides about suites of a kind."""
    quirk = draw(maybe(st.sampled_from(("wants", "minds"))))
    if quirk is None:
        return
    wide = server.longest is None and server.most is None and server.reads is None and not server.chokes
    known = (*IN_ONE_SHAPE, *(IN_WIDE_HELLOS if wide else ()), *(IN_BOTH if wide and quirk == "wants" else ()))
    extension = draw(st.sampled_from(known))
    if extension != NAMED_FIELDS or not server.finite_fields:  # else none of its DHE could ever be selected
        setattr(server, str(quirk), (extension, draw(st.sampled_from(sorted(KINDS)))))


def names_its_own(server: ModelServer) -> None:
    """It knows what it accepts by name, and has none of the key exchanges that no server of today has."""
    server.suites = {
        version: tuple(code for code in codes if version == TLS13 or not candidates.is_obsolete(code))
        for version, codes in server.suites.items()
    }
    server.named |= {code for version, codes in server.suites.items() if version < TLS13 for code in codes}


def enabled(server: ModelServer) -> ModelServer:
    """The same without versions below TLS 1.2 that it would select and has no suite for.

    Only TLS 1.2 can be so: it dropped suites (RFC 5246, section 1.2), and all earlier versions have the same ones.
    """
    useful = {version for version in server.suites if server.known(version) or version in (SSL2, TLS12)}
    return replace(server, suites={version: server.suites[version] for version in sorted(useful)})


def questions() -> st.SearchStrategy[Question]:
    """Either mode, the usual profiles and arbitrary ones."""
    allowed = st.sets(st.sampled_from((*candidates.suites(TLS13), *candidates.suites(TLS12)))).map(frozenset)
    own = st.builds(
        Question,
        mode=st.just("verdict"),
        allowed=allowed,
        min_version=st.sampled_from(VERSIONS),
        groups=st.none() | st.sets(st.sampled_from(ALL_GROUPS)).map(frozenset),
    )
    return st.one_of(st.sampled_from(QUESTIONS), own)


# --- what is claimed ------------------------------------------------------------------------------------------------


def in_usual_shape(asked: Interview) -> list[tuple[Offer, Reply]]:
    return [each for each in asked.asked if each[0].shape == "usual"]


def conclude(asked: Interview) -> Observation:
    return asked.evidence.conclude("model", AT)


def false_refusals(server: ModelServer, seen: Observation) -> list[str]:
    """Codes that are wrongly reported as refused. SRP suites and suites without continuation are not refused either."""
    versions = {v for v in VERSIONS if server.known(v)} | server.versions()
    wrong = [f"version {v:#06x}" for v in seen.versions.refused & versions]
    for version, answers in seen.suites.items():
        wrong += [f"{version:#06x} suite {code:#06x}" for code in answers.refused & server.known(version)]
    for version, answers in seen.groups.items():
        wrong += [f"{version:#06x} group {code:#06x}" for code in answers.refused & server.usable_groups(version)]
    return wrong


def false_acceptances(server: ModelServer, seen: Observation) -> list[str]:
    """Codes that are wrongly reported as accepted."""
    wrong = [f"version {v:#06x}" for v in set(seen.versions.accepted) - server.versions()]
    for version, answers in seen.suites.items():
        wrong += [f"{version:#06x} suite {code:#06x}" for code in set(answers.accepted) - server.selectable(version)]
    for version, answers in seen.groups.items():
        wrong += [f"{version:#06x} group {code:#06x}" for code in set(answers.accepted) - server.usable_groups(version)]
    return wrong


MANY = at_most(300)


@MANY
@given(server=odd_servers(), question=questions())
def test_nothing_that_is_accepted_is_ever_called_refused(server: ModelServer, question: Question) -> None:
    asked = interview(server, question)
    seen = conclude(asked)
    assert not false_refusals(server, seen)
    assert not false_acceptances(server, seen)
    assert asked.connections <= MOST_OFFERS


@MANY
@given(server=odd_servers(), question=questions(), limit=st.integers(0, 60))
def test_a_deadline_at_any_moment_leaves_nothing_wrong(server: ModelServer, question: Question, limit: int) -> None:
    seen = conclude(interview(server, question, limit))
    assert not false_refusals(server, seen)
    assert not false_acceptances(server, seen)


@MANY
@given(server=odd_servers(), question=questions(), limit=st.one_of(st.none(), st.integers(0, 60)))
def test_steps_that_listeners_share_are_those_of_the_plan(
    server: ModelServer, question: Question, limit: int | None
) -> None:
    shared, alone = interview(server, question, limit), Evidence()
    plan = interrogate(question, alone)
    offer: Offer | None = next(plan)
    for asked, reply in shared.asked:
        assert asked == offer
        alone.add_reply(reply)
        offer = _next(plan, reply)
    assert shared.evidence == alone


def _next(plan: Plan[None], reply: Reply) -> Offer | None:
    try:
        return plan.send(reply)
    except StopIteration:
        return None


def test_a_plan_is_run_once_for_all_listeners_with_the_same_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """But certificates and texts are those of each listener, and what is learnt later too."""
    runs: list[Question] = []

    def counted(question: Question, evidence: Evidence) -> Plan[None]:
        runs.append(question)
        return interrogate(question, evidence)

    monkeypatch.setattr(plans, "interrogate", counted)
    monkeypatch.setattr(plans, "_first", {})
    server = ModelServer(suites={TLS12: (0xC02F, 0xC030), TLS13: (0x1301,)})
    found = []
    for name in (b"first", b"second"):
        evidence = Evidence()
        plan = plans.Interview(VERDICT, evidence)
        while (offer := plan.offer) is not None:
            reply = server.answer(offer)
            plan.answer(reply._replace(chain=(name,)) if reply.version == TLS12 else reply)
        plan.close()
        found.append(evidence)
    first, second = found
    assert runs == [VERDICT]
    assert list(first.chains) == [(b"first",)]
    assert list(second.chains) == [(b"second",)]
    first.add_reply(Reply("hello", version=TLS12, suite=0x000A, done=True))
    assert 0x000A not in second.suites[TLS12].accepted


def test_the_steps_of_odd_listeners_do_not_accumulate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plans, "MOST_STEPS", 50)
    monkeypatch.setattr(plans, "_first", {})
    monkeypatch.setattr(plans, "_kept", 0)
    for number in range(200):
        plan = plans.Interview(VERDICT, Evidence())
        plan.answer(Reply("malformed", text=f"banner {number}"))
        plan.close()
        assert sum(len(step.after) for step in plans._first.values()) <= 50


def _picks_first(offer: Offer, chain: tuple[bytes, ...] | None = None) -> Reply:
    """TLS 1.2 with whichever suite is first: an inventory makes all offers that it may."""
    if offer.version != TLS12:
        return PROTOCOL_VERSION
    group = offer.groups[0] if offer.groups else None
    return Reply("hello", version=TLS12, suite=offer.suites[0], group=group, done=True, chain=chain)


def test_a_listener_with_a_new_chain_for_each_connection_does_not_fill_the_memory() -> None:
    plan = plans.Interview(INVENTORY, evidence := Evidence())
    tracemalloc.start()
    for number in count():
        if (offer := plan.offer) is None:
            break
        plan.answer(_picks_first(offer, (number.to_bytes(250_000),)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    plan.close()
    assert number > 200
    assert len(evidence.chains) > 1
    assert peak < 10 * 2**20


def test_no_listener_makes_a_long_plan_run_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the last of many answers differs from those of the listener before."""
    steps: list[int] = []
    real = Evidence.add_reply

    def counted(self: Evidence, reply: Reply) -> None:
        steps[-1] += 1
        real(self, reply)

    monkeypatch.setattr(Evidence, "add_reply", counted)
    monkeypatch.setattr(plans, "_first", {})
    for last in (None, 150):
        plan = plans.Interview(INVENTORY, Evidence())
        for number in count():
            steps.append(0)
            if (offer := plan.offer) is None or number == last:
                plan.close()
                break
            plan.answer(_picks_first(offer))
    assert len(steps) > 300
    assert max(steps) <= plans._DEEPEST + 1


def test_a_deadline_before_the_other_order_leaves_the_suites_open() -> None:
    """A certificate chosen by the first suite hides one that only the other order shows."""
    server = ModelServer(suites={TLS12: (0x000A, 0x0012)}, named=frozenset({0x000A, 0x0012, 0xC006}))
    for question in (INVENTORY, replace(VERDICT, allowed=frozenset())):
        done = interview(server, question)
        assert 0x000A in conclude(done).suites[TLS12].accepted
        for limit in range(done.connections):
            seen = conclude(interview(server, question, limit))
            assert not false_refusals(server, seen)
            if TLS12 in seen.suites and 0x000A not in seen.suites[TLS12].accepted:
                assert seen.suites[TLS12].unasked is not None


@MANY
@given(server=plain_servers())
def test_inventory_of_a_server_without_quirks_is_complete(server: ModelServer) -> None:
    server = replace(server, suites={version: server.suites[version] for version in server.versions()})
    assume(server.versions() - {SSL2})
    seen = conclude(interview(server, INVENTORY))
    assert set(seen.versions.accepted) == server.versions()
    assert seen.versions.refused == set(VERSIONS) - server.versions()
    assert seen.versions.unasked is None
    for version in server.versions() - {SSL2}:
        assert_complete(server, version, seen)


def assert_complete(server: ModelServer, version: int, seen: Observation) -> None:
    """Everything of one version is known, as far as there is a way to know it."""
    suites, groups = seen.suites[version], seen.groups[version]
    every = {*candidates.suites(version), *candidates.credential_suites(version)}
    assert set(suites.accepted) == server.selectable(version)
    if not any(is_srp(code) for code in server.known(version)):
        assert suites.refused == every - server.selectable(version)
        assert suites.unasked is None
    if version == SSL3:
        return
    if groups.unasked is None:
        assert set(groups.accepted) == server.usable_groups(version)
        named = {
            code for code in candidates.groups(version) if version == TLS13 or code not in candidates.FINITE_FIELDS
        }
        assert groups.refused == named - set(groups.accepted)
    else:
        assert version != TLS13
        assert not any(needs_group(code) and authentication(code) == "RSA" for code in server.selectable(version))
    if len([code for code in suites.accepted if not needs_credentials(code)]) > 1:
        assert seen.preference[version] == server.order


def test_a_listener_that_only_says_no_is_refused_nothing() -> None:
    server = ModelServer(suites={})
    asked = interview(server, INVENTORY)
    seen = conclude(asked)
    assert (seen.reach, seen.detail) == (Reach.REJECTED, "alert 70 protocol_version")
    assert seen.versions.refused == frozenset()
    assert asked.connections <= 30


def test_an_sslv2_only_listener_is_found() -> None:
    seen = conclude(interview(ModelServer(suites={SSL2: ()}), INVENTORY))
    assert (seen.reach, seen.versions.accepted, seen.versions.refused) == (Reach.TLS, (SSL2,), frozenset())


def test_protocol_version_for_everything_proves_nothing_by_itself() -> None:
    """It reads 32 suites, refuses in one way only, and has TLS 1.0 with a suite that stands further down."""
    server = ModelServer(
        suites={TLS12: (0x0004, 0xC02F), TLS10: (0x002F,)},
        refusal=PROTOCOL_VERSION,
        reads=32,
    )
    assert TLS10 in conclude(interview(server, INVENTORY)).versions.accepted


def test_a_listener_that_takes_whatever_it_is_offered_is_not_asked_for_ever() -> None:
    every = (*candidates.suites(TLS12), *candidates.credential_suites(TLS12))
    server = ModelServer(suites=dict.fromkeys(LEGACY, tuple(code for code in every if not is_srp(code))))
    asked = interview(server, INVENTORY)
    seen = conclude(asked)
    assert asked.connections == MOST_OFFERS
    assert asked.evidence.interrupted is not None
    assert seen.reach is Reach.TLS
    assert not false_refusals(server, seen)


@dataclass
class Liar:
    """Answers every hello with the same thing, whatever was offered."""

    reply: Reply

    def answer(self, offer: Offer) -> Reply:
        return self.reply


@pytest.mark.parametrize(
    "reply",
    [
        Reply("hello", version=TLS12, suite=0x1301, done=True),
        Reply("hello", version=TLS13, suite=0xC02F, group=X25519),
        Reply("hello", version=TLS13, suite=0x1301, group=0x0100),
        Reply("hello", version=0x7F1C, suite=0x1301),
        Reply("hello", version=SSL2, done=True),
        Reply("hello", version=0, suite=0, done=True),
        Reply("hello", version=TLS10, suite=0x5A5A, done=True),
        Reply("hello"),
        *(Reply(ending) for ending in get_args(Ending)),
    ],
)
@pytest.mark.parametrize("question", QUESTIONS)
def test_nonsense_ends_soon_and_is_never_called_a_refusal(reply: Reply, question: Question) -> None:
    asked = interview(Liar(reply), question)
    seen = conclude(asked)
    assert asked.connections <= 60
    assert seen.versions.refused <= {version for version in VERSIONS if version != reply.version}
    assert all(not answers.refused for answers in (*seen.suites.values(), *seen.groups.values()))


# --- what it costs --------------------------------------------------------------------------------------------------

CONFORMING = ModelServer(
    suites={TLS13: TLS13_SUITES, TLS12: (*ECDHE_RSA_AEAD, 0x009E, 0x009F)},
    groups=GROUPS,
)
ORDERS: tuple[Order, ...] = ("server", "client")


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("question", "most"), [(INVENTORY, 20), (VERDICT, 8), (VERDICT_GROUPS, 12)])
def test_what_a_conforming_listener_costs(order: Order, question: Question, most: int) -> None:
    """Before the full handshake."""
    asked = interview(replace(CONFORMING, order=order), question)
    assert asked.connections <= most
    assert_conforming(conclude(asked))


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(
    ("refusal", "most"), [(HANDSHAKE_FAILURE, 12), (PROTOCOL_VERSION, 17), (INTERNAL_ERROR, 18), (FIN, 24), (RST, 28)]
)
def test_what_another_way_to_refuse_costs(order: Order, refusal: Reply, most: int) -> None:
    asked = interview(replace(CONFORMING, order=order, refusal=refusal, version_refusal=refusal), VERDICT)
    assert asked.connections <= most
    assert_conforming(conclude(asked))


@pytest.mark.parametrize(("refusal", "most"), [(HANDSHAKE_FAILURE, 12), (PROTOCOL_VERSION, 17), (FIN, 25)])
def test_what_a_listener_with_tls13_alone_costs(refusal: Reply, most: int) -> None:
    server = ModelServer(suites={TLS13: TLS13_SUITES}, groups=GROUPS, refusal=refusal, version_refusal=refusal)
    asked = interview(server, VERDICT)
    assert asked.connections <= most
    assert conclude(asked).versions.refused == {TLS12, TLS11, TLS10, SSL3, SSL2}


def test_no_hello_of_a_conforming_listener_is_sent_twice() -> None:
    for suites in (ECDHE_RSA_AEAD, ECDHE_RSA_AEAD[:1], CBC_RSA):
        asked = interview(ModelServer(suites={TLS12: suites}, groups=GROUPS), INVENTORY)
        offers = [(offer.version, offer.suites, offer.groups) for offer, _ in asked.asked if offer.version == TLS12]
        assert len(set(offers)) == len(offers)


def test_a_listener_is_asked_for_its_versions_from_the_latest_down() -> None:
    server = ModelServer(suites={TLS13: TLS13_SUITES}, groups=GROUPS, version_refusal=HANDSHAKE_FAILURE)
    asked = [offer.version for offer, _ in in_usual_shape(interview(server, VERDICT))]
    below = [version for version in asked if version < TLS13]
    assert below == sorted(below, reverse=True)


def test_the_hellos_that_refuse_suites_are_as_long_as_the_one_that_was_accepted() -> None:
    asked = interview(CONFORMING, VERDICT)
    sizes = {2 * len(offer.suites) + offer.padding for offer, _ in in_usual_shape(asked) if offer.version == TLS12}
    assert sizes == {2 * len(candidates.suites(TLS12))}


def assert_conforming(seen: Observation, latest: int = TLS13) -> None:
    """Everything that Intermediate forbids is known to be refused."""
    assert seen.versions.refused - {TLS13} == {TLS11, TLS10, SSL3, SSL2}
    if latest == TLS13:
        assert set(candidates.suites(TLS13)) - INTERMEDIATE <= seen.suites[TLS13].refused
    every = {*candidates.suites(TLS12), *candidates.credential_suites(TLS12)}
    assert every - INTERMEDIATE <= seen.suites[TLS12].refused


# --- quirks, one at a time ------------------------------------------------------------------------------------------

BOTH = (INVENTORY, VERDICT)
CBC_RSA = (0xC013, 0xC014, 0x002F)
STATIC = frozenset({0xC004, 0xC005, 0xC00E, 0xC00F})


def two_certificates(*suites: int) -> ModelServer:
    """As Tomcat: static ECDH is in its cipher string, picks the ECDSA certificate, and cannot be negotiated."""
    return ModelServer(
        suites={TLS12: (0xC02B, 0xC02F, *suites)},
        order="client",
        curves={"ECDSA": SECP256R1},
        named=frozenset({0xC02B, 0xC02F, 0xC009, *suites}) | STATIC,
    )


def offer_of(*suites: int) -> Offer:
    return Offer("", TLS12, suites, GROUPS[1:])


def test_the_model_chooses_its_certificate_as_tomcat_does() -> None:
    server = two_certificates(0xC013)
    assert server.answer(offer_of(0xC004, 0xC013)) == HANDSHAKE_FAILURE
    assert server.answer(offer_of(0xC013, 0xC004)).suite == 0xC013
    assert server.answer(offer_of(0xC013)).suite == 0xC013


@pytest.mark.parametrize("question", BOTH, ids=["inventory", "verdict"])
def test_a_certificate_chosen_by_the_first_suite_hides_nothing(question: Question) -> None:
    server = two_certificates(*CBC_RSA)
    asked = interview(server, question)
    seen = conclude(asked).suites[TLS12]
    assert set(seen.accepted) >= set(CBC_RSA)
    assert not seen.refused & set(server.suites[TLS12])
    assert asked.connections <= 40
    assert not asked.evidence.refusals.doubtful  # it is the order, and no accident


def test_a_compliant_listener_that_chooses_by_the_first_suite_can_pass() -> None:
    asked = interview(two_certificates(), VERDICT)
    assert_conforming(conclude(asked), TLS12)
    assert asked.connections <= 8
    weak = two_certificates(*CBC_RSA)
    assert passes(two_certificates(), VERDICT)
    assert not passes(weak, VERDICT)


@pytest.mark.parametrize("question", BOTH, ids=["inventory", "verdict"])
def test_psk_suites_that_spoil_a_hello_are_not_refused_and_spoil_nothing_else(question: Question) -> None:
    psk = (0x008C, 0x00A8)
    server = replace(CONFORMING, suites={**CONFORMING.suites, TLS12: (*ECDHE_RSA_AEAD, *psk)}, psk_fails=True)
    asked = interview(server, question)
    seen = conclude(asked).suites[TLS12]
    assert not seen.refused & set(candidates.credential_suites(TLS12))
    assert set(candidates.suites(TLS12)) - {*ECDHE_RSA_AEAD, 0x009E, 0x009F, 0xC02B, 0xC02C, 0xCCA9} <= seen.refused
    assert "alert 80" in (seen.unasked or "")
    assert asked.connections <= 20


@pytest.mark.parametrize("question", BOTH, ids=["inventory", "verdict"])
def test_dhe_that_needs_a_named_finite_field_is_found(question: Question) -> None:
    server = ModelServer(
        suites={TLS12: (0xC02F, 0x0033, 0x0039)}, groups=(X25519, SECP256R1, 0x0100), finite_fields=True
    )
    assert set(conclude(interview(server, question)).suites[TLS12].accepted) >= {0x0033, 0x0039}


@pytest.mark.parametrize(
    "quirk",
    [{"hybrids_close": True}, {"curves_read": 11}, {"schemes_read": 16}, {"strict": True}],
    ids=lambda quirk: next(iter(quirk)),
)
@pytest.mark.parametrize("order", ORDERS)
def test_what_a_listener_chokes_on_is_not_sent(quirk: dict[str, object], order: Order) -> None:
    """It is asked in the same hellos as any other, and everything is found."""
    server = replace(CONFORMING, order=order)
    odd = replace(server, **quirk)  # type: ignore[arg-type]
    for question in BOTH:
        plain, asked = interview(server, question), interview(odd, question)
        assert set(conclude(asked).versions.accepted) == {TLS13, TLS12}
        assert_conforming(conclude(asked))
        assert asked.connections <= plain.connections + 2


def test_what_is_offered_up_to_tls12_names_no_hybrid_and_the_likely_curves_first() -> None:
    for question in BOTH:
        offers = [offer for offer, _ in interview(PERMISSIVE, question).asked if SSL3 < offer.version < TLS13]
        assert not [offer for offer in offers if HYBRIDS.intersection(offer.groups)]
        whole = [offer.groups for offer in offers if set(candidates.LIKELY_CURVES) <= set(offer.groups)]
        assert whole
        assert all(set(groups[:11]) == set(candidates.LIKELY_CURVES) for groups in whole)


@pytest.mark.parametrize("curve", [X25519, SECP256R1, 0x0018, 0x0019, 0x001E])
def test_of_eleven_curves_that_are_read_the_likely_ones_are_among_them(curve: int) -> None:
    """mbedTLS 2.28: with the unlikely first, a suite on P-256 is refused."""
    server = ModelServer(suites={TLS12: (0xC02F, 0xC013)}, groups=(curve,), curves_read=11)
    for question in BOTH:
        assert 0xC013 in conclude(interview(server, question)).suites[TLS12].accepted


@pytest.mark.parametrize("chokes", [{0x001E}, {0x001A}, {0x0029, 0x001E}])
@pytest.mark.parametrize("question", BOTH, ids=["inventory", "verdict"])
def test_a_listener_that_chokes_on_a_group_is_asked_with_few(chokes: set[int], question: Question) -> None:
    server = ModelServer(suites={TLS12: (0xC02F, 0xC013, 0x002F)}, chokes=frozenset(chokes))
    asked = interview(server, question)
    seen = conclude(asked)
    assert set(seen.suites[TLS12].accepted) >= {0xC013, 0x002F}
    assert {0x000A, 0x0035, 0xC014} <= seen.suites[TLS12].refused
    assert seen.suites[TLS12].unasked == "the listener refuses offers with all groups"
    assert asked.connections <= 40


def test_with_few_groups_nothing_is_refused_that_needs_another() -> None:
    server = ModelServer(
        suites={TLS12: (0x002F, 0xC02B, 0xC014)}, groups=(0x0016,), curves={"ECDSA": 0x0016}, chokes=frozenset({0x001E})
    )
    seen = conclude(interview(server, INVENTORY)).suites[TLS12]
    assert seen.accepted == (0x002F,)
    assert seen.state(0xC02B) == seen.state(0xC014) == "unknown"
    assert seen.state(0x0035) == "refused"


@pytest.mark.parametrize(("ecdsa", "state"), [(SECP256R1, "refused"), (0x0016, "unknown")])
def test_with_few_groups_an_ecdsa_certificate_shows_itself_or_stays_open(ecdsa: int, state: str) -> None:
    server = ModelServer(
        suites={TLS12: (0xC02B, 0xC014)},
        groups=(SECP256R1, 0x0016),
        curves={"ECDSA": ecdsa},
        chokes=frozenset({0x001E}),
    )
    seen = conclude(interview(server, INVENTORY)).suites[TLS12]
    assert 0xC014 in seen.accepted
    assert (0xC02B in seen.accepted) == (ecdsa == SECP256R1)
    assert seen.state(0xC009) == state


def test_a_version_with_suites_for_users_and_for_keys_alone_is_found() -> None:
    """An offer that ends in a request for a user is repeated without the suites that cause it."""
    server = ModelServer(suites={TLS12: ECDHE_RSA_AEAD, TLS11: (0xC01E, 0x008C)}, groups=GROUPS)
    assert TLS11 in conclude(interview(server, VERDICT)).versions.accepted


def test_sslv3_alone_is_found_where_later_versions_are_not_known() -> None:
    for intolerance in (PROTOCOL_VERSION, HANDSHAKE_FAILURE, FIN):
        server = ModelServer(suites={SSL3: (0x000A,)}, tolerates=SSL3, intolerance=intolerance)
        assert conclude(interview(server, VERDICT)).versions.accepted == (SSL3,)


@pytest.mark.parametrize("refusal", [INTERNAL_ERROR, FIN, RST])
def test_tls13_that_is_refused_in_a_way_of_its_own_is_settled_beside_what_is_accepted(refusal: Reply) -> None:
    server = ModelServer(suites={TLS12: ECDHE_RSA_AEAD}, groups=GROUPS, version_refusal=refusal)
    for question in BOTH:
        assert TLS13 in conclude(interview(server, question)).versions.refused


@dataclass
class Sharper:
    """Refuses suites of TLS 1.3 in another way than those of other versions."""

    server: ModelServer

    def answer(self, offer: Offer) -> Reply:
        reply = self.server.answer(offer)
        return INTERNAL_ERROR if offer.version == TLS13 and reply == HANDSHAKE_FAILURE else reply


@pytest.mark.parametrize("question", BOTH, ids=["inventory", "verdict"])
def test_of_suites_that_need_credentials_a_way_to_refuse_of_another_version_proves_nothing(question: Question) -> None:
    suites = {**CONFORMING.suites, TLS12: (*ECDHE_RSA_AEAD, 0x008C)}
    asked = interview(Sharper(replace(CONFORMING, suites=suites, psk_fails=True)), question)
    assert "alert 80" in asked.evidence.refusals.learnt
    assert not conclude(asked).suites[TLS12].refused & set(candidates.credential_suites(TLS12))


@dataclass
class Keyed:
    """Has a pre-shared key below TLS 1.2, and an alert of its own for a hello that lists such a suite."""

    server: ModelServer

    def answer(self, offer: Offer) -> Reply:
        if SSL2 < offer.version < TLS12:
            return INTERNAL_ERROR if 0x008C in offer.suites else HANDSHAKE_FAILURE
        return self.server.answer(offer)


def test_a_version_is_not_refused_by_another_alert_to_suites_that_need_credentials() -> None:
    """Even where that alert refuses the suites of a version that is accepted."""
    server = ModelServer(suites={TLS12: ECDHE_RSA_AEAD}, groups=GROUPS, refusal=INTERNAL_ERROR)
    for question in BOTH:
        asked = interview(Keyed(server), question)
        assert "alert 80" in asked.evidence.refusals.learnt
        assert not conclude(asked).versions.refused & {TLS11, TLS10, SSL3}


@dataclass
class Mute:
    """Does not answer a hello that lists a PSK suite."""

    server: ModelServer

    def answer(self, offer: Offer) -> Reply:
        return SILENCE if 0x008C in offer.suites else self.server.answer(offer)


@pytest.mark.parametrize("question", BOTH, ids=["inventory", "verdict"])
def test_silence_ends_the_second_look_and_leaves_open_what_it_asked_for(question: Question) -> None:
    """A suite that was refused only once is not refused."""
    asked = interview(Mute(CONFORMING), question)
    again = [reply for offer, reply in asked.asked if offer.name == "TLSv1.2 with credentials"]
    assert again == [SILENCE]
    refused = conclude(asked).suites[TLS12].refused
    assert refused
    assert all(candidates.is_obsolete(code) for code in refused)


def test_a_group_that_an_ecdsa_suite_was_selected_with_stays_in_every_offer() -> None:
    """The certificate's curve has to be listed (RFC 8422, section 5.1): without it the other suites look refused."""
    server = ModelServer(suites={TLS12: (0xC02B, 0xC02C)}, groups=(SECP256R1, 0x0018), curves={"ECDSA": SECP256R1})
    asked = interview(server, INVENTORY)
    assert set(conclude(asked).suites[TLS12].accepted) == {0xC02B, 0xC02C}
    assert {offer.groups for offer, _ in in_usual_shape(asked) if offer.version == TLS12} == {candidates.groups(TLS12)}


@pytest.mark.parametrize("too_many", [PROTOCOL_VERSION, SILENCE])
@pytest.mark.parametrize("question", BOTH, ids=["inventory", "verdict"])
def test_a_wide_hello_is_followed_by_a_lean_one_whatever_it_ended_in(question: Question, too_many: Reply) -> None:
    """Nothing as wide was accepted before, so that even ``protocol_version`` may be about the width."""
    server = ModelServer(suites={TLS12: ECDHE_RSA_AEAD}, groups=GROUPS, most=16, too_many=too_many)
    versions = conclude(interview(server, question)).versions
    assert versions.accepted == (TLS12,)
    assert {TLS11, TLS10, SSL3} <= versions.refused


@pytest.mark.parametrize(
    ("refusal", "hellos"),
    [
        (PROTOCOL_VERSION, ["TLSv1.3"]),
        (HANDSHAKE_FAILURE, ["TLSv1.3", "TLSv1.3, with shares", "TLSv1.3, with shares, lean"]),
    ],
)
def test_tls13_that_was_refused_in_so_many_words_is_not_asked_for_again(refusal: Reply, hellos: list[str]) -> None:
    server = ModelServer(suites={TLS12: ECDHE_RSA_AEAD}, groups=GROUPS, version_refusal=refusal)
    for question in BOTH:
        asked = interview(server, question)
        assert [offer.name for offer, _ in asked.asked if offer.version == TLS13] == hellos
        assert TLS13 in conclude(asked).versions.refused


def test_of_a_forbidden_version_no_suites_are_asked_for() -> None:
    """That it is spoken is the finding, whatever its suites are."""
    asked = interview(replace(CONFORMING, suites={**CONFORMING.suites, TLS11: (0xC013, 0x002F)}), VERDICT)
    seen = conclude(asked)
    assert TLS11 in seen.versions.accepted
    assert [offer.name for offer, reply in asked.asked if TLS11 in (offer.version, reply.version)] == ["TLSv1.1"]
    assert (seen.suites[TLS11].refused, seen.suites[TLS11].unasked) == (frozenset(), "the version itself is forbidden")


@dataclass
class Garbled:
    """Refuses the first hello for TLS 1.1, and answers the same hello again with a version that does not exist."""

    server: ModelServer
    first: Offer | None = None

    def answer(self, offer: Offer) -> Reply:
        if offer.version != TLS11:
            return self.server.answer(offer)
        if self.first is None:
            self.first = offer
            return HANDSHAKE_FAILURE
        return (
            Reply("hello", version=0x0200, suite=0x002F, done=True)
            if offer == self.first
            else self.server.answer(offer)
        )


def test_a_version_that_was_not_on_offer_contradicts_no_refusal() -> None:
    """All versions between it and the one on offer would be called refused."""
    old: dict[int, tuple[int, ...]] = {TLS11: (0x002F,), TLS10: (0x002F,)}
    for question in BOTH:
        server = Garbled(replace(CONFORMING, suites={**CONFORMING.suites, **old}))
        seen = conclude(interview(server, question)).versions
        assert set(seen.accepted) >= {TLS13, TLS12, TLS11, TLS10}
        assert seen.refused == {SSL3, SSL2}


@dataclass
class Apart:
    """Answers a hello of each version with that version or not at all."""

    server: ModelServer

    def answer(self, offer: Offer) -> Reply:
        known = offer.version in self.server.suites
        return self.server.answer(offer) if known else HANDSHAKE_FAILURE


def test_sslv3_that_no_later_hello_leads_to_is_found() -> None:
    server = Apart(ModelServer(suites={TLS13: TLS13_SUITES, SSL3: (0x000A,)}, groups=GROUPS))
    for question in BOTH:
        assert conclude(interview(server, question)).versions.accepted == (TLS13, SSL3)


def test_an_inventory_in_short_hellos_is_complete() -> None:
    server = ModelServer(suites={TLS12: ECDHE_RSA_AEAD}, groups=GROUPS, most=32)
    seen = conclude(interview(server, INVENTORY)).suites[TLS12]
    assert set(seen.accepted) == set(ECDHE_RSA_AEAD)
    assert seen.refused == {*candidates.suites(TLS12), *candidates.credential_suites(TLS12)} - set(ECDHE_RSA_AEAD)
    assert seen.unasked is None


def test_of_sslv3_no_groups_are_known_and_why() -> None:
    seen = conclude(interview(ModelServer(suites={SSL3: (0x000A,)}, tolerates=SSL3), INVENTORY)).groups[SSL3]
    assert (seen.accepted, seen.refused, seen.unasked) == ((), frozenset(), "an SSLv3 hello has no extensions")


def test_a_control_of_sslv3_is_not_padded() -> None:
    control = Offer("control", SSL3, (0x000A,), ())
    assert as_long_as([offer_of(*range(300))], control) is control


def test_with_few_groups_a_refused_suite_of_an_odd_key_exchange_stays_open() -> None:
    server = ModelServer(suites={TLS12: (0xC02F, 0x002F)}, chokes=frozenset({0x001E}))
    seen = conclude(interview(server, INVENTORY)).suites[TLS12]
    assert {seen.state(code) for code in (0xC00E, 0xC00F, 0xC005)} == {"unknown"}
    assert {seen.state(code) for code in (0xC014, 0x0035, 0x0039)} == {"refused"}


def test_a_lean_hello_that_is_enough_is_not_widened_again_and_again() -> None:
    """An alert to a hello that need not be accepted is its answer."""
    server = ModelServer(suites={TLS13: TLS13_SUITES}, most=3, too_many=INTERNAL_ERROR)
    names = [offer.name for offer, _ in interview(server, VERDICT).asked]
    assert names.count("TLSv1.3, with shares, few groups") == 1


def test_in_a_verdict_on_groups_a_forbidden_one_is_found_and_the_others_are_refused() -> None:
    allowed = replace(VERDICT, groups=frozenset({X25519}))
    seen = conclude(interview(replace(CONFORMING, groups=(X25519, 0x0018)), allowed))
    for version in (TLS13, TLS12):
        assert 0x0018 in seen.groups[version].accepted
        assert SECP256R1 in seen.groups[version].refused
    assert conclude(interview(CONFORMING, VERDICT)).groups[TLS12].unasked is not None


@pytest.mark.parametrize("most", [32, 33, 63])
def test_a_listener_that_takes_32_suites_is_judged_all_the_same(most: int) -> None:
    server = ModelServer(suites={TLS12: ECDHE_RSA_AEAD}, most=most, groups=GROUPS)
    assert_conforming(conclude(interview(server, VERDICT)), TLS12)


@pytest.mark.parametrize("suite", [candidates.credential_suites(TLS12)[0], 0x0019])
def test_before_anything_was_accepted_no_part_has_more_than_32_suites(suite: int) -> None:
    """Some listeners take no more. The suite is not in the lean hello, so that only the parts find it."""
    seen = conclude(interview(ModelServer(suites={TLS12: (suite,)}, most=32), INVENTORY))
    assert suite in seen.suites[TLS12].accepted


def test_of_a_listener_that_takes_short_hellos_only_suites_that_need_credentials_are_asked_in_short_ones() -> None:
    server = ModelServer(suites={TLS12: (*ECDHE_RSA_AEAD, 0x008C)}, longest=250)
    seen = conclude(interview(server, VERDICT)).suites[TLS12]
    assert 0x008C in seen.accepted
    assert {*candidates.credential_suites(TLS12)} - {0x008C} <= {*seen.refused}


def test_tls13_that_takes_a_lean_hello_only_is_enumerated_to_its_end() -> None:
    server = ModelServer(suites={TLS13: TLS13_SUITES[:2]}, most=3, too_many=INTERNAL_ERROR)
    seen = conclude(interview(server, INVENTORY)).suites[TLS13]
    assert seen.refused == {*candidates.suites(TLS13)} - {*TLS13_SUITES[:2]}
    assert seen.unasked is None


def test_a_forbidden_version_is_offered_what_is_obsolete_last() -> None:
    """Also behind what the profile allows elsewhere."""
    asked = interview(ModelServer(suites={SSL3: (0x000A,)}, tolerates=SSL3), VERDICT_OLD)
    (offer, *_) = [offer for offer, _ in asked.asked if offer.version == SSL3]
    obsolete = [candidates.is_obsolete(code) for code in offer.suites]
    assert obsolete == sorted(obsolete)


@pytest.mark.parametrize("refusal", [HANDSHAKE_FAILURE, INSUFFICIENT_SECURITY])
def test_a_version_is_refused_by_such_an_alert_only_when_it_came_twice(refusal: Reply) -> None:
    asked = interview(replace(CONFORMING, version_refusal=refusal), VERDICT)
    assert TLS11 in conclude(asked).versions.refused
    again = [set(offer.suites) for offer, _ in asked.asked if offer.version == TLS11]
    today = {code for code in candidates.suites(TLS11) if not candidates.is_obsolete(code)}
    assert len([codes for codes in again if today <= codes]) >= 2
    once = interview(CONFORMING, VERDICT)
    assert [offer.version for offer, _ in once.asked].count(TLS11) == 1  # protocol_version stands
    assert TLS11 in conclude(once).versions.refused


@pytest.mark.parametrize("refusal", [HANDSHAKE_FAILURE, INTERNAL_ERROR, FIN])
def test_before_a_version_is_called_refused_a_lean_hello_was_sent(refusal: Reply) -> None:
    for question in BOTH:
        asked = interview(ModelServer(suites={TLS12: ECDHE_RSA_AEAD}, version_refusal=refusal), question)
        assert any(offer.version == TLS13 and offer.lean for offer, _ in asked.asked)
        asked = interview(ModelServer(suites={TLS13: TLS13_SUITES}, version_refusal=refusal), question)
        assert any(offer.version == TLS12 and offer.lean for offer, _ in asked.asked)


@pytest.mark.parametrize("refusal", [HANDSHAKE_FAILURE, INTERNAL_ERROR, FIN])
def test_a_listener_that_takes_only_a_lean_hello_speaks_the_version(refusal: Reply) -> None:
    """The ending of both wide hellos for TLS 1.3 would refuse the version, but for the lean one."""
    for question in BOTH:
        for below in ({}, {TLS12: ECDHE_RSA_AEAD[:2]}):
            server = ModelServer(suites={TLS13: TLS13_SUITES[:2], **below}, most=3, too_many=refusal)
            seen = conclude(interview(server, question))
            assert TLS13 in seen.versions.accepted
            assert question is not INVENTORY or set(seen.suites[TLS13].accepted) == set(TLS13_SUITES[:2])


@given(server=plain_servers(), question=questions())
def test_obsolete_key_exchanges_never_stand_before_others(server: ModelServer, question: Question) -> None:
    """But before what is accepted or allowed, which shows at the end of an offer that all of it was read."""
    asked = interview(server, question)
    accepted = {code for answers in conclude(asked).suites.values() for code in answers.accepted}
    for offer, _ in asked.asked:
        codes = [code for code in offer.suites if code not in accepted | question.allowed]
        obsolete = [candidates.is_obsolete(code) for code in codes if not is_tls13(code)]
        assert obsolete == sorted(obsolete)


@pytest.mark.parametrize("question", BOTH, ids=["inventory", "verdict"])
def test_what_was_refused_is_asked_again_in_the_other_order_at_no_extra_connection(question: Question) -> None:
    asked = interview(CONFORMING, question)
    with_credentials = [
        offer for offer, _ in asked.asked if set(offer.suites) & set(candidates.credential_suites(TLS12))
    ]
    (second,) = with_credentials
    kinds = [authentication(code) for code in second.suites if not candidates.is_obsolete(code)]
    assert kinds.index("RSA") < kinds.index("ECDSA")
    refused = [code for code in conclude(asked).suites[TLS12].refused if not candidates.is_obsolete(code)]
    assert set(refused) <= set(second.suites)


@pytest.mark.parametrize("question", BOTH, ids=["inventory", "verdict"])
def test_a_first_offer_that_ended_by_accident_costs_no_knowledge(question: Question) -> None:
    """The wide hello of TLS 1.3 is asked again, and the listener is asked for its groups as ever."""
    for accident in (RST, HANDSHAKE_FAILURE):
        server = replace(CONFORMING, refusal=INSUFFICIENT_SECURITY)
        seen = conclude(interview(Once(server, accident), question))
        assert seen.versions.accepted[0] == TLS13
        assert seen.groups[TLS13].accepted[0] == 0x11EC
        if question is INVENTORY:
            assert set(seen.groups[TLS13].accepted) == set(GROUPS)
            assert seen.groups[TLS13].unasked is None
    shares = interview(replace(CONFORMING, no_retry="empty", no_retry_ending=INTERNAL_ERROR), question)
    assert [offer.shares for offer, _ in shares.asked[:4]] == ["empty", "common", "empty", "empty"]
    assert all(offer.shares == "common" for offer, _ in shares.asked[4:] if offer.version == TLS13)


@pytest.mark.parametrize("no_retry", ["empty", "ever"])
def test_a_hello_with_key_shares_names_the_groups_of_them(no_retry: Literal["empty", "ever"]) -> None:
    """RFC 8446, section 4.2.8; also once a group was chosen, which is left out of hellos without shares."""
    asked = interview(replace(CONFORMING, no_retry=no_retry), INVENTORY)
    groups = [offer.groups for offer, _ in asked.asked if offer.shares == "common"]
    assert len(groups) > 2
    assert all({X25519, SECP256R1} <= {*named} for named in groups)
    assert conclude(asked).groups[TLS13].unasked is not None


@dataclass
class Once:
    """Ends the first connection in its own way."""

    server: ModelServer
    accident: Reply
    seen: bool = False

    def answer(self, offer: Offer) -> Reply:
        if self.seen:
            return self.server.answer(offer)
        self.seen = True
        return self.accident


def test_a_choice_that_was_not_offered_is_not_asked_for_again() -> None:
    """Only what was on offer can be left out of the next one."""
    asked = interview(Liar(Reply("hello", version=TLS12, suite=0x5A5A)), VERDICT)
    offers = [offer for offer, _ in asked.asked]
    assert all(offers.count(offer) <= 2 for offer in offers)
    assert all(offer.padding == 0 for offer in offers)


def test_dead_ends_are_left_out_one_by_one() -> None:
    dead = (0xC02F, 0xC030, 0xCCA8)
    server = ModelServer(suites={TLS12: (*dead, 0x002F)}, dead_ends=frozenset(dead))
    asked = interview(server, INVENTORY)
    seen = conclude(asked)
    assert seen.suites[TLS12].accepted == (0x002F,)
    assert not seen.suites[TLS12].refused & set(dead)
    every = candidates.suites(TLS12)
    first = [offer.suites for offer, _ in asked.asked if offer.version == TLS12][: len(dead) + 1]
    assert first == [tuple(code for code in every if code not in dead[:taken]) for taken in range(len(dead) + 1)]


def test_a_later_version_that_is_not_known_is_refused_by_the_alert_that_says_so() -> None:
    """It was asked for while nothing had been accepted; what the listener calls a refused suite is known only later."""
    server = ModelServer(suites={TLS11: (0x002F,), TLS10: (0x002F,)}, tolerates=TLS11)
    asked = interview(server, INVENTORY)
    seen = conclude(asked)
    assert set(seen.versions.accepted) == {TLS11, TLS10}
    assert {TLS13, TLS12} <= seen.versions.refused
    accepted = [reply.accepted for _, reply in asked.asked].index(True)
    assert TLS12 not in [offer.version for offer, _ in asked.asked[accepted:] if offer.shape == "usual"]
    assert seen.versions.unasked is None


def test_a_later_version_that_was_passed_over_without_its_alert_is_asked_again() -> None:
    """An alert of another kind, while nothing had been accepted, refuses nothing once something was."""
    server = ModelServer(suites={TLS11: (0x002F,), TLS10: (0x002F,)}, tolerates=TLS11, intolerance=INTERNAL_ERROR)
    asked = interview(server, VERDICT)
    accepted = [reply.accepted for _, reply in asked.asked].index(True)
    assert TLS12 in [offer.version for offer, _ in asked.asked[accepted:]]
    assert set(conclude(asked).versions.accepted) == {TLS11, TLS10}


def test_silence_for_a_refusal_is_inconclusive_after_a_few_offers() -> None:
    asked = interview(replace(CONFORMING, refusal=SILENCE, version_refusal=SILENCE), VERDICT)
    seen = conclude(asked)
    assert asked.connections <= 12
    assert not seen.versions.refused
    assert all(not answers.refused for answers in seen.suites.values())


def test_a_listener_that_takes_64_suites_is_judged_all_the_same() -> None:
    asked = interview(replace(CONFORMING, most=64), VERDICT)
    assert asked.connections <= 60
    assert_conforming(conclude(asked))


# --- accidents ------------------------------------------------------------------------------------------------------

OLD_SUITES = (0xC013, 0x002F, 0x000A)
PERMISSIVE = ModelServer(
    suites={
        TLS13: TLS13_SUITES,
        TLS12: (*ECDHE_RSA_AEAD, 0x009E, 0x009F, 0xC014, *OLD_SUITES),
        TLS11: OLD_SUITES,
        TLS10: OLD_SUITES,
    },
    groups=GROUPS,
)
RUNS = 500
BOTH_MODES = pytest.mark.parametrize(
    "question", [pytest.param(INVENTORY, marks=pytest.mark.slow), VERDICT], ids=["inventory", "verdict"]
)
"""For hundreds of conversations: those of an inventory take seconds."""


@BOTH_MODES
@pytest.mark.parametrize(
    ("refusal", "accident", "most"),
    [
        (HANDSHAKE_FAILURE, RST, 0.002),
        pytest.param(HANDSHAKE_FAILURE, FIN, 0.006, marks=pytest.mark.slow),
        pytest.param(INTERNAL_ERROR, RST, 0.002, marks=pytest.mark.slow),
        pytest.param(FIN, RST, 0.002, marks=pytest.mark.slow),
        (RST, RST, 0.05),  # the two differ only in that the second is not repeated
        pytest.param(FIN, FIN, 0.05, marks=pytest.mark.slow),
    ],
    ids=lambda value: value.ending_kind if isinstance(value, Reply) else str(value),
)
def test_accidents_seldom_look_like_refusals(question: Question, refusal: Reply, accident: Reply, most: float) -> None:
    """One connection in ten ends for no reason. ``most``: the share of conversations with any false refusal."""
    wrong = 0
    for seed in range(RUNS):
        server = replace(
            PERMISSIVE,
            refusal=refusal,
            version_refusal=refusal,
            accident=accident,
            accidents=0.1,
            random=Random(seed),
        )
        wrong += bool(false_refusals(server, conclude(interview(server, question))))
    assert wrong <= most * RUNS


SHARES = {0.1: 0.01, 0.3: 0.02, 0.5: 0.03, 0.7: 0.05}
"""Share of connections that end in handshake_failure, and what share of conversations may lead to a pass at most: the
rates themselves stand in docs/decisions/0017-random-refusals.md."""


@BOTH_MODES
@pytest.mark.parametrize("share", SHARES)
def test_a_weak_listener_that_refuses_at_random_seldom_passes(question: Question, share: float) -> None:
    weak = replace(PERMISSIVE, accident=HANDSHAKE_FAILURE, accidents=share)
    passed = sum(passes(replace(weak, random=Random(seed)), question) for seed in range(150))
    assert passed <= SHARES[share] * 150


@pytest.mark.parametrize("question", BOTH, ids=["inventory", "verdict"])
@pytest.mark.parametrize("which", ["odd", "even"])
@pytest.mark.parametrize("accident", [HANDSHAKE_FAILURE, INSUFFICIENT_SECURITY])
def test_a_weak_listener_that_refuses_every_second_connection_never_passes(
    question: Question, which: Literal["odd", "even"], accident: Reply
) -> None:
    assert not passes(replace(PERMISSIVE, accident=accident, alternates=which), question)


@pytest.mark.parametrize("which", ["odd", "even"])
@pytest.mark.parametrize("accident", [HANDSHAKE_FAILURE, INSUFFICIENT_SECURITY, PROTOCOL_VERSION])
@pytest.mark.parametrize("latest", [{TLS13: TLS13_SUITES}, {}], ids=["TLSv1.3", "TLSv1.2"])
def test_old_versions_are_found_behind_every_second_connection(
    which: Literal["odd", "even"], accident: Reply, latest: dict[int, tuple[int, ...]]
) -> None:
    """All else is as it shall be, and nothing else contradicts: one refusal of a version must be no accident."""
    for old in ((TLS11,), (TLS11, TLS10), (TLS10,)):
        suites = {**latest, TLS12: (*ECDHE_RSA_AEAD, 0x009E, 0x009F), **dict.fromkeys(old, OLD_SUITES)}
        for order in ORDERS:
            server = ModelServer(suites=suites, groups=GROUPS, order=order, accident=accident, alternates=which)
            assert not passes(server, VERDICT)


@pytest.mark.parametrize("question", BOTH, ids=["inventory", "verdict"])
def test_an_alert_that_once_befell_what_is_accepted_refuses_nothing_here(question: Question) -> None:
    """Neither from there on nor before."""
    seen = conclude(interview(Once(CONFORMING, HANDSHAKE_FAILURE), question))
    assert seen.versions.accepted == (TLS13, TLS12)
    assert all(not answers.refused for answers in seen.suites.values())
    assert str(seen.suites[TLS12].unasked).endswith("the listener answered with alert 40, which is not a clear refusal")
    assert seen.versions.refused == {TLS11, TLS10, SSL3, SSL2}  # refused by protocol_version


def test_behind_a_balancer_only_what_was_seen_is_true() -> None:
    """Design rule 10: a balanced address is no endpoint. A refusal by one replica says nothing of another."""
    strict, lax = CONFORMING, PERMISSIVE
    wrong = 0
    for seed in range(100):
        seen = conclude(interview(Balancer(servers=(strict, lax), random=Random(seed)), INVENTORY))
        both = [false_acceptances(server, seen) for server in (strict, lax)]
        assert not set(both[0]) & set(both[1])
        wrong += bool(false_refusals(lax, seen))
    assert wrong, "if this ever holds, the rule can go"


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("question", [VERDICT, VERDICT_OLD, VERDICT_MODERN])
@pytest.mark.parametrize("quirk", [{}, {"wants": (ALPN, "CBC")}], ids=["", "behind ALPN"])
def test_a_listener_that_accepts_everything_costs_a_verdict_at_most_a_hundred_connections(
    order: Order, question: Question, quirk: dict[str, object]
) -> None:
    everything = {version: tuple(code for code in candidates.suites(version)) for version in (TLS13, *LEGACY)}
    server = replace(ModelServer(suites=everything, groups=GROUPS, order=order), **quirk)  # type: ignore[arg-type]
    asked = interview(server, question)
    assert asked.connections <= 100
    for version, answers in conclude(asked).suites.items():
        enough = version >= question.min_version
        assert len(set(answers.accepted) - question.allowed) <= 16
        assert (answers.unasked == ENOUGH) is enough
