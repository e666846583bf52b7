"""Fields of a Route: those that exclude each other, plaintext, annotations of an Ingress that becomes a Route
(ingress-to-route controller), and the status that routers write."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final, NamedTuple

from msgspec import Struct

from scanner.files.problems import did_you_mean
from scanner.files.source_positions import Steps, shown
from scanner.kube.api_server import feature_gates
from scanner.kube.ingress import Route
from scanner.kube.kinds import CLUSTER_VERSION, FEATURE_GATE, INGRESS, ROUTE
from scanner.kube.meta import Condition
from scanner.kube.openshift import ClusterVersion
from scanner.lint import references
from scanner.lint.fields.unknown_fields import nearest
from scanner.lint.openshift.route_certificate import EXTERNAL
from scanner.lint.referenced_certificates import chain_of
from scanner.lint.references import secret_of
from scanner.model.declared import Missing
from scanner.model.finding import Severity
from scanner.model.object_rule import Flaw, ObjectRule, Subject, undecided

_TERMINATIONS: Final = ("edge", "passthrough", "reencrypt")
_WITHOUT: Final = "passthrough termination does not support certificates"
_POLICIES: Final = {
    "edge": ("None", "Allow", "Redirect"),
    "reencrypt": ("None", "Allow", "Redirect"),
    "passthrough": ("None", "Redirect"),
}
"""``insecureEdgeTerminationPolicy``, by termination."""
_TLS: Final = ("spec", "tls")
_CERTIFICATES: Final[Mapping[str, Callable[[Route], str]]] = {
    "certificate": lambda route: route.tls.certificate,
    "key": lambda route: route.tls.key,
    "caCertificate": lambda route: route.tls.ca_certificate,
    "destinationCACertificate": lambda route: route.tls.destination_ca,
}
_ACTIONS: Final[Mapping[str, Callable[[Route], object]]] = {
    "request": lambda route: route.request_actions,
    "response": lambda route: route.response_actions,
}
_POLICY: Final = (*_TLS, "insecureEdgeTerminationPolicy")


class _Refusal(Struct, frozen=True):
    """One check of the API server."""

    at: tuple[str, ...]
    when: Callable[[Route], object]
    error: str
    """The API server's own message."""
    fix: str


def _with(termination: str, field: Callable[[Route], object]) -> Callable[[Route], object]:
    """True for a Route of that termination with the field."""
    return lambda route: route.termination == termination and field(route) not in (None, "", {}, [])


def _both(route: Route) -> bool:
    return route.is_terminated and bool(route.tls.certificate and route.tls.external)


_REFUSALS: Final = (
    *(
        _Refusal((*_TLS, name), _with("passthrough", field), _WITHOUT, f"remove {name}, or terminate at the router")
        for name, field in _CERTIFICATES.items()
    ),
    _Refusal(
        EXTERNAL,
        _with("passthrough", lambda route: route.tls.external),
        _WITHOUT,
        "remove it, or terminate at the router",
    ),
    _Refusal(
        (*_TLS, "destinationCACertificate"),
        _with("edge", lambda route: route.tls.destination_ca),
        "edge termination does not support destination certificates",
        "remove it, or set 'termination: reencrypt'",
    ),
    _Refusal(EXTERNAL, _both, "cannot specify both tls.certificate and tls.externalCertificate", "keep one of the two"),
    _Refusal(
        ("spec", "path"),
        _with("passthrough", lambda route: route.path),
        "passthrough termination does not support paths",
        "remove the path: the router does not decrypt the request",
    ),
    *(
        _Refusal(
            ("spec", "httpHeaders", "actions", name),
            _with("passthrough", field),
            "only edge and re-encrypt routes are supported for providing customized headers.",
            "remove the actions: the router does not decrypt the headers",
        )
        for name, field in _ACTIONS.items()
    ),
    _Refusal(
        ("spec", "wildcardPolicy"),
        lambda route: route.is_subdomain and not route.host,
        "host name not specified for wildcard policy",
        "set spec.host",
    ),
)
"""openshift/library-go ``pkg/route/validation/validation.go``."""


