"""Every ``tlsSecurityProfile`` in an object, whatever kind it is of: whether its readers take it, and what they make of
it (openshift/api ``config/v1``)."""

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
    held_profiles,
    problems,
    profile_of,
    reader_of,
    refusals,
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
"""Kinds whose profile is looked at."""
_NAME: Final = "cluster"
_RECOMMENDED: Final = ("Intermediate", "Modern")
"""Types that stand in a correction: Old is weak, and Custom says nothing without a list."""

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
"""What the reader of the profile does not take, where the API's schema does."""
_SERIOUS: Final[frozenset[ProblemId]] = frozenset({"name-dropped"})
"""Harmless in a file that says what is required, and not in an object that configures servers."""


def check_type(subject: Subject) -> Iterator[Flaw]:
    """A `tlsSecurityProfile` has a type that the API knows, and the field of that type."""
    if subject.object.kind == API_SERVER and subject.object.name != _NAME:
        yield Flaw(
            message=f"the API server refuses it: must be {_NAME}",
            at=("metadata", "name"),
            expected=(_NAME,),
            fix=f"name it {_NAME}: there is one for each cluster",
        )
    for profile in held_profiles(subject.object):
        yield from _flaws(subject, profile, _ABOUT_TYPES)


GATE_READS: Final = (CLUSTER_VERSION, FEATURE_GATE)


def is_off(declared: Declared, names: tuple[str, ...]) -> bool:
    """Whether a gate, by all names that it ever had, is known to be off in the release that runs: then a field that was
    written is not kept."""
    version = declared.find(CLUSTER_VERSION, "version")
    release = "" if isinstance(version, Missing) else ClusterVersion.of(version).desired
    return feature_gates(declared.known, release).state(names) == "off"


def check_custom(subject: Subject) -> Iterator[Flaw]:
    """A Custom profile is one that its readers take."""
    for profile in held_profiles(subject.object):
        if profile.custom.said_groups is not None and is_off(subject.declared, GROUPS_GATE):
            message = (
                f"the feature gate {GROUPS_GATE[0]} is off: the API server removes groups without an error, and each "
                "component uses its default groups"
            )
            fix = "leave groups out, or turn the feature gate on"
            yield Flaw(message=message, at=(*profile.custom.steps, "groups"), severity="low", fix=fix)
        yield from _flaws(subject, profile, _ABOUT_CUSTOM)


def check_ciphers(subject: Subject) -> Iterator[Flaw]:
    """Every name in a Custom profile's `ciphers` selects a suite."""
    for profile in held_profiles(subject.object):
        yield from _flaws(subject, profile, _ABOUT_NAMES)


def _flaws(subject: Subject, profile: TLSSecurityProfile, about: frozenset[ProblemId]) -> Iterator[Flaw]:
    kind = subject.object.kind
    return (_flaw(each, profile, kind) for each in problems(profile, reader_of(kind)) if each.id in about)


def _flaw(each: Problem, profile: TLSSecurityProfile, kind: Kind) -> Flaw:
    message = each.message
    if each.schema:
        message = f"no API server accepts it: {message}"
    elif each.id in _REFUSED:
        message = f"{_refused_by(kind)}: {message}"
    elif each.id == "version-unset" and kind == API_SERVER:
        message += ", and an IngressController that inherits it is not admitted"
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
    """Who does not take what is wrong, for people."""
    if kind == API_SERVER:
        return "the API server refuses it"
    if kind == INGRESS_CONTROLLER:
        return (
            "the ingress operator does not admit this IngressController, and the router keeps its previous "
            "configuration"
        )
    return "the API server does not validate this field, and the effect in the component is undefined"


