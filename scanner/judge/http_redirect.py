"""Requests without TLS: on the listener itself, and on the HTTP port beside it."""

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
"""No content of anybody's: not understood, not here, not so, and what OpenShift's router says of a Route that is not
to be had without TLS."""
_REDIRECTS: Final = ("301", "302", "303", "307", "308")


def check_from_plaintext(rule: Rule, case: Case) -> Iterator[Finding]:
    """What is served with TLS is not had without it, on the port beside it."""
    found, wanted = case.observation.plain_port, case.expectation.plain_port
    if wanted is None or (isinstance(found, Unknown) and "--active-http" in found.reason):
        return
    answer = _read(found, wanted) if not isinstance(found, Unknown) else found
    says = f", as {wanted.because} has it" if wanted.owed == "served" else ""
    finding = conclude(
        rule,
        case,
        Tally(
            seen=(answer,) if isinstance(answer, str) else (),
            unknown=(answer.reason,) if isinstance(answer, Unknown) else (),
        ),
        Words(
            passed="the port without TLS does not serve this name" + (f": {found}" if isinstance(found, str) else ""),
            failed=f"the port without TLS serves this name, too{says}",
            unclear="whether the port without TLS serves this name could not be determined",
        ),
        expected=(_expected(wanted),),
        fix=f"have port {wanted.port} lead to https ({wanted.because})",
        reproduce=remediation.head(case.endpoint, case.endpoint.server_name or "", port=wanted.port, path=wanted.path),
    )
    yield finding if wanted.owed in (None, "served") else promised(finding)


def _read(found: str | None, wanted: PlainPort) -> str | Unknown | None:
    """What is wrong with the answer."""
    status, _, leads = (found or "").partition(" ")[2].partition(" to ")
    nothing = found is None or status in _NOTHING
    leads_to_tls = status in _REDIRECTS and leads.partition(":")[0] == "https"
    if wanted.owed == "served" and (nothing or (leads_to_tls and wanted.conditional)):
        return Unknown(f"{found or 'no answer'} on port {wanted.port}, although {wanted.because}")
    if found is not None and nothing and wanted.conditional:
        return Unknown(f"{found} for {wanted.path} on port {wanted.port}, where there may be other paths")
    if nothing or leads_to_tls:
        return None
    return f"a request without TLS to port {wanted.port} is answered with {found}"


def _expected(wanted: PlainPort) -> str:
    words = {"nothing": "nothing", "redirect": "a redirect to https", "served": "a redirect to https, or nothing"}
    return f"{words[wanted.owed or 'served']} on port {wanted.port} ({wanted.because})"


FROM_PLAINTEXT = Rule(id="http-redirect", check=check_from_plaintext)


_REFUSALS = ("400", "426")
"""What servers say who mean that this is the wrong protocol (nginx and Go: 400; RFC 9110, section 15.5.22: 426)."""


def check_cleartext(rule: Rule, case: Case) -> Iterator[Finding]:
    """A listener that speaks TLS serves nothing without it."""
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
            unclear="whether the listener also answers without TLS could not be determined",
        ),
        expected=("no answer without TLS",),
        fix=remediation.in_the_listener(case.endpoint, "take requests by TLS only"),
        reproduce=f"{remediation.scan(case.endpoint)} --active-http",
    )


CLEARTEXT = Rule(id="tls-cleartext", check=check_cleartext)
