"""PKICertificateDefinition: names that components register beside the well-known ones (the enhancement, "Dynamic
Certificate Registration")."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from scanner.model.kinds import PKI_CERTIFICATE_DEFINITION
from scanner.model.located import shown
from scanner.model.objects import KubeObject
from scanner.model.pki_config import Usage
from scanner.model.snapshot import Snapshot
from scanner.pki.shapes import CATEGORIES, WELL_KNOWN

NAMESPACE: Final = "openshift-config"
_MOST: Final = 1000
"""Names that are taken of a cluster."""
_REMARKS: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Registered:
    """What is registered."""

    categories: Mapping[str, Usage] = field(default_factory=dict)
    """By certificate name; the first definition's where several differ."""
    remarks: tuple[str, ...] = ()
    """Duplicates, categories that do not agree, definitions that count nowhere or say that they are not valid."""


def registered(snapshot: Snapshot) -> Registered:
    """Every name of the definitions in ``openshift-config``; none where the cluster has no such kind."""
    categories: dict[str, Usage] = {}
    remarks: list[str] = []
    owners: dict[str, str] = {}
    for definition in snapshot.every(PKI_CERTIFICATE_DEFINITION):
        remarks.extend(_standing(definition))
        if definition.namespace != NAMESPACE:
            continue
        for name, category in _names(definition):
            if len(categories) < _MOST or name in categories:
                remarks.extend(_clash(definition, name, category, owners, categories))
                categories.setdefault(name, category)
                owners.setdefault(name, str(definition.reference))
    return Registered(categories=categories, remarks=tuple(remarks[:_REMARKS]))


def _names(definition: KubeObject) -> Iterator[tuple[str, Usage]]:
    for each in definition.each("spec", "certificates"):
        name, category = each.text("name"), CATEGORIES.get(each.text("category"))
        if name and category:
            yield name, category


def _clash(
    definition: KubeObject, name: str, category: Usage, owners: Mapping[str, str], categories: Mapping[str, Usage]
) -> Iterator[str]:
    where = str(definition.reference)
    if name in owners:
        differs = "" if categories[name] == category else ", with another category"
        yield f"{where} registers {shown(name)}, which {owners[name]} has registered{differs}"
    if WELL_KNOWN.get(name, category) != category:
        yield f"{where} registers {shown(name)} as a {category} certificate; it is known as {WELL_KNOWN[name]}"


def _standing(definition: KubeObject) -> Iterator[str]:
    if definition.namespace != NAMESPACE:
        yield f"{definition.reference} has no effect: definitions count in {NAMESPACE} only"
    for each in definition.each("status", "conditions"):
        if each.text("type") == "Valid" and each.text("status") != "True":
            yield f"{definition.reference} is not valid: {shown(each.text('message') or each.text('reason'))}"
