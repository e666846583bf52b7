"""Fields of a Route that exclude each other, as the API server and the router check them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from scanner.files.source_positions import Steps, shown
from scanner.kube.kinds import ROUTE
from scanner.kube.objects import KubeObject
from scanner.lint.fields.unknown import nearest
from scanner.lint.openshift.routes import EXTERNAL, TLS, has_tls, termination
from scanner.model.object_rule import Flaw, ObjectRule, Subject

_TERMINATIONS: Final = ("edge", "passthrough", "reencrypt")
_WITHOUT: Final = "passthrough termination does not support certificates"
_POLICIES: Final = {
    "edge": ("None", "Allow", "Redirect"),
    "reencrypt": ("None", "Allow", "Redirect"),
    "passthrough": ("None", "Redirect"),
}
"""``insecureEdgeTerminationPolicy``, by termination."""


@dataclass(frozen=True, slots=True)
class _Refusal:
    """One check of the API server."""

    at: tuple[str, ...]
    when: Callable[[KubeObject], object]
    says: str
    """In its own words."""
    fix: str


def _with(kind: str, *steps: str) -> Callable[[KubeObject], object]:
    """Whether a Route of that termination has something there."""
    return lambda route: termination(route) == kind and route.at(*steps) not in (None, "", {}, [])


def _both(route: KubeObject) -> bool:
    return termination(route) in _POLICIES and bool(route.text(*TLS, "certificate") and route.text(*EXTERNAL, "name"))


_ACTIONS: Final = ("spec", "httpHeaders", "actions")
_REFUSALS: Final = (
    *(
        _Refusal((*TLS, name), _with("passthrough", *TLS, name), _WITHOUT, f"remove {name}, or terminate at the router")
        for name in ("certificate", "key", "caCertificate", "destinationCACertificate")
    ),
    _Refusal(EXTERNAL, _with("passthrough", *EXTERNAL, "name"), _WITHOUT, "remove it, or terminate at the router"),
    _Refusal(
        (*TLS, "destinationCACertificate"),
        _with("edge", *TLS, "destinationCACertificate"),
        "edge termination does not support destination certificates",
        "remove it, or write 'termination: reencrypt'",
    ),
    _Refusal(
        EXTERNAL,
        lambda route: termination(route) != "passthrough" and _both(route),
        "cannot specify both tls.certificate and tls.externalCertificate",
        "keep one of the two",
    ),
    _Refusal(
        ("spec", "path"),
        _with("passthrough", "spec", "path"),
        "passthrough termination does not support paths",
        "remove the path: who does not decrypt sees none",
    ),
    *(
        _Refusal(
            (*_ACTIONS, name),
            _with("passthrough", *_ACTIONS, name),
            "only edge and re-encrypt routes are supported for providing customized headers.",
            "remove the actions: who does not decrypt sees no header",
        )
        for name in ("request", "response")
    ),
    _Refusal(
        ("spec", "wildcardPolicy"),
        lambda route: route.text("spec", "wildcardPolicy") == "Subdomain" and not route.text("spec", "host"),
        "host name not specified for wildcard policy",
        "give spec.host",
    ),
)
"""openshift/library-go ``pkg/route/validation/validation.go``."""


def check_fields(subject: Subject) -> Iterator[Flaw]:
    """A Route's TLS fields go together."""
    route = subject.object
    if has_tls(route):
        yield from _unknown(route)
        yield from _insecure(route)
        yield from _nameless(route)
    for each in _REFUSALS:
        if each.when(route):
            yield _refused(each.at, each.says, each.fix)


def _refused(at: Steps, says: str, fix: str, *values: str, meant: str | None = None) -> Flaw:
    correction = f"{at[-1]}: {meant}" if meant else None
    return Flaw(message=f"the API server refuses it: {says}", at=at, fix=fix, expected=values, correction=correction)


def _unknown(route: KubeObject) -> Iterator[Flaw]:
    said = termination(route)
    if said not in _TERMINATIONS:
        listed = ", ".join(f'"{each}"' for each in _TERMINATIONS)
        written = route.at(*TLS, "termination")
        says = f"Unsupported value: {shown(written or '')}: supported values: {listed}"
        meant = nearest(written, _TERMINATIONS) if isinstance(written, str) else None
        fix = f"write {meant}" if meant else "write one of the three"
        yield _refused((*TLS, "termination"), says, fix, *_TERMINATIONS, meant=meant)


def _insecure(route: KubeObject) -> Iterator[Flaw]:
    said, allowed = route.at(*TLS, "insecureEdgeTerminationPolicy"), _POLICIES.get(termination(route), ())
    if said in (None, "") or not allowed or said in allowed:
        return
    listed = ", ".join(allowed)
    says = f"invalid value for InsecureEdgeTerminationPolicy option, acceptable values are {listed}, or empty"
    fix = "write Redirect, so that who comes in plain text is sent to https"
    meant = nearest(said, allowed) if isinstance(said, str) else None
    meant = None if meant == "Allow" else meant  # which another rule is against
    yield _refused((*TLS, "insecureEdgeTerminationPolicy"), says, fix, *allowed, meant=meant)


def _nameless(route: KubeObject) -> Iterator[Flaw]:
    if not route.has(*EXTERNAL) or route.text(*EXTERNAL, "name"):
        return
    beside = bool(route.text(*TLS, "certificate"))
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


FIELDS = ObjectRule(
    id="route-fields",
    subjects=(ROUTE,),
    check=check_fields,
)
