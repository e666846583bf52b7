"""``tlsSecurityProfile``: the profile that it means to each of its readers, and its problems.

Scans, lint and ``--profile FILE`` all use this module. The readers differ in the defaults of missing values
(openshift/api ``config/v1/types_tlssecurityprofile.go`` leaves them open) and in their cipher suites: library-go and
the machine config operator configure Go's servers, the ingress operator HAProxy with OpenSSL.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Final, Literal, NamedTuple, TypeAlias

from msgspec import Struct

from scanner.files.problems import did_you_mean
from scanner.files.source_positions import dotted, shown
from scanner.kube import kinds
from scanner.kube.kinds import Kind
from scanner.kube.maybe import Known, Unknown
from scanner.kube.objects import Fields, Reference, Steps
from scanner.kube.view import Part, Text, Texts, Value, View
from scanner.tls.codepoints import SUITES, TLS13
from scanner.tls.names import (
    GO_SUITES,
    HTTP2_SUITES,
    HYPERSHIFT_SUITES,
    TLS13_NAMES,
    TLS13_SUITES,
    group_code,
    is_a_set,
    is_tls13,
    openssl_name,
    suite_named,
    version_code,
)
from scanner.values import replace


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """A TLS profile: allowed versions, suites and groups, as code points of the protocol."""

    name: str
    """Canonical name: ``openshift/4.23/intermediate``, ``mozilla/5.8/modern``, ``custom``."""
    min_version: int
    """Lowest version that may be accepted, for example 0x0303 for TLS 1.2."""
    suites: tuple[int, ...]
    """Every allowed cipher suite of every version, in the profile's order."""
    groups: tuple[int, ...] | None
    """Every allowed key-exchange group in the profile's order, or None: the profile does not restrict them."""
    source: str
    """Source of the definition: document and date, or file and line."""
    asked: str = field(default="", compare=False)
    """Name in the user's request: ``intermediate@4.22``. Empty without a request."""
    notes: tuple[str, ...] = ()
    """Notes on the expectation, for example names that were dropped and why."""

    @property
    def said(self) -> str:
        """Its name, with the requested name if that names a release."""
        return f"{self.name} (requested as {self.asked})" if "@" in self.asked else self.name


# --- The API's type ---------------------------------------------------------------------------------------------------

PROFILE_FIELDS: Final[Mapping[str, str]] = {name: name.lower() for name in ("Old", "Intermediate", "Modern", "Custom")}
"""Values of ``type``, and the field of each."""
VERSIONS: Final = ("VersionTLS10", "VersionTLS11", "VersionTLS12", "VersionTLS13")
GROUPS: Final = (
    "X25519",
    "secp256r1",
    "secp384r1",
    "secp521r1",
    "X25519MLKEM768",
    "SecP256r1MLKEM768",
    "SecP384r1MLKEM1024",
)
"""The enumeration ``TLSGroup``. The field is behind the feature gate TLSGroupPreferences (from 4.23)."""
FIELD: Final = "tlsSecurityProfile"
PROFILE: Final = ("spec", FIELD)
"""Path in an APIServer, an IngressController and a KubeletConfig."""
HOSTED_PROFILE: Final = ("spec", "configuration", "apiServer", FIELD)
"""Path in a HostedCluster and a HostedControlPlane."""

_OPENSSL: Final = tuple(suite.openssl for suite in SUITES if suite.openssl)
_HTTP2_NAMES: Final = tuple(str(openssl_name(code)) for code in HTTP2_SUITES)
_LIKE_A_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_+-]+", re.ASCII)
_CUSTOM_FIELDS: Final = ("ciphers", "minTLSVersion", "groups")
_MOST: Final = 500
"""Maximum number of names that are read from a list; there are 372 suites."""
_GUESSED: Final = 20
"""Maximum number of unknown names in one list that get a suggestion."""
_GROUPS_AT_MOST: Final = 7
_DEEPEST: Final = 8
_MOST_VALUES: Final = 20_000
"""Maximum number of values of one object that are searched for profiles, and maximum depth."""


class CustomProfile(View):
    """``custom``, which has an effect for type Custom only."""

    ciphers = Texts()
    raw_ciphers = Value("ciphers")
    """Raw value of ``ciphers``."""
    minimum = Text("minTLSVersion")
    raw_minimum = Value("minTLSVersion")
    groups = Texts()
    raw_groups = Value("groups")


