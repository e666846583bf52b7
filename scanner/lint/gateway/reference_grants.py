"""ReferenceGrants that allow more than anybody needs (Gateway API apis/v1 ``ReferenceGrantSpec``)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, TypeAlias

from scanner.files.source_positions import Steps, shown
from scanner.kube import kinds
from scanner.kube.kinds import GATEWAY, NAMESPACE, REFERENCE_GRANT, Kind
from scanner.kube.objects import Fields
from scanner.kube.reference_grants import From, To, froms, tos
from scanner.lint.gateway.certificate_refs import crossings
from scanner.lint.gateway.grants import granting, nearest
from scanner.lint.gateway.listeners import HOLDERS
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

_Uses: TypeAlias = Mapping[tuple[str, From, To], set[str]]
"""Names that are referred to, by their namespace, what refers, and their kind."""


def check_broad(subject: Subject) -> Iterator[Flaw]:
    """A ReferenceGrant names the Secrets that it grants."""
    for steps, each in subject.items("spec", "to"):
        if (each.text("group"), each.text("kind")) == ("", "Secret") and not each.text("name"):
            yield Flaw(
                message=f"grants every Secret in {subject.object.namespace}",
                at=steps,
                fix=f"{subject.object.reference}: name the Secret",
                correction='to:\n- group: ""\n  kind: Secret\n  name: NAME',
            )


def check_unused(subject: Subject) -> Iterator[Flaw]:
    """A ReferenceGrant for certificates is used, by a namespace that exists."""
    if id(subject.object) in subject.declared.once(_blamed):
        return
    yield from _misspelt(subject, "from", _GRANTEES)
    yield from _misspelt(subject, "to", _GRANTED)
    for steps, each in subject.items("spec", "to"):
        yield from _of_target(subject, each, steps)
    if not any(kind in _WATCHED for kind, _ in tos(subject.object)):
        return
    for steps, each in subject.items("spec", "from"):
        yield from _of_source(subject, each, steps)
        found = subject.declared.namespace(each.text("namespace"))
        if isinstance(found, Missing):
            yield _no_namespace(subject, found, (*steps, "namespace"))
    allowed = froms(subject.object)
    for steps, each in subject.items("spec", "to"):
        kind = (each.text("group"), each.text("kind"))
        if kind in _WATCHED and not _is_used(subject, allowed, kind, each.text("name")):
            flaw = _unused(subject, allowed, steps)
            yield from (flaw,) if flaw else ()


def _no_namespace(subject: Subject, namespace: Missing, at: tuple[str | int, ...]) -> Flaw:
    if namespace.gap:
        return undecided(namespace, at, "whether the namespace exists")
    message = f"{namespace.name} does not exist: who creates it gets what is granted"
    return Flaw(message=message, at=at, fix=f"{subject.object.reference}: remove the entry")


def _is_used(subject: Subject, allowed: set[From], kind: To, name: str) -> bool:
    uses = subject.declared.once(_uses)
    named = (uses.get((subject.object.namespace or "", each, kind), set()) for each in allowed)
    return any(name in names if name else names for names in named)


def _unused(subject: Subject, allowed: set[From], at: tuple[str | int, ...]) -> Flaw | None:
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


def _of_source(subject: Subject, source: Fields, steps: Steps) -> Iterator[Flaw]:
    """A ``from`` entry of a kind that refers to no certificate, or of the right kind in a wrong group."""
    group, kind = source.text("group"), source.text("kind")
    if (group, kind) in _REFERRING or not _is_known(group, kind):
        return
    meant = _NAMES.get(kind)
    if meant:
        yield Flaw(
            message=f"grants nothing: {kind} belongs to the group {meant.group}, not to {shown(group)}",
            at=(*steps, "group"),
            expected=(meant.group,),
            observed=(group,),
            fix=f"{subject.object.reference}: set the group to {meant.group}",
            correction=f"group: {meant.group}",
        )
    elif not _meant(source, _GRANTEES):
        yield Flaw(
            message=f"{shown(kind)} of {group} has no reference to a Secret or ConfigMap of another namespace",
            at=(*steps, "kind"),
            expected=tuple(sorted(_NAMES)),
            observed=(kind,),
            fix=f"{subject.object.reference}: name the kind that refers to it",
        )


def _of_target(subject: Subject, target: Fields, steps: Steps) -> Iterator[Flaw]:
    """A ``to`` entry of the right kind in a wrong group: ``core`` is a name that no reference has."""
    group, kind = target.text("group"), target.text("kind")
    if ("", kind) in _WATCHED and group in _CORE:
        yield Flaw(
            message=f"grants nothing: {kind} belongs to the core group, which is written as '', not {shown(group)}",
            at=(*steps, "group"),
            expected=("''",),
            observed=(group,),
            fix=f"{subject.object.reference}: set the group to ''",
            correction='group: ""',
        )


def _meant(reference: Fields, known: Iterable[Kind]) -> Kind | None:
    """The kind that is written in another case or in the plural."""
    group, written = reference.text("group"), reference.text("kind")
    near = (each for each in known if written.lower() in (each.name.lower(), each.plural))
    return next((each for each in near if each.group == group and each.name != written), None)


def _misspelt(subject: Subject, field: str, known: Iterable[Kind]) -> Iterator[Flaw]:
    """An API server takes any kind there, so that nothing but the grant's idleness tells."""
    for steps, each in subject.items("spec", field):
        if meant := _meant(each, known):
            yield Flaw(
                message=f"grants nothing: no kind is called {shown(each.text('kind'))}; did you mean {meant.name}?",
                at=(*steps, "kind"),
                expected=(meant.name,),
                observed=(each.text("kind"),),
                fix=f"{subject.object.reference}: write {meant.name}",
                correction=f"kind: {meant.name}",
            )


def _blamed(declared: Declared) -> frozenset[int]:
    """The grants that findings on Gateways name: one slip is one finding."""
    every = (each for kind in HOLDERS for holder in declared.every(kind) for each in crossings(declared, holder))
    refused = (each for each in every if not any(granting(declared, each)))
    return frozenset(id(near.grant) for each in refused for near in nearest(declared, each))


def _uses(declared: Declared) -> _Uses:
    found: dict[tuple[str, From, To], set[str]] = {}
    for kind in HOLDERS:
        for holder in declared.every(kind):
            source = (kind.group, kind.name, holder.namespace or "")
            for each in crossings(declared, holder):
                found.setdefault((each.namespace, source, (each.group, each.kind)), set()).add(each.name)
    return found


BROAD = ObjectRule(
    id="reference-grant-broad",
    subjects=(REFERENCE_GRANT,),
    check=check_broad,
)
UNUSED = ObjectRule(
    id="reference-grant-unused",
    subjects=(REFERENCE_GRANT,),
    check=check_unused,
    reads=(*HOLDERS, NAMESPACE),
)
