"""Objects in one document: plain, in a list, in an OpenShift Template, or encrypted by SOPS."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import islice
from typing import Final, NamedTuple

from scanner.cluster.api_versions import misnamed
from scanner.cluster.manifest_files import Skipped
from scanner.cluster.retention import Pruner
from scanner.cluster.secrets import route_without_key
from scanner.cluster.snapshot_objects import kept
from scanner.errors import InputError
from scanner.files.source_positions import Located, Steps, shown
from scanner.kube.kinds import INSTALL_CONFIG, ROUTE, SECRET, Kind
from scanner.kube.objects import Fields, KubeObject
from scanner.kube.tls_profile import held_profiles
from scanner.model.declared import DEFAULT, Given, Identity, Place, identity

TEMPLATES: Final = frozenset({"template.openshift.io/v1", "v1"})
"""The latter until OpenShift 3."""
_TEXT = re.compile(r"\$\{([a-zA-Z0-9_]+)\}")
_JSON = re.compile(r"\$\{\{([a-zA-Z0-9_]+)\}\}\Z")
MOST = 16 << 20
"""Characters that parameters may add to one template's objects: a hostile one multiplies them."""


class Processed(NamedTuple):
    """One object of a template."""

    at: int
    value: object
    unknown: tuple[str, ...]
    """Parameters that stand in it and whose values nobody knows."""


def is_template(raw: Fields, version: str, kind: str) -> bool:
    """Whether it is a Template with objects."""
    return kind == "Template" and version in TEMPLATES and isinstance(raw.at("objects"), list)


def processed(raw: Fields) -> Iterator[Processed]:
    """The objects, each with the values that parameters have by default. What names no parameter stays as it stands,
    as ``oc process`` leaves it."""
    filling = _Filling({each.text("name"): _default(each) for each in raw.each("parameters")})
    objects = raw.at("objects")
    for index, each in enumerate(objects if isinstance(objects, list) else ()):
        value = filling.filled(each)
        yield Processed(index, value, filling.unknown())


def _default(parameter: Fields) -> str | None:
    """None where it is made, or given, when the template is used."""
    value = parameter.at("value")
    return value if isinstance(value, str) and not parameter.has("generate") else None


class _Filling:
    """Puts values into objects, and remembers which it did not have."""

    def __init__(self, values: Mapping[str, str | None]) -> None:
        self._values = values
        self._left = MOST
        self._unknown: list[str] = []

    def unknown(self) -> tuple[str, ...]:
        """What was missing since this was asked last."""
        told, self._unknown = tuple(dict.fromkeys(self._unknown)), []
        return told

    def filled(self, value: object) -> object:
        """The value with its parameters replaced, wherever text stands: in keys, too."""
        if isinstance(value, dict):
            return {self._text(str(key)): self.filled(each) for key, each in value.items()}
        if isinstance(value, list):
            return [self.filled(each) for each in value]
        return self._parsed(value) if isinstance(value, str) else value

    def _parsed(self, text: str) -> object:
        whole = _JSON.match(text)
        return self._text(text) if whole is None else self._scalar(self._value(whole))

    def _scalar(self, text: str) -> object:
        """A number, true or false; lists and mappings are beyond what a template's reader should have to think of."""
        try:
            found: object = json.loads(text)
        except (ValueError, RecursionError):
            return text  # as oc process leaves it
        if isinstance(found, dict | list) or (isinstance(found, float) and not math.isfinite(found)):
            self._unknown.append(text)
        return text if isinstance(found, dict | list) else found

    def _text(self, text: str) -> str:
        return _TEXT.sub(self._value, text) if "${" in text else text

    def _value(self, match: re.Match[str]) -> str:
        if match[1] not in self._values:
            return match[0]
        value = self._values[match[1]]
        self._left -= len(value or "")
        if value is None or self._left < 0:
            self._unknown.append(match[0])
            return match[0]
        return value


ENCRYPTED: Final = "ENC["
_OWN: Final = "sops"
_TLS: Final = "kubernetes.io/tls"