def check_fields(subject: Subject) -> Iterator[Flaw]:
    """A Route's TLS fields do not exclude each other."""
    route = Route.of(subject.object)
    if route.has_tls:
        yield from _termination(route)
        yield from _insecure(route)
        yield from _nameless(route)
    for each in _REFUSALS:
        if each.when(route):
            yield _refused(each.at, each.error, each.fix)


def _refused(at: Steps, error: str, fix: str, *values: str, correct: str | None = None) -> Flaw:
    correction = f"{at[-1]}: {correct}" if correct else None
    message = f"the API server refuses the Route: {error}"
    return Flaw(message=message, at=at, fix=fix, expected=values, correction=correction)


def _termination(route: Route) -> Iterator[Flaw]:
    if route.termination not in _TERMINATIONS:
        listed = ", ".join(f'"{each}"' for each in _TERMINATIONS)
        value = route.tls.raw_termination
        error = f"Unsupported value: {shown(value or '')}: supported values: {listed}"
        near = nearest(value, _TERMINATIONS) if isinstance(value, str) else None
        fix = f"set {near}" if near else "set one of the three"
        yield _refused((*_TLS, "termination"), error, fix, *_TERMINATIONS, correct=near)


def _insecure(route: Route) -> Iterator[Flaw]:
    value, allowed = route.tls.raw_insecure_policy, _POLICIES.get(route.termination, ())
    if value in (None, "") or not allowed or value in allowed:
        return
    listed = ", ".join(allowed)
    error = f"invalid value for InsecureEdgeTerminationPolicy option, acceptable values are {listed}, or empty"
    near = nearest(value, allowed) if isinstance(value, str) else None
    near = None if near == "Allow" else near  # route-insecure reports Allow
    yield _refused(_POLICY, error, "set Redirect, which sends plaintext clients to https", *allowed, correct=near)


def _nameless(route: Route) -> Iterator[Flaw]:
    if not route.tls.has_external or route.tls.external:
        return
    beside = bool(route.tls.certificate)
    refused = "cannot have both spec.tls.certificate and spec.tls.externalCertificate"
    yield Flaw(
        message=(
            f"externalCertificate without a name counts as unset; a cluster with Routes as a CRD refuses it: {refused}"
            if beside
            else "externalCertificate without a name counts as unset: the router serves its default certificate"
        ),
        at=EXTERNAL,
        severity="medium",
        fix="remove externalCertificate" if beside else "name the Secret: externalCertificate: {name: NAME}",
        correction=None if beside else "externalCertificate:\n  name: NAME",
    )


# --- Plaintext --------------------------------------------------------------------------------------------------------


def check_insecure(subject: Subject) -> Iterator[Flaw]:
    """A Route with TLS is not served in plaintext too."""
    route = Route.of(subject.object)
    if route.is_terminated and route.tls.insecure_policy == "Allow":
        yield Flaw(
            message="the router serves the same content in plaintext on port 80",
            at=_POLICY,
            expected=("Redirect", "None"),
            observed=("Allow",),
            fix="set insecureEdgeTerminationPolicy: Redirect",
            correction="insecureEdgeTerminationPolicy: Redirect",
        )


def check_without_tls(subject: Subject) -> Iterator[Flaw]:
    """A Route has TLS."""
    if not Route.of(subject.object).has_tls:
        yield Flaw(
            message="it is served in plaintext only",
            at=_TLS,
            fix="add spec.tls",
            correction="tls:\n  termination: edge\n  insecureEdgeTerminationPolicy: Redirect",
        )


# --- From an Ingress --------------------------------------------------------------------------------------------------


_TERMINATION: Final = "route.openshift.io/termination"
_DESTINATION: Final = "route.openshift.io/destination-ca-certificate-secret"
_ANNOTATIONS: Final = ("metadata", "annotations")