class TLSSecurityProfile(View):
    """Value of the field."""

    type = Text()
    raw_type = Value("type")
    """Raw value of ``type``."""
    _custom = Part(CustomProfile, "custom")

    @property
    def custom(self) -> CustomProfile:
        """``custom`` for type Custom; empty for any other type."""
        return self._custom if self.type == "Custom" else CustomProfile({}, self._custom.steps)

    @property
    def type_fields(self) -> tuple[str, ...]:
        """The fields of types that are set, for its own type or another."""
        return tuple(name for name in PROFILE_FIELDS.values() if self.has(name))


def profile_of(holder: Fields, steps: tuple[str, ...] = PROFILE) -> TLSSecurityProfile:
    """The profile at ``steps``; an empty one if there is none."""
    return TLSSecurityProfile(holder.fields(*steps).raw, steps)


def has_profile(holder: Fields, steps: tuple[str, ...] = PROFILE) -> bool:
    """True if the value is not null."""
    return holder.has(*steps)


def has_mapping(holder: Fields, steps: tuple[str, ...]) -> bool:
    """True if the value is a mapping: some readers take nothing else for a configured profile."""
    return isinstance(holder.at(*steps), Mapping)


def nested_profiles(each: Fields) -> Iterator[TLSSecurityProfile]:
    """Every profile below ``spec`` of an object of any kind, the outermost first."""
    waiting: deque[tuple[Steps, object]] = deque([(("spec",), each.at("spec"))])
    seen = 0
    while waiting and seen < _MOST_VALUES:
        steps, value = waiting.popleft()
        inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for step, item in inner:
            seen += 1
            if step == FIELD and isinstance(item, dict):
                yield TLSSecurityProfile(item, (*steps, FIELD))
            elif isinstance(item, dict | list) and len(steps) < _DEEPEST:
                waiting.append(((*steps, step), item))


# --- Readers ----------------------------------------------------------------------------------------------------------

Default = Literal["intermediate", "inherit", "refused", "undefined"]
"""Default for a missing value. ``inherit``: the next object above decides. ``refused``: the reader refuses it and keeps
the previous profile. ``undefined``: the reader crashes, or its behaviour is not documented."""


class Reader(Struct, frozen=True, kw_only=True):
    """An implementation that reads the field: its defaults and its cipher suites."""

    name: str
    nil: Default
    """Default without ``tlsSecurityProfile``."""
    empty: Default
    """Default without a type."""
    no_custom: Default
    """Default for ``type: Custom`` without ``custom``."""
    other: Default = "undefined"
    """Default for an unknown type."""
    no_version: Default = "intermediate"
    """Default for a Custom profile without ``minTLSVersion``; ``intermediate``: the version of Intermediate."""
    admission: bool = False
    """True if the API server's admission checks the profile (openshift/kubernetes ``validate_apiserver.go``)."""
    server: str = "Go"
    """Name of the TLS server."""
    suites: frozenset[int] | None = GO_SUITES
    """Suites of that server; None: every suite that OpenSSL names."""
    groups: bool = True
    """True if it passes ``groups`` on."""
    source: str

    @property
    def is_router(self) -> bool:
        """True if HAProxy is the server, which uses only the TLS 1.3 suites that are listed. Go always uses its
        three."""
        return self.suites is None


LIBRARY_GO: Final = Reader(
    name="library-go",
    nil="intermediate",
    empty="intermediate",
    no_custom="intermediate",
    admission=True,
    source="openshift/library-go pkg/operator/configobserver/apiserver/observe_tlssecurityprofile.go",
)
INGRESS_OPERATOR: Final = Reader(
    name="the ingress operator",
    nil="inherit",
    empty="inherit",
    no_custom="refused",
    no_version="refused",
    server="HAProxy",
    suites=None,
    source="openshift/cluster-ingress-operator pkg/operator/controller/ingress/controller.go",
)
INHERITED_BY_INGRESS: Final = replace(INGRESS_OPERATOR, nil="intermediate", empty="intermediate")
"""The same operator, reading the APIServer's profile for an IngressController without one of its own."""
MACHINE_CONFIG: Final = Reader(
    name="the machine config operator",
    nil="inherit",
    empty="intermediate",
    no_custom="intermediate",
    other="intermediate",
    groups=False,
    source="openshift/machine-config-operator pkg/controller/common/helpers.go",
)
HYPERSHIFT: Final = Reader(
    name="HyperShift",
    nil="intermediate",
    empty="undefined",
    no_custom="undefined",
    server="HyperShift",
    suites=HYPERSHIFT_SUITES,
    groups=False,
    source="openshift/hypershift support/config/cipher.go",
)
MICROSHIFT_INGRESS: Final = Reader(
    name="MicroShift's router",
    nil="intermediate",
    empty="intermediate",
    no_custom="refused",
    server="HAProxy",
    suites=None,
    source="openshift/microshift pkg/config/ingress.go",
)
OTHER: Final = Reader(
    name="its reader",
    nil="intermediate",
    empty="intermediate",
    no_custom="intermediate",
    source="kinds that are not OpenShift's own configuration: a server of Go's, and no admission",
)
_BY_KIND: Final[Mapping[Kind, Reader]] = {
    kinds.API_SERVER: LIBRARY_GO,
    kinds.HOSTED_CLUSTER: HYPERSHIFT,
    kinds.HOSTED_CONTROL_PLANE: HYPERSHIFT,
    kinds.INGRESS_CONTROLLER: INGRESS_OPERATOR,
    kinds.KUBELET_CONFIG: MACHINE_CONFIG,
}


