"""Fields of a Route that exclude each other, as the API server and the router check them; what it says of plain text;
and the annotations by which an Ingress becomes a Route (ingress-to-route controller)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from scanner.files.problems import did_you_mean
from scanner.files.source_positions import Steps, shown
from scanner.kube.ingress import Route
from scanner.kube.kinds import INGRESS, ROUTE
from scanner.lint import references
from scanner.lint.certificates import chain_of
from scanner.lint.fields.unknown import nearest
from scanner.lint.openshift.route_certificate import EXTERNAL
from scanner.lint.references import secret_of
from scanner.model.declared import Missing
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


@dataclass(frozen=True, slots=True)
class _Refusal:
    """One check of the API server."""

    at: tuple[str, ...]
    when: Callable[[Route], object]
    says: str
    """In its own words."""
    fix: str


def _with(termination: str, said: Callable[[Route], object]) -> Callable[[Route], object]:
    """Whether a Route of that termination says it."""
    return lambda route: route.termination == termination and said(route) not in (None, "", {}, [])


def _both(route: Route) -> bool:
    return route.is_terminated and bool(route.tls.certificate and route.tls.external)


_REFUSALS: Final = (
    *(
        _Refusal((*_TLS, name), _with("passthrough", said), _WITHOUT, f"remove {name}, or terminate at the router")
        for name, said in _CERTIFICATES.items()
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
        "remove it, or write 'termination: reencrypt'",
    ),
    _Refusal(EXTERNAL, _both, "cannot specify both tls.certificate and tls.externalCertificate", "keep one of the two"),
    _Refusal(
        ("spec", "path"),
        _with("passthrough", lambda route: route.path),
        "passthrough termination does not support paths",
        "remove the path: who does not decrypt sees none",
    ),
    *(
        _Refusal(
            ("spec", "httpHeaders", "actions", name),
            _with("passthrough", said),
            "only edge and re-encrypt routes are supported for providing customized headers.",
            "remove the actions: who does not decrypt sees no header",
        )
        for name, said in _ACTIONS.items()
    ),
    _Refusal(
        ("spec", "wildcardPolicy"),
        lambda route: route.is_subdomain and not route.host,
        "host name not specified for wildcard policy",
        "give spec.host",
    ),
)
"""openshift/library-go ``pkg/route/validation/validation.go``."""


def check_fields(subject: Subject) -> Iterator[Flaw]:
    """A Route's TLS fields go together."""
    route = Route.of(subject.object)
    if route.has_tls:
        yield from _unknown(route)
        yield from _insecure(route)
        yield from _nameless(route)
    for each in _REFUSALS:
        if each.when(route):
            yield _refused(each.at, each.says, each.fix)


def _refused(at: Steps, says: str, fix: str, *values: str, meant: str | None = None) -> Flaw:
    correction = f"{at[-1]}: {meant}" if meant else None
    return Flaw(message=f"the API server refuses it: {says}", at=at, fix=fix, expected=values, correction=correction)


def _unknown(route: Route) -> Iterator[Flaw]:
    said = route.termination
    if said not in _TERMINATIONS:
        listed = ", ".join(f'"{each}"' for each in _TERMINATIONS)
        written = route.tls.any_termination
        says = f"Unsupported value: {shown(written or '')}: supported values: {listed}"
        meant = nearest(written, _TERMINATIONS) if isinstance(written, str) else None
        fix = f"write {meant}" if meant else "write one of the three"
        yield _refused((*_TLS, "termination"), says, fix, *_TERMINATIONS, meant=meant)


def _insecure(route: Route) -> Iterator[Flaw]:
    said, allowed = route.tls.any_insecure_policy, _POLICIES.get(route.termination, ())
    if said in (None, "") or not allowed or said in allowed:
        return
    listed = ", ".join(allowed)
    says = f"invalid value for InsecureEdgeTerminationPolicy option, acceptable values are {listed}, or empty"
    fix = "write Redirect, so that who comes in plain text is sent to https"
    meant = nearest(said, allowed) if isinstance(said, str) else None
    meant = None if meant == "Allow" else meant  # which another rule is against
    yield _refused(_POLICY, says, fix, *allowed, meant=meant)


