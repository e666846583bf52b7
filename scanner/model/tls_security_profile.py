"""A file's ``tlsSecurityProfile``, as written in an API object, to what it means.

Checked as a cluster checks it: by the schema (openshift/api ``config/v1/types_tlssecurityprofile.go``), and for an
APIServer by its admission (openshift/kubernetes ``validate_apiserver.go`` in ``openshift-kube-apiserver/admission``).
Where that and the documents differ, both are taken and a note says so: a named type without the empty field of its
name, and IANA's names of suites (``custom_profile``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from scanner.files.problems import Problems, did_you_mean
from scanner.files.source_positions import Document, Located, Steps, shown
from scanner.kube.profile import Profile
from scanner.model import custom_profile
from scanner.model.custom_profile import API_SERVER, HAPROXY, KUBELET, Consumer

_FIELDS = {"Old": "old", "Intermediate": "intermediate", "Modern": "modern", "Custom": "custom"}
"""``type``, and the field that goes with it."""

_SHAPES: tuple[Steps, ...] = (
    ("spec", "tlsSecurityProfile"),  # APIServer, IngressController, KubeletConfig and others
    ("spec", "configuration", "apiServer", "tlsSecurityProfile"),  # HyperShift's HostedCluster
    ("tlsSecurityProfile",),
)
_EXAMPLE = "write it as in 'tlsSecurityProfile: {type: Intermediate, intermediate: {}}'"

_CONSUMERS: dict[str, Consumer] = {"IngressController": HAPROXY, "KubeletConfig": KUBELET}
"""By kind of object; every other is read as an APIServer."""
_INHERITS: dict[str, tuple[str | None, ...]] = {"IngressController": (None, ""), "KubeletConfig": (None,)}
"""Kinds in which no profile (None) or no type means the APIServer's profile: cluster-ingress-operator
``pkg/operator/controller/ingress/controller.go``, machine-config-operator ``pkg/controller/common/helpers.go``."""


@dataclass(frozen=True, slots=True)
class _Place:
    """Where in a file a profile is."""

    steps: Steps
    kind: str
    """Of the object around it, empty for a profile alone."""


def parse(document: Located, named: Callable[[str], Profile]) -> Profile:
    """The profile that ``document`` holds; ``named`` gives the meaning of ``old``, ``intermediate`` and ``modern``.

    Raises ``InputError`` with every problem at once, each with file, line, column and the way to the value.
    """
    problems = Problems(document)
    place = _find(problems)
    profile = _of_type(problems, place, named)
    problems.raise_any()
    return profile


def _find(problems: Problems) -> _Place:
    document = problems.document
    items = document.get(("items",))
    # ``oc get apiserver -o yaml`` writes a List.
    tops: Sequence[Steps] = [("items", index) for index in range(len(items))] if isinstance(items, list) else [()]
    places = [place for top in tops for place in _places(document, top)]
    if not places:
        problems.add((), "no tlsSecurityProfile in this file", _EXAMPLE)
    for place in places[1:]:
        problems.add(place.steps, "one tlsSecurityProfile too many", "keep one of them in the file")
    problems.raise_any()
    return places[0]


def _places(document: Document, top: Steps) -> list[_Place]:
    kind = document.get((*top, "kind"))
    if kind is None and any(document.has((*top, name)) for name in ("type", *_FIELDS.values())):
        return [_Place(top, "")]
    ways = [(*top, *shape) for shape in _SHAPES if document.has((*top, *shape))]
    if not ways and kind == "APIServer":
        ways = [(*top, *_SHAPES[0])]
    return [_Place(way, str(kind or "")) for way in ways]


def _of_type(problems: Problems, place: _Place, named: Callable[[str], Profile]) -> Profile:
    steps, document = place.steps, problems.document
    filled = problems.mapping(steps)
    problems.unknown_fields(steps, ("type", *_FIELDS.values()), custom_profile.MISPLACED)
    type_ = document.get((*steps, "type"))
    if type_ is None or type_ == "":
        return _unset(problems, place, named, said="" if filled else None)
    if not isinstance(type_, str) or type_ not in _FIELDS:
        hint = did_you_mean(type_, _FIELDS) if isinstance(type_, str) else f"known here: {', '.join(_FIELDS)}"
        problems.add((*steps, "type"), f"unknown type {shown(type_)}", hint)
        problems.raise_any()
    given = [name for name in _FIELDS.values() if document.get((*steps, name)) is not None]
    if type_ == "Custom":
        _require(problems, place, str(type_), given)
        if not problems.mapping((*steps, "custom")):
            problems.raise_any()
        consumer = _CONSUMERS.get(place.kind, API_SERVER)
        groups_known = named("intermediate").groups is not None
        profile = custom_profile.read(problems, (*steps, "custom"), consumer, groups_known=groups_known)
    else:
        profile = _named(problems, place, str(type_), given, named)
    return replace(profile, notes=(*_ignored(str(type_), given), *profile.notes))


def _unset(problems: Problems, place: _Place, named: Callable[[str], Profile], *, said: str | None) -> Profile:
    """No type. Intermediate where nothing else is inherited (library-go ``observe_tlssecurityprofile.go``)."""
    given = [name for name in _FIELDS.values() if problems.document.get((*place.steps, name)) is not None]
    what = "type is not set" if said == "" else "tlsSecurityProfile is not set"
    if given:
        problems.add(place.steps, f"type is not set, and {given[0]} is", f"add 'type: {given[0].capitalize()}'")
    elif said in _INHERITS.get(place.kind, ()):
        hint = "give the APIServer's file, or the profile's name"
        problems.add(place.steps, f"{what}: this {place.kind} follows the APIServer, which is not in this file", hint)
    problems.raise_any()
    shipped = named("intermediate")
    return _sourced(problems, place, shipped, f"{what}, which means Intermediate")


def _named(
    problems: Problems, place: _Place, type_: str, given: Sequence[str], named: Callable[[str], Profile]
) -> Profile:
    own = _FIELDS[type_]
    if problems.mapping((*place.steps, own)):
        hint = f"leave it empty, '{own}: {{}}', or write a profile of your own with 'type: Custom'"
        problems.unknown_fields((*place.steps, own), (), dict.fromkeys(custom_profile.MISPLACED, hint))
    if given:
        _require(problems, place, type_, given)
    missing = f"an APIServer object would be refused as it stands: its admission asks for '{own}: {{}}' beside the type"
    notes = () if given or _CONSUMERS.get(place.kind) else (missing,)
    return _sourced(problems, place, named(own), *notes)


def _require(problems: Problems, place: _Place, type_: str, given: Sequence[str]) -> None:
    """Complain where the field of the type is missing; another type's being there, nobody can tell what is meant."""
    own = _FIELDS[type_]
    if own not in given:
        beside = f", and {given[0]} is" if given else ""
        hint = f"add '{own}: {'{ciphers: [...]}' if own == 'custom' else '{}'}'"
        hint += f", or say 'type: {given[0].capitalize()}'" if given else ""
        problems.add((*place.steps, "type"), f"type is {type_}, but {own} is not set{beside}", hint)


def _sourced(problems: Problems, place: _Place, shipped: Profile, *notes: str) -> Profile:
    source = f"{problems.document.position(place.steps)}, {shipped.source}"
    return replace(shipped, source=source, notes=(*shipped.notes, *notes))


def _ignored(type_: str, given: Sequence[str]) -> tuple[str, ...]:
    others = [name for name in given if name != _FIELDS[type_]]
    return (f"type is {type_}, so {' and '.join(others)} means nothing",) if others else ()