def reader_of(kind: Kind | str) -> Reader:
    """The reader of the profile in an object of this kind; for a file, by the kind's name."""
    return next((reader for each, reader in _BY_KIND.items() if kind in (each, each.name)), OTHER)


# --- What is wrong ----------------------------------------------------------------------------------------------------

ProblemId = Literal[
    "shape",
    "field-unknown",
    "too-many",
    "type-unset",
    "type-unknown",
    "field-missing",
    "field-ignored",
    "version-unknown",
    "version-unset",
    "suites-fixed",
    "suites-none",
    "suites-http2",
    "router",
    "groups-ignored",
    "groups-count",
    "group-unknown",
    "group-twice",
    "name-set",
    "name-unknown",
    "name-dropped",
    "name-twice",
    "name-idle",
    "tls13-stays",
]
HARMLESS: Final[frozenset[ProblemId]] = frozenset(
    {"field-ignored", "version-unset", "groups-ignored", "name-dropped", "name-twice", "name-idle", "tls13-stays"}
)
"""Problems of an accepted profile: a part of it has no effect, or has the meaning of the reader's default."""
_MISPLACED: Final = {name: f"put it under 'custom:', where {name} belongs" for name in _CUSTOM_FIELDS}
_NOT_WITH_TLS13: Final = (
    "Cipher suites cannot be configured when minTLSVersion is VersionTLS13. "
    "TLS 1.3 cipher suites are hardcoded by the Go runtime."
)
"""The enhancement's words; the admission that shipped has a shorter message."""


class Problem(Struct, frozen=True, kw_only=True):
    """One thing that is wrong with a profile."""

    id: ProblemId
    at: Steps
    """Path of the field from the top of the object."""
    message: str
    fix: str
    schema: bool = False
    """True if the API's schema refuses it; otherwise its reader, the admission or nothing does."""
    expected: tuple[str, ...] = ()
    admission: str = ""
    """The message of an APIServer's admission, if it differs."""
    key: bool = False
    """True if it is about the field's name, not its value."""


def problems(profile: TLSSecurityProfile, reader: Reader, *, iana: bool = False) -> Iterator[Problem]:
    """Yield every problem of a profile for its reader. ``iana``: IANA names of suites count like OpenSSL's."""
    yield from _unknown_fields(profile, ("type", *PROFILE_FIELDS.values()), _MISPLACED)
    raw_type, type_fields = profile.raw_type, profile.type_fields
    if raw_type is None or (raw_type == "" and type_fields):
        if type_fields:
            meant = next(name for name, field in PROFILE_FIELDS.items() if field == type_fields[0])
            message = "one of the profiles is set but 'type' field is empty"
            yield Problem(id="type-unset", at=profile.steps, message=message, fix=f"add 'type: {meant}'")
    elif not isinstance(raw_type, str) or raw_type not in PROFILE_FIELDS:
        yield Problem(
            id="type-unknown",
            at=(*profile.steps, "type"),
            message=_unsupported(raw_type, PROFILE_FIELDS),
            fix=_did_you_mean(raw_type, PROFILE_FIELDS),
            schema=True,
            expected=tuple(PROFILE_FIELDS),
        )
    else:
        yield from _fields_of(profile, raw_type, reader)
        if raw_type == "Custom" and "custom" in type_fields:
            yield from _custom_problems(profile.custom, reader, iana=iana)


def refused_problems(profile: TLSSecurityProfile, reader: Reader, *, iana: bool = False) -> Iterator[Problem]:
    """Yield the problems for which a cluster refuses a profile. A list with an unknown name is not called
    insufficient."""
    found = [each for each in problems(profile, reader, iana=iana) if each.id not in HARMLESS]
    doubtful = [each.at for each in found if each.id in ("shape", "too-many", "name-unknown")]
    unknown = any("ciphers" in at or at[-1] == "custom" for at in doubtful)
    return (each for each in found if not (unknown and each.id in ("suites-none", "suites-http2")))