def _nameless(route: Route) -> Iterator[Flaw]:
    if not route.tls.has_external or route.tls.external:
        return
    beside = bool(route.tls.certificate)
    refused = "cannot have both spec.tls.certificate and spec.tls.externalCertificate"
    yield Flaw(
        message=(
            f"externalCertificate without a name counts as unset, and where Routes are a CRD it is refused: {refused}"
            if beside
            else "externalCertificate without a name counts as unset: the router serves its default certificate"
        ),
        at=EXTERNAL,
        severity="medium",
        fix="remove externalCertificate" if beside else "name the Secret: externalCertificate: {name: NAME}",
        correction=None if beside else "externalCertificate:\n  name: NAME",
    )


# --- Plain text -------------------------------------------------------------------------------------------------------


def check_insecure(subject: Subject) -> Iterator[Flaw]:
    """A Route does not answer in plain text beside TLS."""
    route = Route.of(subject.object)
    if route.is_terminated and route.tls.insecure_policy == "Allow":
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
    if not Route.of(subject.object).has_tls:
        yield Flaw(
            message="it is served in plain text only",
            at=_TLS,
            fix="add spec.tls",
            correction="tls:\n  termination: edge\n  insecureEdgeTerminationPolicy: Redirect",
        )


# --- From an Ingress --------------------------------------------------------------------------------------------------


_TERMINATION: Final = "route.openshift.io/termination"
_DESTINATION: Final = "route.openshift.io/destination-ca-certificate-secret"
_ANNOTATIONS: Final = ("metadata", "annotations")


def check_ingress(subject: Subject) -> Iterator[Flaw]:
    """The annotations by which an Ingress becomes a Route mean something."""
    said = subject.object.annotations.get(_TERMINATION)
    if said is not None and said not in _TERMINATIONS:
        yield Flaw(
            message=f"{_TERMINATION} is {shown(said)}, which is no termination",
            at=(*_ANNOTATIONS, _TERMINATION),
            expected=_TERMINATIONS,
            observed=(said[:60],),
            fix=did_you_mean(said, _TERMINATIONS),
        )
    name = subject.object.annotations.get(_DESTINATION)
    if name:
        yield from _destination(subject, name, said)


def _destination(subject: Subject, name: str, said: str | None) -> Iterator[Flaw]:
    at = (*_ANNOTATIONS, _DESTINATION)
    if said != "reencrypt":
        message = f"{_DESTINATION} means nothing without {_TERMINATION}: reencrypt"
        yield Flaw(message=message, at=at, fix=f"add {_TERMINATION}: reencrypt, or remove it")
    secret = secret_of(subject, name)
    if isinstance(secret, Missing):
        if secret.gap:
            yield undecided(secret, at, "whether the router can verify the backend")
        else:
            yield Flaw(message=f"{secret.name} does not exist", at=at, fix=f"create {secret.name}")
    elif not chain_of(secret):
        message = f"{secret.reference} has no certificate in tls.crt, where the CA is looked for"
        yield Flaw(message=message, at=at, fix=f"{secret.reference}: put the CA's certificate into tls.crt")


FIELDS = ObjectRule(id="route-fields", subjects=(ROUTE,), check=check_fields)
INSECURE = ObjectRule(id="route-insecure", subjects=(ROUTE,), check=check_insecure)
WITHOUT_TLS = ObjectRule(id="route-without-tls", subjects=(ROUTE,), check=check_without_tls)
INGRESS_ROUTE = ObjectRule(id="route-from-ingress", subjects=(INGRESS,), check=check_ingress, reads=references.READS)