def check_ingress(subject: Subject) -> Iterator[Flaw]:
    """The annotations of an Ingress that becomes a Route are valid."""
    termination = subject.object.annotations.get(_TERMINATION)
    if termination is not None and termination not in _TERMINATIONS:
        yield Flaw(
            message=f"{_TERMINATION} is {shown(termination)}, which is not a termination",
            at=(*_ANNOTATIONS, _TERMINATION),
            expected=_TERMINATIONS,
            observed=(termination[:60],),
            fix=did_you_mean(termination, _TERMINATIONS),
        )
    name = subject.object.annotations.get(_DESTINATION)
    if name:
        yield from _destination(subject, name, termination)


def _destination(subject: Subject, name: str, termination: str | None) -> Iterator[Flaw]:
    at = (*_ANNOTATIONS, _DESTINATION)
    if termination != "reencrypt":
        message = f"{_DESTINATION} has no effect without {_TERMINATION}: reencrypt"
        yield Flaw(message=message, at=at, fix=f"add {_TERMINATION}: reencrypt, or remove it")
    secret = secret_of(subject, name)
    if isinstance(secret, Missing):
        if secret.gap:
            yield undecided(secret, at, "whether the router can verify the backend")
        else:
            yield Flaw(message=f"{secret.name} does not exist", at=at, fix=f"create {secret.name}")
    elif not chain_of(secret):
        message = f"{secret.reference} has no certificate in tls.crt, where the router expects the CA"
        yield Flaw(message=message, at=at, fix=f"{secret.reference}: put the CA's certificate into tls.crt")


# --- The status, and releases without externalCertificate -------------------------------------------------------------


_ROUTERS: Final = 16
_CONDITIONS: Final = 20
_DEFAULT: Final = "its host has the router's default certificate, and requests fail with 503"


class _Meaning(NamedTuple):
    """The meaning of a reason."""

    means: str
    fix: str
    severity: Severity = "high"


_REASONS: Final[Mapping[str, _Meaning]] = {
    "NoHostValue": _Meaning("it has no host, and the router generates none", "set spec.host"),
    "InvalidHost": _Meaning("its host is not valid for the router", "correct spec.host"),
    "HostAlreadyClaimed": _Meaning("an older Route has the host", "use another host, or remove the other Route"),
    "RouteNotAdmitted": _Meaning(
        "the IngressController's routeAdmission rejects it", "change routeAdmission of the IngressController"
    ),
    "ExtendedValidationFailed": _Meaning(
        f"the router rejects its certificates or TLS fields: {_DEFAULT}", "correct what the message names"
    ),
    "ExternalCertificateValidationFailed": _Meaning(
        f"the Secret is missing, is not of type kubernetes.io/tls, or the router may not read it: {_DEFAULT}",
        "create the Secret with type kubernetes.io/tls, and grant the router get, list and watch on it",
    ),
    "ExternalCertificateGetFailed": _Meaning(
        f"the router cannot read the Secret: {_DEFAULT}", "grant the router get, list and watch on the Secret"
    ),
    "ExternalCertificateSecretDeleted": _Meaning(f"the Secret was deleted: {_DEFAULT}", "create the Secret again"),
    "ExternalCertificateSecretRecreated": _Meaning(
        "the Secret was created again, and the router has not read it yet",
        "wait; if this remains, read the router's log",
        "medium",
    ),
    "ExternalCertificateSecretUpdated": _Meaning(
        "the Secret was changed, and the router has not read it yet",
        "wait; if this remains, read the router's log",
        "medium",
    ),
}
"""Reasons of ``Admitted=False`` (openshift/router ``pkg/router/controller``, ``routeapihelpers``)."""
_FUTURE: Final = "UnservableInFutureVersions"