def _unsupported(value: object, known: Mapping[str, str] | tuple[str, ...]) -> str:
    listed = ", ".join(f'"{name}"' for name in known)
    return f"Unsupported value: {shown(value)}: supported values: {listed}"


def _did_you_mean(value: object, known: Mapping[str, str] | tuple[str, ...]) -> str:
    return did_you_mean(value, known) if isinstance(value, str) else f"use one of: {', '.join(known)}"


def ignored(profile: TLSSecurityProfile) -> Iterator[str]:
    """Yield notes on fields of other types than its own."""
    others = [name for name in profile.type_fields if name != PROFILE_FIELDS.get(profile.type)]
    if others and profile.type in PROFILE_FIELDS:
        yield f"type is {profile.type}, so {' and '.join(others)} has no effect"


def _unknown_fields(view: View, known: tuple[str, ...], elsewhere: Mapping[str, str]) -> Iterator[Problem]:
    for name in islice(view.raw, _MOST):
        if name not in known:
            fix = elsewhere.get(name) or did_you_mean(name, known)
            what = f"unknown field {shown(name)}"
            yield Problem(id="field-unknown", at=(*view.steps, name), message=what, fix=fix, key=True)


def _fields_of(profile: TLSSecurityProfile, type_: str, reader: Reader) -> Iterator[Problem]:
    own = PROFILE_FIELDS[type_]
    if own not in profile.type_fields and (reader.admission or type_ == "Custom"):
        yield Problem(
            id="field-missing",
            at=(*profile.steps, "type"),
            message=f"type set to {type_}, but the corresponding field is unset",
            fix=f"add '{own}: {{}}'" if type_ != "Custom" else "add the field custom with ciphers and minTLSVersion",
        )
    for name in profile.type_fields:
        at = (*profile.steps, name)
        value = profile.at(name)
        if not isinstance(value, Mapping):
            message = f"must be a mapping, not {shown(value)}"
            yield Problem(id="shape", at=at, message=message, fix=f"write '{name}: {{}}'", schema=True)
        elif name != own:
            fix = f"remove {name}, or change the type"
            yield Problem(id="field-ignored", at=at, message=f"type is {type_}, so {name} has no effect", fix=fix)
        elif name != "custom":
            hint = f"leave it empty, '{own}: {{}}', or write a profile of your own with 'type: Custom'"
            yield from _unknown_fields(View(value, at), (), dict.fromkeys(_CUSTOM_FIELDS, hint))


def _custom_problems(custom: CustomProfile, reader: Reader, *, iana: bool) -> Iterator[Problem]:
    yield from _unknown_fields(custom, _CUSTOM_FIELDS, {"curves": "the field is called groups"})
    yield from _version_problems(custom, reader)
    if reader.is_router:
        for each in _refusals(custom, reader):
            yield Problem(id="router", at=(*custom.steps, each.field), message=each.message, fix=each.fix)
    else:
        yield from _suite_problems(custom, iana=iana)
    yield from _group_problems(custom, reader)
    yield from _name_problems(custom, reader)


def _version_problems(custom: CustomProfile, reader: Reader) -> Iterator[Problem]:
    value, at = custom.raw_minimum, (*custom.steps, "minTLSVersion")
    if value not in (None, *VERSIONS):
        yield Problem(
            id="version-unknown",
            at=at,
            message=_unsupported(value, VERSIONS),
            fix=_version_meant(value),
            schema=True,
            expected=VERSIONS,
        )
    elif not value and not reader.is_router:
        yield Problem(
            id="version-unset",
            at=at,
            message="minTLSVersion is not set, which means VersionTLS12",
            fix="write 'minTLSVersion: VersionTLS12'",
            expected=VERSIONS[2:],
        )


def _version_meant(value: object) -> str:
    """Suggest the API's name for another spelling of a version: ``TLSv1.2``, 1.2."""
    try:
        meant = version_code(str(value)[:40])
    except KeyError:
        return _did_you_mean(value, VERSIONS)
    return next((f"write {name}" for name in VERSIONS if version_code(name) == meant), _did_you_mean(value, VERSIONS))


