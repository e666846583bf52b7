"""ReferenceGrants that allow more than anybody needs (Gateway API apis/v1 ``ReferenceGrantSpec``)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice
from typing import Final, TypeAlias

from scanner.files.source_positions import Steps, dotted, shown
from scanner.kube import kinds
from scanner.kube.gateway import HOLDERS, MAX_GRANT_ENTRIES, GrantEntry, GrantSource, GrantTarget, ReferenceGrant
from scanner.kube.kinds import GATEWAY, NAMESPACE, REFERENCE_GRANT, Kind
from scanner.kube.objects import KubeObject
from scanner.kube.references import Link, links
from scanner.lint.gateway.listener_certificates import references
from scanner.lint.gateway.listeners import listeners
from scanner.model.declared import Declared, Missing
from scanner.model.object_rule import Flaw, ObjectRule, Subject, undecided

_WATCHED: Final = frozenset({("", "Secret"), ("", "ConfigMap")})
"""What holds certificates."""
_CORE: Final = frozenset({"core", "v1"})
"""What people write for the core group, whose name is empty."""
_GRANTED: Final = (kinds.SECRET, kinds.CONFIG_MAP, kinds.SERVICE)
_GRANTEES: Final = (
    *HOLDERS,
    *(kinds.BACKEND_TLS_POLICY, kinds.HTTP_ROUTE, kinds.GRPC_ROUTE, kinds.TLS_ROUTE, kinds.TCP_ROUTE),
)
_REFERRING: Final = frozenset((kind.group, kind.name) for kind in HOLDERS)
_NAMES: Final = {kind.name: kind for kind in HOLDERS}

_Uses: TypeAlias = Mapping[tuple[str, GrantSource, GrantTarget], set[str]]
"""Names that are referred to, by their namespace, what refers, and their kind."""


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


def crossings(declared: Declared, holder: KubeObject) -> Iterator[Crossing]:
    """The references of a Gateway or ListenerSet into other namespaces."""
    served = (each for listener in listeners(declared, holder) for each in references(listener))
    others = (each for each in links(holder) if each.role != "certificate")
    return filter(None, map(crossing, chain(served, others)))


def check_grants(subject: Subject) -> Iterator[Flaw]:
    """Certificates of other namespaces are granted by their owners."""
    for crossed in crossings(subject.declared, subject.object):
        yield from grant_flaws(subject.declared, crossed)


def check_broad(subject: Subject) -> Iterator[Flaw]:
    """A ReferenceGrant names the Secrets that it grants."""
    for each in ReferenceGrant.of(subject.object).targets:
        if (each.group, each.kind) == ("", "Secret") and not each.name:
            yield Flaw(
                message=f"grants every Secret in {subject.object.namespace}",
                at=each.steps,
                fix=f"{subject.object.reference}: name the Secret",
                correction='to:\n- group: ""\n  kind: Secret\n  name: NAME',
            )


def check_unused(subject: Subject) -> Iterator[Flaw]:
    """A ReferenceGrant for certificates is used, by a namespace that exists."""
    if id(subject.object.raw) in subject.declared.once(_blamed):
        return
    grant = ReferenceGrant.of(subject.object)
    yield from _misspelt(grant, grant.sources, _GRANTEES)
    yield from _misspelt(grant, grant.targets, _GRANTED)
    for each in grant.targets:
        yield from _of_target(grant, each)
    if not any(kind in _WATCHED for kind, _ in grant.tos):
        return
    for each in grant.sources:
        yield from _of_source(grant, each)
        found = subject.declared.namespace(each.namespace)
        if isinstance(found, Missing):
            yield _no_namespace(subject, found, (*each.steps, "namespace"))
    allowed = grant.froms
    for each in grant.targets:
        kind = (each.group, each.kind)
        if kind in _WATCHED and not _is_used(subject, allowed, kind, each.name):
            flaw = _unused(subject, allowed, each.steps)
            yield from (flaw,) if flaw else ()


def _no_namespace(subject: Subject, namespace: Missing, at: tuple[str | int, ...]) -> Flaw:
    if namespace.gap:
        return undecided(namespace, at, "whether the namespace exists")
    message = f"{namespace.name} does not exist: who creates it gets what is granted"
    return Flaw(message=message, at=at, fix=f"{subject.object.reference}: remove the entry")


def _is_used(subject: Subject, allowed: set[GrantSource], kind: GrantTarget, name: str) -> bool:
    uses = subject.declared.once(_uses)
    named = (uses.get((subject.object.namespace or "", each, kind), set()) for each in allowed)
    return any(name in names if name else names for names in named)


def _unused(subject: Subject, allowed: set[GrantSource], at: tuple[str | int, ...]) -> Flaw | None:
    strange = sorted({kind for group, kind, _ in allowed if not _is_known(group, kind)})
    if not any((group, kind) in _REFERRING for group, kind, _ in allowed) and not strange:
        return None  # what is wrong with every from is said there
    gaps = [gap for kind in HOLDERS if (gap := subject.declared.gap(kind))]
    if strange or gaps:
        gap = gaps[0] if gaps else "a kind that adhere does not read"
        missing = Missing(name=strange[0] if strange and not gaps else "what may refer to it", gap=gap)
        return undecided(missing, at, "whether anything uses it")
    return Flaw(message="nothing refers to it", at=at, fix=f"{subject.object.reference}: remove the entry")


def _is_known(group: str, kind: str) -> bool:
    """Whether it is clear what may refer to certificates as this kind: an object of this kind, or none at all."""
    return (group, kind) in _REFERRING or group == GATEWAY.group or kind in _NAMES


def _of_source(grant: ReferenceGrant, source: GrantEntry) -> Iterator[Flaw]:
    """A ``from`` entry of a kind that refers to no certificate, or of the right kind in a wrong group."""
    group, kind, steps = source.group, source.kind, source.steps
    if (group, kind) in _REFERRING or not _is_known(group, kind):
        return
    meant = _NAMES.get(kind)
    if meant:
        yield Flaw(
            message=f"grants nothing: {kind} belongs to the group {meant.group}, not to {shown(group)}",
            at=(*steps, "group"),
            expected=(meant.group,),
            observed=(group,),
            fix=f"{grant.reference}: set the group to {meant.group}",
            correction=f"group: {meant.group}",
        )
    elif not _meant(source, _GRANTEES):
        yield Flaw(
            message=f"{shown(kind)} of {group} has no reference to a Secret or ConfigMap of another namespace",
            at=(*steps, "kind"),
            expected=tuple(sorted(_NAMES)),
            observed=(kind,),
            fix=f"{grant.reference}: name the kind that refers to it",
        )


def _of_target(grant: ReferenceGrant, target: GrantEntry) -> Iterator[Flaw]:
    """A ``to`` entry of the right kind in a wrong group: ``core`` is a name that no reference has."""
    group, kind, steps = target.group, target.kind, target.steps
    if ("", kind) in _WATCHED and group in _CORE:
        yield Flaw(
            message=f"grants nothing: {kind} belongs to the core group, which is written as '', not {shown(group)}",
            at=(*steps, "group"),
            expected=("''",),
            observed=(group,),
            fix=f"{grant.reference}: set the group to ''",
            correction='group: ""',
        )


def _meant(reference: GrantEntry, known: Iterable[Kind]) -> Kind | None:
    """The kind that is written in another case or in the plural."""
    group, written = reference.group, reference.kind
    near = (each for each in known if written.lower() in (each.name.lower(), each.plural))
    return next((each for each in near if each.group == group and each.name != written), None)


def _misspelt(grant: ReferenceGrant, entries: Iterable[GrantEntry], known: Iterable[Kind]) -> Iterator[Flaw]:
    """An API server takes any kind there, so that nothing but the grant's idleness tells."""
    for each in entries:
        if meant := _meant(each, known):
            yield Flaw(
                message=f"grants nothing: no kind is called {shown(each.kind)}; did you mean {meant.name}?",
                at=(*each.steps, "kind"),
                expected=(meant.name,),
                observed=(each.kind,),
                fix=f"{grant.reference}: write {meant.name}",
                correction=f"kind: {meant.name}",
            )


def _blamed(declared: Declared) -> frozenset[int]:
    """The grants that findings on Gateways name: one slip is one finding."""
    every = (each for kind in HOLDERS for holder in declared.every(kind) for each in crossings(declared, holder))
    refused = (each for each in every if not any(granting(declared, each)))
    return frozenset(id(near.grant.raw) for each in refused for near in nearest(declared, each))


def _uses(declared: Declared) -> _Uses:
    found: dict[tuple[str, GrantSource, GrantTarget], set[str]] = {}
    for kind in HOLDERS:
        for holder in declared.every(kind):
            source = (kind.group, kind.name, holder.namespace or "")
            for each in crossings(declared, holder):
                found.setdefault((each.namespace, source, (each.group, each.kind)), set()).add(each.name)
    return found


NOT_GRANTED = ObjectRule(id="gateway-certificate-grant", subjects=HOLDERS, check=check_grants, reads=(REFERENCE_GRANT,))
BROAD = ObjectRule(id="reference-grant-broad", subjects=(REFERENCE_GRANT,), check=check_broad)
UNUSED = ObjectRule(
    id="reference-grant-unused",
    subjects=(REFERENCE_GRANT,),
    check=check_unused,
    reads=(*HOLDERS, NAMESPACE),
)
