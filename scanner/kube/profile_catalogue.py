"""Profiles by name: the tables in ``profiles/``, and files of users."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from functools import cache, partial
from pathlib import Path
from typing import Final, TypeAlias

from msgspec import Struct

from scanner import data
from scanner.errors import UsageError
from scanner.files import yaml_values
from scanner.files.problems import Problems
from scanner.files.source_positions import Document, Located, Steps, shown
from scanner.kube.maybe import Unknown
from scanner.kube.tls_profile import (
    FIELD,
    HOSTED_PROFILE,
    LIBRARY_GO,
    PROFILE,
    PROFILE_FIELDS,
    Profile,
    Reader,
    TLSSecurityProfile,
    custom_profile,
    ignored,
    reader_of,
    refused_problems,
)
from scanner.tls.names import GO_SUITES, group_code, openssl_name, suite_code, version_code
from scanner.values import replace

TYPES: Final = ("old", "intermediate", "modern")
FAMILIES: Final = ("openshift", "mozilla")

_Release: TypeAlias = tuple[int, int]
_RELEASE: Final = re.compile(r"v?([0-9]{1,3})\.([0-9]{1,3})(?:[.+-][\w.+-]*)?\Z", re.ASCII)
"""Matches 4.22, v4.22, 4.22.7, 4.23.0-ec.1."""
_SUFFIXES: Final = (".yaml", ".yml", ".json")
_LIST: Final = "'adhere profiles' lists them all"


class _Table(Struct, frozen=True, kw_only=True):
    """One file of ``profiles/``."""

    first: _Release
    """The first release with these profiles; they apply until the first release of the next table."""
    last: _Release
    """The last release that was checked to have them."""
    profiles: Mapping[str, Profile]


def profile_names() -> tuple[str, ...]:
    """Every shipped profile, newest release first: ``openshift/4.23/old`` ..."""
    return tuple(profile.name for profile in profiles())


def profiles() -> Iterator[Profile]:
    """Every shipped profile, in the order of ``profile_names``."""
    for family in FAMILIES:
        for table in _tables(family):
            yield from table.profiles.values()


def load_profile(name: str, *, release: str | None = None) -> Profile:
    """Load the profile called ``name``, or the one in the file ``name``.

    Names: ``intermediate``, ``intermediate@4.22``, ``openshift/4.22/intermediate``, ``mozilla/modern``,
    ``mozilla/5.7/old``. ``release`` is OpenShift's, for names and files without one; the default is the newest. Raises
    ``UsageError`` for an unknown name or release, ``InputError`` for a file that is not valid.
    """
    found = _by_name(name, release)
    if found:
        return replace(found, asked=name)
    if name == "-":
        raise UsageError("a profile cannot be read from standard input", hint="give a file, or /dev/stdin")
    if _is_file(name):
        return replace(profile_of_file(yaml_values.read(name), partial(_choose, "openshift", release)), asked=name)
    raise UsageError(f"unknown profile {shown(name)}", hint=_nearest(name))


def _by_name(text: str, release: str | None) -> Profile | None:
    """The shipped profile, by release; None if ``text`` is not spelled like a name, or has no known type."""
    way, _, after = text.lower().partition("@")
    *before, type_ = way.split("/")
    family = before.pop(0) if before else "openshift"
    if family not in FAMILIES or type_ not in TYPES or len(before) > 1 or (before and after):
        return None
    asked = before[0] if before else after
    if "@" in text and not asked:
        raise UsageError(f"{shown(text)} has no release after '@'", hint=f"write for example {type_}@4.22")
    if asked and family == "openshift" and _release(asked) and not is_known_release(asked):
        raise UsageError(f"no profiles are known for OpenShift {asked[:40]}", hint=known_releases())
    return _choose(family, asked or (release if family == "openshift" else None), type_)


def known_releases() -> str:
    """The releases of OpenShift with known profiles, for a hint."""
    return f"known: {', '.join(f'{_dotted(first)} to {_dotted(last)}' for first, last in _spans())}"


def is_known_release(text: str) -> bool:
    """True for a release of OpenShift with known profiles: ``4.22``, ``v4.22.7``."""
    release = _release(text)
    return release is not None and any(first <= release <= last for first, last in _spans())


@cache
def _spans() -> tuple[tuple[_Release, _Release], ...]:
    """The first and the last known release of each major version. If a table continues in the next major version, its
    first release is the last known one of its own."""
    tables = _tables("openshift")
    spans: dict[int, tuple[_Release, _Release]] = {}
    for table in reversed(tables):
        spans[table.first[0]] = (spans.get(table.first[0], (table.first, table.first))[0], table.first)
        for major in range(table.first[0], table.last[0]):
            spans[major + 1] = ((major + 1, 0), (major + 1, 0))
        spans[table.last[0]] = (spans[table.last[0]][0], table.last)
    return tuple(spans[major] for major in sorted(spans))


def _choose(family: str, asked: str | None, type_: str) -> Profile:
    tables = _tables(family)
    if asked is None:
        return tables[0].profiles[type_]
    release = _release(asked)
    if release is None:
        raise UsageError(f"{shown(asked)} is not a release", hint=f"write it as in {type_}@4.22")
    table = next((table for table in tables if table.first <= release), tables[-1])
    if family == "mozilla" and release != table.first:
        known = ", ".join(_dotted(table.first) for table in tables)
        raise UsageError(f"unknown edition {_dotted(release)} of Mozilla's guideline", hint=f"known: {known}")
    profile = table.profiles[type_]
    return replace(profile, notes=(*profile.notes, *_stretched(table, release, profile.name)))


def _stretched(table: _Table, release: _Release, name: str) -> Iterator[str]:
    """Yield a note if a release has no table of its own."""
    if release < table.first:
        yield f"release {_dotted(release)} is older than the first profiles: the lists of {_dotted(table.first)} apply"
    elif release > table.last:
        yield f"release {_dotted(release)} is newer than adhere knows: the lists of {_dotted(table.last)} apply"
    elif f"/{_dotted(release)}/" not in name:
        yield f"release {_dotted(release)} has the same lists"


def _release(text: str) -> _Release | None:
    match = _RELEASE.match(text)
    return (int(match[1]), int(match[2])) if match else None


def _dotted(release: _Release) -> str:
    return f"{release[0]}.{release[1]}"


def _is_file(text: str) -> bool:
    """True if ``text`` means a file: the file exists, or the text is spelled like a path. Shipped names win; ``./old``
    is always a file."""
    separated = "/" in text or os.sep in text
    family = text.lower().partition("/")[0] in FAMILIES
    if text.lower().endswith(_SUFFIXES) or (separated and not family):
        return True
    try:
        return bool(text) and Path(text).exists()
    except (OSError, ValueError):
        return False


def _nearest(text: str) -> str:
    spellings = (*TYPES, *(f"mozilla/{type_}" for type_ in TYPES), *profile_names())
    close = get_close_matches(text[:80].lower(), spellings, n=2, cutoff=0.6)
    if not close:
        return f"{_LIST}; a file's name ends in .yaml, .yml or .json"
    return f"did you mean {' or '.join(close)}? {_LIST}"


@cache
def _tables(family: str) -> tuple[_Table, ...]:
    """The tables of a family, newest first."""
    files = [file for file in (data.data("profiles") / family).iterdir() if file.name.endswith(".yaml")]
    tables = [_table(family, yaml_values.load(file.read_bytes(), f"profiles/{family}/{file.name}")) for file in files]
    return tuple(sorted(tables, key=lambda table: table.first, reverse=True))


def _table(family: str, document: Located) -> _Table:
    release = Path(document.file).stem
    origin = f"{document.get(('source',))} ({document.get(('date',))})"
    first, last = (_release(str(document.get((name,)))) or (0, 0) for name in ("first_release", "last_release"))
    shipped = {type_: _profile(document, ("profiles", type_), f"{family}/{release}/{type_}", origin) for type_ in TYPES}
    return _Table(first=first, last=last, profiles=shipped)


def _profile(document: Located, steps: Steps, name: str, origin: str) -> Profile:
    groups = document.get((*steps, "groups"))
    suites = tuple(suite_code(each) for each in _texts(document, (*steps, "ciphers")))
    notes = _texts(document, (*steps, "notes"))
    dropped = [str(openssl_name(code)) for code in suites if code not in GO_SUITES]
    if name.startswith("openshift") and dropped:
        notes.append(f"Go's servers do not implement, and drop: {', '.join(dropped)}")
    return Profile(
        name=name,
        min_version=version_code(str(document.get((*steps, "minTLSVersion")))),
        suites=suites,
        groups=None if groups is None else tuple(group_code(each) for each in _texts(document, (*steps, "groups"))),
        source=origin,
        notes=tuple(notes),
    )


def _texts(document: Located, steps: Steps) -> list[str]:
    value = document.get(steps)
    return [str(each) for each in value] if isinstance(value, list) else []


# --- Files ------------------------------------------------------------------------------------------------------------

_PLACES: Final[tuple[Steps, ...]] = (PROFILE, HOSTED_PROFILE, (FIELD,))
_EXAMPLE: Final = "write it as in 'tlsSecurityProfile: {type: Intermediate, intermediate: {}}'"


def profile_of_file(document: Located, named: Callable[[str], Profile]) -> Profile:
    """Read the profile in a file, written as in an API object; ``named`` resolves ``old``, ``intermediate`` and
    ``modern``.

    Values that a cluster refuses are refused here, and so are names that select nothing: they are typing errors. Where
    documents and admission differ, both are accepted with a note: a named type without the empty field of its name, and
    IANA names of suites. Raises ``InputError`` with every problem at once, each with file, line and column.
    """
    wrong = Problems(document)
    steps, kind = _place(wrong)
    wrong.mapping(steps)
    wrong.raise_any()
    value = document.get(steps)
    profile = TLSSecurityProfile(value if isinstance(value, dict) else {}, steps)
    reader = reader_of(kind) if kind else LIBRARY_GO
    notes = tuple(_complain(wrong, profile, reader))
    wrong.raise_any()
    if profile.raw_type is None:
        return _unset(wrong, profile, reader, kind, named)
    if profile.type == "Custom":
        called, groups_known = f"custom ({Path(document.file).name})", named("intermediate").groups is not None
        source = document.position(profile.custom.steps)
        found = custom_profile(profile.custom, reader, called, source, groups_known=groups_known)
        if isinstance(found, Unknown):
            wrong.add((*profile.custom.steps, "ciphers"), found.reason, "list the suites one by one")
            wrong.raise_any()
        else:
            return replace(found, notes=(*notes, *found.notes))
    return _sourced(document, steps, named(PROFILE_FIELDS[profile.type]), *notes)


def _place(wrong: Problems) -> tuple[Steps, str]:
    """Find the profile, and the kind of the object around it; empty for a profile alone."""
    document = wrong.document
    items = document.get(("items",))
    # ``oc get apiserver -o yaml`` writes a List.
    tops: list[Steps] = [("items", index) for index in range(len(items))] if isinstance(items, list) else [()]
    found = [place for top in tops for place in _places(document, top)]
    if not found:
        wrong.add((), "no tlsSecurityProfile in this file", _EXAMPLE)
    for steps, _ in found[1:]:
        wrong.add(steps, "more than one tlsSecurityProfile", "keep one of them in the file")
    wrong.raise_any()
    return found[0]


def _places(document: Document, top: Steps) -> list[tuple[Steps, str]]:
    kind = document.get((*top, "kind"))
    if kind is None and any(document.has((*top, name)) for name in ("type", *PROFILE_FIELDS.values())):
        return [(top, "")]
    ways = [(*top, *steps) for steps in _PLACES if document.has((*top, *steps))]
    if not ways and kind == "APIServer":
        ways = [(*top, *PROFILE)]
    return [(way, str(kind or "")) for way in ways]


def _complain(wrong: Problems, profile: TLSSecurityProfile, reader: Reader) -> Iterator[str]:
    """Add the refused fields to ``wrong``, each once; yield notes on what is accepted."""
    yield from ignored(profile)
    places = set[Steps]()
    for each in refused_problems(profile, reader, iana=True):
        if each.id == "field-missing" and not profile.type_fields and profile.type != "Custom":
            yield f"the API server would refuse this object: {each.message} ({each.fix})"
        elif each.at not in places:
            places.add(each.at)
            wrong.add(each.at, each.message, each.fix, key=each.key)


def _unset(
    wrong: Problems, profile: TLSSecurityProfile, reader: Reader, kind: str, named: Callable[[str], Profile]
) -> Profile:
    """The profile without a type: Intermediate, unless the reader inherits another."""
    filled = wrong.document.get(profile.steps) is not None
    what = "type is not set" if filled else "tlsSecurityProfile is not set"
    if (reader.empty if filled else reader.nil) == "inherit":
        hint = "give the APIServer's file, or the profile's name"
        wrong.add(profile.steps, f"{what}: this {kind} follows the APIServer, which is not in this file", hint)
    wrong.raise_any()
    return _sourced(wrong.document, profile.steps, named("intermediate"), f"{what}, which means Intermediate")


def _sourced(document: Document, steps: Steps, shipped: Profile, *notes: str) -> Profile:
    source = f"{document.position(steps)}, {shipped.source}"
    return replace(shipped, source=source, notes=(*shipped.notes, *notes))
