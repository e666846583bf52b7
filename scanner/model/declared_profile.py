"""A ``tlsSecurityProfile`` in an object of a cluster: what each reader of the field makes of it, whatever it says.

A file that a person writes is refused where it is wrong (``tls_security_profile``). An object is there already, and
something reads it: so nothing is refused here, each complaint becomes a remark, and what no source tells is unknown.
The rules about versions, suites and groups are those of ``custom_profile``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias, cast

from scanner.files.problems import Problems
from scanner.files.source_positions import Mark, Steps, Value, shown
from scanner.kube.maybe import Known, Unknown
from scanner.kube.objects import Fields
from scanner.kube.profile import Profile
from scanner.model import custom_profile
from scanner.model.custom_profile import API_SERVER, HAPROXY, KUBELET, Consumer, suite_named
from scanner.model.dropped_ciphers import Loss, lost
from scanner.model.ingress_admission import Refusal, is_a_set, refusals
from scanner.tls.codepoints import TLS13
from scanner.tls.names import is_tls13, openssl_name

Meaning: TypeAlias = Callable[[str], Known[Profile]]
"""``old``, ``intermediate`` or ``modern`` -> what that means in the release at hand."""

Default = Literal["intermediate", "inherit", "refused", "undefined"]
"""What stands in for a value that is not there. ``inherit``: the next object above decides. ``refused``: the reader
does not take it, and what was in force before stays. ``undefined``: the reader crashes, or no source tells."""

_MOST: Final = 500
"""Names of a list; there are 372 suites."""

TYPES: Final[Mapping[str, str]] = {
    "Old": "old",
    "Intermediate": "intermediate",
    "Modern": "modern",
    "Custom": "custom",
}
"""``type``, and the field that goes with it (openshift/api ``config/v1/types_tlssecurityprofile.go``)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """One implementation that reads the field, and what it makes of what is missing."""

    name: str
    nil: Default
    """No ``tlsSecurityProfile``."""
    empty: Default
    """One without a type."""
    no_custom: Default
    """``type: Custom`` without ``custom``."""
    other: Default = "undefined"
    """A type that is none of the four."""
    no_version: Default = "intermediate"
    """A Custom profile without ``minTLSVersion``; ``intermediate``: as if it had that of Intermediate."""
    consumer: Consumer
    source: str


