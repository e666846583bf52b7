"""Unknown fields, which the API server removes, and the right place of a security setting among them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from typing import Final

from scanner.files.source_positions import Steps, dotted, shown
from scanner.kube import kinds
from scanner.kube.kinds import CUSTOM_RESOURCE_DEFINITION, Kind
from scanner.kube.schema import FORMER, Array, Record, Shape, UnknownField, definition
from scanner.lint.fields.gateway_releases import kept_at
from scanner.lint.fields.schemas import KINDS, compare, shape_of
from scanner.model.object_rule import Flaw, ObjectRule, Subject

_PROFILE: Final = ("tlsSecurityProfile", "minTLSVersion", "ciphers")
_LISTENER: Final = ("certificateRefs", "mode")
_SETTINGS: Final[Mapping[Kind, tuple[str, ...]]] = {
    kinds.GATEWAY: (
        *(*_LISTENER, "frontend", "perPort", "validation", "caCertificateRefs"),
        *("clientCertificateRef", "allowedListeners"),
    ),
    kinds.LISTENER_SET: _LISTENER,
    kinds.X_LISTENER_SET: _LISTENER,
    kinds.BACKEND_TLS_POLICY: (
        *("validation", "hostname", "caCertificateRefs", "wellKnownCACertificates", "subjectAltNames"),
    ),
    kinds.ROUTE: (
        *("tls", "termination", "insecureEdgeTerminationPolicy", "externalCertificate"),
        *("certificate", "key", "caCertificate", "destinationCACertificate"),
    ),
    kinds.API_SERVER: (*_PROFILE, "tlsAdherence", "servingCerts", "namedCertificates", "clientCA"),
    kinds.INGRESS_CONTROLLER: (
        *(*_PROFILE, "defaultCertificate", "clientTLS", "clientCA"),
        *("clientCertificatePolicy", "allowedSubjectPatterns"),
    ),
    kinds.KUBELET_CONFIG: _PROFILE,
    kinds.HOSTED_CLUSTER: _PROFILE,
    kinds.HTTP_PROXY: (
        *("tls", "secretName", "minimumProtocolVersion", "clientValidation", "caSecret", "crlSecret"),
        *("validation", "subjectName", "subjectNames"),
    ),
    kinds.EXTENSION_SERVICE: ("validation", "caSecret", "subjectName", "subjectNames"),
}
"""Security settings by kind: without them, a listener or a connection is less protected than its manifest says."""
_VALIDATION: Final = ("spec", "tls", "frontend", "default", "validation")
_OTHER_NAMES: Final[Mapping[Kind, Mapping[str, tuple[str, ...]]]] = {
    kinds.GATEWAY: {
        "frontendValidation": _VALIDATION,
        "clientValidation": _VALIDATION,
        "backendTLS": ("spec", "tls", "backend"),
    },
}
"""Names of proposals and former releases, which no current definition has (GEP-91, GEP-3155)."""


_CUTOFF = 0.75
"""Similarity of a misspelt name, such as ``tlsSecurityProfil`` or ``certificateRef``, to the known one."""


def check_unknown(subject: Subject) -> Iterator[Flaw]:
    """The TLS parts of an object have only fields that their kind has."""
    for each in compare(subject):
        if isinstance(each, UnknownField):
            yield _flaw(subject, each)


def _flaw(subject: Subject, unknown: UnknownField) -> Flaw:
    message = f"unknown field {shown(unknown.name)}, removed by the API server"
    checked = f"checked against {definition(subject.object.kind)}"
    field = belongs(subject, unknown.at)
    if field:
        return Flaw(
            message=f"{message}: this security setting belongs in {field} ({checked})",
            at=unknown.at,
            severity="high",
            expected=(field,),
            observed=(dotted(unknown.at),),
            fix=f"{subject.object.reference}: move {unknown.name} to {field}",
        )
    near = nearest(unknown.name, unknown.known)
    return Flaw(
        message=f"{message}; did you mean {near}? ({checked})" if near else f"{message} ({checked})",
        at=unknown.at,
        severity=None if near else "low",
        expected=(near,) if near else unknown.known[:20],
        observed=(unknown.name,),
        fix=f"{subject.object.reference}: " + (f"rename the field to {near}" if near else "remove the field"),
        correction=f"{near}: ..." if near else None,
    )


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that is most similar to a misspelt one."""
    spellings = {each.lower(): each for each in known}
    close = get_close_matches(name[:80].lower(), spellings, n=1, cutoff=_CUTOFF)
    return spellings[close[0]] if close else None


UNKNOWN = ObjectRule(id="field-unknown", subjects=KINDS, check=check_unknown, reads=(CUSTOM_RESOURCE_DEFINITION,))


def belongs(subject: Subject, at: Steps) -> str | None:
    """The field where the misplaced setting at ``at`` belongs in the installed release; None if it is no security
    setting of the kind."""
    kind, name = subject.object.kind, str(at[-1])
    other = _OTHER_NAMES.get(kind, {}).get(name)
    paths: list[tuple[str, ...]] = [other] if other else []
    if name in _SETTINGS.get(kind, ()):
        paths = [each for each in _paths(shape_of(subject.object)) if each[-1] == name]
    if not paths:
        return None
    here = tuple(each for each in at if isinstance(each, str))
    closest = max(paths, key=lambda each: _common_steps(each, here))
    return kept_at(subject, ".".join(closest))


def _common_steps(path: tuple[str, ...], here: tuple[str, ...]) -> int:
    """The number of steps that both have in common from the top."""
    pairs = zip(path, here, strict=False)
    return next((count for count, (one, other) in enumerate(pairs) if one.removesuffix("[]") != other), len(here))


def _paths(shape: Shape) -> Iterator[tuple[str, ...]]:
    """The path of every field; ``[]`` follows the name of a list in the middle of a path."""
    for name, each in shape.fields.items() if isinstance(shape, Record) else ():
        if each != FORMER:
            yield (name,)
            inner, step = (each.items, f"{name}[]") if isinstance(each, Array) else (each, name)
            yield from ((step, *path) for path in _paths(inner))
