"""Messages of workers: each value arrives as it was sent."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scanner.errors import ResourceError
from scanner.model.endpoint import Endpoint, Owner
from scanner.model.observation import Observation, Reach
from scanner.probe.session import Question
from scanner.probe.worker_messages import Failed, Job, Message, Seen, Stop, decode, encode
from scanner.values import replace
from tests.model.observed_values import CODE, ENDPOINT, OBSERVATION, TEXT

pytestmark = pytest.mark.crypto

QUESTION = st.builds(
    Question,
    mode=st.sampled_from(("inventory", "verdict")),
    allowed=st.frozensets(CODE, max_size=4),
    min_version=CODE,
    groups=st.none() | st.frozensets(CODE, max_size=4),
    plain_port=st.none() | st.tuples(CODE, TEXT),
    authorities=st.lists(TEXT, max_size=2).map(tuple),
    strays=st.lists(st.none() | TEXT, max_size=2).map(tuple),
)
PLAIN = Endpoint(id="a:1", instance="a:1", host="a", address="::1", port=1, owner=Owner(kind="Target", name="a"))
QUOTED = "\ud800"
"""A text that JSON can have and UTF-8 cannot."""


def sent(message: Message) -> Message:
    return decode(memoryview(bytearray(encode(message))))


@given(st.builds(Endpoint, **ENDPOINT), QUESTION)
def test_a_job(endpoint: Endpoint, question: Question) -> None:
    job = sent(Job.of(7, endpoint, question))
    assert isinstance(job, Job)
    assert (job.number, job.endpoint, job.question) == (7, endpoint, question)


@given(st.builds(Observation, **OBSERVATION))
def test_an_observation(seen: Observation) -> None:
    """With certificates: a serial number is longer than msgpack's numbers."""
    for observation in (seen, replace(seen, detail=QUOTED), replace(seen, instance=QUOTED)):
        answer = sent(Seen.of(7, observation))
        assert isinstance(answer, Seen)
        assert (answer.number, answer.observation) == (7, observation)
        assert list(answer.observation.suites) == list(observation.suites)


def test_equal_parts_are_one_object() -> None:
    """Else each comparison and each hash of a set of 300 suites is made again for each endpoint."""
    found = []
    for suite in (2, 2, 3):
        job = sent(Job.of(suite, PLAIN, Question(mode="verdict", allowed=frozenset({1, suite}))))
        assert isinstance(job, Job)
        found.append(job.question)
    first, second, other = found
    assert first is second
    assert first != other


def test_a_long_part_is_not_kept() -> None:
    """A listener with certificates of thousands of names must not fill the memory."""
    seen = Observation(instance="a", at=datetime(2026, 11, 25, tzinfo=UTC), reach=Reach.TLS, detail="x" * 20_000)
    first, second = sent(Seen.of(1, seen)), sent(Seen.of(2, seen))
    assert isinstance(first, Seen)
    assert isinstance(second, Seen)
    assert first.observation == second.observation == seen
    assert first.observation.detail is not second.observation.detail


def test_texts_that_are_no_utf_8() -> None:
    job = sent(Job.of(1, replace(PLAIN, server_name=QUOTED), Question(mode="verdict", authorities=(QUOTED,))))
    assert isinstance(job, Job)
    assert (job.endpoint.server_name, job.question.authorities) == (QUOTED, (QUOTED,))
    stop = sent(Stop.of(QUOTED))
    assert isinstance(stop, Stop)
    assert stop.reason == QUOTED


class Odd(Exception):
    """Cannot be made from its arguments."""

    def __init__(self, one: str, other: str) -> None:
        super().__init__(f"{one} {other}")


class Local(Exception):
    """Has what no other process can have."""

    def __init__(self) -> None:
        super().__init__("a b")
        self.made = lambda: None


def test_an_exception() -> None:
    answer = sent(Failed.of(7, ResourceError("no descriptors", hint="raise the limit")))
    assert isinstance(answer, Failed)
    found = answer.error
    assert isinstance(found, ResourceError)
    assert (found.message, found.hint) == ("no descriptors", "raise the limit")


@pytest.mark.parametrize("error", [Odd("a", "b"), Local()])
def test_an_exception_that_cannot_be_sent(error: Exception) -> None:
    answer = sent(Failed.of(7, error))
    assert isinstance(answer, Failed)
    assert str(answer.error) == f"{type(error).__name__}: a b"