def check_status(subject: Subject) -> Iterator[Flaw]:
    """Every router in the status of a Route admitted it."""
    entries = Route.of(subject.object).ingresses[:_ROUTERS]
    if not entries and subject.object.uid:
        yield Flaw(
            message="no router serves it: its status is empty",
            at=("status", "ingress"),
            severity="medium",
            fix="make the selectors of an IngressController match the Route and its namespace",
        )
    for entry in entries:
        router, conditions = shown(entry.router_name or "a router"), entry.conditions[:_CONDITIONS]
        if not any(each.type == "Admitted" for each in conditions):
            message = f"unknown: whether {router} admits it; its status has no condition Admitted"
            yield Flaw(message=message, at=(*entry.steps, "conditions"), verdict="inconclusive")
        for each in conditions:
            if each.type == "Admitted":
                yield from _admitted(router, each)
            elif each.type == _FUTURE and each.holds:
                yield Flaw(
                    message=f"{router} reports that a later release will not serve it{_reported(each)}",
                    at=each.steps,
                    severity="medium",
                    fix="correct the fault that the message names before the upgrade",
                )


def _admitted(router: str, each: Condition) -> Iterator[Flaw]:
    if each.status == "False":
        means = _REASONS.get(each.reason, _Meaning("of a reason that adhere does not know", "see the message"))
        message = f"IngressController {router} does not admit the Route, because {means.means}{_reported(each)}"
        yield Flaw(message=message, at=each.steps, severity=means.severity, fix=means.fix)
    elif not each.holds:
        message = f"unknown: whether {router} admits it{_reported(each)}"
        yield Flaw(message=message, at=each.steps, verdict="inconclusive")


def _reported(each: Condition) -> str:
    parts = [part for part in (each.reason, each.message) if part]
    return f" ({shown(': '.join(parts), 200)})" if parts else ""


_GATE: Final = ("RouteExternalCertificate",)
_SINCE: Final = (4, 16)
"""The first release with the field, behind its gate."""
_FOR_ALL: Final = (4, 19)
"""The first release in which it needs no gate (openshift/api ``features/features.go``)."""
_RELEASE: Final = re.compile(r"([0-9]{1,3})\.([0-9]{1,3})\.")


def check_support(subject: Subject) -> Iterator[Flaw]:
    """The cluster's routers support `externalCertificate`."""
    if not Route.of(subject.object).external_secret:
        return
    known = subject.declared.known
    found = subject.find(CLUSTER_VERSION, "version")
    release = "" if isinstance(found, Missing) else ClusterVersion.of(found).desired
    numbers = _RELEASE.match(release)
    if numbers is None:
        if isinstance(found, Missing) and found.gap:
            flaw = undecided(found, EXTERNAL, "whether the routers support externalCertificate")
            yield Flaw(message=flaw.message, at=flaw.at, verdict=flaw.verdict, severity="info")
        return
    version, gate = (int(numbers[1]), int(numbers[2])), feature_gates(known, release).state(_GATE)
    if version < _SINCE or gate == "off":
        why = f"the feature gate {_GATE[0]} is off" if gate == "off" else f"{release} does not have it"
        message = f"externalCertificate is ignored, and the router serves its default certificate: {why}"
        yield Flaw(message=message, at=EXTERNAL, fix="use certificate and key until the release has the field")
    elif version < _FOR_ALL and gate == "unknown":
        message = f"unknown: whether the feature gate {_GATE[0]} is on in {release}"
        yield Flaw(message=message, at=EXTERNAL, verdict="inconclusive")


FIELDS = ObjectRule(id="route-fields", subjects=(ROUTE,), check=check_fields)
INSECURE = ObjectRule(id="route-insecure", subjects=(ROUTE,), check=check_insecure)
WITHOUT_TLS = ObjectRule(id="route-without-tls", subjects=(ROUTE,), check=check_without_tls)
INGRESS_ROUTE = ObjectRule(id="route-from-ingress", subjects=(INGRESS,), check=check_ingress, reads=references.READS)
STATUS = ObjectRule(id="route-status", subjects=(ROUTE,), check=check_status)
SUPPORT = ObjectRule(
    id="route-external-unsupported",
    subjects=(ROUTE,),
    check=check_support,
    reads=(CLUSTER_VERSION, FEATURE_GATE),
)
