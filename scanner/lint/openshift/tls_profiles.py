"""``tlsSecurityProfile`` in objects of any kind: values that components refuse, ignore or misread, the profile that an
IngressController inherits, and ``tlsAdherence`` (openshift/api ``config/v1``)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Final, NamedTuple

from scanner.files.source_positions import shown
from scanner.kube.api_server import (
    ADHERENCE_GATE,
    GROUPS_GATE,
    LEGACY,
    SPELLINGS,
    STRICT,
    api_server_config,
    feature_gates,
)
from scanner.kube.kinds import (
    API_SERVER,
    CLUSTER_VERSION,
    FEATURE_GATE,
    HOSTED_CLUSTER,
    HOSTED_CONTROL_PLANE,
    INGRESS_CONTROLLER,
    KUBELET_CONFIG,
    Kind,
)
from scanner.kube.objects import KubeObject
from scanner.kube.openshift import ClusterVersion
from scanner.kube.tls_profile import (
    HARMLESS,
    PROFILE,
    PROFILE_FIELDS,
    VERSIONS,
    Problem,
    ProblemId,
    TLSSecurityProfile,
    has_profile,
    nested_profiles,
    problems,
    profile_of,
    reader_of,
    router_refusals,
)
from scanner.lint.fields.unknown_fields import nearest
from scanner.model.declared import Declared, Missing
from scanner.model.object_rule import ANY, Flaw, ObjectRule, Subject, undecided

SUBJECTS: Final[tuple[Kind, ...]] = (
    API_SERVER,
    INGRESS_CONTROLLER,
    KUBELET_CONFIG,
    HOSTED_CLUSTER,
    HOSTED_CONTROL_PLANE,
    ANY,
)
"""Kinds whose profile is checked."""
_NAME: Final = "cluster"
_RECOMMENDED: Final = ("Intermediate", "Modern")
"""Types for a correction: Old is weak, and Custom needs a list."""

_ABOUT_TYPES: Final[frozenset[ProblemId]] = frozenset({"type-unset", "type-unknown", "field-missing", "field-ignored"})
_ABOUT_CUSTOM: Final[frozenset[ProblemId]] = frozenset(
    {
        *("version-unknown", "version-unset", "suites-fixed", "suites-none", "suites-http2", "router"),
        *("groups-ignored", "groups-count", "group-unknown", "group-twice"),
    }
)
_ABOUT_NAMES: Final[frozenset[ProblemId]] = frozenset(
    {"name-set", "name-unknown", "name-dropped", "name-twice", "name-idle", "tls13-stays"}
)
_REFUSED: Final[frozenset[ProblemId]] = frozenset(
    {"type-unset", "field-missing", "suites-fixed", "suites-none", "suites-http2", "router"}
)
"""Problems for which the reader refuses the profile, although the API's schema accepts it."""
_SERIOUS: Final[frozenset[ProblemId]] = frozenset({"name-dropped"})
"""Harmless in a file with requirements, but not in an object that configures servers."""


def check_type(subject: Subject) -> Iterator[Flaw]:
    """A `tlsSecurityProfile` has a type that the API knows, and the field of that type."""
    if subject.object.kind == API_SERVER and subject.object.name != _NAME:
        yield Flaw(
            message=f"the API server refuses the object: must be {_NAME}",
            at=("metadata", "name"),
            expected=(_NAME,),
            fix=f"set metadata.name to {_NAME}: a cluster has one",
        )
    for profile in nested_profiles(subject.object):
        yield from _flaws(subject, profile, _ABOUT_TYPES)


GATE_READS: Final = (CLUSTER_VERSION, FEATURE_GATE)


def is_off(declared: Declared, names: tuple[str, ...]) -> bool:
    """True if a feature gate, with these names over time, is known to be off: then the API server removes its field."""
    version = declared.find(CLUSTER_VERSION, "version")
    release = "" if isinstance(version, Missing) else ClusterVersion.of(version).desired
    return feature_gates(declared.known, release).state(names) == "off"


