"""A realistic report: every verdict and most reaches, built from model values through ``rows``, as a scan does it.

Made by hand and not by ``judge``: a format must print whatever it is given.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from scanner.kube.maybe import Unknown
from scanner.kube.tls_profile import Profile
from scanner.model.endpoint import Endpoint, Origin, Owner
from scanner.model.expectation import Because, Expectation
from scanner.model.finding import Finding, Severity, Status, Verdict
from scanner.model.observation import Answers, Attempt, Negotiated, Observation, Reach
from scanner.model.report import Coverage, EndpointRow, Report, RuleRow, ScannerRow, Summary
from scanner.report.rows import endpoint_row, finding_row
from scanner.tls.certificate import CertificateFacts
from scanner.values import replace

NOW = datetime(2026, 11, 21, 10, 0, 0, tzinfo=UTC)

HOSTILE = (
    "<script>alert('x')</script>\"&<img src=x onerror=alert(1)> ]]> \x1b[31mred\x1b]0;title\x07 \x00\x08\x9b2J "
    "\u202egnp.exe\u202c \u200b\ufeff\ufffe\uffff \udc80\ud83d \U000e0041 {{ 7 * 7 }} {% raw %} </style></title> "
    "\r\n::error file=a::owned\n##vso[task.setvariable variable=a]b ##[group]x `tick` | pipe"
)
"""Everything at once that a certificate, a banner or an alert may carry to harm some medium."""

TLS10, TLS11, TLS12, TLS13, SSL3 = 0x0301, 0x0302, 0x0303, 0x0304, 0x0300
TLS13_SUITES = (0x1301, 0x1302, 0x1303)
MODERN_ECDHE = (0xC02B, 0xC02F, 0xC02C, 0xC030, 0xCCA9, 0xCCA8)
FORBIDDEN = frozenset({0x000A, 0x0005, 0x002F, 0x0035, 0x003C, 0xC013, 0xC014, 0xC027})
X25519MLKEM768, X25519, P256, P384 = 0x11EC, 0x001D, 0x0017, 0x0018

PROFILE = Profile(
    name="openshift/4.23/intermediate",
    min_version=TLS12,
    suites=(*TLS13_SUITES, *MODERN_ECDHE),
    groups=(X25519MLKEM768, X25519, P256, P384),
    source="openshift/api, 2026-09-01",
)
EXPECTATION = Expectation(
    profile=PROFILE,
    because=(Because(source="--profile", field="", said="intermediate, the newest release line", beat="the default"),),
)


def endpoint(name: str, number: int, *, host: str = "", transport: str = "tls") -> Endpoint:
    """A target called NAME.demo.example on its own loopback address."""
    called = host or f"{name}.demo.example"
    return Endpoint(
        id=f"{called}:{8440 + number}",
        instance=f"{called}:{8440 + number}@127.0.0.{number}",
        address=f"127.0.0.{number}",
        port=8440 + number,
        server_name=called,
        transport=transport,  # type: ignore[arg-type]
        host=called,
        owner=Owner(kind="Target", name=called),
        origins=(Origin(role="user", part=f"targets.txt:{number}"),),
    )


def certificate(
    name: str, *, days: int = 200, key: tuple[str, int, str | None] = ("ECDSA", 256, "P-256")
) -> CertificateFacts:
    """A leaf for ``name`` that ends in ``days``."""
    return CertificateFacts(
        der=b"",
        sha256=(name.encode().hex() * 64)[:64],
        subject=f"CN={name}",
        issuer="CN=Demo Issuing CA,O=Adhere",
        serial=4711,
        dns_names=(name,),
        ip_addresses=("127.0.0.1",),
        other_names=(),
        not_before=NOW - timedelta(days=165),
        not_after=NOW + timedelta(days=days),
        key_algorithm=key[0],
        key_size=key[1],
        curve=key[2],
        signature="ecdsa-with-SHA256",
        signature_hash="SHA256",
        is_ca=False,
    )


ISSUER = replace(
    certificate("ca"),
    sha256="ca" * 32,
    subject="CN=Demo Issuing CA,O=Adhere",
    dns_names=(),
    ip_addresses=(),
    is_ca=True,
)


def speaking(name: str, *, chain: tuple[CertificateFacts, ...] | None = None) -> Observation:
    """What a listener does that follows the profile."""
    offers = (
        "control",
        "tls1.3 all",
        "tls1.2 forbidden+1",
        "tls1.2 forbidden",
        "tls1.1",
        "groups",
        "handshake",
        "control",
    )
    return Observation(
        instance=name,
        at=NOW,
        reach=Reach.TLS,
        versions=Answers(
            accepted=(TLS13, TLS12), refused=frozenset({SSL3, TLS10, TLS11}), unasked="no SSLv2 hello was sent"
        ),
        suites={
            TLS12: Answers(accepted=MODERN_ECDHE, refused=FORBIDDEN),
            TLS13: Answers(accepted=TLS13_SUITES, refused=frozenset({0x1304, 0x1305})),
        },
        groups={TLS13: Answers(accepted=(X25519MLKEM768, X25519, P256, P384), refused=frozenset({0x0019}))},
        preference={TLS12: "server", TLS13: "server"},
        client_certificate="none",
        alpn="h2",
        ocsp_stapled=False,
        negotiated=Negotiated(version=TLS13, suite=0x1301, group=X25519MLKEM768),
        chain=chain if chain is not None else (certificate(f"{name}.demo.example"), ISSUER),
        attempts=tuple(
            Attempt(offer=offer, reply="hello" if "forb" not in offer else "alert 40", seconds=0.002)
            for offer in offers
        ),
    )


def deaf(name: str, reach: Reach, detail: str, protocol: str | None = None) -> Observation:
    """A listener that never got as far as TLS."""
    return Observation(
        instance=name,
        at=NOW,
        reach=reach,
        detail=detail,
        protocol=protocol,
        attempts=(
            Attempt(offer="control", reply=detail, seconds=0.5),
            Attempt(offer="control", reply=detail, seconds=0.5),
        ),
    )


def finding(
    rule: str, severity: Severity, verdict: Verdict, message: str, *, status: Status | None = None, **more: object
) -> Finding:
    """A finding whose status follows from its verdict unless it is given."""
    statuses: dict[Verdict, Status] = {
        "pass": "ok",
        "fail": "violation",
        "inconclusive": "not-tested",
        "not_applicable": "not-tls",
    }
    return Finding(
        rule=rule,
        severity=severity,
        verdict=verdict,
        status=status or statuses[verdict],
        message=message,
        **more,  # type: ignore[arg-type]
    )


PASSED = (
    finding("tls-version", "high", "pass", "refuses every version below TLSv1.2"),
    finding("tls-cipher-suite", "medium", "pass", "refuses every suite outside the profile"),
    finding("cert-name", "high", "pass", "the certificate is valid for the name that was asked for"),
    finding(
        "tls-pq-readiness",
        "info",
        "pass",
        "offers a post-quantum group",
        status="informational",
        observed=("X25519MLKEM768 (0x11EC)",),
    ),
)


def _versions(*items: str) -> Finding:
    return finding(
        "tls-version",
        "high",
        "fail",
        "accepts versions below the profile's minimum",
        observed=items,
        expected=("TLSv1.2 (0x0303)", "TLSv1.3 (0x0304)"),
        fix="in the listener's own configuration, set the minimum version to TLS 1.2",
        reproduce="adhere ask tls://127.0.0.2:8442#legacy.demo.example --version 1.0",
        evidence=("tls1.0 alone: ServerHello, TLSv1, TLS_RSA_WITH_AES_128_CBC_SHA",),
        second_opinion="confirmed",
    )


def _suites(*items: str, severity: Severity = "medium") -> Finding:
    return finding(
        "tls-cipher-suite",
        severity,
        "fail",
        "accepts cipher suites that the profile forbids",
        observed=items,
        expected=tuple(f"TLS_ALLOWED_SUITE_{number}" for number in range(9)),
        fix="in the listener's own configuration, remove these suites",
        reproduce="adhere ask tls://127.0.0.2:8442 --version 1.2 --suites TLS_RSA_WITH_AES_128_CBC_SHA",
    )


def _unjudged(message: str, *, status: Status = "unreachable") -> Finding:
    return finding(
        "tls-reach", "high", "inconclusive", message, status=status, fix="start the listener, or correct the target"
    )


Parts = tuple[Endpoint, Expectation, Observation, Verdict, Status, tuple[Finding, ...]]


def _legacy() -> Parts:
    old = Answers(accepted=(0xC013, 0xC014, 0x002F, 0x0035), refused=frozenset({0x0005}))
    seen = replace(
        speaking("legacy"),
        versions=Answers(
            accepted=(TLS12, TLS11, TLS10), refused=frozenset({TLS13, SSL3}), unasked="no SSLv2 hello was sent"
        ),
        suites={
            TLS10: old,
            TLS11: old,
            TLS12: Answers(accepted=(0xC02F, 0xC030, 0xC013, 0xC014, 0x002F, 0x0035), refused=frozenset({0x0005})),
        },
        groups={TLS12: Answers(accepted=(X25519, P256), refused=frozenset({P384}))},
        preference={TLS10: "client", TLS11: "client", TLS12: "client"},
        negotiated=Negotiated(version=TLS12, suite=0xC02F, group=X25519),
        chain=(certificate("legacy.demo.example", key=("RSA", 2048, None)), ISSUER),
    )
    return (
        endpoint("legacy", 2),
        EXPECTATION,
        seen,
        "fail",
        "violation",
        (
            _suites(
                "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA (ECDHE-RSA-AES128-SHA, 0xC013)",
                "TLS_RSA_WITH_AES_128_CBC_SHA (AES128-SHA, 0x002F)",
                "TLS_RSA_WITH_AES_256_CBC_SHA (AES256-SHA, 0x0035)",
                "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA (ECDHE-RSA-AES256-SHA, 0xC014)",
            ),
            _versions("TLSv1 (0x0301)", "TLSv1.1 (0x0302)"),
            PASSED[2],
        ),
    )


def _expired() -> Parts:
    seen = speaking("expired", chain=(certificate("expired.demo.example", days=-3), ISSUER))
    broken = finding(
        "cert-expired",
        "critical",
        "fail",
        "the certificate ended 3 days ago",
        observed=("notAfter 2026-11-18T10:00:00Z",),
        expected=("an end after 2026-11-21T10:00:00Z",),
        fix="renew the certificate and reload the listener",
    )
    return endpoint("expired", 3), EXPECTATION, seen, "fail", "violation", (broken, *PASSED[:2])


def _weak_key() -> Parts:
    seen = speaking("rsa1024", chain=(certificate("rsa1024.demo.example", key=("RSA", 1024, None)), ISSUER))
    broken = finding(
        "cert-key-size", "high", "fail", "the key is too short", observed=("RSA 1024",), expected=("RSA 2048 or more",)
    )
    soon = finding(
        "cert-expiring", "low", "fail", "the certificate ends in 12 days", observed=("notAfter 2026-12-03T10:00:00Z",)
    )
    return endpoint("rsa1024", 4), EXPECTATION, seen, "fail", "violation", (soon, broken, *PASSED[:2])


def _plaintext() -> Parts:
    broken = finding(
        "tls-reach",
        "high",
        "fail",
        "answers in plaintext where TLS was declared",
        observed=("HTTP/1.1 400 Bad Request",),
    )
    seen = deaf("web", Reach.PLAINTEXT, "HTTP/1.1 400 Bad Request", "http")
    return endpoint("web", 5), EXPECTATION, seen, "fail", "violation", (broken,)


def _candidate() -> Parts:
    left = finding(
        "tls-reach", "info", "not_applicable", "plaintext on a port that nobody declared as TLS", status="not-tls"
    )
    seen = deaf("metrics", Reach.PLAINTEXT, "HTTP/1.0 200 OK", "http")
    return endpoint("metrics", 6), EXPECTATION, seen, "not_applicable", "not-tls", (left,)


def _mutual() -> Parts:
    seen = replace(
        speaking("mtls"),
        reach=Reach.CLIENT_CERTIFICATE_REQUIRED,
        detail="alert 116 certificate_required",
        client_certificate="required",
    )
    return endpoint("mtls", 7), EXPECTATION, seen, "pass", "ok", PASSED


def _readiness() -> Parts:
    seen = replace(
        speaking("tenant"),
        versions=Answers(accepted=(TLS12,), refused=frozenset({TLS13, TLS10, TLS11})),
        suites={TLS12: Answers(accepted=(0xC02F, 0x003C), unasked="the deadline came first")},
        groups={},
        preference={TLS12: Unknown("only one suite was accepted")},
    )
    kept = finding(
        "tls-cipher-suite",
        "medium",
        "fail",
        "accepts cipher suites that the profile forbids",
        status="readiness",
        observed=("TLS_RSA_WITH_AES_128_CBC_SHA256 (AES128-SHA256, 0x003C)",),
    )
    return (
        endpoint("tenant", 8),
        replace(EXPECTATION, binding="not-enforced"),
        seen,
        "fail",
        "readiness",
        (kept, PASSED[0]),
    )


def _unknown_profile() -> Parts:
    owes = replace(EXPECTATION, profile=Unknown("APIServer/cluster could not be read: forbidden"))
    broken = finding(
        "tls-cipher-suite", "medium", "inconclusive", "the profile is unknown: APIServer/cluster could not be read"
    )
    return endpoint("orphan", 9), owes, speaking("orphan"), "inconclusive", "not-tested", (broken,)


def _hostile() -> Parts:
    odd = replace(
        certificate("hostile.demo.example"),
        subject=f"CN={HOSTILE}",
        issuer=HOSTILE,
        dns_names=(HOSTILE, *(f"n{number}.example" for number in range(40))),
        not_after=None,
        signature=None,
        unreadable={"not_after": HOSTILE},
    )
    seen = replace(speaking("hostile", chain=(odd,)), alpn=HOSTILE, detail=HOSTILE)
    broken = finding(
        "cert-name",
        "high",
        "fail",
        f"the certificate is for {HOSTILE}",
        observed=(HOSTILE,),
        expected=(HOSTILE,),
        fix=HOSTILE,
        reproduce=f"adhere ask {HOSTILE}",
        evidence=(HOSTILE,),
    )
    return (
        replace(endpoint("hostile", 10), origins=(Origin(role="user", part=HOSTILE),)),
        EXPECTATION,
        seen,
        "fail",
        "violation",
        (broken,),
    )


def parts() -> Iterator[Parts]:
    """The endpoints, as ``endpoint_row`` takes them."""
    yield endpoint("intermediate", 1), EXPECTATION, speaking("intermediate"), "pass", "ok", PASSED
    yield _legacy()
    yield _expired()
    yield _weak_key()
    yield _plaintext()
    yield _candidate()
    yield _mutual()
    yield _readiness()
    yield _unknown_profile()
    yield _hostile()
    unreachable: tuple[tuple[str, int, Reach, str, str, Status], ...] = (
        ("closed", 11, Reach.CLOSED, "connection refused", "nothing listens there: connection refused", "unreachable"),
        ("silent", 12, Reach.SILENT, "no byte in 5.0 s", "accepts the connection and says nothing", "unreachable"),
        (
            "pq-only",
            13,
            Reach.REJECTED,
            "alert 40 handshake_failure",
            "speaks TLS and refused every ClientHello",
            "not-tested",
        ),
    )
    for name, number, reach, answer, message, status in unreachable:
        seen = deaf(name, reach, answer)
        yield endpoint(name, number), EXPECTATION, seen, "inconclusive", status, (_unjudged(message, status=status),)
    yield endpoint("mail", 14, transport="smtp"), EXPECTATION, speaking("mail"), "pass", "ok", PASSED
    v6 = replace(
        endpoint("v6", 15, host="[::1]"), address="::1", id="[::1]:8455", instance="[::1]:8455", server_name=None
    )
    yield v6, EXPECTATION, speaking("v6"), "pass", "ok", PASSED


_PAGE = """\
Accepts no version below the profile's minimum.

