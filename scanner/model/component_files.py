"""The files of the component catalogue: those in ``profiles/components/``, and users' own, in the same shape.

A component lists its listeners; what a listener does not say holds as its component says it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, get_args

from scanner import data
from scanner.errors import UsageError
from scanner.files import yaml_values
from scanner.files.problems import Problems, did_you_mean
from scanner.files.source_positions import Located, shown
from scanner.model.components import Catalogue, Component, Governor, Listener, Speaks
from scanner.model.observation import ClientCertificate
from scanner.model.section import Section, header

KIND: Final = "ComponentCatalogue"
HOSTED: Final = "<hosted-control-plane>"
"""Stands in ``namespaces`` for those of HyperShift's hosted control planes, whose names are each cluster's own."""
USUAL_HOSTED: Final = ("clusters-*",)

DISTRIBUTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "openshift": ("openshift",),
    "kubernetes": ("kubernetes",),
    "hypershift": ("hypershift", "openshift"),
    "microshift": ("microshift",),
}
"""The shipped files of each distribution, in the order in which they are tried. A cluster that hosts control planes is
an OpenShift cluster too, and so is one whose control plane is hosted elsewhere."""


def _release(section: Section, name: str) -> str:
    text = section.text(name)
    if text and not _RELEASE.match(text):
        section.wrong(name, f"{shown(text)} is no release", 'write it as in "4.22"')
    return text


_RELEASE: Final = re.compile(r"[0-9]{1,3}\.[0-9]{1,3}\Z")
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9.-]{0,62}\Z")

_READERS: Final[Mapping[str, tuple[str, Callable[[Section, str], object]]]] = {
    "namespaces": ("namespaces", Section.texts),
    "workloads": ("workloads", Section.texts),
    "hostNetwork": ("host_network", Section.flag),
    "loopback": ("loopback", Section.flag),
    "governor": ("governor", partial(Section.choice, words=get_args(Governor))),
    "managementSide": ("management_side", Section.flag),
    "eitherSide": ("either_side", Section.flag),
    "speaks": ("speaks", partial(Section.choice, words=get_args(Speaks))),
    "clientCertificate": ("client_certificate", partial(Section.choice, words=get_args(ClientCertificate))),
    "certificate": ("certificate", Section.text),
    "serverNames": ("server_names", Section.texts),
    "honoursSince": ("honours_since", _release),
    "tls13SuitesConfigurable": ("tls13_suites_configurable", Section.flag),
    "groupsConfigurable": ("groups_configurable", Section.flag),
    "source": ("source", Section.text),
    "note": ("note", Section.text),
}
"""Each field that a component shares with its listeners: the field of ``Listener``, and how it is read."""

TOP: Final = ("apiVersion", "kind", "title", "source", "date", "platformNamespaces", "components")
COMPONENT: Final = ("operator", "platform", "listeners", *_READERS)
LISTENER: Final = ("ports", *_READERS)


def load_catalogue(distribution: str, files: Sequence[str] = (), *, hosted: Sequence[str] = ()) -> Catalogue:
    """The catalogue of a distribution (``openshift``, ``kubernetes``, ``hypershift``, ``microshift``): the entries of
    ``files`` first, then the shipped ones.

    ``hosted`` are the namespaces of the control planes that HyperShift runs in this cluster, whatever its own
    distribution is; without any, ``hypershift`` takes ``clusters-*``. Raises ``UsageError`` for a distribution that is
    not known, ``InputError`` with everything that is wrong in a file, each with file, line and column.
    """
    if distribution not in DISTRIBUTIONS:
        raise UsageError(f"there is no catalogue {shown(distribution)}", hint=did_you_mean(distribution, DISTRIBUTIONS))
    names = dict.fromkeys((*(("hypershift",) if hosted else ()), *DISTRIBUTIONS[distribution]))
    documents = [*map(yaml_values.read, files), *map(_shipped, names)]
    parsed = [parse(document, hosted or USUAL_HOSTED) for document in documents]
    return Catalogue(
        listeners=tuple(listener for each in parsed for listener in each.listeners),
        components=tuple(component for each in parsed for component in each.components),
        platform_namespaces=tuple(dict.fromkeys(name for each in parsed for name in each.platform_namespaces)),
    )


def _shipped(name: str) -> Located:
    file = data.data("profiles") / "components" / f"{name}.yaml"
    return yaml_values.load(file.read_bytes(), f"profiles/components/{name}.yaml")


def parse(document: Located, hosted: Sequence[str] = USUAL_HOSTED) -> Catalogue:
    """The entries of one file. Raises ``InputError`` as ``load_catalogue`` does."""
    problems = Problems(document)
    if document.value is None or not problems.mapping(()):
        problems.add((), "no catalogue of components in this file", f"it starts with 'kind: {KIND}'")
        problems.raise_any()
    top = Section(problems)
    top.knows(TOP)
    header(top, KIND)
    top.text("title")
    source = ", ".join(filter(None, (top.text("source"), top.text("date"))))
    entries = [_Entry(name, section) for name, section in _named(top, "components")]
    listeners = [listener for entry in entries for listener in entry.listeners(source)]
    catalogue = Catalogue(
        listeners=tuple(replace(each, namespaces=_placed(each.namespaces, hosted)) for each in listeners),
        components=tuple(entry.component() for entry in entries),
        platform_namespaces=_placed(top.texts("platformNamespaces"), hosted),
    )
    problems.raise_any()
    return catalogue


def _named(section: Section, field: str) -> Iterator[tuple[str, Section]]:
    """The mappings under ``field`` with their names; at least one."""
    inner = section.section(field)
    if not section.has(field) or (section.problems.mapping(inner.steps) and not inner.names()):
        section.problems.add(section.steps, f"{field} is missing or empty", "name at least one")
    for name in inner.names():
        if not _NAME.match(name):
            inner.wrong(name, f"{shown(name)} is no name", "take lower case letters, digits, '-' and '.'", key=True)
        yield name, inner.section(name)


@dataclass(frozen=True, slots=True)
class _Entry:
    """One component of a file."""

    name: str
    section: Section

    def component(self) -> Component:
        operator, platform = self.section.text("operator"), self.section.flag("platform")
        return Component(name=self.name, operator=operator, platform=platform is not False)

    def listeners(self, source: str) -> Iterator[Listener]:
        self.section.knows(COMPONENT)
        empty = Listener(component=self.name, listener="", namespaces=(), ports=(), governor="own", source=source)
        shared = _said(self.section, empty)
        for name, section in _named(self.section, "listeners"):
            section.knows(LISTENER)
            if not (self.section.has("governor") or section.has("governor")):
                section.problems.add(section.steps, "governor is missing", f"one of {', '.join(get_args(Governor))}")
            listener = replace(_said(section, shared), listener=name, ports=section.ports("ports", required=True))
            if not (listener.namespaces or listener.host_network):
                what = "a process of the node itself, which has no namespaces, says hostNetwork: true"
                section.problems.add(section.steps, "namespaces is missing", what)
            yield replace(listener, place=section.place)


def _said(section: Section, base: Listener) -> Listener:
    """``base``, and over it what ``section`` says."""
    said = ((name, *reader) for name, reader in _READERS.items() if section.has(name))
    changes: dict[str, Any] = {field: read(section, name) for name, field, read in said}
    return replace(base, **changes)


def _placed(namespaces: Sequence[str], hosted: Sequence[str]) -> tuple[str, ...]:
    """With those of hosted control planes in the place of ``HOSTED``."""
    return tuple(name for each in namespaces for name in (hosted if each == HOSTED else (each,)))