def check_custom(subject: Subject) -> Iterator[Flaw]:
    """A Custom profile is accepted by its readers."""
    for profile in nested_profiles(subject.object):
        if profile.custom.raw_groups is not None and is_off(subject.declared, GROUPS_GATE):
            message = (
                f"the feature gate {GROUPS_GATE[0]} is off: the API server removes groups without an error, and each "
                "component uses its default groups"
            )
            fix = "remove groups, or turn the feature gate on"
            yield Flaw(message=message, at=(*profile.custom.steps, "groups"), severity="low", fix=fix)
        yield from _flaws(subject, profile, _ABOUT_CUSTOM)


def check_ciphers(subject: Subject) -> Iterator[Flaw]:
    """Every name in a Custom profile's `ciphers` selects a suite."""
    for profile in nested_profiles(subject.object):
        yield from _flaws(subject, profile, _ABOUT_NAMES)


def _flaws(subject: Subject, profile: TLSSecurityProfile, about: frozenset[ProblemId]) -> Iterator[Flaw]:
    kind = subject.object.kind
    return (_flaw(each, profile, kind) for each in problems(profile, reader_of(kind)) if each.id in about)


def _flaw(each: Problem, profile: TLSSecurityProfile, kind: Kind) -> Flaw:
    message = each.message
    if each.schema:
        message = f"the API server refuses the object: {message}"
    elif each.id in _REFUSED:
        message = f"{_refused_by(kind)}: {message}"
    elif each.id == "version-unset" and kind == API_SERVER:
        message += ", and the operator rejects an IngressController that inherits it"
    if each.id == "tls13-stays":
        return Flaw(message=message, at=each.at, severity="info", status="informational")
    return Flaw(
        message=message,
        at=each.at,
        severity="low" if each.id in HARMLESS - _SERIOUS else None,
        expected=each.expected,
        fix=each.fix,
        correction=_correction(each, profile),
        evidence=(f"admission of an APIServer says: {each.admission}",) if each.admission else (),
    )


def _refused_by(kind: Kind) -> str:
    """The component that refuses the profile, and the effect."""
    if kind == API_SERVER:
        return "the API server refuses the object"
    if kind == INGRESS_CONTROLLER:
        return (
            "the ingress operator does not admit this IngressController, and the router keeps its previous "
            "configuration"
        )
    return "the API server does not check this field, and what the component does with it is undefined"


def _correction(each: Problem, profile: TLSSecurityProfile) -> str | None:
    if each.id == "type-unset":
        name = next(name for name, field in PROFILE_FIELDS.items() if field == profile.type_fields[0])
        return f"tlsSecurityProfile:\n  type: {name}"
    if each.id == "version-unset":
        return "minTLSVersion: VersionTLS12"
    name = profile.type
    if each.id == "type-unknown":
        found = nearest(name, PROFILE_FIELDS) if name else None
        return (
            f"tlsSecurityProfile:\n  type: {found}\n  {PROFILE_FIELDS[found]}: {{}}" if found in _RECOMMENDED else None
        )
    if each.id == "field-missing" and name != "Custom":
        return f"tlsSecurityProfile:\n  type: {name}\n  {PROFILE_FIELDS[name]}: {{}}"
    return None


def check_version(subject: Subject) -> Iterator[Flaw]:
    """A `tlsSecurityProfile` requires TLS 1.2 or later."""
    # The router's minimum for TLS 1.0: cluster-ingress-operator ``ingress/deployment.go``, SSL_MIN_VERSION.
    raised = "; a router with it accepts TLS 1.1, but not TLS 1.0" if subject.object.kind == INGRESS_CONTROLLER else ""
    for profile in nested_profiles(subject.object):
        if profile.type == "Old":
            yield Flaw(
                message=f"the profile Old allows TLS 1.0 and 1.1{raised}",
                at=(*profile.steps, "type"),
                expected=("Intermediate", "Modern"),
                observed=("Old",),
                fix="set type to Intermediate or Modern",
                correction="tlsSecurityProfile:\n  type: Intermediate\n  intermediate: {}",
            )
        minimum = profile.custom.minimum
        if minimum in VERSIONS[:2]:
            yield Flaw(
                message=f"{minimum} allows deprecated TLS versions{raised if minimum == VERSIONS[0] else ''}",
                at=(*profile.custom.steps, "minTLSVersion"),
                expected=VERSIONS[2:],
                observed=(minimum,),
                fix="set minTLSVersion to VersionTLS12",
                correction="minTLSVersion: VersionTLS12",
            )


