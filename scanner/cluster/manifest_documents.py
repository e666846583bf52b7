"""Objects in one document: plain, in a list, in an OpenShift Template, or encrypted by SOPS."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from itertools import islice
from typing import Final, NamedTuple

from msgspec import Struct, field

from scanner.cluster.api_versions import misnamed
from scanner.cluster.key_removal import route_without_key
from scanner.cluster.retention import Pruner
from scanner.cluster.snapshot_objects import kept
from scanner.errors import InputError
from scanner.files.source_positions import Located, Steps, shown
from scanner.files.yaml_stream import Comment
from scanner.kube.kinds import INSTALL_CONFIG, ROUTE, SECRET, Kind
from scanner.kube.objects import Fields, KubeObject
from scanner.kube.tls_profile import nested_profiles
from scanner.model.declared import DEFAULT, Identity, LintSubject, Place, identity

TEMPLATES: Final = frozenset({"template.openshift.io/v1", "v1"})
"""``v1`` until OpenShift 3."""
_TEXT = re.compile(r"\$\{([a-zA-Z0-9_]+)\}")
_JSON = re.compile(r"\$\{\{([a-zA-Z0-9_]+)\}\}\Z")
MOST = 16 << 20
"""Characters that parameters may add to a template's objects: a hostile template could multiply them."""


class Processed(NamedTuple):
    """One object of a template."""

    at: int
    value: object
    unknown: tuple[str, ...]
    """Its parameters without a known value."""


def is_template(raw: Fields, version: str, kind: str) -> bool:
    """True for a Template with objects."""
    return kind == "Template" and version in TEMPLATES and isinstance(raw.at("objects"), list)


def processed(raw: Fields) -> Iterator[Processed]:
    """The objects, with the default values of parameters. A reference to an undeclared parameter stays, as in ``oc
    process``."""
    filling = _Filling({each.text("name"): _default(each) for each in raw.each("parameters")})
    objects = raw.at("objects")
    for index, each in enumerate(objects if isinstance(objects, list) else ()):
        value = filling.filled(each)
        yield Processed(index, value, filling.unknown())


def _default(parameter: Fields) -> str | None:
    """The default value; None if the template is processed with a generated or chosen value."""
    value = parameter.at("value")
    return value if isinstance(value, str) and not parameter.has("generate") else None


class _Filling:
    """Replaces parameters, and records those without a value."""

    def __init__(self, values: Mapping[str, str | None]) -> None:
        self._values = values
        self._left = MOST
        self._unknown: list[str] = []

    def unknown(self) -> tuple[str, ...]:
        """The parameters without a value since the last call."""
        found, self._unknown = tuple(dict.fromkeys(self._unknown)), []
        return found

    def filled(self, value: object) -> object:
        """The value with its parameters replaced, also in keys."""
        if isinstance(value, dict):
            return {self._text(str(key)): self.filled(each) for key, each in value.items()}
        if isinstance(value, list):
            return [self.filled(each) for each in value]
        return self._parsed(value) if isinstance(value, str) else value

    def _parsed(self, text: str) -> object:
        whole = _JSON.match(text)
        return self._text(text) if whole is None else self._scalar(self._value(whole))

    def _scalar(self, text: str) -> object:
        """A number, true or false. A list or mapping counts as unknown."""
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
_SOPS_BLOCK: Final = "sops"
_TLS: Final = "kubernetes.io/tls"


def is_encrypted(raw: Fields) -> bool:
    """True if any value is encrypted, besides the block of SOPS itself."""
    return raw.has(_SOPS_BLOCK, "mac") and any(
        _has_encrypted(value) for key, value in raw.raw.items() if key != _SOPS_BLOCK
    )


def may_be_served(raw: Fields) -> bool:
    """True if it may be a serving certificate: a Secret of another type is not."""
    kind = raw.text("type")
    return raw.text("kind") != "Secret" or kind == _TLS or kind.startswith(ENCRYPTED)


def _has_encrypted(value: object) -> bool:
    if isinstance(value, dict):
        return any(map(_has_encrypted, value.values()))
    if isinstance(value, list):
        return any(map(_has_encrypted, value))
    return isinstance(value, str) and value.startswith(ENCRYPTED)


MAX_OBJECTS = 1_000_000
_LISTS = 3
"""Depth of nested lists."""
_SHOWN = 5
_HOLDERS: Final[Mapping[str, tuple[frozenset[str], str]]] = {
    "List": (frozenset({"v1", ""}), "items"),
    "Template": (TEMPLATES, "objects"),
}
"""Kinds with objects inside: their versions, and the field of the objects."""
_TYPE_KEYS: Final = ("apiVersion", "kind")
_INSTALLED: Final = ("baseDomain", "platform", "controlPlane", "compute", "networking", "pullSecret", "pki")
"""Fields of an install-config; no other document without a kind has two of them."""
_NEAR: Final = 0.85
"""Similarity of names: ``knd`` is above it, ``version`` is not."""
_KEYS: Final = 20
"""Keys of a document in which a misspelt one is searched for."""
_NONE: Final = ("", (frozenset[str](), ""))