def _suite_problems(custom: CustomProfile, *, iana: bool) -> Iterator[Problem]:
    """Yield the problems for Go, which uses all TLS 1.3 suites whatever is listed."""
    names, at = custom.ciphers[:_MOST], (*custom.steps, "ciphers")
    if custom.minimum == VERSIONS[-1]:
        if names:
            yield Problem(
                id="suites-fixed",
                at=at,
                message=_NOT_WITH_TLS13,
                fix="remove ciphers, or write 'minTLSVersion: VersionTLS12'",
                admission="TLS 1.3 cipher suites are not configurable",
                key=True,
            )
        return
    found = [(name, code) for name in names if (code := suite_named(name)) is not None]
    mapped = {code for name, code in found if iana or openssl_name(code) == name}
    if GO_SUITES.isdisjoint(mapped):
        fix = f"list OpenSSL's names, for example {_HTTP2_NAMES[0]}"
        yield Problem(id="suites-none", at=at, message="no supported cipher suite found", fix=fix)
    if mapped.isdisjoint(HTTP2_SUITES):
        either = " or ".join(_HTTP2_NAMES)
        yield Problem(
            id="suites-http2",
            at=at,
            message="no cipher suite that HTTP/2 requires",
            fix=f"add {either}",
            admission=(
                "http2: TLSConfig.CipherSuites is missing an HTTP/2-required AES_128_GCM_SHA256 cipher "
                f"(need at least one of {either})"
            ),
        )


def _group_problems(custom: CustomProfile, reader: Reader) -> Iterator[Problem]:
    value, at = custom.raw_groups, (*custom.steps, "groups")
    if value is None:
        return
    if not reader.groups:
        message = f"{reader.name} does not use groups: they have no effect here"
        yield Problem(id="groups-ignored", at=at, message=message, fix="leave groups out")
    if not isinstance(value, list):
        fix = f"a list of {', '.join(GROUPS)}"
        yield Problem(id="shape", at=at, message=f"must be a list, not {shown(value)}", fix=fix, schema=True)
        return
    if not 1 <= len(value) <= _GROUPS_AT_MOST:
        message = f"it has {len(value)} groups, but 1 to {_GROUPS_AT_MOST} are allowed"
        fix = "remove groups: each component then uses its own" if not value else "remove some"
        yield Problem(id="groups-count", at=at, message=message, fix=fix, schema=True)
    seen: set[str] = set()
    for index, name in enumerate(islice(value, _MOST)):
        here = (*at, index)
        if not isinstance(name, str) or name not in GROUPS:
            what = f"unknown group {shown(name)}"
            yield Problem(id="group-unknown", at=here, message=what, fix=_group_meant(name), schema=True)
        elif name in seen:
            what = f"Duplicate value: {shown(name)}"
            yield Problem(id="group-twice", at=here, message=what, fix="remove it", schema=True)
        else:
            seen.add(name)


def _group_meant(name: object) -> str:
    """Suggest the enumeration's name for another name of a group: P-256 is secp256r1."""
    try:
        code = group_code(name) if isinstance(name, str) else None
    except KeyError:
        code = None
    return next((f"write {each}" for each in GROUPS if group_code(each) == code), _did_you_mean(name, GROUPS))


def _name_problems(custom: CustomProfile, reader: Reader) -> Iterator[Problem]:
    """Yield a problem for each name in ``ciphers`` that selects or changes nothing."""
    value, at = custom.raw_ciphers, (*custom.steps, "ciphers")
    if not isinstance(value, list):
        if value is not None:
            message = f"must be a list, not {shown(value)}"
            yield Problem(id="shape", at=at, message=message, fix="write a list of names", schema=True)
        return
    if len(value) > _MOST:
        message = f"has {len(value)} items, more than {_MOST}"
        yield Problem(id="too-many", at=at, message=message, fix="remove names")
    guesses, seen = _GUESSED, dict[int, str]()
    for index, name in enumerate(value[:_MOST]):
        found = _unmatched_name(name, reader, (*at, index), guess=guesses > 0)
        if found is not None:
            guesses -= 1
            yield found
        elif idle := _idle(custom, str(name), seen, reader):
            id_, message = idle
            yield Problem(id=id_, at=(*at, index), message=message, fix="remove it")
    names = custom.ciphers[:_MOST]
    if reader.is_router and custom.minimum in VERSIONS[:-1] and names and TLS13_NAMES.isdisjoint(names):
        message = "no TLS 1.3 suite is listed, so HAProxy uses all of OpenSSL's, and TLS 1.3 stays enabled"
        yield Problem(id="tls13-stays", at=at, message=message, fix="")


