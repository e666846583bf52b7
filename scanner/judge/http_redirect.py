"""Requests without TLS: to the listener itself, and to the plaintext HTTP port at the same address."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from scanner.judge import remediation
from scanner.judge.verdicts import Tally, Words, conclude, promised, remark
from scanner.kube.kinds import BACKEND_TLS_POLICY
from scanner.kube.maybe import Unknown
from scanner.model.expectation import PlainPort
from scanner.model.finding import Finding
from scanner.model.rule import Case, Rule

_NOTHING: Final = ("400", "404", "421", "426", "503")
"""Answers without content. OpenShift's router answers 503 for a Route that is not served without TLS."""
_REDIRECTS: Final = ("301", "302", "303", "307", "308")


def check_http_redirect(rule: Rule, case: Case) -> Iterator[Finding]:
    """The plaintext HTTP port does not serve the listener's server name."""
    found, plain = case.observation.plain_port, case.expectation.plain_port
    if plain is None or (isinstance(found, Unknown) and "--active-http" in found.reason):
        return
    answer = _objection(found, plain) if not isinstance(found, Unknown) else found
    declared = f", as declared by {plain.because}" if plain.owed == "served" else ""
    what = f"plaintext HTTP port {plain.port}"
    finding = conclude(
        rule,
        case,
        Tally(
            seen=(answer,) if isinstance(answer, str) else (),
            unknown=(answer.reason,) if isinstance(answer, Unknown) else (),
        ),
        Words(
            passed=f"{what} does not serve this server name" + (f": {found}" if isinstance(found, str) else ""),
            failed=f"{what} also serves this server name{declared}",
            unclear=f"whether {what} serves this server name could not be determined",
        ),
        expected=(_expected(plain),),
        fix=f"redirect port {plain.port} to HTTPS ({plain.because})",
        reproduce=remediation.head(case.endpoint, case.endpoint.server_name or "", port=plain.port, path=plain.path),
    )
    yield finding if plain.owed in (None, "served") else promised(finding)


def _objection(found: str | None, plain: PlainPort) -> str | Unknown | None:
    status, _, location = (found or "").partition(" ")[2].partition(" to ")
    nothing = found is None or status in _NOTHING
    redirected = status in _REDIRECTS and location.partition(":")[0] == "https"
    if plain.owed == "served" and (nothing or (redirected and plain.conditional)):
        return Unknown(f"{found or 'no answer'} on port {plain.port}, although {plain.because}")
    if found is not None and nothing and plain.conditional:
        return Unknown(f"{found} for {plain.path} on port {plain.port}; other paths may be served")
    if nothing or redirected:
        return None
    return f"a plaintext request to port {plain.port} is answered with {found}"


def _expected(plain: PlainPort) -> str:
    words = {"nothing": "no content", "redirect": "a redirect to https", "served": "a redirect to https or no content"}
    return f"{words[plain.owed or 'served']} on port {plain.port} ({plain.because})"


HTTP_REDIRECT = Rule(id="http-redirect", check=check_http_redirect)


_REFUSALS = ("400", "426")
"""Answers that mean "wrong protocol" (nginx and Go: 400; RFC 9110, section 15.5.22: 426)."""


def check_cleartext(rule: Rule, case: Case) -> Iterator[Finding]:
    """A TLS listener does not serve plaintext HTTP on the same port."""
    found = case.observation.cleartext
    if isinstance(found, Unknown) and "--active-http" in found.reason:
        subject = case.endpoint.subject
        if subject is not None and subject.kind == BACKEND_TLS_POLICY.name:
            message = "not tested whether this backend also answers plaintext HTTP (--active-http)"
            yield remark(rule, message, verdict="not_applicable")
        return
    served = isinstance(found, str) and found.partition(" ")[2] not in _REFUSALS and not found.endswith(" to https")
    yield conclude(
        rule,
        case,
        Tally(
            seen=(f"a plaintext request is answered with {found}",) if served else (),
            unknown=(found.reason,) if isinstance(found, Unknown) else (),
        ),
        Words(
            passed="the TLS listener does not serve plaintext HTTP",
            failed="the TLS listener also serves plaintext HTTP on the same port",
            unclear="whether the TLS listener also serves plaintext HTTP could not be determined",
        ),
        expected=("no content without TLS",),
        fix=remediation.in_the_listener(case.endpoint, "accept requests over TLS only"),
        reproduce=f"{remediation.scan(case.endpoint)} --active-http",
    )


CLEARTEXT = Rule(id="tls-cleartext", check=check_cleartext)