def is_encrypted(raw: Fields) -> bool:
    """Whether any value is, and not only SOPS's own block says so."""
    return raw.has(_OWN, "mac") and any(_is_in(value) for key, value in raw.raw.items() if key != _OWN)


def may_serve(raw: Fields) -> bool:
    """Whether what is encrypted may be a certificate that is served: not so of a Secret that says otherwise."""
    said = raw.text("type")
    return raw.text("kind") != "Secret" or said == _TLS or said.startswith(ENCRYPTED)


def _is_in(value: object) -> bool:
    if isinstance(value, dict):
        return any(map(_is_in, value.values()))
    if isinstance(value, list):
        return any(map(_is_in, value))
    return isinstance(value, str) and value.startswith(ENCRYPTED)


MAX_OBJECTS = 1_000_000
_LISTS = 3
"""Lists in lists that are looked into."""
_SHOWN = 5
_HOLDERS: Final[Mapping[str, tuple[frozenset[str], str]]] = {
    "List": (frozenset({"v1", ""}), "items"),
    "Template": (TEMPLATES, "objects"),
}
"""Kinds that hold objects: their versions, and the field that the objects are in."""
_MARKS: Final = ("apiVersion", "kind")
_INSTALLED: Final = ("baseDomain", "platform", "controlPlane", "compute", "networking", "pullSecret", "pki")
"""Fields of an install-config; no two of them are in anything else without a kind."""
_NEAR: Final = 0.85
"""``knd`` is nearer than this to what it should be; ``version`` is not."""
_KEYS: Final = 20
"""Of one document, among which a misspelt one is looked for."""
_NONE: Final = ("", (frozenset[str](), ""))


@dataclass(frozen=True, slots=True)
class Bad:
    """Something that could not be read: the document, the object or the whole file was not looked at."""

    place: Place
    message: str
    hint: str = ""
    stranger: bool = False
    """Whether it is none that could be applied."""


@dataclass(slots=True)
class Manifests:
    """What was given."""

    given: list[Given] = field(default_factory=list)
    bad: list[Bad] = field(default_factory=list)
    misnamed: list[Bad] = field(default_factory=list)
    """Objects of an API that there is not, and that are nearly of one that is looked at."""
    skipped: list[Skipped] = field(default_factory=list)
    files: int = 0
    sealed: dict[Identity, Place] = field(default_factory=dict)
    """Objects that are encrypted, and where they stand."""
    others: int = 0
    """Objects of kinds that nobody looks at."""
    namespace: str = DEFAULT
    """Of objects that name none."""
    strangers: int = 0
    """Documents that are no Kubernetes objects: values of a chart, a pipeline."""


@dataclass(frozen=True, slots=True)
class _Where:
    """Where something stands, and how much further to look."""

    document: Located
    above: Steps = ()
    lists: int = _LISTS

    def item(self, *steps: str | int) -> _Where:
        """What stands in a list there."""
        return _Where(self.document, (*self.above, *steps), self.lists - 1)

    def place(self, *steps: str | int) -> Place:
        return Place(self.document.file, *self.document.mark((*self.above, *steps)))


