"""Cases for rules: a listener without fault under a made-up Intermediate; each test states its deviation alone.

The samples have every fact that a rule may read; ``EMPTY`` has the exceptions. A new field gets its value here.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import cache
from hashlib import sha256
from typing import Any

from scanner.judge import judge, rule
from scanner.kube.objects import Reference
from scanner.kube.tls_profile import Profile
from scanner.model.endpoint import Endpoint, Owner
from scanner.model.expectation import Because, Expectation
from scanner.model.finding import Finding
from scanner.model.observation import Answers, Observation, Reach
from scanner.model.rule import Case
from scanner.model.scan_policy import Policy
from scanner.tls.certificate import CertificateFacts
from scanner.tls.codepoints import ALL_SUITES, GROUPS, TLS12, TLS13, VERSIONS
from scanner.tls.names import is_tls13
from scanner.values import replace

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)

TLS13_SUITES = (0x1301, 0x1302, 0x1303)
TLS12_SUITES = (0xC02B, 0xC02F, 0xC02C, 0xC030)
ALLOWED_GROUPS = (0x11EC, 0x001D, 0x0017, 0x0018)

PROFILE = Profile(
    name="test/intermediate",
    min_version=TLS12,
    suites=(*TLS13_SUITES, *TLS12_SUITES),
    groups=ALLOWED_GROUPS,
    source="this test",
)

ENDPOINT = Endpoint(
    id="target/a.example:443",
    instance="target/a.example:443@127.0.0.1",
    address="127.0.0.1",
    port=443,
    server_name="a.example",
    host="a.example",
    owner=Owner(kind="Target", name="a.example:443"),
)

WEB = replace(
    ENDPOINT,
    port=8443,
    pod=Reference(kind="Pod", namespace="shop", name="web-1"),
    labels=(("app", "web"), ("tier", "front")),
)
"""A pod."""

LEAF = CertificateFacts(
    der=b"leaf",
    sha256=sha256(b"leaf").hexdigest(),
    subject="CN=a.example",
    issuer="CN=Some CA",
    serial=0x1A2B3C,
    dns_names=("a.example",),
    ip_addresses=(),
    other_names=(),
    not_before=NOW - timedelta(days=10),
    not_after=NOW + timedelta(days=80),
    key_algorithm="ECDSA",
    key_size=256,
    curve="P-256",
    key_sha256=sha256(b"key of leaf").hexdigest(),
    signature="ecdsa-with-SHA256",
    signature_hash="SHA256",
    is_ca=False,
    extended_key_usage=("serverAuth",),
)

ISSUER = replace(
    LEAF,
    der=b"issuer",
    sha256=sha256(b"issuer").hexdigest(),
    key_sha256=sha256(b"key of issuer").hexdigest(),
    subject="CN=Some CA",
    issuer="CN=Root",
    is_ca=True,
    dns_names=(),
)
ROOT = replace(ISSUER, der=b"root", sha256=sha256(b"root").hexdigest(), subject="CN=Root", issuer="CN=Root")


def answers(accepted: tuple[int, ...], asked: set[int] | None = None, unasked: str | None = None) -> Answers:
    """Everything in ``asked`` that was not accepted was refused."""
    return Answers(accepted=accepted, refused=frozenset((asked or set()) - set(accepted)), unasked=unasked)


def all_suites(version: int) -> set[int]:
    """Every registered suite of ``version``."""
    return {s.code for s in ALL_SUITES if is_tls13(s.code) == (version == TLS13)}


def forbidden_suites(profile: Profile, version: int) -> set[int]:
    """Every registered suite of ``version`` that ``profile`` forbids; each must be known to be refused for a pass."""
    return all_suites(version) - {*profile.suites, *TLS13_SUITES}


def all_groups() -> set[int]:
    return {g.code for g in GROUPS}


CONFORMING = Observation(
    instance=ENDPOINT.instance,
    at=NOW,
    reach=Reach.TLS,
    versions=answers((TLS13, TLS12), set(VERSIONS)),
    suites={
        TLS13: answers(TLS13_SUITES, all_suites(TLS13)),
        TLS12: answers(TLS12_SUITES, all_suites(TLS12)),
    },
    groups={TLS13: answers(ALLOWED_GROUPS, all_groups()), TLS12: answers(ALLOWED_GROUPS[1:], all_groups())},
    preference={TLS12: "server"},
    client_certificate="none",
    alpn="http/1.1",
    ocsp_stapled=False,
    chain=(LEAF, ISSUER),
)

EMPTY: Mapping[str, str] = {
    "ip_addresses": "one name is enough",
    "other_names": "one name is enough",
    "unreadable": "every field is readable",
    "detail": "evidence of a failure",
    "protocol": "it speaks TLS from the first byte",
    "negotiated": "repeats versions, suites and groups, which cases change",
    "other_chains": "it has one certificate",
    "untrusted_client": "it requests no client certificate",
    "request_without_certificate": "it requests no client certificate",
    "request_untrusted": "it requests no client certificate",
    "cleartext": "needs --active-http",
    "plain_port": "needs --active-http",
    "answered": "needs --active-http",
    "strays": "no other name is required",
    "attempts": "they are counted, not judged",
    "stopped": "the scan was complete",
}
"""Fields of ``LEAF`` and ``CONFORMING`` without a value, and why. A rule on any other field judges these samples."""

BECAUSE_OBJECT = Because(source="APIServer/cluster", field="spec.tlsSecurityProfile", said="Intermediate")
BECAUSE_ARGUMENT = Because(source="--profile", field="", said="intermediate")


def case(
    *,
    observation: dict[str, Any] | None = None,
    expectation: dict[str, Any] | None = None,
    endpoint: dict[str, Any] | None = None,
    policy: dict[str, Any] | None = None,
) -> Case:
    """The listener without fault, with these fields replaced."""
    return Case(
        endpoint=replace(ENDPOINT, **(endpoint or {})),
        expectation=replace(Expectation(profile=PROFILE), **(expectation or {})),
        observation=replace(CONFORMING, **(observation or {})),
        policy=replace(Policy(), **(policy or {})),
        now=NOW,
    )


@cache
def failing() -> list[str]:
    """Rules that the listener without fault fails: none, or each failure of these tests says so (``conftest``)."""
    return [each.rule for each in judge(case()).findings if each.verdict not in ("pass", "not_applicable")]


def findings(rule_id: str, of: Case) -> list[Finding]:
    """What one rule says. A failure has all that a user needs to correct it."""
    each = rule(rule_id)
    found = list(each.check(each, of))
    for one in found:
        if one.verdict == "fail":
            assert all((one.message, one.expected, one.fix)), one
            assert one.reproduce or rule_id in _OF_OBJECTS or of.policy.post_quantum, one
    return found


_OF_OBJECTS = ("policy-override", "backend-fail-open")
"""No connection shows what these rules say."""


def finding(rule_id: str, of: Case) -> Finding:
    """What one rule says, where it says exactly one thing."""
    (only,) = findings(rule_id, of)
    assert only.rule == rule_id
    return only
