"""Read the files of well-known certificate names, in ``profiles/pki/``."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Annotated, Final, Literal, TypeAlias

from pydantic import AfterValidator, Field, model_validator

from scanner import data
from scanner.config.component_catalogue import HOSTED, USUAL_HOSTED
from scanner.config.file_reader import AdhereFile, FileSection, Name, Ports, Several, Text, Texts, parse_file, wrong
from scanner.errors import UsageError
from scanner.files import yaml_values
from scanner.files.problems import Problems, did_you_mean
from scanner.files.source_positions import Located, Steps, shown
from scanner.model.well_known import Category, Inside, Names, Origin, Outside, Owner, Recognition, Rotation, WellKnown

PLATFORMS: Final = ("openshift",)
"""The shipped files."""

_RELEASE: Final = re.compile(r"v?([0-9]{1,3})\.([0-9]{1,3})(?:\.|\Z)")


def _path(text: str) -> str:
    if text.count("/") != 1:
        raise wrong(f"{shown(text)} is no namespace/name")
    return text


def _since(text: str) -> str:
    if text != "never" and release_of(text) is None:
        raise wrong(f"{shown(text)} is no release", "write it as in 4.22, or never")
    return text


_Days: TypeAlias = Annotated[int, Field(ge=1, le=36_500)]
_Paths: TypeAlias = Several[Annotated[Text, AfterValidator(_path)]]


class _Owner(FileSection):
    operator: Text = ""
    component: Text = Field(description="the operator's Deployment, as the enhancement's metrics call it")
    implements: Annotated[Text, AfterValidator(_since)] = Field(
        description="the first release that follows the PKI object, or never"
    )
    source: Text = Field(description="where that was read")
    note: Text = ""


class _Lifetime(FileSection):
    least: _Days
    most: _Days


class _Outside(FileSection):
    secrets: _Paths = ()
    config_maps: _Paths = ()
    why: Text = Field(description="a reason for people")


class _Inside(FileSection):
    secrets: _Paths = ()
    owner: Text
    why: Text = Field(description="a reason for people")


class _Listener(FileSection):
    component: Text = Field(description="of the component catalogue")
    ports: Annotated[Ports, Field(min_length=1)]


class _Recognise(FileSection):
    secrets: _Paths = ()
    config_maps: _Paths = ()
    listeners: Several[_Listener] = ()
    subjects: Texts = ()
    organizations: Texts = ()
    issuers: Texts = ()
    sans: Texts = ()
    injected: bool = False
    anywhere: bool = False

    @model_validator(mode="after")
    def _recognises(self) -> _Recognise:
        if not {"secrets", "subjects"} & self.model_fields_set:
            raise wrong("secrets and subjects are missing", "write at least one of them")
        return self


class _Entry(FileSection):
    category: Category
    shipped_category: Category | None = None
    aliases: Texts = ()
    owner: Text
    rotates: Rotation
    days: _Days | None = None
    refresh_days: _Days | None = None
    successor: Text | None = None
    delete: _Paths = ()
    breaks: Text = ""
    kept_elsewhere: bool = False
    only_on: Text = ""
    recognise: _Recognise


class NamesFile(AdhereFile):
    """The whole file."""

    kind: Literal["CertificateNames"] = Field(description="write kind: CertificateNames")
    title: Text = Field(description="where the facts come from")
    source: Text = Field(description="where the facts come from")
    date: Text = Field(description="where the facts come from")
    lifetimes: dict[Category, _Lifetime] = Field(default={})
    owners: dict[Name, _Owner] = Field(default={})
    platform_namespaces: Annotated[Texts, Field(min_length=1)]
    except_namespaces: Texts = ()
    outside: dict[Name, _Outside] = Field(default={})
    inside: dict[Name, _Inside] = Field(default={})
    serves_for_users: Texts = ()
    enhancement: dict[Name, _Entry] = Field(default={})
    shipped: dict[Name, _Entry] = Field(default={})
    unnamed: dict[Name, _Entry] = Field(default={})

    def entries(self) -> Iterator[tuple[Origin, str, _Entry]]:
        """Every entry, by who names it."""
        sections: tuple[tuple[Origin, dict[str, _Entry]], ...] = (
            ("enhancement", self.enhancement),
            ("shipped", self.shipped),
            ("unnamed", self.unnamed),
        )
        return ((origin, name, entry) for origin, section in sections for name, entry in section.items())


@cache
def load_names(platform: str = "openshift", *, hosted: tuple[str, ...] = (), release: str = "") -> Names:
    """The shipped names. ``hosted`` are the namespaces of HyperShift's control planes; without any, ``clusters-*``.
    ``release`` decides which operators follow the PKI object; without one, it is the newest that is known.

    Raises ``UsageError`` for a platform that is not known, ``InputError`` with everything that is wrong in the file,
    each with file, line and column.
    """
    if platform not in PLATFORMS:
        raise UsageError(f"there are no certificate names of {shown(platform)}", hint=did_you_mean(platform, PLATFORMS))
    file = data.data("profiles") / "pki" / f"{platform}.yaml"
    document = yaml_values.load(file.read_bytes(), f"profiles/pki/{platform}.yaml")
    return parse(document, hosted or USUAL_HOSTED, release)


def release_of(text: str) -> tuple[int, int] | None:
    """``4.22.7`` as numbers; None for what is no release."""
    found = _RELEASE.match(text)
    return (int(found[1]), int(found[2])) if found else None


def parse(document: Located, hosted: Sequence[str] = USUAL_HOSTED, release: str = "") -> Names:
    """The names of one file. Raises ``InputError`` as ``load_names`` does."""
    file = parse_file(document, NamesFile, "certificate names")
    problems = Problems(document)
    owners = {name: _owner(name, section, release) for name, section in file.owners.items()}
    _consistent(file, problems)
    problems.raise_any()
    return Names(
        all=tuple(
            WellKnown(
                name=name,
                origin=origin,
                recognition=_recognition(entry.recognise, hosted),
                place=document.position((origin, name)),
                **{
                    "shipped_category": entry.category,
                    **{key: value for key, value in entry.given().items() if key != "recognise"},
                    "owner": owners[entry.owner],
                },
            )
            for origin, name, entry in file.entries()
        ),
        outside=tuple(
            Outside(secrets=_placed(each.secrets, hosted), config_maps=_placed(each.config_maps, hosted), why=each.why)
            for each in file.outside.values()
        ),
        inside=tuple(
            Inside(secrets=_placed(each.secrets, hosted), owner=owners[each.owner], why=each.why)
            for each in file.inside.values()
        ),
        serves_for_users=file.serves_for_users,
        release=release,
        lifetimes={name: (each.least, each.most) for name, each in file.lifetimes.items()},
        platform_namespaces=file.platform_namespaces,
        except_namespaces=file.except_namespaces,
    )


def _owner(name: str, section: _Owner, release: str) -> Owner:
    first, now = release_of(section.implements), release_of(release)
    implements = first is not None and (now is None or now >= first)
    return Owner(**{**section.given(), "name": name, "implements": implements, "since": section.implements})


def _recognition(section: _Recognise, hosted: Sequence[str]) -> Recognition:
    listeners = tuple((each.component, each.ports) for each in section.listeners)
    return Recognition(
        **{**section.given(), "secrets": _placed(section.secrets, hosted), "listeners": listeners},
    )


def _placed(paths: Sequence[str], hosted: Sequence[str]) -> tuple[str, ...]:
    """With the namespaces of hosted control planes in the place of ``HOSTED``."""
    return tuple(
        each.replace(HOSTED, namespace) for each in paths for namespace in (hosted if HOSTED in each else ("",))
    )


def _consistent(file: NamesFile, problems: Problems) -> None:
    """Complain about names that two have, and about owners and successors that the file does not have."""
    spellings = Counter(spelling for _, name, entry in file.entries() for spelling in (name, *entry.aliases))
    for name, inside in file.inside.items():
        _known(problems, ("inside", name, "owner"), inside.owner, file.owners)
    for origin, name, entry in file.entries():
        for spelling in (name, *entry.aliases):
            if spellings[spelling] > 1:
                problems.add((origin, name), f"{shown(spelling)} is the name of two")
        _known(problems, (origin, name, "owner"), entry.owner, file.owners)
        if entry.successor is not None:
            _known(problems, (origin, name, "successor"), entry.successor, spellings)
        if entry.refresh_days is not None and (entry.days is None or entry.refresh_days >= entry.days):
            problems.add((origin, name, "refreshDays"), "must be less than days")


def _known(problems: Problems, steps: Steps, name: str, known: Mapping[str, object]) -> None:
    if name not in known:
        problems.add(steps, f"{shown(name)} is not in this file", did_you_mean(name, known))