class Skipped(Struct, frozen=True):
    """A path that was not read, though it may contain manifests."""

    path: str
    reason: str
    hint: str = ""


class Bad(Struct, frozen=True):
    """An unreadable file, document or object."""

    place: Place
    message: str
    hint: str = ""
    is_object: bool = True
    """False for a document that is no Kubernetes object."""


class Manifests(Struct):
    """The objects to lint."""

    objects: list[LintSubject] = field(default_factory=list)
    bad: list[Bad] = field(default_factory=list)
    misnamed: list[Bad] = field(default_factory=list)
    """Objects with an unknown apiVersion or kind that is similar to a known one."""
    skipped: list[Skipped] = field(default_factory=list)
    files: int = 0
    sealed: dict[Identity, Place] = field(default_factory=dict)
    """Places of encrypted objects."""
    others: int = 0
    """Number of objects of other kinds."""
    namespace: str = DEFAULT
    """Default namespace for objects without one."""
    ignores: list[tuple[str, Comment]] = field(default_factory=list)
    """Comments ``# adhere: ignore``, with their files."""
    not_objects: int = 0
    """Number of documents that are no Kubernetes objects: values of a chart, a pipeline."""


class _Position(Struct, frozen=True):
    """A position in a document, and the depth of lists that is left."""

    document: Located
    above: Steps = ()
    lists: int = _LISTS

    def item(self, *steps: str | int) -> _Position:
        """The position of an item of a list."""
        return _Position(self.document, (*self.above, *steps), self.lists - 1)

    def place(self, *steps: str | int) -> Place:
        return Place(self.document.file, *self.document.mark((*self.above, *steps)))


class Objects:
    """Collects objects of the requested kinds."""

    def __init__(self, kinds: Iterable[Kind], found: Manifests) -> None:
        self._kinds = {(kind.group, kind.name): kind for kind in kinds}
        self._pruner = Pruner()
        self._found = found

    def document(self, document: Located) -> None:
        """Read the objects of a document. Raises ``InputError`` for too many objects."""
        value, where = document.value, _Position(document)
        if isinstance(value, list):  # several objects, as jq and jsonnet write them
            objects = [(index, each) for index, each in enumerate(value) if _is_object(each)]
            for index, each in objects:
                self._object(where.item(index), each)
            self._found.not_objects += not objects
        elif isinstance(value, str) and all(each in value for each in _TYPE_KEYS):
            hint = "remove the comment in another syntax before it"
            self._found.bad.append(Bad(where.place(), "YAML reads this object as one text", hint))
        else:
            self._object(where, value)

    def _object(self, where: _Position, value: object, version: str = "", name: str = "") -> None:
        """Read an object, or each object of a list. Those of a typed list need no kind."""
        if value is None:
            return
        raw = Fields(value) if isinstance(value, dict) else Fields({})
        version, name = raw.text("apiVersion") or version, raw.text("kind") or name
        if name.endswith("List") and raw.has("items"):
            self._items(where, raw, (version, "" if name == "List" else name.removesuffix("List")))
        elif error := _without_objects(raw, version, name):
            self._found.bad.append(Bad(where.place(), error, "the objects in it are not applied"))
        elif (raw.has("metadata") or (version and name)) and (wrong := misnamed(version, name)):
            self._found.misnamed.append(Bad(where.place(wrong.field), wrong.message, wrong.hint))
        elif is_encrypted(raw):
            self._encrypted(where, raw, name)
        elif not (version and name):
            self._without_type(where, raw)
        elif is_template(raw, version, name):
            self._template(where, raw)
        else:
            self._sorted(where, raw, version, name)

    def _without_type(self, where: _Position, raw: Fields) -> None:
        """Read a document without kind: an install-config, an object with a misspelt key, or another document."""
        if not where.above and _is_install_config(raw):
            kept = {name: raw.at(name) for name in ("metadata", "pki", "featureSet", "featureGates")}
            found = KubeObject(
                kept if raw.text("metadata", "name") else {"metadata": {"name": "cluster"}}, INSTALL_CONFIG
            )
            self._found.objects.append(LintSubject(object=found, located=where.document))
            return
        meant = [_meant(raw, each) for each in _TYPE_KEYS]
        wrong = [each for each in meant if each not in _TYPE_KEYS]
        if wrong and all(meant):
            message = f"unknown key {shown(wrong[0])}: this is not an object for an API server"
            self._found.misnamed.append(Bad(where.place(wrong[0]), message, f"write {' and '.join(_TYPE_KEYS)}"))
        else:
            self._found.not_objects += 1

    def _encrypted(self, where: _Position, raw: Fields, name: str) -> None:
        """Record an encrypted object, so that references to it are inconclusive."""
        marks = version, _ = raw.text("apiVersion"), name
        if kind := self._kinds.get((version.rpartition("/")[0], name)):
            self._found.sealed[identity(KubeObject(raw.raw, kind))] = where.place()
        if not (self._is_requested(raw) or any(each.startswith(ENCRYPTED) for each in marks)) or not may_be_served(raw):
            self._found.others += 1
            return
        called = "/".join(filter(None, (name, raw.text("metadata", "namespace"), raw.text("metadata", "name"))))
        reason = f"{shown(called)} is encrypted with SOPS"
        hint = f"lint its content: sops decrypt {where.document.file} | adhere lint -"
        self._found.skipped.append(Skipped(str(where.place()), reason, hint))

    def _items(self, where: _Position, raw: Fields, typed: tuple[str, str]) -> None:
        items = raw.at("items")
        if not isinstance(items, list):
            self._found.bad.append(Bad(where.place("items"), "items is not a list"))
        elif not where.lists:
            self._found.bad.append(Bad(where.place(), f"lists are nested more than {_LISTS} deep"))
        else:
            for index, item in enumerate(items):
                self._object(where.item("items", index), item, *(typed if typed[1] else ()))

    def _template(self, where: _Position, raw: Fields) -> None:
        """Read the objects of an OpenShift Template; those with unknown parameters are skipped."""
        if not where.lists:
            self._found.bad.append(Bad(where.place(), f"lists are nested more than {_LISTS} deep"))
            return
        for each in processed(raw):
            inner, item = where.item("objects", each.at), Fields(each.value if isinstance(each.value, dict) else {})
            if each.unknown and self._is_requested(item):
                self._found.skipped.append(_without_values(inner, item, each.unknown))
            else:
                self._object(inner, each.value)

    def _is_requested(self, raw: Fields) -> bool:
        """True if it is, or may be, of a requested kind."""
        version, name = raw.text("apiVersion"), raw.text("kind")
        known = (version.rpartition("/")[0], name) in self._kinds or name.endswith("List")
        return known or "${" in version + name or next(nested_profiles(raw), None) is not None

    def _sorted(self, where: _Position, raw: Fields, version: str, name: str) -> None:
        kind = self._kinds.get((version.rpartition("/")[0], name))
        if kind is None and next(nested_profiles(raw), None):
            kind = Kind(group=version.rpartition("/")[0], plural="", name=name)  # another kind with a TLS profile
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
            message = f"{kind.name}/{shown(found.name)} has a namespace that is not text"
            self._found.bad.append(Bad(where.place("metadata", "namespace"), message, "put it in quotes"))
            return
        if len(self._found.objects) >= MAX_OBJECTS:
            raise InputError(
                f"{where.document.file}: more than {MAX_OBJECTS:,} objects", hint="lint them in several runs"
            )
        self._found.objects.append(LintSubject(object=found, located=where.document, above=where.above))

    def _kept(self, kind: Kind, whole: dict[str, object]) -> KubeObject | None:
        """The object without private keys, which may be in any field by mistake, and findings quote fields. Of a
        Secret only the kept form; other objects stay complete, since lint judges every field."""
        if kind == SECRET:
            return kept(kind, whole, self._pruner)
        scrubbed = self._pruner.copy(route_without_key(whole) if kind == ROUTE else whole)
        return KubeObject(scrubbed, kind) if isinstance(scrubbed, dict) else None