def _unmatched_name(name: object, reader: Reader, at: Steps, *, guess: bool) -> Problem | None:
    """The problem of a name that certainly selects nothing; None if it selects a suite."""
    if isinstance(name, str) and reader.is_router and is_a_set(name):
        message = f"{name} is OpenSSL's name for a group of suites, not for one suite"
        return Problem(id="name-set", at=at, message=message, fix="list the suites one by one")
    dropped = dropped_name(name, reader, guess=guess)
    if dropped is None:
        return None
    known = isinstance(name, str) and suite_named(name) is not None
    return Problem(id="name-dropped" if known else "name-unknown", at=at, message=dropped.reason, fix=dropped.fix)


def _idle(custom: CustomProfile, name: str, seen: dict[int, str], reader: Reader) -> tuple[ProblemId, str] | None:
    """The problem id and message of a name that selects a suite and changes nothing, or None."""
    code = suite_named(name)
    if code is None:
        return None
    if code in seen:
        return "name-twice", f"{name} is listed already" + ("" if seen[code] == name else f", as {seen[code]}")
    seen[code] = name
    alone = reader.is_router and custom.minimum == VERSIONS[-1]
    if alone and not is_tls13(code):
        return "name-idle", f"{name} is a TLS 1.2 suite, which VersionTLS13 disables"
    return None


class DroppedName(NamedTuple):
    """A name in ``ciphers`` that selects nothing."""

    name: str
    reason: str
    """A clause for people."""
    fix: str
    certain: bool = True
    """True if every release of the reader drops it."""


def dropped_name(name: object, reader: Reader, *, guess: bool = True) -> DroppedName | None:
    """The reason why a reader drops a name without an error; None if the name selects or excludes suites.

    ``guess``: True to suggest a similar name.
    """
    if not isinstance(name, str):
        return DroppedName(shown(name), f"{shown(name)} is not the name of a cipher suite", "write OpenSSL's name")
    code = suite_named(name)
    if reader.is_router and (name.startswith("!") or is_a_set(name)):
        return None
    if code is None:
        near = did_you_mean(name, _OPENSSL, otherwise="remove it") if guess else "remove it"
        return DroppedName(
            shown(name), f"{shown(name)} is no cipher suite: OpenShift ignores it without an error", near
        )
    known, has = openssl_name(code), reader.suites
    if (has is not None and code not in {*has, *TLS13_SUITES}) or known is None:
        return DroppedName(
            name, f"{name} is not implemented by {reader.server}, which ignores it without an error", "remove it"
        )
    if known == name or is_tls13(code):
        return None
    if has is None:  # OpenSSL 3.0 refuses it and 4.0 accepts it; the router's version is unknown
        reason = f"{name} is an IANA name, which older releases of OpenSSL ignore without an error"
        return DroppedName(name, reason, f"write {known}", certain=False)
    reason = f"{name} is an IANA name; OpenShift knows OpenSSL names only, and ignores it without an error"
    return DroppedName(name, reason, f"write {known}")


class Refusal(NamedTuple):
    """One reason why the ingress operator does not admit an IngressController."""

    field: str
    """Field of ``custom``: ``ciphers`` or ``minTLSVersion``."""
    message: str
    fix: str


def router_refusals(custom: CustomProfile) -> Iterator[Refusal]:
    """Yield every reason (cluster-ingress-operator ``ingress/controller.go``, ``validateTLSSecurityProfile``), for an
    IngressController's own profile or for an inherited one."""
    names, minimum = custom.ciphers, custom.minimum
    if not names:
        yield Refusal("ciphers", "the list of ciphers is empty", "list suites, those of TLS 1.3 among them")
    elif odd := [name for name in names if not _LIKE_A_NAME.fullmatch(name.removeprefix("!"))]:
        message = f"the list of ciphers has {shown(odd[0])}, which does not look like the name of a suite"
        yield Refusal("ciphers", message, "remove it")
    if not names or minimum not in VERSIONS:
        pass
    elif minimum == VERSIONS[-1] and TLS13_NAMES.isdisjoint(names):
        message = "no TLS 1.3 cipher suite is listed with VersionTLS13"
        yield Refusal("ciphers", message, "add TLS_AES_128_GCM_SHA256")
    elif minimum != VERSIONS[-1] and TLS13_NAMES.issuperset(names):
        fix = "add a TLS 1.2 suite, or set 'minTLSVersion: VersionTLS13'"
        yield Refusal(
            "ciphers", "only TLS 1.3 cipher suites are listed, and minTLSVersion is lower than VersionTLS13", fix
        )
    if not minimum:
        yield Refusal("minTLSVersion", "minTLSVersion is not set", "write 'minTLSVersion: VersionTLS12'")


# --- What it means ----------------------------------------------------------------------------------------------------