def _correction(each: Problem, profile: TLSSecurityProfile) -> str | None:
    if each.id == "type-unset":
        meant = next(name for name, field in PROFILE_FIELDS.items() if field == profile.given[0])
        return f"tlsSecurityProfile:\n  type: {meant}"
    if each.id == "version-unset":
        return "minTLSVersion: VersionTLS12"
    said = profile.type
    if each.id == "type-unknown":
        found = nearest(said, PROFILE_FIELDS) if said else None
        return (
            f"tlsSecurityProfile:\n  type: {found}\n  {PROFILE_FIELDS[found]}: {{}}" if found in _RECOMMENDED else None
        )
    if each.id == "field-missing" and said != "Custom":
        return f"tlsSecurityProfile:\n  type: {said}\n  {PROFILE_FIELDS[said]}: {{}}"
    return None


def check_version(subject: Subject) -> Iterator[Flaw]:
    """A `tlsSecurityProfile` asks for TLS 1.2 or later."""
    # What becomes of TLS 1.0 in a router: cluster-ingress-operator ``ingress/deployment.go``, SSL_MIN_VERSION.
    raised = "; a router speaks TLS 1.1 but not TLS 1.0" if subject.object.kind == INGRESS_CONTROLLER else ""
    for profile in held_profiles(subject.object):
        if profile.type == "Old":
            yield Flaw(
                message=f"the profile Old allows TLS 1.0 and 1.1{raised}",
                at=(*profile.steps, "type"),
                expected=("Intermediate", "Modern"),
                observed=("Old",),
                fix="choose Intermediate or Modern",
                correction="tlsSecurityProfile:\n  type: Intermediate\n  intermediate: {}",
            )
        said = profile.custom.minimum
        if said in VERSIONS[:2]:
            yield Flaw(
                message=f"{said} allows deprecated TLS versions{raised if said == VERSIONS[0] else ''}",
                at=(*profile.custom.steps, "minTLSVersion"),
                expected=VERSIONS[2:],
                observed=(said,),
                fix="write VersionTLS12",
                correction="minTLSVersion: VersionTLS12",
            )


TYPE = ObjectRule(id="tls-profile-type", subjects=SUBJECTS, check=check_type)
CUSTOM = ObjectRule(id="tls-profile-custom", subjects=SUBJECTS, check=check_custom, reads=GATE_READS)
CIPHERS = ObjectRule(id="tls-profile-ciphers", subjects=SUBJECTS, check=check_ciphers)
VERSION = ObjectRule(id="tls-profile-version", subjects=SUBJECTS, check=check_version)


# --- The profile that an APIServer hands on to its IngressControllers ----

_SPEC: Final = ("spec",)
_MODERN: Final = "tlsSecurityProfile:\n  type: Modern\n  modern: {}"
_MOST: Final = 50


def check_inherited(subject: Subject) -> Iterator[Flaw]:
    """An IngressController can take the profile that it inherits."""
    if subject.object.kind == API_SERVER:
        yield from _handed_on(subject)
    elif _inherits(subject.object):
        yield from _taken(subject)


def _inherits(controller: KubeObject) -> bool:
    """Without a type it is as if it had none (cluster-ingress-operator ``hasTLSSecurityProfile``)."""
    return not profile_of(controller).type


class _Conflict(NamedTuple):
    """Why a router's operator does not take a profile that the API server does."""

    why: str
    fix: str
    """What to do in the APIServer."""
    correction: str


def _conflict(server: KubeObject) -> _Conflict | None:
    profile = profile_of(server)
    custom = profile.custom
    if profile.type != "Custom":
        return None
    names, alone = custom.ciphers, custom.minimum == VERSIONS[-1]
    if bool(names) == alone:
        return None  # the API server refuses it: no ciphers, or some with VersionTLS13
    if alone:
        why = "is Custom with VersionTLS13 and must list no ciphers, but an IngressController requires ciphers"
        return _Conflict(why, "write 'type: Modern'", _MODERN)
    found = next(refusals(custom), None)
    correction = "minTLSVersion: VersionTLS12" if found and found.field == "minTLSVersion" else ""
    why = f"is Custom, and none that the ingress operator takes: {found.message}" if found else ""
    return _Conflict(why, found.fix, correction) if found else None