LIBRARY_GO: Final = Reader(
    name="library-go",
    nil="intermediate",
    empty="intermediate",
    no_custom="intermediate",
    consumer=API_SERVER,
    source="openshift/library-go pkg/operator/configobserver/apiserver/observe_tlssecurityprofile.go",
)
INGRESS: Final = Reader(
    name="the ingress operator",
    nil="inherit",
    empty="inherit",
    no_custom="refused",
    no_version="refused",
    consumer=HAPROXY,
    source="openshift/cluster-ingress-operator pkg/operator/controller/ingress/controller.go",
)
INHERITED_BY_INGRESS: Final = replace(INGRESS, nil="intermediate", empty="intermediate")
"""The same operator, reading the APIServer's profile for an IngressController without one of its own."""
KUBELET_CONFIG: Final = Reader(
    name="the machine config operator",
    nil="inherit",
    empty="intermediate",
    no_custom="intermediate",
    other="intermediate",
    consumer=KUBELET,
    source="openshift/machine-config-operator pkg/controller/common/helpers.go",
)
HYPERSHIFT: Final = Reader(
    name="HyperShift",
    nil="intermediate",
    empty="undefined",
    no_custom="undefined",
    consumer=custom_profile.HYPERSHIFT,
    source="openshift/hypershift support/config/cipher.go",
)
MICROSHIFT_INGRESS: Final = Reader(
    name="MicroShift's router",
    nil="intermediate",
    empty="intermediate",
    no_custom="refused",
    consumer=HAPROXY,
    source="openshift/microshift pkg/config/ingress.go",
)
READERS: Final = (
    LIBRARY_GO,
    INGRESS,
    INHERITED_BY_INGRESS,
    KUBELET_CONFIG,
    HYPERSHIFT,
    MICROSHIFT_INGRESS,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """What one reader makes of one object."""

    said: str
    """For people: ``Modern``, ``not set, which means Intermediate``."""
    profile: Known[Profile] | None
    """None: the reader asks the next object above."""
    spelt: frozenset[int] = frozenset()
    """Suites of TLS 1.2 that are listed by IANA's name only: what Go's readers drop, because they map OpenSSL's."""
    remarks: tuple[str, ...] = ()
    dropped: tuple[Loss, ...] = ()
    """Names of its list that the reader drops."""
    refused: str | None = None
    """Why the reader does not take it, where it does not: what was in force before stays."""
    custom: bool = False


def declared(holder: Fields, steps: tuple[str, ...], reader: Reader, called: str, meaning: Meaning) -> Declared:
    """What ``reader`` makes of the profile at ``steps`` of the object that people call ``called``."""
    raw = holder.at(*steps)
    fields = holder.fields(*steps)
    type_ = fields.at("type")
    given = tuple(name for name in TYPES.values() if fields.has(name))
    if raw is None:
        return _default(reader.nil, "not set", reader, meaning)
    if not isinstance(raw, Mapping):
        return _undefined(f"it is {shown(raw)}, which is no profile")
    if type_ is None or type_ == "":
        stray = (f"without a type {' and '.join(given)} means nothing; admission refuses it",) if given else ()
        return _noted(_default(reader.empty, "set without a type", reader, meaning), stray)
    if not isinstance(type_, str) or type_ not in TYPES:
        return _default(reader.other, f"of the type {shown(type_)}, which is none of the API's", reader, meaning)
    notes = _beside(type_, given, reader)
    if type_ != "Custom":
        return Declared(said=type_, profile=meaning(TYPES[type_]), remarks=notes)
    if not fields.fields("custom").raw:
        return _noted(_default(reader.no_custom, "Custom without custom", reader, meaning), notes)
    return _noted(_custom(holder, (*steps, "custom"), reader, called, meaning), notes)


def _default(default: Default, what: str, reader: Reader, meaning: Meaning) -> Declared:
    if default == "intermediate":
        return Declared(said=f"{what}, which means Intermediate", profile=meaning("intermediate"))
    if default == "inherit":
        return Declared(said=f"{what}, which means the cluster's", profile=None)
    if default == "refused":
        reason = f"the profile is {what}, which {reader.name} refuses"
        return Declared(said=what, profile=Unknown(reason), refused=reason)
    return _undefined(f"the profile is {what}, and what {reader.name} makes of that is not defined")


def _undefined(reason: str) -> Declared:
    return Declared(said=reason, profile=Unknown(reason))


def _noted(found: Declared, notes: tuple[str, ...]) -> Declared:
    return replace(found, remarks=(*notes, *found.remarks)) if notes else found


def _beside(type_: str, given: tuple[str, ...], reader: Reader) -> tuple[str, ...]:
    """What admission would say of the fields beside the type, and what they mean: nothing."""
    own = TYPES[type_]
    others = [name for name in given if name != own]
    notes = [f"type is {type_}, so {' and '.join(others)} means nothing"] if others else []
    if own not in given and reader.consumer.admission:
        notes.append(f"admission refuses it as it stands: '{own}: {{}}' is missing beside the type")
    return tuple(notes)


@dataclass(frozen=True, slots=True)
class _Object:
    """An object as a document: it has no lines, so complaints name it and the field."""

    file: str
    fields: Fields

    def get(self, steps: Steps) -> Value:
        value: object = self.fields.raw
        for step in steps:
            if isinstance(value, Mapping) and isinstance(step, str):
                value = value.get(step)
            elif isinstance(value, list) and isinstance(step, int) and step < len(value):
                value = value[step]
            else:
                return None
        return cast("Value", value)  # JSON, as the API server sent it

    def has(self, steps: Steps) -> bool:
        return self.get(steps) is not None

    def mark(self, steps: Steps = (), *, key: bool = False) -> Mark:  # noqa: ARG002 - the protocol
        return Mark(1, 1)

    def position(self, steps: Steps = (), *, key: bool = False) -> str:  # noqa: ARG002 - the protocol
        return self.file


def _custom(holder: Fields, steps: tuple[str, ...], reader: Reader, called: str, meaning: Meaning) -> Declared:
    problems = Problems(_Object(called, holder), strict=False)
    shipped = meaning("intermediate")
    # A release that is not known may have groups.
    groups_known = isinstance(shipped, Unknown) or shipped.groups is not None
    found = custom_profile.read(problems, steps, reader.consumer, groups_known=groups_known)
    profile = replace(found, name=f"custom ({called})", source=f"{called} {'.'.join(steps)}")
    names = holder.texts(*steps, "ciphers")
    complaints = tuple(_complaint(each.text, each.hint, reader) for each in problems.found)
    sets = [name for name in names if reader.consumer.tls13_suites == "listed" and is_a_set(name)]
    meant = _excluded(profile, names) if not sets else Unknown(f"adhere cannot tell what OpenSSL takes {sets[0]} for")
    if refusal := next(_refusals(holder.fields(*steps), reader), None):
        reason = f"{refusal.message}, and {reader.name} does not admit that"
        return Declared(said="Custom", profile=Unknown(reason), remarks=complaints, refused=reason, custom=True)
    alone = profile.min_version == TLS13 and reader.consumer.tls13_suites == "fixed"
    losses = () if alone else (lost(name, reader.consumer) for name in dict.fromkeys(names[:_MOST]))
    dropped = tuple(each for each in losses if each)
    return Declared(said="Custom", profile=meant, spelt=_spelt(names), remarks=complaints, dropped=dropped, custom=True)


def _refusals(custom: Fields, reader: Reader) -> Iterator[Refusal]:
    """Why a router's operator does not take it; nobody refuses what reaches the others."""
    found = refusals(custom) if reader.consumer.tls13_suites == "listed" else ()
    return (each for each in found if each.field != "minTLSVersion" or reader.no_version == "refused")


def _complaint(text: str, hint: str, reader: Reader) -> str:
    who = "admission refuses" if reader.consumer.admission else f"{reader.name} refuses or drops"
    return f"{who}: {text}" + (f" ({hint})" if hint else "")


def _spelt(names: tuple[str, ...]) -> frozenset[int]:
    """Suites that are in the list, and only by a name that library-go does not map (``OpenSSLToIANACipherSuites``)."""
    codes = {name: suite_named(name) for name in names}
    mapped = {code for name, code in codes.items() if code is not None and openssl_name(code) == name}
    return frozenset(code for code in codes.values() if code is not None and code not in mapped and not is_tls13(code))


def _excluded(profile: Profile, names: tuple[str, ...]) -> Known[Profile]:
    """The profile without what OpenSSL's ``!NAME`` takes out of a list."""
    taken = {name: suite_named(name[1:]) for name in names if name.startswith("!")}
    odd = [name for name, code in taken.items() if code is None]
    if odd:
        return Unknown(f"adhere cannot read OpenSSL's exclusion {shown(odd[0])} in the list of ciphers")
    return replace(profile, suites=tuple(code for code in profile.suites if code not in taken.values()))
