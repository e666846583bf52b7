"""The PKI configuration in the PKI object, MicroShift's file or a file that a user gives. Pure.

An object of a cluster is there, whatever is wrong with it: it is read leniently, and its problems are kept. A file that
a user gives is refused with all of its problems, each with file, line and column.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from itertools import islice
from typing import Final

from msgspec import Struct

from scanner.files.problems import MOST, Problems
from scanner.files.source_positions import Document, Located, Steps, dotted, shown
from scanner.kube.api_server import State, feature_gates
from scanner.kube.kinds import CLUSTER_VERSION, FEATURE_GATE, PKI, PKI_CERTIFICATE_DEFINITION, Kind
from scanner.kube.maybe import Known, Unknown
from scanner.kube.objects import KubeObject, ManagedFields
from scanner.kube.openshift import ClusterVersion
from scanner.kube.snapshot import Snapshot
from scanner.model.pki_config import RSA_2048, USAGES, Complaint, Key, PkiConfig, Reason, Rule, Shape, Usage
from scanner.pki.config_schemas import (
    CATEGORIES,
    FIELDS,
    NAME_RULE,
    SERVICE_SERVING,
    WELL_KNOWN,
    complaints,
    key_shape,
    shape_of,
    spec,
    unknown_fields,
    without_nulls,
)
from scanner.pki.definitions import registered
from scanner.values import replace

PLATFORM: Final[Mapping[Usage, Key]] = dict.fromkeys(USAGES, RSA_2048)
"""Keys of components without a configuration (the enhancement, "Configuration Resolution Order")."""
_PLATFORM_TEXT: Final = "the platform's default"
RECOMMENDED: Final[Mapping[Usage, Key]] = {
    "signer": Key(algorithm="ECDSA", curve="P384"),
    "serving": Key(algorithm="ECDSA", curve="P256"),
    "client": Key(algorithm="ECDSA", curve="P256"),
}
"""library-go ``pkg/pki`` ``DefaultPKIProfile``: mode ``Default``, and the gate on with no object at all."""
RECOMMENDED_TEXT: Final = "the default profile of operators on library-go"
_DEFAULT_DIFFERS: Final = (
    "mode is Default: the API's text says that this changes nothing yet, operators on library-go take their profile "
    "(ECDSA P-256, signers P-384)"
)
_UNKNOWN_MOST: Final = 50
"""Most unknown fields that are named."""


def of_spec(holder: object, steps: Steps, *, source: str, registered: Mapping[str, Usage] | None = None) -> PkiConfig:
    """The configuration at ``steps`` of ``holder``. Overrides may have well-known names and ``registered`` ones."""
    names = {**(registered or {}), **WELL_KNOWN}
    inside: object = holder
    for step in steps:
        inside = inside.get(step) if isinstance(inside, Mapping) else None
    inside = without_nulls(inside)
    shape = shape_of(inside)
    schema = spec(shape, names)
    wrong = [Complaint(steps, "Required value")] if inside is None else complaints(schema, inside, steps)
    strange = map(dotted, islice(unknown_fields(schema, inside, steps), _UNKNOWN_MOST))
    config = PkiConfig(
        source=source,
        shape=shape,
        problems=tuple(islice(wrong, MOST)),
        unknown_fields=tuple(strange),
        registered=registered or {},
    )
    return _filled(config, inside if isinstance(inside, Mapping) else {}, steps, names)


def _filled(config: PkiConfig, inside: Mapping[str, object], steps: Steps, names: Collection[str]) -> PkiConfig:
    if config.shape == "none":
        return replace(config, reason="empty", platform_said=f"{dotted(steps)} says nothing")
    if config.shape == "document":
        found = _Lists(inside, steps, "document", names).into(config)
        if not (inside.get("defaults") or inside.get("categories") or inside.get("overrides")):
            return replace(found, reason="empty", platform_said=f"{dotted(steps)} says nothing")
        return replace(found, platform=PLATFORM, platform_said=_PLATFORM_TEXT)
    return _managed(config, inside, (*steps, "certificateManagement"), names)


def _managed(config: PkiConfig, inside: Mapping[str, object], steps: Steps, names: Collection[str]) -> PkiConfig:
    management = _mapping(inside.get("certificateManagement"))
    mode, custom = management.get("mode"), _mapping(management.get("custom"))
    config = replace(config, mode=mode if isinstance(mode, str) else "")
    if mode == "Unmanaged":
        text = f"{dotted((*steps, 'mode'))} is Unmanaged: components keep their own key parameters"
        return replace(config, reason="unmanaged", platform_said=text)
    if mode == "Default":
        text = f"mode Default, {RECOMMENDED_TEXT}"
        return replace(config, platform=RECOMMENDED, platform_said=text, remarks=(_DEFAULT_DIFFERS,))
    if mode != "Custom":
        what = f"{dotted((*steps, 'mode'))} is {shown(mode)}" if mode is not None else f"{dotted(steps)} has no mode"
        return replace(config, reason="unreadable", platform_said=f"{what}, and its meaning is unknown")
    if config.shape == "interim":
        return _Lists(custom, (*steps, "custom"), "interim", names).into(
            replace(config, platform=PLATFORM, platform_said=_PLATFORM_TEXT)
        )
    return _shipped(config, custom, (*steps, "custom"))


def _shipped(config: PkiConfig, custom: Mapping[str, object], steps: Steps) -> PkiConfig:
    """A category without a key uses that of the defaults (its ``key`` is optional)."""
    fields = {name: _mapping(custom.get(name)) for name in FIELDS}
    categories = {
        FIELDS[name]: _rule(inner["key"], (*steps, name, "key"), "shipped")
        for name, inner in fields.items()
        if "key" in inner
    }
    key = _mapping(custom.get("defaults")).get("key")
    defaults = _rule(key, (*steps, "defaults", "key"), "shipped")
    return replace(config, defaults=defaults, categories=categories)


class _Lists(Struct, frozen=True):
    """``defaults``, ``categories`` and ``overrides``, as the document has them."""

    raw: Mapping[str, object]
    steps: Steps
    shape: Shape
    names: Collection[str]

    def into(self, config: PkiConfig) -> PkiConfig:
        """``config`` with them."""
        defaults = self._of(self.raw, "defaults", self.steps) if "defaults" in self.raw else None
        words = dict(self._entries("categories", "category"))
        categories = {CATEGORIES[name]: rule for name, rule in words.items() if name in CATEGORIES}
        overrides = dict(self._entries("overrides", "certificateName"))
        return replace(config, defaults=defaults, categories=categories, overrides=overrides)

    def _entries(self, name: str, key: str) -> Iterator[tuple[str, Rule]]:
        """Rules by category or name. A duplicate entry is unknown."""
        value = self.raw.get(name)
        seen: set[str] = set()
        for index, item in enumerate(value if isinstance(value, list) else ()):
            called = item.get(key) if isinstance(item, dict) else None
            if not isinstance(called, str):
                continue
            rule = self._of(item, "certificate", (*self.steps, name, index))
            if called in seen:
                rule = replace(rule, key=Unknown(f"{shown(called)} is listed twice"))
            elif key == "certificateName" and called not in self.names:
                rule = replace(rule, key=Unknown(NAME_RULE))
            seen.add(called)
            yield called, rule

    def _of(self, holder: Mapping[str, object], name: str, steps: Steps) -> Rule:
        return _rule(_mapping(holder.get(name)).get("key"), (*steps, name, "key"), self.shape)


def _rule(value: object, steps: Steps, shape: Shape) -> Rule:
    return Rule(key=key_at(value, steps, shape), field=dotted(steps))


def key_at(value: object, steps: Steps, shape: Shape) -> Known[Key]:
    """A ``key`` of a configuration; unknown if the API rejects it."""
    wrong = next(complaints(key_shape(shape), value, steps), None)
    if wrong is not None or not isinstance(value, dict):
        return Unknown(str(wrong))
    algorithm = value["algorithm"]
    if algorithm == "RSA":
        return Key(algorithm="RSA", size=int(value["rsa"]["keySize"]))
    return Key(algorithm="ECDSA", curve=value["ecdsa"]["curve"])


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


_APPLIED: Final = frozenset({".", "kubectl.kubernetes.io/last-applied-configuration"})
"""Metadata that ``kubectl apply`` writes together with the spec."""


class Change(Struct, frozen=True, kw_only=True):
    """The last change of a spec."""

    since: datetime | None = None
    """Time of the change; its earliest possible time if ``vague``."""
    vague: bool = False
    """True if it was later than ``since`` at an unknown time."""
    until: datetime | None = None
    """Latest possible time of a vague change; None for the time at which the object was read."""


def changed(found: KubeObject) -> Change:
    """The last change of ``spec``.

    The API server counts changes of the spec in ``metadata.generation``: 1 means that it is as it was created, whatever
    was written into its metadata since. For a later generation, ``metadata.managedFields`` has the time of each manager
    that owns a part of the spec. An entry has one time for all that its manager owns, so the spec of a manager that
    also owns labels was written at that time at the latest.
    """
    created = found.created
    generation = found.generation
    if generation == 1 and created is not None:
        return Change(since=created)
    entries = [(each, time) for each in _of_spec(found) if (time := each.time) is not None]
    certain = max((time for each, time in entries if _spec_alone(each)), default=None)
    latest = max((time for _, time in entries), default=None)
    since = max((time for time in (created, certain) if time is not None), default=None)
    if latest is not None and (since is None or latest > since):
        # Without a creation time, the entry's time is the earliest known one.
        return Change(since=since, vague=True, until=latest) if since is not None else Change(since=latest)
    unseen = generation is not None and generation > 1 and certain is None
    return Change(since=since, vague=unseen)


def _of_spec(found: KubeObject) -> Iterator[ManagedFields]:
    return (each for each in found.managed_fields if not each.subresource and each.owns("spec"))


def _spec_alone(entry: ManagedFields) -> bool:
    """True if the entry's manager owns nothing else whose change would update its time."""
    return entry.owned("metadata") <= {"annotations"} and entry.owned("metadata", "annotations") <= _APPLIED


