"""The fields of a PKI configuration, in whichever shape they are, to what they configure. Pure; nothing is refused."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final

from scanner.files.problems import MOST
from scanner.files.source_positions import Steps, dotted, shown
from scanner.kube.maybe import Known, Unknown
from scanner.model.key import RSA_2048, Key
from scanner.model.pki_config import USAGES, Complaint, PkiConfig, Rule, Shape, Usage
from scanner.pki.shapes import (
    CATEGORIES,
    FIELDS,
    NAME_RULE,
    WELL_KNOWN,
    complaints,
    key_shape,
    shape_of,
    spec,
    unknown_fields,
    without_nulls,
)

PLATFORM: Final[Mapping[Usage, Key]] = dict.fromkeys(USAGES, RSA_2048)
"""What components take where nothing is configured (the enhancement, "Configuration Resolution Order")."""
_PLATFORM_SAID: Final = "the platform's own where nothing is configured"
RECOMMENDED: Final[Mapping[Usage, Key]] = {
    "signer": Key(algorithm="ECDSA", curve="P384"),
    "serving": Key(algorithm="ECDSA", curve="P256"),
    "client": Key(algorithm="ECDSA", curve="P256"),
}
"""library-go ``pkg/pki`` ``DefaultPKIProfile``: mode ``Default``, and the gate on with no object at all."""
RECOMMENDED_SAID: Final = "the default profile of operators on library-go"
_DEFAULT_DIFFERS: Final = (
    "mode is Default: the API's text says that this changes nothing yet, operators on library-go take their profile "
    "(ECDSA P-256, signers P-384)"
)
_UNKNOWN_MOST: Final = 50
"""Unknown fields that are named."""


def of_spec(holder: object, steps: Steps, *, source: str, registered: Mapping[str, Usage] | None = None) -> PkiConfig:
    """What the value at ``steps`` of ``holder`` configures; beside the well-known names, ``registered`` ones may be
    overridden."""
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
        return replace(found, platform=PLATFORM, platform_said=_PLATFORM_SAID)
    return _managed(config, inside, (*steps, "certificateManagement"), names)


def _managed(config: PkiConfig, inside: Mapping[str, object], steps: Steps, names: Collection[str]) -> PkiConfig:
    management = _mapping(inside.get("certificateManagement"))
    mode, custom = management.get("mode"), _mapping(management.get("custom"))
    config = replace(config, mode=mode if isinstance(mode, str) else "")
    if mode == "Unmanaged":
        said = f"{dotted((*steps, 'mode'))} is Unmanaged: components keep what they have always made"
        return replace(config, reason="unmanaged", platform_said=said)
    if mode == "Default":
        said = f"mode Default, {RECOMMENDED_SAID}"
        return replace(config, platform=RECOMMENDED, platform_said=said, remarks=(_DEFAULT_DIFFERS,))
    if mode != "Custom":
        what = f"{dotted((*steps, 'mode'))} is {shown(mode)}" if mode is not None else f"{dotted(steps)} has no mode"
        return replace(config, reason="unreadable", platform_said=f"{what}, and its meaning is unknown")
    if config.shape == "interim":
        return _Lists(custom, (*steps, "custom"), "interim", names).into(
            replace(config, platform=PLATFORM, platform_said=_PLATFORM_SAID)
        )
    return _shipped(config, custom, (*steps, "custom"))


def _shipped(config: PkiConfig, custom: Mapping[str, object], steps: Steps) -> PkiConfig:
    """A category without a key takes the defaults' (its ``key`` is optional)."""
    given = {name: _mapping(custom.get(name)) for name in FIELDS}
    categories = {
        FIELDS[name]: _rule(inner["key"], (*steps, name, "key"), "shipped")
        for name, inner in given.items()
        if "key" in inner
    }
    key = _mapping(custom.get("defaults")).get("key")
    defaults = _rule(key, (*steps, "defaults", "key"), "shipped")
    return replace(config, defaults=defaults, categories=categories)


@dataclass(frozen=True, slots=True)
class _Lists:
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
        """By category or name. What is there twice is nobody's to know."""
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
    """A ``key`` of a configuration; unknown where the API would not take it."""
    wrong = next(complaints(key_shape(shape), value, steps), None)
    if wrong is not None or not isinstance(value, dict):
        return Unknown(str(wrong))
    algorithm = value["algorithm"]
    if algorithm == "RSA":
        return Key(algorithm="RSA", size=int(value["rsa"]["keySize"]))
    return Key(algorithm="ECDSA", curve=value["ecdsa"]["curve"])


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}
