"""ReferenceGrants: which references into another namespace are allowed (Gateway API apis/v1 ``ReferenceGrantSpec``)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Final

from scanner.kube.kinds import REFERENCE_GRANT, Kind
from scanner.kube.objects import KubeObject
from scanner.kube.references import Link
from scanner.model.declared import Declared, Missing
from scanner.model.located import Steps, shown
from scanner.model.object_rule import Flaw, undecided
from scanner.model.reference_grants import From, froms, grants

READS: Final[tuple[Kind, ...]] = (REFERENCE_GRANT,)
_ENTRIES: Final = 16
_SHOWN: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Crossing:
    """A reference from one namespace into another."""

    source: KubeObject
    at: Steps
    group: str
    kind: str
    name: str
    namespace: str

    def __str__(self) -> str:
        return f"{self.kind}/{self.namespace}/{self.name}"


def crossing(link: Link) -> Crossing | None:
    """The reference, if it leaves the namespace of its source and that needs a grant."""
    if link.grant is None or link.namespace == link.source.namespace:
        return None
    return Crossing(
        source=link.source,
        at=link.steps,
        group=link.group,
        kind=link.kind,
        name=link.name,
        namespace=link.namespace or "",
    )


def _by_who(declared: Declared) -> Mapping[tuple[str, From], list[KubeObject]]:
    """By their namespace, and who may refer into it."""
    found: dict[tuple[str, From], list[KubeObject]] = {}
    for each in declared.every(REFERENCE_GRANT):
        for source in froms(each):
            found.setdefault((each.namespace or "", source), []).append(each)
    return found


def granting(declared: Declared, crossed: Crossing) -> Iterator[KubeObject]:
    """The grants that allow it: of the target's namespace."""
    target, source = (crossed.group, crossed.kind), crossed.source
    who = (source.kind.group, source.kind.name, source.namespace or "")
    for grant in declared.once(_by_who).get((crossed.namespace, who), ()):
        if grants(grant, crossed.source, target, crossed.name):
            yield grant


def grant_flaws(declared: Declared, crossed: Crossing | None) -> Iterator[Flaw]:
    """That nobody allows a reference into another namespace."""
    if crossed is None or any(granting(declared, crossed)):
        return
    source = crossed.source
    gap = declared.gap(REFERENCE_GRANT)
    if gap:
        missing = Missing(name=f"a ReferenceGrant in {crossed.namespace}", gap=gap)
        yield undecided(missing, crossed.at, f"whether {crossed} may be referred to")
        return
    yield Flaw(
        message=f"no ReferenceGrant in {crossed.namespace} lets {source.reference} refer to {crossed}: RefNotPermitted",
        at=crossed.at,
        evidence=tuple(islice(_near(declared, crossed), _SHOWN)),
        fix=f"a ReferenceGrant in {crossed.namespace}, by who owns {crossed}",
        correction=_grant(crossed),
    )


def _by_namespace(declared: Declared) -> Mapping[str, list[KubeObject]]:
    found: dict[str, list[KubeObject]] = {}
    for each in declared.every(REFERENCE_GRANT):
        found.setdefault(each.namespace or "", []).append(each)
    return found


def _near(declared: Declared, crossed: Crossing) -> Iterator[str]:
    """Grants that would allow it but for one field."""
    source = crossed.source
    who = {"group": source.kind.group, "kind": source.kind.name, "namespace": source.namespace or ""}
    what = {"group": crossed.group, "kind": crossed.kind, "name": crossed.name}
    for grant in islice(declared.once(_by_namespace).get(crossed.namespace, ()), _ENTRIES):
        wrong = [_differing(grant, "from", who), _differing(grant, "to", what)]
        if all(each is not None for each in wrong):
            for each in filter(None, wrong):
                yield f"{grant.reference}: {each}"


def _differing(grant: KubeObject, field: str, wanted: Mapping[str, str]) -> str | None:
    """How the nearest entry differs: "" if one fits, None if none differs in a single field."""
    found = None
    for index, each in enumerate(islice(grant.each("spec", field), _ENTRIES)):
        said = {name: each.text(name) for name in wanted if name != "name" or each.text(name)}
        wrong = [name for name, text in said.items() if text != wanted[name]]
        if not wrong:
            return ""
        if len(wrong) == 1:
            (name,) = wrong
            found = f"spec.{field}[{index}].{name} is {shown(said[name])}, not {shown(wanted[name])}"
    return found


def _grant(crossed: Crossing) -> str:
    source = crossed.source
    return (
        "apiVersion: gateway.networking.k8s.io/v1beta1\nkind: ReferenceGrant\n"
        f"metadata:\n  name: {source.name}\n  namespace: {crossed.namespace}\n"
        f"spec:\n  from:\n  - group: {source.kind.group}\n    kind: {source.kind.name}\n"
        f"    namespace: {source.namespace}\n"
        f'  to:\n  - group: "{crossed.group}"\n    kind: {crossed.kind}\n    name: {crossed.name}'
    )
