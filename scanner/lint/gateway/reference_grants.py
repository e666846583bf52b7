"""ReferenceGrants: references into another namespace are allowed, and grants are no wider than their use (Gateway API
apis/v1 ``ReferenceGrantSpec``)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import Final, TypeAlias

from msgspec import Struct

from scanner.files.source_positions import dotted, shown
from scanner.kube import kinds
from scanner.kube.gateway import HOLDERS, MAX_GRANT_ENTRIES, GrantEntry, GrantSource, GrantTarget, ReferenceGrant
from scanner.kube.kinds import GATEWAY, NAMESPACE, REFERENCE_GRANT, Kind
from scanner.kube.objects import KubeObject, Reference
from scanner.kube.references import Link, links
from scanner.lint.gateway.listener_certificates import references
from scanner.lint.gateway.listeners import listeners
from scanner.model.declared import Declared, Missing
from scanner.model.object_rule import Flaw, ObjectRule, Subject, undecided
from scanner.values import replace

_CERTIFICATE_HOLDERS: Final = frozenset({("", "Secret"), ("", "ConfigMap")})
_CORE: Final = frozenset({"core", "v1"})
"""Common mistakes for the core group, whose name is empty."""
_TARGETS: Final = (kinds.SECRET, kinds.CONFIG_MAP, kinds.SERVICE)
_SOURCES: Final = (
    *HOLDERS,
    *(kinds.BACKEND_TLS_POLICY, kinds.HTTP_ROUTE, kinds.GRPC_ROUTE, kinds.TLS_ROUTE, kinds.TCP_ROUTE),
)
_REFERRING: Final = frozenset((kind.group, kind.name) for kind in HOLDERS)
_NAMES: Final = {kind.name: kind for kind in HOLDERS}
_SHOWN: Final = 3

_Uses: TypeAlias = Mapping[tuple[str, GrantSource, GrantTarget], set[str]]
"""Names of the targets of references, by their namespace, the source, and their kind."""


# --- References into another namespace --------------------------------------------------------------------------------


def _crossings(declared: Declared, holder: KubeObject) -> Iterator[Link]:
    """The references of a Gateway or ListenerSet that need a grant: those into other namespaces."""
    served = (each for listener in listeners(declared, holder) for each in references(listener))
    others = (each for each in links(holder) if each.role != "certificate")
    return (each for each in chain(served, others) if each.grant is not None and each.namespace != holder.namespace)


def _by_namespace(declared: Declared) -> Mapping[str, list[ReferenceGrant]]:
    found: dict[str, list[ReferenceGrant]] = {}
    for each in map(ReferenceGrant.of, declared.every(REFERENCE_GRANT)):
        found.setdefault(each.namespace or "", []).append(each)
    return found


def _by_source(declared: Declared) -> Mapping[tuple[str, GrantSource], list[ReferenceGrant]]:
    """The grants of a namespace for one kind of source in one namespace."""
    found: dict[tuple[str, GrantSource], list[ReferenceGrant]] = {}
    for each in map(ReferenceGrant.of, declared.every(REFERENCE_GRANT)):
        for source in each.allowed_sources:
            found.setdefault((each.namespace or "", source), []).append(each)
    return found


def _is_granted(declared: Declared, link: Link) -> bool:
    source = (link.source.kind.group, link.source.kind.name, link.source.namespace or "")
    grants = declared.once(_by_source).get((link.namespace or "", source), ())
    return any(each.allows(link.source, (link.group, link.kind), link.name) for each in grants)


def check_grants(subject: Subject) -> Iterator[Flaw]:
    """A ReferenceGrant of the owner allows each reference to a certificate of another namespace."""
    declared = subject.declared
    gap = declared.gap(REFERENCE_GRANT)
    for link in _crossings(declared, subject.object):
        if _is_granted(declared, link):
            continue
        target = Reference(kind=link.kind, namespace=link.namespace, name=link.name)
        near = sorted(_nearest(declared, link), key=lambda each: not each.is_slip)[:_SHOWN]
        if gap and not any(each.is_slip for each in near):
            missing = Missing(name=f"{'another' if near else 'a'} ReferenceGrant in {link.namespace}", gap=gap)
            known = f"; {near[0].grant.reference} does not allow it: {near[0]}" if near else ""
            flaw = undecided(missing, link.steps, f"whether the reference to {target} is allowed{known}")
            yield replace(flaw, fix=near[0].fix if near else None)
            continue
        none = f"no ReferenceGrant{' that was seen' if gap else ''} in {link.namespace}"
        yield Flaw(
            message=f"{none} lets {link.source.reference} refer to {target}: RefNotPermitted",
            at=link.steps,
            evidence=tuple(f"{each.grant.reference}: {each}" for each in near),
            fix=near[0].fix if near else f"the owner of {target} must create a ReferenceGrant in {link.namespace}",
            correction=near[0].correction if near else _grant(link),
        )


class _Near(Struct, frozen=True, kw_only=True):
    """The one field of a ReferenceGrant that differs from a reference."""

    grant: ReferenceGrant
    field: str
    observed: str
    expected: str

    def __str__(self) -> str:
        return f"{self.field} is {shown(self.observed)}, not {shown(self.expected)}"

    @property
    def fix(self) -> str:
        """The field to edit."""
        other = "" if self.is_slip else f", or add an entry where {shown(self.observed)} is needed too"
        return f"{self.grant.reference}: set {self.field} to {shown(self.expected)}{other}"

    @property
    def correction(self) -> str:
        """The field with the expected value."""
        return f"{self.field.rpartition('.')[2]}: {self.expected or repr('')}"

    @property
    def is_slip(self) -> bool:
        """True if it is a mistake. Another namespace, name or kind may be right for another reference."""
        return self.field.endswith(".group") or self.observed.lower() == self.expected.lower()


def _nearest(declared: Declared, link: Link) -> Iterator[_Near]:
    """The grants that differ from a reference in one field."""
    source = link.source
    sources = {"group": source.kind.group, "kind": source.kind.name, "namespace": source.namespace or ""}
    targets = {"group": link.group, "kind": link.kind, "name": link.name}
    for grant in islice(declared.once(_by_namespace).get(link.namespace or "", ()), MAX_GRANT_ENTRIES):
        wrong = [*_differing(grant, grant.sources, sources), *_differing(grant, grant.targets, targets)]
        if len(wrong) == 1 and wrong[0] is not None:
            yield wrong[0]


def _differing(
    grant: ReferenceGrant, entries: tuple[GrantEntry, ...], expected: Mapping[str, str]
) -> list[_Near | None]:
    """The difference of the nearest entry, a slip first. Empty if an entry matches, None if each differs in several
    fields."""
    found: _Near | None = None
    for each in entries[:MAX_GRANT_ENTRIES]:
        every = {"group": each.group, "kind": each.kind, "namespace": each.namespace, "name": each.name}
        observed = {name: every[name] for name in expected if name != "name" or each.name}
        wrong = [name for name, text in observed.items() if text != expected[name]]
        if not wrong:
            return []
        if len(wrong) == 1:
            (name,) = wrong
            field = dotted((*each.steps, name))
            near = _Near(grant=grant, field=field, observed=observed[name], expected=expected[name])
            found = near if found is None or not found.is_slip else found
    return [found]


def _grant(link: Link) -> str:
    source = link.source
    return (
        "apiVersion: gateway.networking.k8s.io/v1beta1\nkind: ReferenceGrant\n"
        f"metadata:\n  name: {source.name}\n  namespace: {link.namespace}\n"
        f"spec:\n  from:\n  - group: {source.kind.group}\n    kind: {source.kind.name}\n"
        f"    namespace: {source.namespace}\n"
        f'  to:\n  - group: "{link.group}"\n    kind: {link.kind}\n    name: {link.name}'
    )


# --- Grants -----------------------------------------------------------------------------------------------------------


def check_broad(subject: Subject) -> Iterator[Flaw]:
    """A ReferenceGrant names the Secrets that it grants."""
    for each in ReferenceGrant.of(subject.object).targets:
        if (each.group, each.kind) == ("", "Secret") and not each.name:
            yield Flaw(
                message=f"grants access to every Secret in {subject.object.namespace}",
                at=each.steps,
                fix=f"{subject.object.reference}: name the Secret",
                correction='to:\n- group: ""\n  kind: Secret\n  name: NAME',
            )


def check_unused(subject: Subject) -> Iterator[Flaw]:
    """A ReferenceGrant for certificates is used, by a namespace that exists."""
    if id(subject.object.raw) in subject.declared.once(_reported):
        return
    grant = ReferenceGrant.of(subject.object)
    yield from _misspelt(grant, grant.sources, _SOURCES)
    yield from _misspelt(grant, grant.targets, _TARGETS)
    for each in grant.targets:
        yield from _target_flaws(grant, each)
    if not any(kind in _CERTIFICATE_HOLDERS for kind, _ in grant.allowed_targets):
        return
    for each in grant.sources:
        yield from _source_flaws(grant, each)
        found = subject.declared.namespace(each.namespace)
        if isinstance(found, Missing):
            yield _no_namespace(subject, found, (*each.steps, "namespace"))
    for each in grant.targets:
        kind = (each.group, each.kind)
        if kind in _CERTIFICATE_HOLDERS and not _is_used(subject, grant.allowed_sources, kind, each.name):
            flaw = _unused(subject, grant.allowed_sources, each.steps)
            yield from (flaw,) if flaw else ()


def _no_namespace(subject: Subject, namespace: Missing, at: tuple[str | int, ...]) -> Flaw:
    if namespace.gap:
        return undecided(namespace, at, "whether the namespace exists")
    message = f"{namespace.name} does not exist: whichever user creates it gets the grant"
    return Flaw(message=message, at=at, fix=f"{subject.object.reference}: remove the entry")


def _is_used(subject: Subject, allowed: set[GrantSource], kind: GrantTarget, name: str) -> bool:
    uses = subject.declared.once(_uses)
    named = (uses.get((subject.object.namespace or "", each, kind), set()) for each in allowed)
    return any(name in names if name else names for names in named)


def _unused(subject: Subject, allowed: set[GrantSource], at: tuple[str | int, ...]) -> Flaw | None:
    unknown = sorted({kind for group, kind, _ in allowed if not _is_known(group, kind)})
    if not any((group, kind) in _REFERRING for group, kind, _ in allowed) and not unknown:
        return None  # each from entry has a finding of its own
    gaps = [gap for kind in HOLDERS if (gap := subject.declared.gap(kind))]
    if unknown or gaps:
        gap = gaps[0] if gaps else "a kind that adhere does not read"
        missing = Missing(name=unknown[0] if unknown and not gaps else "what may refer to it", gap=gap)
        return undecided(missing, at, "whether any object uses it")
    return Flaw(message="no object refers to it", at=at, fix=f"{subject.object.reference}: remove the entry")


def _is_known(group: str, kind: str) -> bool:
    """True if it is known whether objects of this kind refer to certificates."""
    return (group, kind) in _REFERRING or group == GATEWAY.group or kind in _NAMES


def _source_flaws(grant: ReferenceGrant, source: GrantEntry) -> Iterator[Flaw]:
    """Report a ``from`` entry of a kind that refers to no certificate, or with a wrong group."""
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
    elif not _meant(source, _SOURCES):
        yield Flaw(
            message=f"{shown(kind)} of {group} cannot refer to a Secret or ConfigMap of another namespace",
            at=(*steps, "kind"),
            expected=tuple(sorted(_NAMES)),
            observed=(kind,),
            fix=f"{grant.reference}: set kind to the kind that refers to it",
        )


def _target_flaws(grant: ReferenceGrant, target: GrantEntry) -> Iterator[Flaw]:
    """Report a ``to`` entry with the group ``core``, which no reference has."""
    group, kind, steps = target.group, target.kind, target.steps
    if ("", kind) in _CERTIFICATE_HOLDERS and group in _CORE:
        yield Flaw(
            message=f"grants nothing: {kind} belongs to the core group, written as '', not {shown(group)}",
            at=(*steps, "group"),
            expected=("''",),
            observed=(group,),
            fix=f"{grant.reference}: set the group to ''",
            correction='group: ""',
        )


def _meant(reference: GrantEntry, known: Iterable[Kind]) -> Kind | None:
    """The known kind that differs from the written one in case or number only."""
    group, written = reference.group, reference.kind
    near = (each for each in known if written.lower() in (each.name.lower(), each.plural))
    return next((each for each in near if each.group == group and each.name != written), None)


def _misspelt(grant: ReferenceGrant, entries: Iterable[GrantEntry], known: Iterable[Kind]) -> Iterator[Flaw]:
    """Report misspelt kinds. The API server accepts any text."""
    for each in entries:
        if meant := _meant(each, known):
            yield Flaw(
                message=f"grants nothing: unknown kind {shown(each.kind)}; did you mean {meant.name}?",
                at=(*each.steps, "kind"),
                expected=(meant.name,),
                observed=(each.kind,),
                fix=f"{grant.reference}: set kind to {meant.name}",
                correction=f"kind: {meant.name}",
            )


def _reported(declared: Declared) -> frozenset[int]:
    """The grants that findings on Gateways name, by ``id``: one slip is one finding. Where there may be grants that
    were not seen, another difference is no failure."""
    gap = declared.gap(REFERENCE_GRANT)
    every = (each for kind in HOLDERS for holder in declared.every(kind) for each in _crossings(declared, holder))
    refused = (each for each in every if not _is_granted(declared, each))
    nearest = (near for each in refused for near in _nearest(declared, each))
    return frozenset(id(near.grant.raw) for near in nearest if near.is_slip or not gap)


def _uses(declared: Declared) -> _Uses:
    found: dict[tuple[str, GrantSource, GrantTarget], set[str]] = {}
    for kind in HOLDERS:
        for holder in declared.every(kind):
            source = (kind.group, kind.name, holder.namespace or "")
            for each in _crossings(declared, holder):
                found.setdefault((each.namespace or "", source, (each.group, each.kind)), set()).add(each.name)
    return found


NOT_GRANTED = ObjectRule(id="gateway-certificate-grant", subjects=HOLDERS, check=check_grants, reads=(REFERENCE_GRANT,))
BROAD = ObjectRule(id="reference-grant-broad", subjects=(REFERENCE_GRANT,), check=check_broad)
UNUSED = ObjectRule(
    id="reference-grant-unused",
    subjects=(REFERENCE_GRANT,),
    check=check_unused,
    reads=(*HOLDERS, NAMESPACE),
)