def _is_install_config(raw: Fields) -> bool:
    """True for the file of openshift-install (openshift/installer ``pkg/types/installconfig.go``)."""
    return raw.text("apiVersion") == "v1" and not raw.has("kind") and sum(map(raw.has, _INSTALLED)) > 1


def _meant(raw: Fields, mark: str) -> str:
    """The key that stands for ``key``, or "". A similar one counts only beside metadata."""
    if mark in raw.raw:
        return mark
    said = {key.casefold(): key for key in raw.raw}
    near = get_close_matches(mark.casefold(), islice(said, _KEYS), n=1, cutoff=_NEAR) if raw.has("metadata") else []
    return said.get(mark.casefold()) or next((said[each] for each in near), "")


def _is_object(value: object) -> bool:
    """True for an object, also if the case of its key is wrong, which is reported."""
    return isinstance(value, dict) and any(key.casefold() == "kind" for key in value)


def _without_objects(raw: Fields, version: str, name: str) -> str | None:
    """The error of a List or Template without objects, or None."""
    kind, (versions, field) = next(((each, of) for each, of in _HOLDERS.items() if each.lower() == name.lower()), _NONE)
    if version not in versions:
        return None
    if name != kind:
        return f"unknown kind {shown(name)}; did you mean {kind}?"
    if field not in raw.raw:
        return f"a {kind} without {field}"
    return None if raw.at(field) is None or isinstance(raw.at(field), list) else f"{field} is not a list"


def _named(raw: Fields) -> str:
    if raw.text("metadata", "generateName"):
        return "metadata.generateName creates a new object each time; set metadata.name to lint it"
    return "set metadata.name to a text"


def _without_values(where: _Position, raw: Fields, unknown: tuple[str, ...]) -> Skipped:
    called = "/".join(filter(None, (raw.text("kind"), raw.text("metadata", "name"))))
    names = ", ".join(shown(each) for each in unknown[:_SHOWN]) + (" and others" if len(unknown) > _SHOWN else "")
    return Skipped(
        str(where.place()),
        f"{shown(called)} of a template has parameters without a value: {names}",
        "lint its output: oc process -f FILE -p NAME=VALUE | adhere lint -",
    )
