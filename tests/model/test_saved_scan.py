"""The cluster of an endpoint of a saved scan."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scanner.errors import InputError
from scanner.model.endpoint import Endpoint, Owner
from scanner.model.observation import Flaw, Observation, Opinion, Reach
from scanner.model.saved_scan import MOST_BYTES, RECORD, Seen, cluster_of, decode, encode, read
from scanner.values import replace
from tests.model.observed_values import ANSWERS, CODE, ENDPOINT, NAME, OBSERVATION, TEXT, UNKNOWN


@pytest.mark.parametrize(
    ("endpoint", "clusters", "cluster"),
    [
        ("default/kubernetes:6443", ("prod",), "prod"),
        ("a/default/kubernetes:6443", ("a", "a/b"), "a"),
        ("a/b/default/kubernetes:6443", ("a", "a/b"), "a/b"),
        ("a/b/default/kubernetes:6443", ("a/b", "a"), "a/b"),
        ("ab/default/kubernetes:6443", ("a", "b"), None),
        ("default/kubernetes:6443", (), None),
    ],
)
def test_the_longest_name_that_fits_is_meant(endpoint: str, clusters: tuple[str, ...], cluster: str | None) -> None:
    assert cluster_of(endpoint, clusters) == cluster


PLAIN = Seen(
    endpoint=Endpoint(id="a:1", instance="a:1 @ ::1", address="::1", port=1, owner=Owner(kind="Target", name="a")),
    observation=Observation(instance="a:1 @ ::1", at=datetime(2026, 11, 21, tzinfo=UTC), reach=Reach.CLOSED),
)


@given(st.builds(Endpoint, **ENDPOINT), st.builds(Observation, **OBSERVATION))
def test_round_trip(endpoint: Endpoint, observation: Observation) -> None:
    line = encode(Seen(endpoint=endpoint, observation=observation))
    assert line.isascii()
    assert "\n" not in line
    again = decode(line, "f:1")
    assert (again.endpoint, again.observation) == (endpoint, observation)
    assert list(again.observation.suites) == list(observation.suites)


def test_the_strategies_have_every_field() -> None:
    """A new field must be in the round trip."""
    assert ENDPOINT.keys() == set(Endpoint.__struct_fields__)
    assert OBSERVATION.keys() == set(Observation.__struct_fields__)


def test_a_file(tmp_path: Path) -> None:
    path = tmp_path / "observations.jsonl"
    path.write_text(encode(PLAIN) + "\n" + encode(PLAIN) + "\n")
    assert list(read(path)) == [PLAIN, PLAIN]


def test_members_of_an_older_release_are_defaults() -> None:
    value = json.loads(encode(PLAIN))
    del value["endpoint"]["ready"], value["observation"]["other_chains"]
    assert decode(json.dumps(value), "f:1") == PLAIN


def _changes() -> Iterator[tuple[Any, str]]:
    value = json.loads(encode(PLAIN))

    def with_(part: str, **more: object) -> dict[str, object]:
        return {**value, part: {**value[part], **more}}

    yield [], "not an adhere.observation/v2"
    yield {**value, "record": "adhere.observation/v1"}, "not an adhere.observation/v2"
    yield {"record": RECORD}, "endpoint: not an object"
    yield with_("endpoint", surprise=1), "endpoint: unknown member: surprise"
    yield with_("endpoint", port="443"), "endpoint.port: not a whole number"
    yield with_("endpoint", port=True), "endpoint.port: not a whole number"
    yield with_("endpoint", port=0), "endpoint.port: 0 is not a port"
    yield with_("endpoint", owner={"kind": "Pod"}), "endpoint.owner: name is missing"
    yield with_("endpoint", labels=[["a"]]), "endpoint.labels[0]: not a list of 2"
    yield with_("endpoint", transport="gopher"), "endpoint.transport: none of tls, postgres"
    yield with_("observation", at="yesterday"), "observation.at: not a time with its offset"
    yield with_("observation", at="2026-01-01T00:00:00"), "observation.at: not a time with its offset"
    yield with_("observation", at="9999-12-31T23:59:59+00:00"), "observation.at: invalid year 9999"
    yield with_("observation", reach="up"), "observation.reach: none of tls"
    yield with_("observation", chain=["!"]), "observation.chain[0]: not base64"
    yield with_("observation", alpn={"unknown": 1}), "observation.alpn: not {"
    yield with_("observation", suites={"tls": {}}), "observation.suites.tls: not a code point"
    yield with_("observation", suites={"771": {"accepted": [1, "x"]}}), "observation.suites.771.accepted[1]: not a wh"
    yield with_("observation", attempts=[{"offer": "a", "reply": "b", "seconds": "1"}]), "attempts[0].seconds: not a n"


@pytest.mark.parametrize(("value", "problem"), list(_changes()))
def test_a_strange_record_is_refused_with_its_place(value: object, problem: str) -> None:
    with pytest.raises(InputError) as raised:
        decode(json.dumps(value), "observations.jsonl:7")
    assert raised.value.message.startswith("observations.jsonl:7: ")
    assert problem in raised.value.message
    assert raised.value.hint


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"{", ":1: incomplete line"),
        (b"{\n", ":1:2: "),
        (b"\n", ":1:1: "),
        (b"\xff\n", ":1: not a line of JSON in UTF-8"),
        (b"[" * 100_000 + b"\n", ":1: not a line of JSON"),
        (b'{"a":' + b"9" * 5000 + b"}\n", ":1: not a line of JSON"),
        (encode(PLAIN).encode() + b"\n" + encode(PLAIN).encode()[:50], ":2: incomplete line"),
        (b"x" * (MOST_BYTES + 1), ":1: longer than"),
    ],
)
def test_a_hostile_or_truncated_file_is_refused_with_its_line(content: bytes, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "observations.jsonl"
    path.write_bytes(content)
    with pytest.raises(InputError) as raised:
        list(read(path))
    assert raised.value.message.startswith(f"{path}{problem}")


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        list(read(tmp_path / "nothing"))


_JSON: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=10,
)


@given(st.sampled_from(("endpoint", "observation")), st.data())
def test_any_member_may_be_anything(part: str, data: st.DataObject) -> None:
    value = json.loads(encode(PLAIN))
    name = data.draw(st.sampled_from(sorted(value[part])))
    value[part][name] = data.draw(_JSON)
    assert _outcome(json.dumps(value)) in ("", "f:1")


def _outcome(line: str) -> str:
    """The place in an error; empty without one."""
    try:
        decode(line, "f:1")
    except InputError as error:
        return error.message.split(": ")[0]
    return ""


OPINIONS = st.builds(
    Opinion,
    witness=TEXT,
    highest=st.none() | CODE,
    suites=st.dictionaries(CODE, ANSWERS, max_size=3),
    groups=ANSWERS,
    client_certificate=st.sampled_from(("none", "requested", "required")) | UNKNOWN,
    certificates=st.frozensets(TEXT, max_size=2) | UNKNOWN,
    flaws=st.dictionaries(st.sampled_from(get_args(Flaw)), st.booleans() | UNKNOWN, max_size=3),
    failure=NAME,
)


@given(OPINIONS)
def test_what_the_second_witness_said_is_kept_beside_it(opinion: Opinion) -> None:
    assert decode(encode(replace(PLAIN, opinion=opinion)), "f:1").opinion == opinion
    assert "opinion" not in encode(PLAIN)
