"""PKICertificateDefinition: names that components register beside the well-known ones (the enhancement, "Dynamic
Certificate Registration")."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from msgspec import Struct, field

from scanner.files.source_positions import shown
from scanner.kube.kinds import PKI_CERTIFICATE_DEFINITION
from scanner.kube.meta import conditions
from scanner.kube.openshift import CertificateDefinition
from scanner.kube.snapshot import Snapshot
from scanner.model.finding import Severity
from scanner.model.pki_config import Usage
from scanner.model.well_known import Names, Owner, Recognition, WellKnown
from scanner.pki.config_schemas import CATEGORIES, WELL_KNOWN
from scanner.values import replace

NAMESPACE: Final = "openshift-config"
_MOST: Final = 1000
"""Most names of one cluster."""
_FLAWS: Final = 20
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9.-]{0,252}")
"""Names that a Secret can have."""
_FIELD: Final = "spec.certificates"


class Flaw(Struct, frozen=True, kw_only=True):
    """A fault of one definition."""

    about: str
    """``PKICertificateDefinition/openshift-config/etcd-certificates``."""
    text: str
    """The fault, a clause with the definition as its subject."""
    severity: Severity
    fix: str

    def __str__(self) -> str:
        return f"{self.about} {self.text}"


class Registered(Struct, frozen=True, kw_only=True):
    """Registered certificate names."""

    categories: Mapping[str, Usage] = field(default_factory=dict)
    """Category by certificate name; the first definition counts if several differ."""
    flaws: tuple[Flaw, ...] = ()
    """Duplicates, contradicting categories, definitions without effect, definitions whose status is not valid."""


def registered(snapshot: Snapshot) -> Registered:
    """Every name of the definitions in ``openshift-config``; none if the cluster does not have the kind."""
    categories: dict[str, Usage] = {}
    flaws: list[Flaw] = []
    owners: dict[str, str] = {}
    for definition in map(CertificateDefinition.of, snapshot.every(PKI_CERTIFICATE_DEFINITION)):
        flaws.extend(_standing(definition))
        if definition.namespace != NAMESPACE:
            continue
        beyond = 0
        for name, category in _names(definition):
            if len(categories) >= _MOST and name not in categories:
                beyond += 1
                continue
            flaws.extend(_clash(definition, name, category, owners, categories))
            categories.setdefault(name, category)
            owners.setdefault(name, str(definition.reference))
        if beyond:
            text = f"registers names beyond the first {_MOST:,} of the cluster, which are not read: {beyond:,}"
            fix = f"remove names that no certificate has: {_FIELD}"
            flaws.insert(0, Flaw(about=str(definition.reference), text=text, severity="medium", fix=fix))
    return Registered(categories=categories, flaws=tuple(flaws[:_FLAWS]))


def with_registered(names: Names, snapshot: Snapshot) -> Names:
    """``names`` with those that definitions register. A definition does not say where its certificates are: they are
    found by Secrets of their name in the platform's namespaces, and by the subjects that operators use."""
    known = {spelling for each in names.all for spelling in (each.name, *each.aliases)}
    added: dict[str, WellKnown] = {}
    for definition in map(CertificateDefinition.of, snapshot.every(PKI_CERTIFICATE_DEFINITION)):
        component = definition.component or definition.name
        owner = Owner(name=component, component=component, implements=True, source=str(definition.reference))
        for name, category in _names(definition) if definition.namespace == NAMESPACE else ():
            if name not in known and _NAME.fullmatch(name) and len(added) < _MOST:
                added.setdefault(name, _registered(name, category, owner, definition))
    return replace(names, all=(*names.all, *added.values())) if added else names


def _registered(name: str, category: Usage, owner: Owner, definition: CertificateDefinition) -> WellKnown:
    return WellKnown(
        name=name,
        origin="registered",
        category=category,
        shipped_category=category,
        owner=owner,
        rotates="operator",
        recognition=Recognition(
            secrets=(f"openshift-*/{name}", f"kube-*/{name}"), subjects=(name, f"openshift-*_{name}@*")
        ),
        place=str(definition.reference),
    )


def _names(definition: CertificateDefinition) -> Iterator[tuple[str, Usage]]:
    for each in definition.certificates:
        name, category = each.name, CATEGORIES.get(each.category)
        if name and category:
            yield name, category


def _clash(
    definition: CertificateDefinition,
    name: str,
    category: Usage,
    owners: Mapping[str, str],
    categories: Mapping[str, Usage],
) -> Iterator[Flaw]:
    where = str(definition.reference)
    if name in owners:
        differs = "" if categories[name] == category else ", with another category"
        text = f"registers {shown(name)}, which {owners[name]} has registered{differs}"
        yield Flaw(about=where, text=text, severity="medium", fix=f"remove it from one of them: {_FIELD}")
    if WELL_KNOWN.get(name, category) != category:
        text = f"registers {shown(name)} as a {category} certificate; it is known as {WELL_KNOWN[name]}"
        yield Flaw(
            about=where, text=text, severity="medium", fix=f"correct the category, or take another name: {_FIELD}"
        )


def _standing(definition: CertificateDefinition) -> Iterator[Flaw]:
    where = str(definition.reference)
    if definition.namespace != NAMESPACE:
        text = f"has no effect: definitions count in {NAMESPACE} only"
        yield Flaw(about=where, text=text, severity="low", fix=f"make it in namespace {NAMESPACE}")
    for each in conditions(definition):
        if each.type == "Valid" and not each.holds:
            text = f"is not valid: {shown(each.message or each.reason)}"
            yield Flaw(about=where, text=text, severity="medium", fix="correct what its condition Valid says")