A client that an attacker talks down to **TLS 1.0** gets what TLS 1.0 can give.

Fails when a forbidden version was *accepted*; passes when all were refused."""
_RULES: tuple[tuple[str, str, Severity], ...] = (
    ("tls-version", "Versions below the minimum are refused", "high"),
    ("tls-cipher-suite", "Cipher suites outside the profile are refused", "medium"),
    ("cert-expired", "The certificate has not ended", "critical"),
    ("cert-name", "The certificate is valid for the name", "high"),
)
_REFERENCES = ("https://www.rfc-editor.org/rfc/rfc8996", "NIST SP 800-52r2")

RULES = [
    RuleRow(id=name, title=title, severity=severity, page=_PAGE, references=list(_REFERENCES))
    for name, title, severity in _RULES
]


def report(
    rows: list[EndpointRow] | None = None, *, findings: tuple[Finding, ...] = (), interrupted: str | None = None
) -> Report:
    """A report over ``rows`` (all the samples unless given), with sums that agree with them."""
    kept = [endpoint_row(*part) for part in parts()] if rows is None else rows
    summary = Summary()
    for row in kept:
        summary.add(row)
    objects = [finding_row(one) for one in findings]
    summary.add_findings(objects)
    judged = summary.verdicts["pass"] + summary.verdicts["fail"]
    missing = summary.verdicts["inconclusive"]
    return Report(
        scanner=ScannerRow(
            name="adhere",
            version="0.1.0",
            mode="inventory",
            profile=PROFILE.name,
            arguments=["scan", "--targets", "targets.txt"],
        ),
        started="2026-11-21T10:00:00Z",
        finished="2026-11-21T10:00:03Z",
        cluster=None,
        coverage=Coverage(
            endpoints=len(kept),
            judged=judged,
            not_judged=missing,
            interrupted=interrupted,
            complete=not (missing or interrupted),
        ),
        rules=RULES,
        summary=summary,
        findings=objects,
        rows=lambda: iter(kept),
    )