TYPE = ObjectRule(id="tls-profile-type", subjects=SUBJECTS, check=check_type)
CUSTOM = ObjectRule(id="tls-profile-custom", subjects=SUBJECTS, check=check_custom, reads=GATE_READS)
CIPHERS = ObjectRule(id="tls-profile-ciphers", subjects=SUBJECTS, check=check_ciphers)
VERSION = ObjectRule(id="tls-profile-version", subjects=SUBJECTS, check=check_version)


# --- The profile that IngressControllers inherit from the APIServer ---------------------------------------------------

_SPEC: Final = ("spec",)
_MODERN: Final = "tlsSecurityProfile:\n  type: Modern\n  modern: {}"
_MOST: Final = 50


def check_inherited(subject: Subject) -> Iterator[Flaw]:
    """An IngressController accepts the profile that it inherits."""
    if subject.object.kind == API_SERVER:
        yield from _server_flaws(subject)
    elif _inherits(subject.object):
        yield from _controller_flaws(subject)


def _inherits(controller: KubeObject) -> bool:
    """A profile without a type counts as none (cluster-ingress-operator ``hasTLSSecurityProfile``)."""
    return not profile_of(controller).type


class _Conflict(NamedTuple):
    """A fault of a profile that the ingress operator refuses and the API server accepts."""

    why: str
    fix: str
    """The change in the APIServer."""
    correction: str


def _conflict(server: KubeObject) -> _Conflict | None:
    profile = profile_of(server)
    custom = profile.custom
    if profile.type != "Custom":
        return None
    names, only_tls13 = custom.ciphers, custom.minimum == VERSIONS[-1]
    if bool(names) == only_tls13:
        return None  # the API server refuses it: no ciphers, or some with VersionTLS13
    if only_tls13:
        why = "has type Custom and VersionTLS13 and thus may not list ciphers, but an IngressController must"
        return _Conflict(why, "set 'type: Modern'", _MODERN)
    found = next(router_refusals(custom), None)
    correction = "minTLSVersion: VersionTLS12" if found and found.field == "minTLSVersion" else ""
    why = f"is a Custom profile that the ingress operator refuses: {found.message}" if found else ""
    return _Conflict(why, found.fix, correction) if found else None


def _server_flaws(subject: Subject) -> Iterator[Flaw]:
    conflict = _conflict(subject.object)
    if conflict is None:
        return
    controllers = subject.declared.every(INGRESS_CONTROLLER)
    inheriting = [each for each in islice(controllers, _MOST) if _inherits(each)]
    if inheriting:
        yield Flaw(
            message=f"it {conflict.why}: {inheriting[0].reference} inherits it, and the operator rejects that",
            at=(*PROFILE, "custom"),
            observed=tuple(str(each.reference) for each in inheriting[:5]),
            fix=f"{conflict.fix}, or set spec.tlsSecurityProfile in {inheriting[0].reference}",
            correction=conflict.correction or None,
        )
    elif not controllers and (gap := subject.declared.gap(INGRESS_CONTROLLER)):
        missing = Missing(name=INGRESS_CONTROLLER.name, gap=gap)
        yield undecided(missing, (*PROFILE, "custom"), "whether an IngressController inherits this profile")