READS: tuple[Kind, ...] = (PKI, PKI_CERTIFICATE_DEFINITION, FEATURE_GATE, CLUSTER_VERSION)
NAME: Final = "cluster"
GATE: Final = ("ConfigurablePKI",)
SINCE: Final = (4, 22)
"""The first release with the feature gate (openshift/api ``features/features.go``, 2026-03)."""
ALWAYS: Final = datetime.min.replace(tzinfo=UTC)
"""Start of a configuration that applies to every certificate."""
_RELEASE: Final = re.compile(r"([0-9]{1,3})\.([0-9]{1,3})\.")


def pki_config(snapshot: Snapshot, previous: Snapshot | None = None) -> PkiConfig:
    """The configuration in PKI/cluster, or the reason why there is none. With ``previous``, an earlier snapshot of the
    same cluster, a missing object may be a deleted one."""
    if PKI in snapshot.absent:
        return _without("crd-absent", "the API server does not serve the kind PKI")
    if gap := snapshot.gap(PKI):
        return _without("unreadable", gap)
    found = snapshot.get(PKI, NAME)
    state = gate(snapshot)
    if found is None:
        return _missing(snapshot, previous, state)
    names = registered(snapshot)
    config = of_spec(
        found.raw,
        ("spec",),
        source=str(found.reference),
        registered=names.categories,
    )
    remarks = (*config.remarks, *map(str, names.flaws))
    config = replace(_dated(config, found), remarks=remarks)
    return _under(config, state, [*_strays(snapshot), *_going(found)])