def _handed_on(subject: Subject) -> Iterator[Flaw]:
    conflict = _conflict(subject.object)
    if conflict is None:
        return
    controllers = subject.declared.every(INGRESS_CONTROLLER)
    heirs = [each for each in islice(controllers, _MOST) if _inherits(each)]
    if heirs:
        yield Flaw(
            message=f"it {conflict.why}: {heirs[0].reference} inherits it, and is not admitted",
            at=(*PROFILE, "custom"),
            observed=tuple(str(each.reference) for each in heirs[:5]),
            fix=f"{conflict.fix}, or give {heirs[0].reference} a profile of its own",
            correction=conflict.correction or None,
        )
    elif not controllers and (gap := subject.declared.gap(INGRESS_CONTROLLER)):
        missing = Missing(name=INGRESS_CONTROLLER.name, gap=gap)
        yield undecided(missing, (*PROFILE, "custom"), "whether an IngressController inherits what it cannot take")


def _taken(subject: Subject) -> Iterator[Flaw]:
    at = PROFILE if has_profile(subject.object) else _SPEC
    server = subject.find(API_SERVER, "cluster")
    if isinstance(server, Missing):
        if server.gap:
            yield undecided(server, at, "whether the ingress operator takes the profile that it inherits")
    elif conflict := _conflict(server):
        yield Flaw(
            message=(
                f"{server.reference} {conflict.why}: this IngressController is not admitted, and the router keeps its "
                "previous configuration"
            ),
            at=at,
            fix=f"{subject.object.reference}: add a tlsSecurityProfile of its own",
            correction=_MODERN,
        )


INHERITED = ObjectRule(id="ingress-profile-inherited", subjects=(API_SERVER, INGRESS_CONTROLLER), check=check_inherited)


_FIELDS: Final[Mapping[Kind, tuple[str, ...]]] = {
    API_SERVER: ("spec", "tlsAdherence"),
    HOSTED_CLUSTER: ("spec", "configuration", "apiServer", "tlsAdherence"),
}


def check_value(subject: Subject) -> Iterator[Flaw]:
    """`tlsAdherence` is one of the values that the API takes."""
    at = _FIELDS[subject.object.kind]
    said = api_server_config(subject.object).adherence
    if said is not None and subject.object.kind == API_SERVER and is_off(subject.declared, ADHERENCE_GATE):
        message = (
            f"the feature gate {ADHERENCE_GATE[0]} is off: the API server removes the field without an error, which "
            f"means {LEGACY}"
        )
        yield Flaw(message=message, at=at, severity="low", fix="leave it out, or turn the feature gate on")
    if said is None or said in (STRICT, LEGACY):
        return
    means = SPELLINGS.get(said) if isinstance(said, str) and said else None
    known = f"an earlier spelling of {means}" if means else "unknown to every release: components treat it as strict"
    yield Flaw(
        message=f'the API server refuses it: Unsupported value: {shown(said)}: supported values: "{LEGACY}", "{STRICT}"'
        f" ({known})",
        at=at,
        expected=(STRICT, LEGACY),
        observed=(shown(said),),
        fix=f"write {means}" if means else f"write {STRICT} or {LEGACY}",
        correction=f"tlsAdherence: {means or STRICT}",
    )


def check_removed(subject: Subject) -> Iterator[Flaw]:
    """`tlsAdherence` stays once it is set."""
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
            fix=f"keep tlsAdherence: {keep}" if before is not None else "write a value, or leave the field out",
            correction=f"tlsAdherence: {keep}",
        )
    elif before is not None and _means(before) == STRICT and _means(now) == LEGACY:
        yield Flaw(
            message="it goes from strict to legacy: components that do not follow the profile are no bugs any more",
            at=at,
            severity="info",
            status="informational",
            observed=(shown(before), shown(now)),
        )


def _means(said: object) -> str:
    return SPELLINGS.get(said, STRICT) if isinstance(said, str) else STRICT


VALUE = ObjectRule(id="adherence-value", subjects=tuple(_FIELDS), check=check_value, reads=GATE_READS)
REMOVED = ObjectRule(id="adherence-removed", subjects=tuple(_FIELDS), check=check_removed)
