"""Read the files of the component catalogue: those in ``profiles/components/``, and users' own, in the same shape.

A component lists its listeners; a listener inherits each field that it does not have from its component.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Annotated, Final, Literal, get_args

from pydantic import AfterValidator, Field

from scanner import data
from scanner.config.file_reader import AdhereFile, FileSection, Name, Ports, Text, Texts, parse_file, wrong
from scanner.errors import UsageError
from scanner.files import yaml_values
from scanner.files.problems import Problems, did_you_mean
from scanner.files.source_positions import Located, Steps, shown
from scanner.model.components import Catalogue, Component, Governor, Listener, Speaks
from scanner.model.observation import ClientCertificate

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

_RELEASE: Final = re.compile(r"[0-9]{1,3}\.[0-9]{1,3}\Z")


def _release(text: str) -> str:
    if not _RELEASE.match(text):
        raise wrong(f"{shown(text)} is no release", 'write it as in "4.22"')
    return text


class _Shared(FileSection):
    """The fields that a component shares with its listeners: fields of ``Listener``."""

    namespaces: Texts = ()
    workloads: Texts = ()
    host_network: bool | None = None
    loopback: bool = False
    governor: Governor | None = None
    management_side: bool = False
    either_side: bool = False
    speaks: Speaks | None = None
    client_certificate: ClientCertificate | None = None
    certificate: Text = ""
    server_names: Texts = ()
    honours_since: Annotated[Text, AfterValidator(_release)] = ""
    tls13_suites_configurable: bool = False
    groups_configurable: bool = False
    source: Text = ""
    note: Text = ""


class _Listener(_Shared):
    ports: Annotated[Ports, Field(min_length=1, description="for example ports: [8443, 9200-9219]")]


class _Component(_Shared):
    operator: Text = ""
    platform: bool = True
    listeners: Annotated[dict[Name, _Listener], Field(min_length=1, description="name at least one")]


class CatalogueFile(AdhereFile):
    """The whole file."""

    kind: Literal["ComponentCatalogue"] = Field(description="write kind: ComponentCatalogue")
    title: Text = ""
    source: Text = ""
    date: Text = ""
    platform_namespaces: Texts = ()
    components: Annotated[dict[Name, _Component], Field(min_length=1, description="name at least one")]


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
    placed = tuple(hosted or USUAL_HOSTED)
    own = [parse(yaml_values.read(file), placed) for file in files]
    parsed = [*own, *(_shipped(name, placed) for name in names)]
    return Catalogue(
        listeners=tuple(listener for each in parsed for listener in each.listeners),
        components=tuple(component for each in parsed for component in each.components),
        platform_namespaces=tuple(dict.fromkeys(name for each in parsed for name in each.platform_namespaces)),
    )


@cache
def _shipped(name: str, hosted: tuple[str, ...]) -> Catalogue:
    file = data.data("profiles") / "components" / f"{name}.yaml"
    return parse(yaml_values.load(file.read_bytes(), f"profiles/components/{name}.yaml"), hosted)


def parse(document: Located, hosted: Sequence[str] = USUAL_HOSTED) -> Catalogue:
    """The entries of one file. Raises ``InputError`` as ``load_catalogue`` does."""
    file = parse_file(document, CatalogueFile, "catalogue of components")
    problems = Problems(document)
    catalogue = Catalogue(
        listeners=tuple(_listeners(file, problems, hosted)),
        components=tuple(
            Component(name=name, operator=each.operator, platform=each.platform)
            for name, each in file.components.items()
        ),
        platform_namespaces=_placed(file.platform_namespaces, hosted),
    )
    problems.raise_any()
    return catalogue


def _listeners(file: CatalogueFile, problems: Problems, hosted: Sequence[str]) -> Iterator[Listener]:
    source = ", ".join(filter(None, (file.source, file.date)))
    for component, shared in file.components.items():
        inherited = {key: each for key, each in shared.given().items() if key in _Shared.model_fields}
        for name, own in shared.listeners.items():
            steps: Steps = ("components", component, "listeners", name)
            values = {"namespaces": (), "governor": None, "source": source, **inherited, **own.given()}
            if values["governor"] is None:
                problems.add(steps, "governor is missing", f"one of {', '.join(get_args(Governor))}")
            if not (values["namespaces"] or values.get("host_network")):
                what = "a process of the node itself, which has no namespaces, says hostNetwork: true"
                problems.add(steps, "namespaces is missing", what)
            values["namespaces"] = _placed(values["namespaces"], hosted)
            yield Listener(component=component, listener=name, place=problems.document.position(steps), **values)


def _placed(namespaces: Sequence[str], hosted: Sequence[str]) -> tuple[str, ...]:
    """With those of hosted control planes in the place of ``HOSTED``."""
    return tuple(name for each in namespaces for name in (hosted if each == HOSTED else (each,)))