def pki_config_of_file(document: Located) -> PkiConfig:
    """The configuration of a file with a PKI object (also in a list: ``oc get pki -o yaml``) or MicroShift's ``pki``.
    Raises ``InputError`` with everything that the API would reject."""
    problems = Problems(document)
    top = _top(problems)
    of_microshift = document.get((*top, "kind")) != "PKI"
    steps: Steps = (*top, "pki" if of_microshift else "spec")
    config = of_spec(document.get(top), steps[len(top) :], source=document.file)
    if not of_microshift:
        _named(problems, top)
    for each in config.problems:
        problems.add((*top, *each.steps), each.message, hint(each, document.get((*top, *each.steps))))
    problems.raise_any()
    holder = document.get(top)
    assert isinstance(holder, dict)  # noqa: S101 - it has a kind, or pki
    return always_in_force(_dated(config, KubeObject(holder, PKI)))


def _dated(config: PkiConfig, found: KubeObject) -> PkiConfig:
    """``config`` with the time of the object's last change."""
    change = changed(found)
    return replace(config, since=change.since, since_vague=change.vague, until=change.until)


def always_in_force(config: PkiConfig) -> PkiConfig:
    """A file's configuration, in force from the beginning if the file has no date: with a file, every certificate that
    differs from it is reported."""
    if config.since is not None:
        return config
    text = f"{config.source} has no date, so it counts as in force from the beginning"
    return replace(config, since=ALWAYS, since_said=text)


