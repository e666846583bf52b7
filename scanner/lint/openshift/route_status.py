"""What routers say of a Route, and releases whose routers do not know a field of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from scanner.files.source_positions import shown
from scanner.kube.api_server import feature_gates
from scanner.kube.ingress import Route
from scanner.kube.kinds import CLUSTER_VERSION, FEATURE_GATE, ROUTE
from scanner.kube.meta import Condition
from scanner.kube.openshift import ClusterVersion
from scanner.lint.openshift.route_certificate import EXTERNAL
from scanner.model.declared import Missing
from scanner.model.finding import Severity
from scanner.model.object_rule import Flaw, ObjectRule, Subject, undecided

_ROUTERS: Final = 16
_CONDITIONS: Final = 20
_DEFAULT: Final = "its host shows the router's default certificate, and the answer is 503"


class _Meaning(NamedTuple):
    """What a reason stands for."""

    means: str
    fix: str
    severity: Severity = "high"


_REASONS: Final[Mapping[str, _Meaning]] = {
    "NoHostValue": _Meaning("it has no host, and the router makes none up", "give spec.host"),
    "InvalidHost": _Meaning("its host is none that the router serves", "correct spec.host"),
    "HostAlreadyClaimed": _Meaning("an older Route has the host", "use another host, or remove the other Route"),
    "RouteNotAdmitted": _Meaning("the IngressController's routeAdmission does not let it in", "ask who runs it"),
    "ExtendedValidationFailed": _Meaning(
        f"the router rejects its certificates or TLS fields: {_DEFAULT}", "correct what the message names"
    ),
    "ExternalCertificateValidationFailed": _Meaning(
        f"the Secret is missing, has another type, or the router may not read it: {_DEFAULT}",
        "correct the Secret, or let the router read it",
    ),
    "ExternalCertificateGetFailed": _Meaning(
        f"the router cannot read the Secret: {_DEFAULT}", "let the router get, list and watch the Secret"
    ),
    "ExternalCertificateSecretDeleted": _Meaning(f"the Secret was deleted: {_DEFAULT}", "make the Secret again"),
    "ExternalCertificateSecretRecreated": _Meaning(
        "the Secret is there again, and the router has yet to look at it",
        "wait; if it stays, look at its log",
        "medium",
    ),
    "ExternalCertificateSecretUpdated": _Meaning(
        "the Secret was changed, and the router has yet to look at it", "wait, then look at its log", "medium"
    ),
}
"""Of ``Admitted=False`` (openshift/router ``pkg/router/controller``, ``routeapihelpers``)."""
_FUTURE: Final = "UnservableInFutureVersions"


def check_status(subject: Subject) -> Iterator[Flaw]:
    """Every router that has looked at a Route has admitted it."""
    entries = Route.of(subject.object).ingresses[:_ROUTERS]
    if not entries and subject.object.uid:
        yield Flaw(
            message="no router has looked at it",
            at=("status", "ingress"),
            severity="medium",
            fix="is there an IngressController whose selectors match the Route and its namespace?",
        )
    for entry in entries:
        router, conditions = shown(entry.router_name or "a router"), entry.conditions[:_CONDITIONS]
        if not any(each.type == "Admitted" for each in conditions):
            message = f"{router} has not said whether it has admitted it"
            yield Flaw(message=message, at=(*entry.steps, "conditions"), verdict="inconclusive")
        for each in conditions:
            if each.type == "Admitted":
                yield from _admitted(router, each)
            elif each.type == _FUTURE and each.holds:
                yield Flaw(
                    message=f"{router} says that a later release will not serve it{_said(each)}",
                    at=each.steps,
                    severity="medium",
                    fix="correct what the message names before the upgrade",
                )


def _admitted(router: str, each: Condition) -> Iterator[Flaw]:
    if each.status == "False":
        means = _REASONS.get(each.reason, _Meaning("for a reason that adhere does not know", "see the message"))
        message = f"{router} has not admitted it: {means.means}{_said(each)}"
        yield Flaw(message=message, at=each.steps, severity=means.severity, fix=means.fix)
    elif not each.holds:
        message = f"whether {router} has admitted it is not known{_said(each)}"
        yield Flaw(message=message, at=each.steps, verdict="inconclusive")


def _said(each: Condition) -> str:
    parts = [part for part in (each.reason, each.message) if part]
    return f" ({shown(': '.join(parts), 200)})" if parts else ""


_GATE: Final = ("RouteExternalCertificate",)
_SINCE: Final = (4, 16)
"""The first release with the field, behind its gate."""
_FOR_ALL: Final = (4, 19)
"""The first release in which it needs no gate (openshift/api ``features/features.go``)."""
_RELEASE: Final = re.compile(r"([0-9]{1,3})\.([0-9]{1,3})\.")


def check_support(subject: Subject) -> Iterator[Flaw]:
    """The cluster's routers know `externalCertificate`."""
    if not Route.of(subject.object).external_secret:
        return
    known = subject.declared.known
    found = subject.find(CLUSTER_VERSION, "version")
    release = "" if isinstance(found, Missing) else ClusterVersion.of(found).desired
    numbers = _RELEASE.match(release)
    if numbers is None:
        if isinstance(found, Missing) and found.gap:
            flaw = undecided(found, EXTERNAL, "whether the routers know externalCertificate")
            yield Flaw(message=flaw.message, at=flaw.at, verdict=flaw.verdict, severity="info")
        return
    version, gate = (int(numbers[1]), int(numbers[2])), feature_gates(known, release).state(_GATE)
    if version < _SINCE or gate == "off":
        why = f"the feature gate {_GATE[0]} is off" if gate == "off" else f"{release} does not have it"
        message = f"externalCertificate is ignored, and the router serves its default certificate: {why}"
        yield Flaw(message=message, at=EXTERNAL, fix="use certificate and key until the release has the field")
    elif version < _FOR_ALL and gate == "unknown":
        message = f"not decided: whether the feature gate {_GATE[0]} is on in {release}"
        yield Flaw(message=message, at=EXTERNAL, verdict="inconclusive")


STATUS = ObjectRule(id="route-status", subjects=(ROUTE,), check=check_status)
SUPPORT = ObjectRule(
    id="route-external-unsupported",
    subjects=(ROUTE,),
    check=check_support,
    reads=(CLUSTER_VERSION, FEATURE_GATE),
)
