"""ReferenceGrants that allow more than anybody needs (Gateway API apis/v1 ``ReferenceGrantSpec``)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, TypeAlias

from scanner.files.source_positions import shown
from scanner.kube import kinds
from scanner.kube.gateway import HOLDERS, GrantEntry, GrantSource, GrantTarget, ReferenceGrant
from scanner.kube.kinds import GATEWAY, NAMESPACE, REFERENCE_GRANT, Kind
from scanner.lint.gateway.certificate_refs import crossings
from scanner.lint.gateway.grants import granting, nearest
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


BROAD = ObjectRule(id="reference-grant-broad", subjects=(REFERENCE_GRANT,), check=check_broad)
UNUSED = ObjectRule(
    id="reference-grant-unused",
    subjects=(REFERENCE_GRANT,),
    check=check_unused,
    reads=(*HOLDERS, NAMESPACE),
)
