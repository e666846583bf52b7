"""Strategies for observations and endpoints with every field."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache
from typing import Any, get_args

from hypothesis import strategies as st

from scanner.demo.certificates import Authority
from scanner.kube.maybe import Unknown
from scanner.kube.objects import Reference
from scanner.model.endpoint import Origin, Owner, Role, Tunnel
from scanner.model.observation import Answered, Answers, Attempt, Negotiated, Reach, Stray
from scanner.tls.certificate import CertificateFacts, parse_certificate

CODE = st.integers(0, 0xFFFF)
TEXT = st.text(max_size=20)
NAME = st.none() | TEXT
UNKNOWN = st.builds(Unknown, TEXT)
ANSWERS = st.builds(
    Answers, accepted=st.lists(CODE, max_size=4).map(tuple), refused=st.frozensets(CODE, max_size=4), unasked=NAME
)


@cache
def certificates() -> tuple[CertificateFacts, ...]:
    """Good ones, and bytes that are none."""
    leaf = Authority("Records").leaf(names=("a.example", "b.example"))
    return tuple(map(parse_certificate, (leaf.der, leaf.der[:-3], b"", b"\x30\x00")))


CHAIN = st.lists(st.sampled_from(range(4)).map(lambda n: certificates()[n]), max_size=3).map(tuple)
ASKED = st.sampled_from(("none", "requested", "required")) | UNKNOWN
STRAY = st.builds(
    Stray,
    name=NAME,
    answer=st.sampled_from(("served", "refused")) | UNKNOWN,
    leaf=st.none() | st.sampled_from(range(4)).map(lambda n: certificates()[n]),
    client_certificate=ASKED,
)
TIMES = st.datetimes(min_value=datetime(1, 1, 2), max_value=datetime(9999, 12, 30), timezones=st.just(UTC))  # noqa: DTZ001
SEEN = st.datetimes(min_value=datetime(1970, 1, 1), max_value=datetime(8999, 12, 31), timezones=st.just(UTC))  # noqa: DTZ001
REFERENCE = st.builds(Reference, kind=TEXT, name=TEXT, namespace=NAME)
OWNER = st.builds(Owner, kind=TEXT, name=TEXT, namespace=NAME)

OBSERVATION: dict[str, Any] = dict(  # noqa: C408 - as a call is written
    instance=TEXT,
    at=SEEN,
    reach=st.sampled_from(Reach),
    detail=TEXT,
    protocol=NAME,
    versions=ANSWERS,
    suites=st.dictionaries(CODE, ANSWERS, max_size=3),
    groups=st.dictionaries(CODE, ANSWERS, max_size=3),
    preference=st.dictionaries(CODE, st.sampled_from(("server", "client")) | UNKNOWN, max_size=3),
    client_certificate=ASKED,
    certificate_requested=st.booleans(),
    alpn=NAME | UNKNOWN,
    ocsp_stapled=st.booleans() | UNKNOWN,
    negotiated=st.builds(Negotiated, version=CODE, suite=CODE, group=st.none() | CODE) | UNKNOWN,
    chain=CHAIN | UNKNOWN,
    other_chains=st.lists(CHAIN, max_size=2).map(tuple),
    untrusted_client=st.sampled_from(("refused", "accepted")) | UNKNOWN,
    request_without_certificate=TEXT | UNKNOWN,
    request_untrusted=TEXT | UNKNOWN,
    cleartext=NAME | UNKNOWN,
    plain_port=NAME | UNKNOWN,
    answered=st.lists(
        st.builds(
            Answered,
            server_name=TEXT,
            authority=TEXT,
            answer=TEXT | UNKNOWN,
            protocol=st.sampled_from(("http/1.1", "h2")),
        ),
        max_size=2,
    ).map(tuple),
    strays=st.lists(STRAY, max_size=2).map(tuple),
    attempts=st.lists(
        st.builds(Attempt, offer=TEXT, reply=TEXT, seconds=st.floats(0, 1e6)), max_size=3
    ).map(tuple),
    stopped=st.none() | TEXT,
    dialled=st.booleans(),
)  # fmt: skip

ORIGIN = st.builds(
    Origin,
    role=st.sampled_from(get_args(Role)),
    reference=st.none() | REFERENCE,
    part=TEXT,
    container=TEXT,
    through=st.none() | REFERENCE,
    foreign=st.booleans(),
)
ENDPOINT: dict[str, Any] = dict(  # noqa: C408
    id=TEXT,
    instance=TEXT,
    address=TEXT,
    port=st.integers(1, 65535),
    server_name=NAME,
    transport=st.sampled_from(("tls", "smtp", "postgres")),
    host=TEXT,
    owner=OWNER,
    component=NAME,
    segment=st.sampled_from((None, "Frontend", "Backend")),
    certainty=st.sampled_from(("declared", "hinted", "candidate")),
    origins=st.lists(ORIGIN, max_size=3).map(tuple),
    subject=st.none() | REFERENCE,
    node=NAME,
    pod=st.none() | REFERENCE,
    candidates=st.lists(OWNER, max_size=2).map(tuple),
    labels=st.lists(st.tuples(TEXT, TEXT), max_size=2).map(tuple),
    aliases=st.lists(TEXT, max_size=2).map(tuple),
    sampled=st.booleans(),
    ready=st.booleans(),
    runs_on=NAME,
    tunnel=st.none() | st.builds(Tunnel, namespace=TEXT, pod=TEXT, port=CODE),
    network=NAME,
    expects=st.sampled_from((None, "none", "requested", "required")),
)