class Objects:
    """Sorts objects into the kinds that are wanted."""

    def __init__(self, kinds: Iterable[Kind], found: Manifests) -> None:
        self._kinds = {(kind.group, kind.name): kind for kind in kinds}
        self._pruner = Pruner()
        self._found = found

    def document(self, document: Located) -> None:
        """Take what it holds. Raises ``InputError`` for more objects than anybody has."""
        value, where = document.value, _Where(document)
        if isinstance(value, list):  # as jq and jsonnet write several
            objects = [(index, each) for index, each in enumerate(value) if _says_kind(each)]
            for index, each in objects:
                self._object(where.item(index), each)
            self._found.strangers += not objects
        elif isinstance(value, str) and all(each in value for each in _MARKS):
            hint = "is there a comment of another language before it?"
            self._found.bad.append(Bad(where.place(), "an object that YAML takes for one text", hint))
        else:
            self._object(where, value)

    def _object(self, where: _Where, value: object, version: str = "", name: str = "") -> None:
        """An object or a list of some; those of a typed list need not say what they are."""
        if value is None:
            return
        raw = Fields(value) if isinstance(value, dict) else Fields({})
        version, name = raw.text("apiVersion") or version, raw.text("kind") or name
        if name.endswith("List") and raw.has("items"):
            self._items(where, raw, (version, "" if name == "List" else name.removesuffix("List")))
        elif hollow := _hollow(raw, version, name):
            self._found.bad.append(Bad(where.place(), hollow, "what is meant to be in it is not applied"))
        elif (raw.has("metadata") or (version and name)) and (wrong := misnamed(version, name)):
            self._found.misnamed.append(Bad(where.place(wrong.field), wrong.message, wrong.hint))
        elif is_encrypted(raw):
            self._encrypted(where, raw, name)
        elif not (version and name):
            self._of_nothing(where, raw)
        elif is_template(raw, version, name):
            self._template(where, raw)
        else:
            self._sorted(where, raw, version, name)

    def _of_nothing(self, where: _Where, raw: Fields) -> None:
        """What says neither, or has it misspelt."""
        if not where.above and _is_install_config(raw):
            kept = {name: raw.at(name) for name in ("metadata", "pki", "featureSet", "featureGates")}
            found = KubeObject(
                kept if raw.text("metadata", "name") else {"metadata": {"name": "cluster"}}, INSTALL_CONFIG
            )
            self._found.given.append(Given(object=found, located=where.document))
            return
        meant = [_meant(raw, each) for each in _MARKS]
        wrong = [each for each in meant if each not in _MARKS]
        if wrong and all(meant):
            message = f"{shown(wrong[0])} is no key of an object: an API server sees none here"
            self._found.misnamed.append(Bad(where.place(wrong[0]), message, f"write {' and '.join(_MARKS)}"))
        else:
            self._found.strangers += 1

    def _encrypted(self, where: _Where, raw: Fields, name: str) -> None:
        """Whoever refers to it will find that it was not seen."""
        marks = version, _ = raw.text("apiVersion"), name
        if kind := self._kinds.get((version.rpartition("/")[0], name)):
            self._found.sealed[identity(KubeObject(raw.raw, kind))] = where.place()
        if not (self._is_wanted(raw) or any(each.startswith(ENCRYPTED) for each in marks)) or not may_serve(raw):
            self._found.others += 1
            return
        called = "/".join(filter(None, (name, raw.text("metadata", "namespace"), raw.text("metadata", "name"))))
        reason = f"{shown(called)} is encrypted with SOPS"
        hint = f"lint what it holds: sops decrypt {where.document.file} | adhere lint -"
        self._found.skipped.append(Skipped(str(where.place()), reason, hint))

    def _items(self, where: _Where, raw: Fields, typed: tuple[str, str]) -> None:
        items = raw.at("items")
        if not isinstance(items, list):
            self._found.bad.append(Bad(where.place("items"), "items is no list"))
        elif not where.lists:
            self._found.bad.append(Bad(where.place(), f"lists in lists, more than {_LISTS} deep"))
        else:
            for index, item in enumerate(items):
                self._object(where.item("items", index), item, *(typed if typed[1] else ()))

    def _template(self, where: _Where, raw: Fields) -> None:
        """The objects of an OpenShift Template; what only its user can fill in was not seen."""
        if not where.lists:
            self._found.bad.append(Bad(where.place(), f"lists in lists, more than {_LISTS} deep"))
            return
        for each in processed(raw):
            inner, item = where.item("objects", each.at), Fields(each.value if isinstance(each.value, dict) else {})
            if each.unknown and self._is_wanted(item):
                self._found.skipped.append(_unfilled(inner, item, each.unknown))
            else:
                self._object(inner, each.value)

    def _is_wanted(self, raw: Fields) -> bool:
        """Whether it is, or may be, of a kind that somebody looks at."""
        version, name = raw.text("apiVersion"), raw.text("kind")
        known = (version.rpartition("/")[0], name) in self._kinds or name.endswith("List")
        return known or "${" in version + name or next(held_profiles(raw), None) is not None

    def _sorted(self, where: _Where, raw: Fields, version: str, name: str) -> None:
        kind = self._kinds.get((version.rpartition("/")[0], name))
        if kind is None and next(held_profiles(raw), None):
            kind = Kind(group=version.rpartition("/")[0], plural="", name=name)  # somebody's own, with a TLS profile
        if kind is None:
            self._found.others += 1
            return
        whole = {"apiVersion": version, "kind": name, **raw.raw}
        if kind.namespaced and kind.plural and isinstance(metadata := raw.at("metadata"), dict):
            whole["metadata"] = {**metadata, "namespace": metadata.get("namespace") or self._found.namespace}
        found = self._kept(kind, whole)
        if found is None or not found.name:
            self._found.bad.append(Bad(where.place("metadata"), f"{kind.name} without a name", _named(raw)))
            return
        if raw.has("metadata", "namespace") and not isinstance(raw.at("metadata", "namespace"), str):
            message = f"{kind.name}/{shown(found.name)} has a namespace that is no text"
            self._found.bad.append(Bad(where.place("metadata", "namespace"), message, "write it in quotes"))
            return
        if len(self._found.given) >= MAX_OBJECTS:
            raise InputError(
                f"{where.document.file}: more than {MAX_OBJECTS:,} objects", hint="lint them in several runs"
            )
        self._found.given.append(Given(object=found, located=where.document, above=where.above))

    def _kept(self, kind: Kind, whole: dict[str, object]) -> KubeObject | None:
        """Of a Secret only what may be kept; of others everything, since what is pruned is just what may be wrong, but
        for private keys: one may stand in any field, by mistake, and findings quote what they are about."""
        if kind == SECRET:
            return kept(kind, whole, self._pruner)
        scrubbed = self._pruner.copy(route_without_key(whole) if kind == ROUTE else whole)
        return KubeObject(scrubbed, kind) if isinstance(scrubbed, dict) else None