Meaning: TypeAlias = Callable[[str], Known[Profile]]
"""Function from ``old``, ``intermediate`` or ``modern`` to its profile in the release of the cluster."""


class Declared(Struct, frozen=True, kw_only=True):
    """The profile of one object, as one reader interprets it."""

    said: str
    """For people: ``Modern``, ``not set, which means Intermediate``."""
    profile: Known[Profile] | None
    """None: the reader uses the next object above."""
    spelt: frozenset[int] = frozenset()
    """Suites that are listed by IANA names only. Go's readers drop them, because they map OpenSSL's names."""
    remarks: tuple[str, ...] = ()
    dropped: tuple[DroppedName, ...] = ()
    """Names in its list that the reader drops."""
    refused: str | None = None
    """Reason why the reader refuses it, if it does: the previous profile stays in effect."""
    custom: bool = False


def declared(holder: Fields, steps: tuple[str, ...], reader: Reader, called: str, meaning: Meaning) -> Declared:
    """Interpret the profile at ``steps`` of the object ``called`` as ``reader`` does.

    The object exists and has a reader, so nothing is refused here: a problem becomes a remark, and undocumented
    behaviour is unknown.
    """
    raw = holder.at(*steps)
    if raw is None:
        return _default(reader.nil, "not set", reader, meaning)
    if not isinstance(raw, Mapping):
        reason = f"it is {shown(raw)}, which is not a profile"
        return Declared(said=reason, profile=Unknown(reason))
    profile = TLSSecurityProfile(raw, steps)
    type_ = profile.raw_type
    notes = tuple(islice(_remarks(profile, reader, called), _REMARKS))
    if type_ is None or type_ == "":
        found = _default(reader.empty, "set without a type", reader, meaning)
    elif not isinstance(type_, str) or type_ not in PROFILE_FIELDS:
        return _default(reader.other, f"of the unknown type {shown(type_)}", reader, meaning)
    elif type_ != "Custom":
        found = Declared(said=type_, profile=meaning(PROFILE_FIELDS[type_]))
    elif profile.custom:
        found = _custom(profile.custom, reader, called, meaning)
    else:
        found = _default(reader.no_custom, "Custom without custom", reader, meaning)
    return replace(found, remarks=(*notes, *found.remarks))


_REMARKS: Final = 20


def _remarks(profile: TLSSecurityProfile, reader: Reader, called: str) -> Iterator[str]:
    who = "admission refuses" if reader.admission else f"{reader.name} refuses or drops"
    yield from ignored(profile)
    for each in refused_problems(profile, reader):
        fix = f" ({each.fix})" if each.fix else ""
        yield f"{who}: {called}: {dotted(each.at)}: {each.message}{fix}"


def _default(default: Default, what: str, reader: Reader, meaning: Meaning) -> Declared:
    if default == "intermediate":
        return Declared(said=f"{what}, which means Intermediate", profile=meaning("intermediate"))
    if default == "inherit":
        return Declared(said=f"{what}, so the cluster's profile applies", profile=None)
    if default == "refused":
        reason = f"the profile is {what}, which {reader.name} refuses"
        return Declared(said=what, profile=Unknown(reason), refused=reason)
    reason = f"the profile is {what}, and the behaviour of {reader.name} is not defined for that"
    return Declared(said=reason, profile=Unknown(reason))


def _custom(custom: CustomProfile, reader: Reader, called: str, meaning: Meaning) -> Declared:
    shipped = meaning("intermediate")
    # An unknown release may have groups.
    groups_known = isinstance(shipped, Unknown) or shipped.groups is not None
    meant = custom_profile(
        custom, reader, f"custom ({called})", f"{called} {dotted(custom.steps)}", groups_known=groups_known
    )
    refusal = next(_refusals(custom, reader), None)
    if refusal is not None:
        reason = f"{refusal.message}, so {reader.name} rejects it"
        return Declared(said="Custom", profile=Unknown(reason), refused=reason, custom=True)
    names = custom.ciphers
    alone = custom.minimum == VERSIONS[-1] and not reader.is_router
    dropped_names = () if alone else (dropped_name(name, reader) for name in dict.fromkeys(names[:_MOST]))
    dropped = tuple(each for each in dropped_names if each)
    return Declared(said="Custom", profile=meant, spelt=_spelt(names), dropped=dropped, custom=True)


def _refusals(custom: CustomProfile, reader: Reader) -> Iterator[Refusal]:
    """Yield the reasons why a router's operator refuses it. The other readers refuse nothing."""
    found = router_refusals(custom) if reader.is_router else ()
    return (each for each in found if each.field != "minTLSVersion" or reader.no_version == "refused")


