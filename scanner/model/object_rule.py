"""Rules on declared objects, and their flaws."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from msgspec import Struct, field

from scanner.files.source_positions import Steps
from scanner.kube.kinds import Kind
from scanner.kube.objects import KubeObject
from scanner.model.declared import Declared, Missing, Once, identity
from scanner.model.finding import Severity, Status, Verdict
from scanner.model.rule import AnyRule

ANY = Kind(group="*", plural="*", name="*")
"""Subject of a rule on all kinds: objects of other kinds with a ``tlsSecurityProfile``, from manifests only."""


class Unseen(Struct, frozen=True, kw_only=True):
    """A missing object that a rule needs."""

    name: str
    """``Secret/shop/web``, or its kind."""
    gap: str
    """The reason why it may exist."""
    question: str
    """"whether the key belongs to the certificate"."""
    promised: bool = False
    """Another object says what it will be, and is judged for that: the question is answered there."""


class Flaw(Struct, frozen=True, kw_only=True):
    """One finding of a rule about an object."""

    message: str
    """One sentence."""
    at: Steps = ()
    """Its field, from the object's top; of a missing field, its place."""
    verdict: Verdict = "fail"
    status: Status | None = None
    """None: ``violation`` for a failure, ``not-tested`` for an inconclusive result."""
    severity: Severity | None = None
    """Severity, if not the rule's."""
    expected: tuple[str, ...] = ()
    observed: tuple[str, ...] = ()
    fix: str | None = None
    """The object and field to edit."""
    correction: str | None = None
    """Correct YAML for ``--fix-hints``: the field and its parents."""
    evidence: tuple[str, ...] = ()
    unseen: Unseen | None = None
    """The missing object of an inconclusive result."""


def undecided(missing: Missing, steps: Steps, what: str) -> Flaw:
    """An inconclusive flaw for a reference to an object that is missing and may exist. ``what`` is unknown, such as
    "whether the key belongs to the certificate"."""
    return Flaw(
        message=f"{missing.name} {missing.why}, so it is unknown {what}",
        at=steps,
        verdict="inconclusive",
        unseen=Unseen(name=missing.name, gap=missing.gap or "", question=what, promised=missing.promised),
    )


@dataclass(frozen=True, slots=True)
class Subject(Once):
    """The object to judge, and everything else that is known. ``once`` is for results that several rules use."""

    object: KubeObject
    declared: Declared

    @property
    def before(self) -> KubeObject | None:
        """The cluster's object that the manifest will replace."""
        return self.declared.before.get(identity(self.object))

    def find(self, kind: Kind, name: str, namespace: str | None = None) -> KubeObject | Missing:
        """Another object; ``namespace`` None is that of the subject."""
        return self.declared.find(kind, name, namespace if namespace is not None else self.object.namespace)


class ObjectRule(AnyRule, frozen=True, kw_only=True):
    """One requirement on declared objects. Tests run the examples on its page."""

    subjects: tuple[Kind, ...]
    """Kinds that it judges."""
    check: Callable[[Subject], Iterable[Flaw]]
    reads: tuple[Kind, ...] = field(default=())
    """Other kinds that it reads."""
