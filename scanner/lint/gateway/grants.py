"""ReferenceGrants: which references into another namespace are allowed (Gateway API apis/v1 ``ReferenceGrantSpec``)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Final

from scanner.files.source_positions import Steps, dotted, shown
from scanner.kube.gateway import MAX_GRANT_ENTRIES, GrantEntry, GrantSource, ReferenceGrant
from scanner.kube.kinds import REFERENCE_GRANT, Kind
from scanner.kube.objects import KubeObject
from scanner.kube.references import Link
from scanner.model.declared import Declared, Missing
from scanner.model.object_rule import Flaw, undecided

READS: Final[tuple[Kind, ...]] = (REFERENCE_GRANT,)
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


def _by_who(declared: Declared) -> Mapping[tuple[str, GrantSource], list[ReferenceGrant]]:
    """By their namespace, and who may refer into it."""
    found: dict[tuple[str, GrantSource], list[ReferenceGrant]] = {}
    for each in map(ReferenceGrant.of, declared.every(REFERENCE_GRANT)):
        for source in each.froms:
            found.setdefault((each.namespace or "", source), []).append(each)
    return found


def granting(declared: Declared, crossed: Crossing) -> Iterator[ReferenceGrant]:
    """The grants that allow it: of the target's namespace."""
    target, source = (crossed.group, crossed.kind), crossed.source
    who = (source.kind.group, source.kind.name, source.namespace or "")
    for grant in declared.once(_by_who).get((crossed.namespace, who), ()):
        if grant.allows(source, target, crossed.name):
            yield grant


def grant_flaws(declared: Declared, crossed: Crossing | None) -> Iterator[Flaw]:
    """That nobody allows a reference into another namespace."""
    if crossed is None or any(granting(declared, crossed)):
        return
    near = sorted(nearest(declared, crossed), key=lambda each: not each.is_slip)[:_SHOWN]
    gap = declared.gap(REFERENCE_GRANT)
    if gap and not near:
        missing = Missing(name=f"a ReferenceGrant in {crossed.namespace}", gap=gap)
        yield undecided(missing, crossed.at, f"whether {crossed} may be referred to")
        return
    which = f"no ReferenceGrant{' that was seen' if gap else ''} in {crossed.namespace}"
    yield Flaw(
        message=f"{which} lets {crossed.source.reference} refer to {crossed}: RefNotPermitted",
        at=crossed.at,
        evidence=tuple(f"{each.grant.reference}: {each}" for each in near),
        fix=near[0].fix if near else f"a ReferenceGrant in {crossed.namespace}, by who owns {crossed}",
        correction=near[0].correction if near else _grant(crossed),
    )


def _by_namespace(declared: Declared) -> Mapping[str, list[ReferenceGrant]]:
    found: dict[str, list[ReferenceGrant]] = {}
    for each in map(ReferenceGrant.of, declared.every(REFERENCE_GRANT)):
        found.setdefault(each.namespace or "", []).append(each)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Near:
    """The field of a ReferenceGrant that keeps it from allowing a reference."""

    grant: ReferenceGrant
    field: str
    said: str
    wanted: str

    def __str__(self) -> str:
        return f"{self.field} is {shown(self.said)}, not {shown(self.wanted)}"

    @property
    def fix(self) -> str:
        """What to edit."""
        other = "" if self.is_slip else f", or add an entry where {shown(self.said)} is needed too"
        return f"{self.grant.reference}: set {self.field} to {shown(self.wanted)}{other}"

    @property
    def correction(self) -> str:
        """The field as it should be."""
        return f"{self.field.rpartition('.')[2]}: {self.wanted or repr('')}"

    @property
    def is_slip(self) -> bool:
        """Whether it is certainly a mistake. Another namespace, name or kind may be right for another reference."""
        return self.field.endswith(".group") or self.said.lower() == self.wanted.lower()


def nearest(declared: Declared, crossed: Crossing) -> Iterator[Near]:
    """The grants that would allow a reference but for one field. Where there may be grants that were not seen, only
    those whose field is a slip."""
    source, gap = crossed.source, declared.gap(REFERENCE_GRANT)
    who = {"group": source.kind.group, "kind": source.kind.name, "namespace": source.namespace or ""}
    what = {"group": crossed.group, "kind": crossed.kind, "name": crossed.name}
    for grant in islice(declared.once(_by_namespace).get(crossed.namespace, ()), MAX_GRANT_ENTRIES):
        wrong = [*_differing(grant, grant.sources, who), *_differing(grant, grant.targets, what)]
        if len(wrong) == 1 and wrong[0] is not None and (wrong[0].is_slip or not gap):
            yield wrong[0]


def _differing(grant: ReferenceGrant, entries: tuple[GrantEntry, ...], wanted: Mapping[str, str]) -> list[Near | None]:
    """How the nearest entry differs: empty if one fits, None if none differs in a single field. A slip is nearest."""
    found: Near | None = None
    for each in entries[:MAX_GRANT_ENTRIES]:
        every = {"group": each.group, "kind": each.kind, "namespace": each.namespace, "name": each.name}
        said = {name: every[name] for name in wanted if name != "name" or each.name}
        wrong = [name for name, text in said.items() if text != wanted[name]]
        if not wrong:
            return []
        if len(wrong) == 1:
            (name,) = wrong
            near = Near(grant=grant, field=dotted((*each.steps, name)), said=said[name], wanted=wanted[name])
            found = near if found is None or not found.is_slip else found
    return [found]


def _grant(crossed: Crossing) -> str:
    source = crossed.source
    return (
        "apiVersion: gateway.networking.k8s.io/v1beta1\nkind: ReferenceGrant\n"
        f"metadata:\n  name: {source.name}\n  namespace: {crossed.namespace}\n"
        f"spec:\n  from:\n  - group: {source.kind.group}\n    kind: {source.kind.name}\n"
        f"    namespace: {source.namespace}\n"
        f'  to:\n  - group: "{crossed.group}"\n    kind: {crossed.kind}\n    name: {crossed.name}'
    )