def _spelt(names: tuple[str, ...]) -> frozenset[int]:
    """Suites that are listed only by names that library-go does not map (``OpenSSLToIANACipherSuites``)."""
    codes = {name: code for name in names if (code := suite_named(name)) is not None}
    return frozenset(codes.values()) - {code for name, code in codes.items() if openssl_name(code) == name}


def custom_profile(
    custom: CustomProfile, reader: Reader, name: str, source: str, *, groups_known: bool
) -> Known[Profile]:
    """The profile of ``custom``, from its valid values; unknown if only OpenSSL can resolve a name, or if the minimum
    version is none that the API has.

    ``groups_known``: True if the release has the field ``groups``.
    """
    notes: list[str] = []
    if custom.raw_minimum is None:
        notes.append("minTLSVersion is not set, which means VersionTLS12")
    elif custom.raw_minimum != "" and custom.minimum not in VERSIONS:
        return Unknown(f"minTLSVersion is {shown(custom.raw_minimum)}, which is none of {', '.join(VERSIONS)}")
    minimum = version_code(custom.minimum or VERSIONS[-2])
    suites = _suites(custom, minimum, reader, notes)
    groups = _groups(custom, notes, known=groups_known)
    found = Profile(name=name, min_version=minimum, suites=suites, groups=groups, source=source, notes=tuple(notes))
    return _of_openssl(found, custom.ciphers) if reader.is_router else found


def _of_openssl(profile: Profile, names: tuple[str, ...]) -> Known[Profile]:
    """The profile without the suites that OpenSSL's ``!NAME`` excludes from a list."""
    if odd := next(filter(is_a_set, names), None):
        return Unknown(f"the suites that OpenSSL selects for {odd} are unknown")
    taken = {name: suite_named(name[1:]) for name in names if name.startswith("!")}
    for name, code in taken.items():
        if code is None:
            return Unknown(f"adhere cannot read OpenSSL's exclusion {shown(name)} in the list of ciphers")
    return replace(profile, suites=tuple(code for code in profile.suites if code not in taken.values()))


def _suites(custom: CustomProfile, minimum: int, reader: Reader, notes: list[str]) -> tuple[int, ...]:
    if minimum == TLS13 and not reader.is_router:
        notes.append("Go's servers accept the three TLS 1.3 suites, whatever is configured")
        return TLS13_SUITES
    codes: dict[int, str] = {}
    for name in custom.ciphers[:_MOST]:
        code = suite_named(name)
        if code is None:
            continue
        if code in codes:
            notes.append(f"{name} is listed twice" + ("" if codes[code] == name else f", also as {codes[code]}"))
        else:
            codes[code] = name
    if reader.suites is not None:
        notes.extend(_dropped_by_go(codes, reader.suites))
    elif not any(map(is_tls13, codes)):
        notes.append("no TLS 1.3 suite is listed, so HAProxy uses all of OpenSSL's, and TLS 1.3 stays enabled")
    return tuple(codes)


def _dropped_by_go(codes: Mapping[int, str], has: frozenset[int]) -> Iterator[str]:
    """Yield notes on the names of a list that a Go server, which has these suites, does not use."""
    dropped = [name for code, name in codes.items() if code not in has]
    iana = [name for code, name in codes.items() if code in has and name != openssl_name(code)]
    if dropped:
        yield f"Go's servers do not implement, and drop: {', '.join(dropped)}"
    if iana:
        yield f"a cluster drops these names, because it accepts only OpenSSL names: {', '.join(iana)}"
    yield "Go's servers also accept the three TLS 1.3 suites, whatever is configured"


def _groups(custom: CustomProfile, notes: list[str], *, known: bool) -> tuple[int, ...] | None:
    if custom.raw_groups is None:
        notes.append("groups is not set: each component uses its own, and they are not judged")
        return None
    if not known:
        notes.append("groups has no effect: the release does not have the field")
        return None
    odd = next((name for name in custom.groups if name not in GROUPS), None)
    if odd is not None:
        notes.append(f"groups lists {shown(odd)}, which is unknown: the groups are not judged")
        return None
    return tuple(group_code(name) for name in custom.groups[:_MOST])


class CustomUse(Struct, frozen=True, kw_only=True):
    """A profile of type Custom in an object, as each of its readers interprets it."""

    reference: Reference
    field: str
    """``spec.tlsSecurityProfile.custom``."""
    readings: tuple[tuple[str, Declared], ...]
    """Readers (``library-go``, ``the ingress operator``), each with its interpretation."""