def gate(snapshot: Snapshot) -> State:
    """The state of the feature gate in the running release. An older release has it off, even if a newer one left the
    setting behind (the enhancement, "Upgrade / Downgrade Strategy")."""
    version = snapshot.get(CLUSTER_VERSION, "version")
    release = ClusterVersion.of(version).desired if version else ""
    state = feature_gates(snapshot, release).state(GATE)
    return "off" if state == "unknown" and _older(release) else state


def _older(release: str) -> bool:
    """True if ``release`` is older than the gate."""
    found = _RELEASE.match(release)
    return found is not None and (int(found[1]), int(found[2])) < SINCE


# --- What a cluster has instead ---------------------------------------------------------------------------------------


def _without(reason: Reason, text: str) -> PkiConfig:
    return PkiConfig(source=f"PKI/{NAME}", reason=reason, platform_said=text)


def _missing(snapshot: Snapshot, previous: Snapshot | None, state: State) -> PkiConfig:
    """Without an object and with the gate on, operators on library-go use their own profile (certrotation,
    service-ca)."""
    before = previous is not None and previous.objects.get(PKI, ()) and previous.get(PKI, NAME) is not None
    reason: Reason = "deleted" if before else "absent"
    what = f"PKI/{NAME} was deleted" if before else f"there is no PKI/{NAME}"
    remarks = tuple(_strays(snapshot))
    if state == "on":
        text = f"{what}, and {GATE[0]} is on: {RECOMMENDED_TEXT}"
        return replace(_without(reason, text), platform=RECOMMENDED, remarks=remarks)
    return replace(_without(reason, what), remarks=remarks)


def _under(config: PkiConfig, state: State, remarks: Iterable[str]) -> PkiConfig:
    """With the gate off, operators ignore the object; its content is kept for the report."""
    config = replace(config, remarks=(*config.remarks, *remarks))
    if state == "off":
        text = f"the feature gate {GATE[0]} is off, or unknown to this release: no component reads {config.source}"
        return replace(config, reason="gate-off", platform={}, platform_said=text)
    if state == "unknown" and config.reason is None:
        note = f"whether the feature gate {GATE[0]} is on is unknown; the object counts as in force"
        return replace(config, remarks=(*config.remarks, note))
    return config


def _strays(snapshot: Snapshot) -> Iterator[str]:
    """Remark on PKI objects with other names."""
    others = [each.name for each in snapshot.every(PKI) if each.name != NAME]
    if others:
        listed = ", ".join(shown(name) for name in others[:5])
        yield f"a PKI object has no effect unless its name is {NAME}: {listed}"


def _going(found: KubeObject) -> Iterator[str]:
    if found.is_deleted:
        yield f"{found.reference} is being deleted, and in force until it is gone"


# --- Files ------------------------------------------------------------------------------------------------------------


def _top(problems: Problems) -> Steps:
    """The path of the object in the file. Raises ``InputError`` if there is none, or more than one."""
    document = problems.document
    items = document.get(("items",))
    tops: list[Steps] = [("items", index) for index in range(len(items))] if isinstance(items, list) else [()]
    found = [top for top in tops if document.get((*top, "kind")) in ("PKI", "MicroShiftConfig")]
    if _is_microshifts(document):
        found = [()]
    if not found:
        problems.add((), "no PKI object in this file", "it has 'kind: PKI' and a spec; an install-config is another")
    for extra in found[1:]:
        problems.add(extra, "one PKI object too many", "keep one of them in the file")
    problems.raise_any()
    return found[0]


def _is_microshifts(document: Document) -> bool:
    """True for /etc/microshift/config.yaml, which has no kind. An install-config has ``pki`` too, but also an
    apiVersion."""
    value = document.get(())
    return isinstance(value, dict) and "pki" in value and not {"kind", "apiVersion", "baseDomain"} & value.keys()


def _named(problems: Problems, top: Steps) -> None:
    steps = (*top, "metadata", "name")
    name = problems.document.get(steps)
    if name != NAME:
        problems.add(steps, f"the name must be {NAME}, not {shown(name)}", "an object of another name has no effect")


def hint(wrong: Complaint, value: object) -> str:
    """A hint for the author in addition to the API's message about ``value``; "" if the message is enough."""
    name = value.get("certificateName") if isinstance(value, dict) else None
    if wrong.message != NAME_RULE or not isinstance(name, str):
        return ""
    if "/" in name or name == SERVICE_SERVING:
        return "a Service's certificate has no name of its own here: defaults or ServingCertificate govern it"
    return f"{shown(name)} is none of the {len(WELL_KNOWN)}"
