"""Does a listener that speaks TLS answer requests without it, too?"""

from __future__ import annotations

from collections.abc import Iterator

from scanner.judge import remediation
from scanner.judge.verdicts import Tally, Words, conclude, remark
from scanner.kube.kinds import BACKEND_TLS_POLICY
from scanner.kube.maybe import Unknown
from scanner.model.finding import Finding
from scanner.model.rule import Case, Rule

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
            unclear="whether the listener also answers without TLS could not be told",
        ),
        expected=("no answer without TLS",),
        fix=remediation.in_the_listener(case.endpoint, "take requests by TLS only"),
        reproduce=f"{remediation.scan(case.endpoint)} --active-http",
    )


CLEARTEXT = Rule(
    id="tls-cleartext",
    check=check_cleartext,
)
