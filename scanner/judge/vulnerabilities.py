"""Known vulnerabilities of TLS implementations, as the second witness found them (``--deep``).

adhere itself sends nothing but ClientHellos and one ordinary handshake. What it takes to see these, malformed messages
and repeated decryption failures among it, is left to sslyze, on request.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from scanner.judge.verdicts import Tally, Words, conclude
from scanner.model.finding import Finding, Severity
from scanner.model.known import Known, Unknown
from scanner.model.observation import JUDGEABLE
from scanner.model.opinion import Flaw
from scanner.model.rule import Case, Rule


def deep_findings(case: Case) -> tuple[Finding, ...]:
    """What ``DEEP_RULES`` say of ``case.opinion``; nothing where there was no TLS to ask for.

    Call it where they were wanted: without an answer (the deadline came first, or a signal) each is inconclusive.
    """
    if case.observation.reach not in JUDGEABLE:
        return ()
    return tuple(finding for rule in DEEP_RULES for finding in rule.check(rule, case))


def check_heartbleed(rule: Rule, case: Case) -> Iterator[Finding]:
    """The listener does not answer a heartbeat with more than it was sent.

    ## What it requires

    No memory comes back for a heartbeat request whose length field lies (CVE-2014-0160).

    ## Why

    Anyone who can connect reads the process's memory: private keys, passwords, sessions.

    ## What fails

    An answer to such a request: critical.

    ## What is inconclusive

    sslyze, which sends the request, could not tell; the finding says why.

    ## Example that fails

    A listener that is in order but for this:

    ```yaml
    # What sslyze finds
    heartbleed: vulnerable
    ```

    ## Example that passes

    ```yaml
    heartbleed: not vulnerable
    ```

    ## How to fix

    Replace OpenSSL 1.0.1 to 1.0.1f, then the certificate and its key, and revoke the old one.
    """
    yield _judged(
        rule, case, {"heartbleed": "memory in the answer to a heartbeat"}, "replace the TLS library and the key"
    )


def check_robot(rule: Rule, case: Case) -> Iterator[Finding]:
    """The listener gives no sign by which an RSA decryption can be guessed.

    ## What it requires

    Every wrongly padded RSA key exchange is answered in the same way (RFC 5246, section 7.4.7.1).

    ## Why

    A difference is Bleichenbacher's oracle: recorded traffic with RSA key exchange can be decrypted, and messages can
    be signed in the server's name.

    ## What fails

    Answers that differ: high.

    ## What is inconclusive

    Answers that differ from one try to the next, or sslyze could not tell.

    ## Example that fails

    A listener that is in order but for this:

    ```yaml
    # What sslyze finds
    robot: vulnerable
    ```

    ## Example that passes

    ```yaml
    robot: not vulnerable
    ```

    ## How to fix

    Switch off cipher suites with RSA key exchange (`TLS_RSA_WITH_...`), and update the TLS library or load balancer.
    """
    yield _judged(rule, case, {"robot": "an oracle for RSA decryption"}, "switch off suites with RSA key exchange")


def check_ccs_injection(rule: Rule, case: Case) -> Iterator[Finding]:
    """The listener refuses a ChangeCipherSpec that comes too early.

    ## What it requires

    A ChangeCipherSpec before the key exchange ends the handshake (CVE-2014-0224).

    ## Why

    An attacker in the middle makes both sides use an empty key, reads and alters everything.

    ## What fails

    A handshake that goes on: high.

    ## What is inconclusive

    sslyze, which sends the message, could not tell; the finding says why.

    ## Example that fails

    A listener that is in order but for this:

    ```yaml
    # What sslyze finds
    earlyChangeCipherSpec: accepted
    ```

    ## Example that passes

    ```yaml
    earlyChangeCipherSpec: refused
    ```

    ## How to fix

    Replace OpenSSL before 0.9.8za, 1.0.0m and 1.0.1h.
    """
    yield _judged(rule, case, {"ccs-injection": "an early ChangeCipherSpec is accepted"}, "replace the TLS library")


def check_renegotiation(rule: Rule, case: Case) -> Iterator[Finding]:
    """The listener renegotiates securely, and not whenever a client wants to.

    ## What it requires

    Support for secure renegotiation (RFC 5746), and no renegotiation that the client starts. TLS 1.3 has neither.

    ## Why

    Without RFC 5746 an attacker puts a request of his own before the victim's. A client that may renegotiate makes the
    server do expensive work as often as it likes.

    ## What fails

    No secure renegotiation: medium. Only renegotiation that the client starts: low.

    ## What is inconclusive

    sslyze could not tell; the finding says why.

    ## Example that fails

    A listener that is in order but for this:

    ```yaml
    # What sslyze finds
    secureRenegotiation: unsupported
    ```

    ```yaml
    secureRenegotiation: supported
    clientRenegotiation: accepted
    ```

    ## Example that passes

    ```yaml
    secureRenegotiation: supported
    clientRenegotiation: refused
    ```

    ## How to fix

    Update the TLS library. Switch renegotiation off: `SSL_OP_NO_RENEGOTIATION` in OpenSSL,
    `jdk.tls.rejectClientInitiatedRenegotiation` in Java.
    """
    flaws: Mapping[Flaw, str] = {
        "insecure-renegotiation": "no secure renegotiation (RFC 5746)",
        "client-renegotiation": "a client can renegotiate again and again",
    }
    secure = case.opinion is not None and case.opinion.flaws.get("insecure-renegotiation") is False
    yield _judged(rule, case, flaws, "switch renegotiation off", severity="low" if secure else None)


def check_compression(rule: Rule, case: Case) -> Iterator[Finding]:
    """The listener does not compress.

    ## What it requires

    No compression method but null is selected (RFC 9325, section 3.3).

    ## Why

    The length of what is compressed tells what it contains: cookies are guessed letter by letter (CRIME).

    ## What fails

    DEFLATE is selected: medium.

    ## What is inconclusive

    sslyze could not tell; the finding says why.

    ## Example that fails

    A listener that is in order but for this:

    ```yaml
    # What sslyze finds
    compression: DEFLATE
    ```

    ## Example that passes

    ```yaml
    compression: none
    ```

    ## How to fix

    Switch compression off: `SSL_OP_NO_COMPRESSION` in OpenSSL.
    """
    yield _judged(rule, case, {"compression": "TLS compression"}, "switch TLS compression off")


def check_fallback_scsv(rule: Rule, case: Case) -> Iterator[Finding]:
    """The listener notices a client that was made to fall back to an older version.

    ## What it requires

    A hello with TLS_FALLBACK_SCSV and a version below the listener's highest is refused (RFC 7507). A listener with
    one version has nothing to fall back to, and passes.

    ## Why

    An attacker in the middle breaks connections until old clients try an older version.

    ## What fails

    Such a hello is accepted: low. Without old versions on the listener there is nothing to gain by it.

    ## What is inconclusive

    sslyze could not tell; the finding says why.

    ## Example that fails

    A listener that is in order but for this:

    ```yaml
    # What sslyze finds: a hello with TLS_FALLBACK_SCSV and an older version is
    fallback: accepted
    ```

    ## Example that passes

    ```yaml
    fallback: refused
    ```

    ## How to fix

    Switch off TLS 1.0 and 1.1, and update the TLS library.
    """
    yield _judged(rule, case, {"no-fallback-scsv": "a fallback is accepted"}, "switch off the old versions")


def _judged(
    rule: Rule, case: Case, flaws: Mapping[Flaw, str], fix: str, *, severity: Severity | None = None
) -> Finding:
    """One finding on one or more flaws, each with what to call it."""
    witness = case.opinion.witness if case.opinion is not None else "nobody"
    told = {flaw: _told(case, flaw) for flaw in flaws}
    return conclude(
        rule,
        case,
        Tally(
            seen=tuple(words for flaw, words in flaws.items() if told[flaw] is True),
            unknown=tuple(_reasons(told.values())),
        ),
        Words(
            passed=f"{witness} found it not vulnerable",
            failed=f"{witness} found it vulnerable",
            unclear="whether it is vulnerable could not be told",
        ),
        severity=severity,
        fix=fix,
        evidence=(f"asked by {witness}",),
    )


def _told(case: Case, flaw: Flaw) -> Known[bool]:
    if case.opinion is None:
        return Unknown("sslyze had not answered when the time was over")
    return case.opinion.flaws.get(flaw, Unknown(case.opinion.failure or "not asked"))


def _reasons(told: Iterable[Known[bool]]) -> Iterator[str]:
    return (each.reason for each in told if isinstance(each, Unknown))


DEEP_RULES: tuple[Rule, ...] = (
    Rule(
        id="vuln-heartbleed",
        title="No Heartbleed",
        severity="critical",
        check=check_heartbleed,
        references=("CVE-2014-0160", "RFC 6520, section 4"),
    ),
    Rule(
        id="vuln-robot",
        title="No ROBOT oracle",
        severity="high",
        check=check_robot,
        references=("RFC 5246, section 7.4.7.1", "CVE-2017-13099 and its siblings"),
    ),
    Rule(
        id="vuln-ccs-injection",
        title="No CCS injection",
        severity="high",
        check=check_ccs_injection,
        references=("CVE-2014-0224",),
    ),
    Rule(
        id="vuln-renegotiation",
        title="No insecure renegotiation",
        severity="medium",
        check=check_renegotiation,
        references=("RFC 5746", "CVE-2009-3555", "CVE-2011-1473 (renegotiation by the client)"),
    ),
    Rule(
        id="vuln-compression",
        title="No TLS compression",
        severity="medium",
        check=check_compression,
        references=("RFC 9325, section 3.3", "CVE-2012-4929 (CRIME)"),
    ),
    Rule(
        id="vuln-fallback-scsv",
        title="No unnoticed fallback",
        severity="low",
        check=check_fallback_scsv,
        references=("RFC 7507",),
    ),
)
"""Every rule that needs the second witness."""
