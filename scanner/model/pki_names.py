"""The files of well-known certificate names, in ``profiles/pki/``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, get_args

from scanner import data
from scanner.errors import UsageError
from scanner.files import yaml_values
from scanner.files.problems import Problems, did_you_mean
from scanner.files.source_positions import Located, shown
from scanner.model.component_files import HOSTED, USUAL_HOSTED
from scanner.model.section import Section, header
from scanner.model.well_known import Category, Inside, Names, Origin, Outside, Owner, Recognition, Rotation, WellKnown

KIND: Final = "CertificateNames"
PLATFORMS: Final = ("openshift",)
"""The shipped files."""

LONGEST_LIFE: Final = 36500
"""Days."""
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9.-]*\Z")
_CATEGORIES: Final[tuple[Category, ...]] = get_args(Category)
_ORIGINS: Final[tuple[Origin, ...]] = ("enhancement", "shipped", "unnamed")
"""Those that a file can have."""
_RELEASE: Final = re.compile(r"v?([0-9]{1,3})\.([0-9]{1,3})(?:\.|\Z)")
_ROTATIONS: Final[tuple[Rotation, ...]] = get_args(Rotation)
_ENTRY: Final = (
    *("category", "shippedCategory", "aliases", "owner", "rotates", "days", "refreshDays", "successor"),
    *("delete", "breaks", "keptElsewhere", "onlyOn", "recognise"),
)
_RECOGNISE: Final = (
    *("secrets", "configMaps", "listeners", "subjects", "organizations", "issuers", "sans", "injected", "anywhere"),
)


def load_names(platform: str = "openshift", *, hosted: Sequence[str] = (), release: str = "") -> Names:
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
    problems = Problems(document)
    if document.value is None or not problems.mapping(()):
        problems.add((), "no certificate names in this file", f"it starts with 'kind: {KIND}'")
        problems.raise_any()
    top = Section(problems)
    fields = ("lifetimes", "owners", "platformNamespaces", "exceptNamespaces", "outside", "inside", "servesForUsers")
    top.knows(("apiVersion", "kind", "title", "source", "date", *fields, *_ORIGINS))
    header(top, KIND)
    for name in ("title", "source", "date"):
        top.text(name, required="where the facts come from")
    owners = {name: _owner(name, section, release) for name, section in _named(top, "owners")}
    sections = ((origin, *named) for origin in _ORIGINS for named in _named(top, origin))
    names = Names(
        all=tuple(_entry(name, section, origin, owners, hosted) for origin, name, section in sections),
        outside=tuple(_outside(section, hosted) for _, section in _named(top, "outside")),
        inside=tuple(_inside(section, owners, hosted) for _, section in _named(top, "inside")),
        serves_for_users=top.texts("servesForUsers"),
        release=release,
        lifetimes={category: days for category in _CATEGORIES if (days := _lifetime(top, category))},
        platform_namespaces=top.texts("platformNamespaces", required=True),
        except_namespaces=top.texts("exceptNamespaces"),
    )
    _consistent(top, names)
    problems.raise_any()
    return names


def _named(top: Section, field: str) -> Iterator[tuple[str, Section]]:
    """The mappings under ``field`` with their names."""
    inner = top.section(field)
    for name in inner.names():
        if not _NAME.match(name):
            inner.wrong(name, f"{shown(name)} is no name", "take lower case letters, digits, '-' and '.'", key=True)
        yield name, inner.section(name)


def _owner(name: str, section: Section, release: str) -> Owner:
    section.knows(("operator", "component", "implements", "source", "note"))
    since = section.text("implements", required="the first release that follows the PKI object, or never")
    first, now = release_of(since), release_of(release)
    if since not in ("", "never") and first is None:
        section.wrong("implements", f"{shown(since)} is no release", "write it as in 4.22, or never")
    implements = first is not None and (now is None or now >= first)
    return Owner(
        name=name,
        operator=section.text("operator"),
        component=section.text("component", required="who the enhancement's metrics say makes it"),
        implements=implements,
        since=since,
        source=section.text("source", required="where that was read"),
        note=section.text("note"),
    )


def _lifetime(top: Section, category: Category) -> tuple[int, int] | None:
    section = top.section("lifetimes").section(category)
    section.knows(("least", "most"))
    least, most = (section.number(name, 1, LONGEST_LIFE) for name in ("least", "most"))
    return None if least is None or most is None else (least, most)


def _outside(section: Section, hosted: Sequence[str]) -> Outside:
    section.knows(("secrets", "configMaps", "why"))
    secrets, config_maps = (_placed(_paths(section, name), hosted) for name in ("secrets", "configMaps"))
    return Outside(secrets=secrets, config_maps=config_maps, why=section.text("why", required="a reason for people"))


def _inside(section: Section, owners: Mapping[str, Owner], hosted: Sequence[str]) -> Inside:
    section.knows(("secrets", "owner", "why"))
    if not section.has("owner"):
        section.problems.add(section.steps, "owner is missing")
    return Inside(
        secrets=_placed(_paths(section, "secrets"), hosted),
        owner=owners.get(section.choice("owner", owners) or "", Owner(name="", implements=False)),
        why=section.text("why", required="a reason for people"),
    )


def _placed(paths: Sequence[str], hosted: Sequence[str]) -> tuple[str, ...]:
    """With the namespaces of hosted control planes in the place of ``HOSTED``."""
    return tuple(
        each.replace(HOSTED, namespace) for each in paths for namespace in (hosted if HOSTED in each else ("",))
    )


def _entry(
    name: str, section: Section, origin: Origin, owners: Mapping[str, Owner], hosted: Sequence[str]
) -> WellKnown:
    section.knows(_ENTRY)
    for required in ("category", "owner", "rotates", "recognise"):
        if not section.has(required):
            section.problems.add(section.steps, f"{required} is missing")
    category = section.choice("category", _CATEGORIES) or "signer"
    return WellKnown(
        name=name,
        origin=origin,
        category=category,
        shipped_category=section.choice("shippedCategory", _CATEGORIES) or category,
        aliases=section.texts("aliases"),
        owner=owners.get(section.choice("owner", owners) or "", Owner(name="", implements=False)),
        rotates=section.choice("rotates", _ROTATIONS) or "never",
        days=section.number("days", 1, LONGEST_LIFE),
        refresh_days=section.number("refreshDays", 1, LONGEST_LIFE),
        successor=section.text("successor") or None,
        delete=_paths(section, "delete"),
        breaks=section.text("breaks"),
        kept_elsewhere=section.flag("keptElsewhere") is True,
        only_on=section.text("onlyOn"),
        recognition=_recognition(section.section("recognise"), hosted),
        place=section.place,
    )


def _recognition(section: Section, hosted: Sequence[str]) -> Recognition:
    section.knows(_RECOGNISE)
    if not any(section.has(name) for name in ("secrets", "subjects")):
        section.problems.add(section.steps, "neither secrets nor subjects tell it", "say at least one of them")
    return Recognition(
        secrets=_placed(_paths(section, "secrets"), hosted),
        config_maps=_paths(section, "configMaps"),
        listeners=tuple(_listener(each) for each in section.each("listeners")),
        subjects=section.texts("subjects"),
        organizations=section.texts("organizations"),
        issuers=section.texts("issuers"),
        sans=section.texts("sans"),
        injected=section.flag("injected") is True,
        anywhere=section.flag("anywhere") is True,
    )


def _listener(section: Section) -> tuple[str, tuple[int, ...]]:
    section.knows(("component", "ports"))
    return section.text("component", required="of the component catalogue"), section.ports("ports", required=True)


def _paths(section: Section, name: str) -> tuple[str, ...]:
    """The list of ``namespace/name``."""
    found = section.texts(name)
    for each in found:
        if each.count("/") != 1:
            section.wrong(name, f"{shown(each)} is no namespace/name")
    return found


def _consistent(top: Section, names: Names) -> None:
    """Complain about names that two have, and successors that nobody is."""
    spellings: list[str] = [spelling for each in names.all for spelling in (each.name, *each.aliases)]
    for each in names.all:
        steps = (each.origin, each.name)
        for spelling in _twice((each.name, *each.aliases), spellings):
            top.problems.add(steps, f"{shown(spelling)} is the name of two")
        if each.successor is not None and names.by_name(each.successor) is None:
            top.problems.add((*steps, "successor"), f"{shown(each.successor)} is no name of this file")
        if each.refresh_days is not None and (each.days is None or each.refresh_days >= each.days):
            top.problems.add((*steps, "refreshDays"), "must be less than days")


def _twice(some: Sequence[str], spellings: Sequence[str]) -> Iterator[str]:
    return (each for each in some if spellings.count(each) > 1)