def _is_install_config(raw: Fields) -> bool:
    """Whether it is the file that openshift-install reads (openshift/installer ``pkg/types/installconfig.go``)."""
    return raw.text("apiVersion") == "v1" and not raw.has("kind") and sum(map(raw.has, _INSTALLED)) > 1


def _meant(raw: Fields, mark: str) -> str:
    """The key with which somebody meant ``mark``, or "". What is only nearly that counts beside metadata: anything may
    have such a key."""
    if mark in raw.raw:
        return mark
    said = {key.casefold(): key for key in raw.raw}
    near = get_close_matches(mark.casefold(), islice(said, _KEYS), n=1, cutoff=_NEAR) if raw.has("metadata") else []
    return said.get(mark.casefold()) or next((said[each] for each in near), "")


def _says_kind(value: object) -> bool:
    """In whatever letters: wrong ones are told."""
    return isinstance(value, dict) and any(key.casefold() == "kind" for key in value)


def _hollow(raw: Fields, version: str, name: str) -> str | None:
    """Why nobody finds the objects in what is meant to hold some."""
    kind, (versions, field) = next(((each, of) for each, of in _HOLDERS.items() if each.lower() == name.lower()), _NONE)
    if version not in versions:
        return None
    if name != kind:
        return f"{shown(name)} is no kind: did you mean {kind}?"
    if field not in raw.raw:
        return f"a {kind} without {field}"
    return None if raw.at(field) is None or isinstance(raw.at(field), list) else f"{field} is no list"


def _named(raw: Fields) -> str:
    if raw.text("metadata", "generateName"):
        return "metadata.generateName makes a new object at each run; give it a name to have it linted"
    return "metadata.name is required, as text"


def _unfilled(where: _Where, raw: Fields, unknown: tuple[str, ...]) -> Skipped:
    called = "/".join(filter(None, (raw.text("kind"), raw.text("metadata", "name"))))
    names = ", ".join(shown(each) for each in unknown[:_SHOWN]) + (" and others" if len(unknown) > _SHOWN else "")
    return Skipped(
        str(where.place()),
        f"{shown(called)} of a template with {names}, which has no value",
        "lint what it makes: oc process -f FILE -p NAME=VALUE | adhere lint -",
    )
