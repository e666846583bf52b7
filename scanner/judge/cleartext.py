"""Does a listener that speaks TLS answer requests without it, too?"""

from __future__ import annotations

from collections.abc import Iterator

from scanner.judge import remediation
from scanner.judge.verdicts import Tally, Words, conclude, remark
from scanner.kube.kinds import BACKEND_TLS_POLICY
from scanner.model.finding import Finding
from scanner.model.known import Unknown
from scanner.model.rule import Case, Rule

_REFUSALS = ("400", "426")
"""What servers say who mean that this is the wrong protocol (nginx and Go: 400; RFC 9110, section 15.5.22: 426)."""


def check_cleartext(rule: Rule, case: Case) -> Iterator[Finding]:
    """A listener that speaks TLS serves nothing without it.

    ## What it requires

    With `--active-http`, one `HEAD / HTTP/1.1` is sent to each listener that speaks TLS, without TLS. It is not served:
    the listener ends the connection, answers with an alert, with 400 or 426, or leads to `https`. An end without a word
    counts only where it comes five times in a row. Nothing is sent without that option: the request reaches the
    application where there is one. Then nothing is reported either, except that it was not tested for the backends of a
    BackendTLSPolicy.

    ## Why

    A port that detects the protocol and serves both (a mesh's permissive mode, a server with "protocol sniffing") looks
    like TLS to every check, and whoever is in the middle takes the S away.

    ## What fails

    Any other answer in HTTP: high.

    ## What is inconclusive

    Silence: it may be waiting for the rest of what it takes for a record. Something that begins like HTTP and is no
    whole answer.

    ## Example that fails

    A listener that is in order but for this:

    ```yaml
    # HEAD / without TLS, to the port that speaks TLS
    withoutTLS: {status: 200}
    ```

    ## Example that passes

    ```yaml
    withoutTLS: {status: 400}
    ```

    ```yaml
    withoutTLS: {status: 301, location: https://a.example}
    ```

    ## How to fix

    Turn the plaintext side off: strict instead of permissive mutual TLS, a port of its own for probes.
    """
    found = case.observation.cleartext
    if isinstance(found, Unknown) and "--active-http" in found.reason:
        subject = case.endpoint.subject
        if subject is not None and subject.kind == BACKEND_TLS_POLICY.name:
            message = "whether this backend also answers without TLS was not tested (--active-http)"
            yield remark(rule, message, verdict="not_applicable")
        return
    served = isinstance(found, str) and found.partition(" ")[2] not in _REFUSALS and not found.endswith(" to https")
    yield conclude(
        rule,
        case,
        Tally(
            seen=(f"a request without TLS is answered with {found}",) if served else (),
            unknown=(found.reason,) if isinstance(found, Unknown) else (),
        ),
        Words(
            passed="requests without TLS are not served",
            failed="the listener that speaks TLS also answers without it",
            unclear="whether the listener also answers without TLS could not be told",
        ),
        expected=("no answer without TLS",),
        fix=remediation.in_the_listener(case.endpoint, "take requests by TLS only"),
        reproduce=f"{remediation.scan(case.endpoint)} --active-http",
    )


CLEARTEXT = Rule(
    id="tls-cleartext",
    title="A listener that speaks TLS serves nothing without it",
    severity="high",
    check=check_cleartext,
    references=("RFC 9110, section 4.2.2", "RFC 9325, section 3.2", "Gateway API, BackendTLSPolicy"),
)
