"""Routes that are served in plain text, beside TLS or without it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from scanner.kube.kinds import ROUTE
from scanner.lint.openshift.routes import TLS, has_tls, terminates
from scanner.model.object_rule import Flaw, ObjectRule, Subject

_POLICY: Final = (*TLS, "insecureEdgeTerminationPolicy")


def check_insecure(subject: Subject) -> Iterator[Flaw]:
    """A Route does not answer in plain text beside TLS."""
    if terminates(subject.object) and subject.object.text(*_POLICY) == "Allow":
        yield Flaw(
            message="the router serves the same content in plain text on port 80",
            at=_POLICY,
            expected=("Redirect", "None"),
            observed=("Allow",),
            fix="write insecureEdgeTerminationPolicy: Redirect",
            correction="insecureEdgeTerminationPolicy: Redirect",
        )


def check_without_tls(subject: Subject) -> Iterator[Flaw]:
    """A Route has TLS."""
    if not has_tls(subject.object):
        yield Flaw(
            message="it is served in plain text only",
            at=TLS,
            fix="add spec.tls",
            correction="tls:\n  termination: edge\n  insecureEdgeTerminationPolicy: Redirect",
        )


INSECURE = ObjectRule(
    id="route-insecure",
    subjects=(ROUTE,),
    check=check_insecure,
)
WITHOUT_TLS = ObjectRule(
    id="route-without-tls",
    subjects=(ROUTE,),
    check=check_without_tls,
)