def _controller_flaws(subject: Subject) -> Iterator[Flaw]:
    at = PROFILE if has_profile(subject.object) else _SPEC
    server = subject.find(API_SERVER, "cluster")
    if isinstance(server, Missing):
        if server.gap:
            yield undecided(server, at, "whether the ingress operator accepts the inherited profile")
    elif conflict := _conflict(server):
        yield Flaw(
            message=(
                f"{server.reference} {conflict.why}: this IngressController is not admitted, and the router keeps its "
                "previous configuration"
            ),
            at=at,
            fix=f"{subject.object.reference}: set spec.tlsSecurityProfile",
            correction=_MODERN,
        )


INHERITED = ObjectRule(id="ingress-profile-inherited", subjects=(API_SERVER, INGRESS_CONTROLLER), check=check_inherited)


# --- tlsAdherence -----------------------------------------------------------------------------------------------------

_FIELDS: Final[Mapping[Kind, tuple[str, ...]]] = {
    API_SERVER: ("spec", "tlsAdherence"),
    HOSTED_CLUSTER: ("spec", "configuration", "apiServer", "tlsAdherence"),
}


def check_value(subject: Subject) -> Iterator[Flaw]:
    """`tlsAdherence` has a value that the API accepts."""
    at = _FIELDS[subject.object.kind]
    value = api_server_config(subject.object).adherence
    if value is not None and subject.object.kind == API_SERVER and is_off(subject.declared, ADHERENCE_GATE):
        message = (
            f"the feature gate {ADHERENCE_GATE[0]} is off: the API server removes the field without an error, which "
            f"means {LEGACY}"
        )
        yield Flaw(message=message, at=at, severity="low", fix="remove tlsAdherence, or turn the feature gate on")
    if value is None or value in (STRICT, LEGACY):
        return
    means = SPELLINGS.get(value) if isinstance(value, str) and value else None
    known = (
        f"an earlier spelling of {means}"
        if means
        else "unknown to every release; if it is stored, components treat it as StrictAllComponents"
    )
    yield Flaw(
        message=f"the API server refuses the object: Unsupported value: {shown(value)}: "
        f'supported values: "{LEGACY}", "{STRICT}"; the value is {known}',
        at=at,
        expected=(STRICT, LEGACY),
        observed=(shown(value),),
        fix=f"set {means}" if means else f"set {STRICT} or {LEGACY}",
        correction=f"tlsAdherence: {means or STRICT}",
    )


def check_removed(subject: Subject) -> Iterator[Flaw]:
    """`tlsAdherence` is not removed once it is set."""
    at = _FIELDS[subject.object.kind]
    before = api_server_config(subject.before).adherence if subject.before is not None else None
    config = api_server_config(subject.object)
    now, holder = config.adherence, config.raw
    if now is None and (before is not None or at[-1] in holder):
        keep = before if isinstance(before, str) and before in SPELLINGS and before else LEGACY
        refused = "the API server refuses it: tlsAdherence may not be removed once set"
        yield Flaw(
            message=refused if before is not None else "null removes tlsAdherence, which may not be removed once set",
            at=at if at[-1] in holder else ("spec",),
            severity="high" if before is not None else "medium",
            expected=(shown(before),) if before is not None else (STRICT, LEGACY),
            fix=f"keep tlsAdherence: {keep}" if before is not None else "set a value, or remove the field",
            correction=f"tlsAdherence: {keep}",
        )
    elif before is not None and _means(before) == STRICT and _means(now) == LEGACY:
        yield Flaw(
            message="it changes from strict to legacy: components are no longer required to follow the profile",
            at=at,
            severity="info",
            status="informational",
            observed=(shown(before), shown(now)),
        )


def _means(value: object) -> str:
    return SPELLINGS.get(value, STRICT) if isinstance(value, str) else STRICT


VALUE = ObjectRule(id="adherence-value", subjects=tuple(_FIELDS), check=check_value, reads=GATE_READS)
REMOVED = ObjectRule(id="adherence-removed", subjects=tuple(_FIELDS), check=check_removed)
